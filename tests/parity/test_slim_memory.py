"""Programs without libtorch keep their memory: later calls ask for none, planned ones not even at first."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import torch

from slim_steps import KeptSteps, build_user, examples, made
from torch2cpp.memory.sizes import SizesError
from torch2cpp.project import Project, transpile
from torch2cpp.toolchain.build import build
from torch2cpp.toolchain.tools import compiler

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Project:
    out, model = tmp_path_factory.mktemp("slim") / "planned", made(KeptSteps)
    project = transpile(model, examples(), runtime="slim", max_sizes={"x[0]": 300}, out=out, name="planned")
    project.build()
    return project


#: Counts what a program asks of the C library, and says it at the end.
_COUNTER = """
#include <stddef.h>
#include <stdio.h>
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
static long calls;
void* malloc(size_t size) { return ++calls, __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return ++calls, __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return ++calls, __libc_realloc(memory, size); }
void* aligned_alloc(size_t alignment, size_t size) { return ++calls, __libc_memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  ++calls;
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? 12 : 0;
}
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "asked %ld times\\n", calls); }
"""


def test_later_calls_take_no_memory(planned: Project, tmp_path: Path) -> None:
    built = build(planned.folder, planned.name)
    (tmp_path / "counter.c").write_text(_COUNTER)
    counter = tmp_path / "libcounter.so"
    options = ["-x", "c", "-shared", "-fPIC", "-fno-builtin", str(tmp_path / "counter.c"), "-o", str(counter)]
    subprocess.run([compiler(), *options], check=True)
    asked = []
    for repeat in (3, 40):
        case = sorted((planned.folder / "golden").glob("*.in.safetensors"))[0]
        command = [built.runner, "--input", case, "--repeat", str(repeat)]
        done = subprocess.run(command, env={"LD_PRELOAD": str(counter)}, capture_output=True, text=True, check=True)
        asked.append(done.stderr.strip().splitlines()[-1])
    assert asked[0].startswith("asked ") and asked[0] == asked[1]


#: Counts what the C library is asked for during the first call.
_FIRST_CALL = """
#include <cstdio>
#include <vector>
#include <planned/planned.h>
#include <torch2cpp/io.h>

extern "C" long asked();

int main(int, char** argv) {
  const std::vector<float> values(300 * 8, 1.0F);
  const std::vector<int64_t> sizes{300, 8};
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  const torch2cpp::Tensor x = torch2cpp::tensor_of_bytes(bytes, sizes, torch2cpp::ScalarType::Float);
  planned::KeptSteps model(argv[1]);
  const long before = asked();
  const auto result = model.forward(x);
  const long after = asked();
  std::printf("step %ld, asked %ld times\\n", static_cast<long>(std::get<1>(result)), after - before);
}
"""


def test_first_call_of_a_planned_program_takes_no_memory(planned: Project, tmp_path: Path) -> None:
    assert planned.check().ok
    memory = json.loads((planned.folder / "model.json").read_text())["memory"]
    assert memory["sizes"] == "x[0]=300" and memory["bytes"] > 10 * 300 * 8 * 4
    (tmp_path / "main.cpp").write_text(_FIRST_CALL)
    (tmp_path / "counter.c").write_text(_COUNTER + "long asked(void) { return calls; }\n")
    lines = f"""add_executable(user main.cpp counter.c {planned.folder}/runtime/slim/operator_new.cpp)
target_link_libraries(user PRIVATE planned::planned)
set_source_files_properties(counter.c PROPERTIES COMPILE_OPTIONS -fno-builtin)
"""
    user = build_user(tmp_path, planned.folder, lines)
    weights = str(planned.folder / "weights.safetensors")
    done = subprocess.run([user, weights], capture_output=True, text=True, check=True)
    want = planned.model(torch.ones(300, 8))[1]
    assert done.stdout == f"step {want}, asked 0 times\n"


def test_sizes_that_the_inputs_cannot_have_are_told(tmp_path: Path) -> None:
    model = made(KeptSteps)
    project = transpile(model, examples(), runtime="slim", max_sizes={"x[1]": 9}, out=tmp_path / "p", name="p")
    with pytest.raises(SizesError, match=r"no dimension x\[1\] of an input varies: there are x\[0\]"):
        project.build()
    with pytest.raises(SizesError, match="libtorch"):
        transpile(model, examples(), max_sizes={"x[0]": 9}, out=tmp_path / "q", name="q")
