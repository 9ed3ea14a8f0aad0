"""Programs without libtorch keep their memory: later calls ask for none, planned ones not even at first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from torch2cpp.memory.sizes import SizesError
from torch2cpp.project import Project, transpile
from torch2cpp.toolchain import launcher
from torch2cpp.toolchain.build import build
from torch2cpp.toolchain.tools import cache_folder, cmake, compiler, ninja

pytestmark = pytest.mark.slow


class Steps(nn.Module):
    """Refines a state until it is sure, at most ten times; keeps what it was."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.sure = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        state = torch.zeros_like(x)
        kept = []
        for step in range(10):
            state = self.cell(x, state)
            kept.append(state)
            if torch.sigmoid(self.sure(state)).mean() > 0.55:
                return torch.stack(kept), step
        return torch.stack(kept) * 2, -1


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Project:
    torch.manual_seed(0)
    examples = [(torch.randn(n, 8) * scale,) for n, scale in ((1, 1.0), (3, 0.1), (5, 4.0))]
    out = tmp_path_factory.mktemp("slim") / "planned"
    project = transpile(Steps().eval(), examples, runtime="slim", max_sizes={"x[0]": 300}, out=out, name="planned")
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
  planned::Steps model(argv[1]);
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
    (tmp_path / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
add_subdirectory({planned.folder} planned)
add_executable(user main.cpp counter.c {planned.folder}/runtime/slim/operator_new.cpp)
target_link_libraries(user PRIVATE planned::planned)
set_source_files_properties(counter.c PROPERTIES COMPILE_OPTIONS -fno-builtin)
"""
    )
    keep = f"{sys.executable};-S;-E;{launcher.__file__};{cache_folder()};{planned.folder}"
    settings = [f"-DCMAKE_MAKE_PROGRAM={ninja()}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={keep}"]
    configure = [cmake(), "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", *settings]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run([cmake(), "--build", tmp_path / "build", "-j1"], check=True, capture_output=True)
    weights = str(planned.folder / "weights.safetensors")
    done = subprocess.run([tmp_path / "build/user", weights], capture_output=True, text=True, check=True)
    want = planned.model(torch.ones(300, 8))[1]
    assert done.stdout == f"step {want}, asked 0 times\n"


def test_sizes_that_the_inputs_cannot_have_are_told(tmp_path: Path) -> None:
    examples = [(torch.randn(n, 8),) for n in (1, 3)]
    project = transpile(Steps().eval(), examples, runtime="slim", max_sizes={"x[1]": 9}, out=tmp_path / "p", name="p")
    with pytest.raises(SizesError, match=r"no dimension x\[1\] of an input varies: there are x\[0\]"):
        project.build()
    with pytest.raises(SizesError, match="libtorch"):
        transpile(Steps().eval(), examples, max_sizes={"x[0]": 9}, out=tmp_path / "q", name="q")
