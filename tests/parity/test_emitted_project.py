"""An emitted project stands alone: it builds, installs, runs its golden cases, and is used from C++ and Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from emit_programs import greedy_decoder
from emitted import compiled_by_aten
from torch2cpp.emit.write_project import write_project
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.parity.golden import write_golden
from torch2cpp.parity.run import call
from torch2cpp.project import load_module
from torch2cpp.toolchain.build import Built, build
from torch2cpp.toolchain.tools import cache_folder, cmake, compiler, ninja, torch_folder

SRC = torch.tensor([[5, 7, 1], [2, 9, 4]])


def python_result(*args: object) -> torch.Tensor:
    result: torch.Tensor = Interpreter(greedy_decoder()).run("forward", args)
    return result


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The greedy decoder, written, moved to another folder, and built there with all its parts."""
    written = tmp_path_factory.mktemp("written") / "project"
    program = greedy_decoder()
    write_project(program, compiled_by_aten(program), written, "backend aten")
    interpreter = Interpreter(program)
    inputs = [(SRC,), (SRC[:1], 4), (torch.zeros(0, 3, dtype=torch.int64),)]
    cases = [("forward", args, call(lambda *a: interpreter.run("forward", a), args)) for args in inputs]
    write_golden(written / "golden", program, cases, exact=True, stateful=False)
    moved = tmp_path_factory.mktemp("moved") / "decoder"
    shutil.move(written, moved)
    return build(moved, program.name, python=True, warnings=True)


def run(*command: object, cwd: Path | None = None, code: int = 0) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def project(built: Built) -> Path:
    return built.folder.parent


def test_golden_cases_pass(built: Built):
    assert "3 of 3 as recorded" in run(built.runner, "--golden", project(built) / "golden")
    run(Path(cmake()).with_name("ctest"), "--test-dir", built.folder)


def test_golden_cases_can_fail(built: Built, tmp_path: Path):
    shutil.copytree(project(built) / "golden", tmp_path / "golden")
    save_file({"out": torch.zeros(2, 10, dtype=torch.int64)}, tmp_path / "golden/forward_0.out.safetensors")
    assert "2 of 3 as recorded" in run(built.runner, "--golden", tmp_path / "golden", code=1)


@pytest.mark.parametrize("form", ["npy", "npz", "safetensors"])
def test_runner_reads_and_writes_files(built: Built, tmp_path: Path, form: str):
    given, made = tmp_path / f"in.{form}", tmp_path / f"out.{form}"
    match form:
        case "npy":
            np.save(given, SRC.numpy())
        case "npz":
            np.savez(given, src=SRC.numpy())
        case _:
            save_file({"src": SRC}, given)
    named = f"src={given}" if form == "npy" else str(given)
    text = run(built.runner, "--input", named, "--arg", "limit=4", "--output", made, "--repeat", "3", "--profile")
    assert "median of 3" in text and "encode" in text
    match form:
        case "npy":
            out = torch.from_numpy(np.load(made))
        case "npz":
            out = torch.from_numpy(np.load(made)["out"])
        case _:
            out = load_file(made)["out"]
    assert torch.equal(out, python_result(SRC, 4))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "input 'src': expected a tensor, got nothing"),
        (["--input"], "--input needs a value"),
        (["--wrong"], "unknown option --wrong"),
        (["--entry", "backward"], "there is no entry backward"),
        (["--input", "absent.npz"], "absent.npz"),
    ],
)
def test_runner_says_what_is_wrong(built: Built, arguments: list[str], said: str):
    assert said in run(built.runner, *arguments, code=2)


def test_no_python_inside(built: Built):
    assert "libpython" not in run("ldd", built.runner)


def test_the_host_program_keeps_to_the_c_abi(built: Built):
    for name in ("greedy_decoder", "regions"):
        (unit,) = built.folder.glob(f"CMakeFiles/greedy_decoder.dir/src/{name}.cpp.o")
        undefined = [line.split()[-1] for line in run("nm", "-u", unit).splitlines() if line.strip()]
        demangled = run("c++filt", *undefined).splitlines()
        # The functions themselves: the dtype of the stable headers is c10's enumeration by another name.
        assert [s for s in demangled if re.match(r"(non-virtual thunk to )?(at|c10)::", s)] == []


def test_python_module_shares_tensors(built: Built):
    module = load_module("greedy_decoder", built.module)
    model = module.GreedyDecoder(str(project(built) / "weights.safetensors"))
    assert torch.equal(model.forward(SRC), python_result(SRC))
    assert torch.equal(model.forward(src=SRC, limit=2), python_result(SRC, 2))
    with pytest.raises(module.InputError, match=r"input 'src': expected int64 \[\?, \?\], got float32 \[2, 3\]"):
        model.forward(SRC.float())
    with pytest.raises(TypeError, match="limit: expected int, got str"):
        model.forward(SRC, "many")
    with pytest.raises(IndexError, match="index out of range in self"):
        model.forward(SRC + 100)


def test_other_weights_change_results_without_a_build(built: Built, tmp_path: Path):
    module = load_module("greedy_decoder", built.module)
    path = project(built) / "weights.safetensors"
    weights = {k: v for k, v in load_file(path).items() if not k.startswith("__")}
    changed = {k: v.flip(0).contiguous() for k, v in weights.items()}
    save_file(changed, tmp_path / "changed.safetensors")
    program = greedy_decoder()
    program.weights.update(changed)
    want = Interpreter(program).run("forward", [SRC])
    assert torch.equal(module.GreedyDecoder(str(tmp_path / "changed.safetensors")).forward(SRC), want)

    def refused(tensors: dict[str, torch.Tensor], said: str) -> None:
        save_file(tensors, tmp_path / "wrong.safetensors")
        with pytest.raises(module.InputError, match=said):
            module.GreedyDecoder(str(tmp_path / "wrong.safetensors"))

    refused({"embed.weight": weights["embed.weight"]}, "out.weight")
    refused({**weights, "out.weight": weights["out.weight"][:3].contiguous()}, "out.weight")
    refused({**weights, "out.weight": weights["out.weight"].double()}, "out.weight")
    refused({**weights, "out.wait": weights["out.weight"].clone()}, "out.wait")
    data = path.read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(data[:-8])
    with pytest.raises(module.InputError):
        module.GreedyDecoder(str(tmp_path / "cut.safetensors"))


USER_PROGRAM = """
#include <greedy_decoder/greedy_decoder.h>

#include <iostream>

int main() {
  greedy_decoder::GreedyDecoder model;
  try {
    model.forward(torch::stable::Tensor());
  } catch (const torch2cpp::InputError& error) {
    std::cout << error.name() << "\\n";
  }
}
"""


def use_from_cpp(folder: Path, lines: str, *settings: str) -> str:
    """Configures, builds and runs a program of a user."""
    folder.mkdir()
    (folder / "main.cpp").write_text(USER_PROGRAM)
    (folder / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
{lines}
add_executable(user main.cpp)
target_link_libraries(user PRIVATE greedy_decoder::greedy_decoder)
"""
    )
    run(cmake(), "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja()}",
        f"-DCMAKE_CXX_COMPILER={compiler()}", f"-DTORCH2CPP_TORCH={torch_folder()}", *settings)  # fmt: skip
    run(cmake(), "--build", folder / "build", "-j1")
    return run(folder / "build/user")


def test_find_package(built: Built, tmp_path: Path):
    run(cmake(), "--install", built.folder, "--prefix", tmp_path / "installed")
    found = "find_package(greedy_decoder REQUIRED)"
    assert use_from_cpp(tmp_path / "user", found, f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}") == "src\n"


C_PROGRAM = """
#include <greedy_decoder/greedy_decoder_c.h>
#include <stdio.h>

int main(void) {
  const int64_t sizes[2] = {2, 3};
  const int64_t src[6] = {5, 7, 1, 2, 9, 4};
  const int64_t* got_sizes;
  const void* data;
  const char* dtype;
  int64_t rank;
  greedy_decoder_model* model = greedy_decoder_create(NULL);
  greedy_decoder_values* in = greedy_decoder_values_create();
  greedy_decoder_values_set(in, "src", "int64", 2, sizes, src);
  greedy_decoder_values_set_text(in, "limit", "3");
  greedy_decoder_values* out = greedy_decoder_call(model, "forward", in);
  greedy_decoder_values_get(out, "out", &dtype, &rank, &got_sizes, &data);
  printf("%s %d %d:", dtype, (int)got_sizes[0], (int)got_sizes[1]);
  for (int i = 0; i < 6; ++i) printf(" %d", (int)((const int64_t*)data)[i]);
  greedy_decoder_values_set(in, "src", "int64", 1, sizes, src);
  out = greedy_decoder_call(model, "forward", in) ? in : out;
  printf("\\n%s\\n", greedy_decoder_last_error());
  greedy_decoder_values_destroy(in);
  greedy_decoder_values_destroy(out);
  greedy_decoder_destroy(model);
}
"""


def test_c_interface(built: Built, tmp_path: Path):
    (tmp_path / "main.c").write_text(C_PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(greedy_decoder REQUIRED)
add_executable(user main.c)
target_link_libraries(user PRIVATE greedy_decoder::greedy_decoder_c)
set_target_properties(user PROPERTIES LINKER_LANGUAGE CXX)
"""
    )
    run(cmake(), "--install", built.folder, "--prefix", tmp_path / "installed")
    run(cmake(), "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja()}",
        f"-DTORCH2CPP_TORCH={torch_folder()}", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")  # fmt: skip
    run(cmake(), "--build", tmp_path / "build", "-j1")
    tokens = " ".join(map(str, python_result(SRC, 3).flatten().tolist()))
    first, second = run(tmp_path / "build/user").splitlines()
    assert first == f"int64 2 3: {tokens}"
    assert second == ("input 'src': expected int64 [?, ?], got int64 [2]")


def test_add_subdirectory(built: Built, tmp_path: Path):
    from torch2cpp.toolchain import launcher

    cache = f"{sys.executable};-S;-E;{launcher.__file__};{cache_folder()};{project(built)}"
    added = f"add_subdirectory({project(built)} decoder)"
    assert use_from_cpp(tmp_path / "user", added, f"-DCMAKE_CXX_COMPILER_LAUNCHER={cache}") == "src\n"


def test_manifest_lists_the_files(built: Built):
    manifest = json.loads((project(built) / "model.json").read_text())
    assert manifest["regions"]["encode"]["weights"] == ["embed.weight"]
    assert manifest["entries"]["forward"]["params"][1] == {"name": "limit", "type": "int", "default": "10"}
    for path in manifest["files"]:
        assert (project(built) / path).is_file()


def test_hash_seeds_do_not_matter(tmp_path: Path):
    script = (
        "import sys; from pathlib import Path; from emit_programs import greedy_decoder;"
        "from emitted import compiled_by_aten; from torch2cpp.emit.write_project import write_project;"
        "p = greedy_decoder(); write_project(p, compiled_by_aten(p), Path(sys.argv[1]), 'backend aten')"
    )
    trees = []
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        subprocess.run([sys.executable, "-c", script, str(tmp_path / seed)], env=env, check=True)
        files = sorted(p for p in (tmp_path / seed).rglob("*") if p.is_file())
        trees.append({str(p.relative_to(tmp_path / seed)): p.read_bytes() for p in files})
    assert trees[0] == trees[1]
