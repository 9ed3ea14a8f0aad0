"""A bundle for 64-bit Arm: what is in it, what its binaries need, that it runs with nothing else around."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from arm_target import TARGET, assert_same_on_target, for_target, target_or_skip
from model_files import ROOT
from torch2cpp.project import Project
from torch2cpp.toolchain.bundle import Bundle, make_bundle
from torch2cpp.toolchain.targets.elf import of_glibc, read_elf
from torch2cpp.toolchain.targets.store import find_target
from torch2cpp.toolchain.targets.target import Target, TargetError
from torch2cpp.toolchain.targets.toolchain import toolchain_of
from torch2cpp.toolchain.tools import cmake, ninja

# One process makes the bundle.
pytestmark = [pytest.mark.arm, pytest.mark.xdist_group("bundle")]


@dataclass
class Made:
    project: Project
    bundle: Bundle


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """An example by ONNX Runtime, which has a library of its own, bundled and moved elsewhere."""
    target_or_skip()
    folder = tmp_path_factory.mktemp("arm")
    project = for_target(ROOT / "examples/early_exit.py", "onnxruntime", folder / "early_exit")
    assert_same_on_target(project)
    bundle = make_bundle(project.folder, folder / "bundle", TARGET)
    moved = tmp_path_factory.mktemp("device") / "early_exit"
    shutil.move(bundle.folder, moved)
    return Made(project, Bundle(moved, bundle.parts, bundle.glibc))


def glibc_only(folder: Path) -> Path:
    """A root folder with the C library, a description of the processor, and nothing else: no C++, no libtorch."""
    emulated = Path(toolchain_of(Target(TARGET)).command(Path("x"))[4])
    for path in (emulated / "lib").resolve().iterdir():
        if of_glibc(path.name):
            (folder / "lib").mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / "lib" / path.name)
    for place in ("proc", "sys"):
        shutil.copytree(emulated / place, folder / place)
    return folder


def on_device(program: Path, root: Path, cpu: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["qemu-aarch64", "-cpu", cpu, "-L", str(root), str(program), *arguments]
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("cpu", ["cortex-a53", "cortex-a72"])
def test_it_passes_its_own_test_with_nothing_but_a_c_library(made: Made, tmp_path: Path, cpu: str) -> None:
    shutil.rmtree(made.project.folder / "build", ignore_errors=True)
    done = on_device(made.bundle.folder / "verify", glibc_only(tmp_path), cpu)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("pass\n")
    for said in ("made by torch2cpp", "on aarch64, glibc", "weights loaded in", "as recorded", "MB at most"):
        assert said in done.stdout


def test_its_program_finds_the_weights_beside_it(made: Made, tmp_path: Path) -> None:
    folder = made.bundle.folder
    done = on_device(folder / "early_exit_run", glibc_only(tmp_path), "cortex-a53", "--golden", str(folder / "golden"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_several_threads_do_no_harm_on_old_processors(made: Made, tmp_path: Path) -> None:
    done = on_device(made.bundle.folder / "verify", glibc_only(tmp_path), "cortex-a53", "--threads", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    if (made.bundle.folder / "lib/libnvpl_blas_core.so.0").exists():
        assert "one thread only" in done.stderr


def test_its_own_test_can_fail(made: Made, tmp_path: Path) -> None:
    broken = tmp_path / "bundle"
    shutil.copytree(made.bundle.folder, broken)
    case = next((broken / "golden").glob("*_1.out.safetensors"))
    shutil.copy(next((broken / "golden").glob("*_0.out.safetensors")), case)
    done = on_device(broken / "verify", glibc_only(tmp_path / "root"), "cortex-a53")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.endswith("FAIL\n")
    (broken / "weights.safetensors").unlink()
    done = on_device(broken / "verify", tmp_path / "root", "cortex-a53")
    assert done.returncode == 2
    assert "weights.safetensors" in done.stderr


def test_its_parts(made: Made) -> None:
    names = {name for name, _ in made.bundle.parts}
    assert {"early_exit_run", "verify", "weights.safetensors", "golden", "model.json"} <= names
    assert {"lib/libtorch_cpu.so", "lib/libc10.so", "lib/libonnxruntime.so.1", "lib/libstdc++.so.6"} <= names
    assert all(size > 0 for _, size in made.bundle.parts)
    assert not any(of_glibc(Path(name).name) for name in names)


def test_its_binaries_are_the_devices(made: Made) -> None:
    folder = made.bundle.folder
    programs, libraries = [folder / "early_exit_run", folder / "verify"], list((folder / "lib").iterdir())
    for path in (*programs, *libraries):
        elf = read_elf(path)
        assert elf.machine == "AArch64", path
        assert elf.glibc <= find_target(TARGET).glibc, path
        for name in elf.needed:
            assert of_glibc(name) or (folder / "lib" / name).exists(), f"{path.name} needs {name}"
    for path in programs:
        assert read_elf(path).runpath == ("$ORIGIN/lib",), path
    # What this machine's processor is, or where it was built, is in none of our own files.
    for path in programs:
        assert str(made.project.folder.parent.parent).encode() not in path.read_bytes()


def test_a_project_for_another_machine_is_refused(made: Made, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=f"was compiled for {TARGET}, not for native"):
        make_bundle(made.project.folder, tmp_path / "b", "native")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("dear")
    with pytest.raises(TargetError, match="is there and is no bundle"):
        make_bundle(made.project.folder, tmp_path / "mine", TARGET)
    with pytest.raises(TargetError, match="is there and is no bundle"):
        make_bundle(made.project.folder, tmp_path / "mine/letter.txt", TARGET)
    with pytest.raises(TargetError, match=r"model\.json cannot be read"):
        make_bundle(tmp_path / "mine", tmp_path / "b", TARGET)
    (tmp_path / "part").mkdir()
    shutil.copy(made.project.folder / "model.json", tmp_path / "part")
    with pytest.raises(TargetError, match=r"part has no weights\.safetensors: compile it again"):
        make_bundle(tmp_path / "part", tmp_path / "b", TARGET)


#: As an SDK's: another compiler name, its own flags, and search modes that keep everything below its root.
FOREIGN = """
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER {prefix}-gcc)
set(CMAKE_CXX_COMPILER {prefix}-g++)
set(CMAKE_CXX_FLAGS "-mcpu=cortex-a72 -fstack-protector-strong -D_FORTIFY_SOURCE=2" CACHE STRING "" FORCE)
set(CMAKE_FIND_ROOT_PATH {root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
"""


def test_the_project_builds_with_a_toolchain_file_of_an_sdk(made: Made, tmp_path: Path) -> None:
    toolchain = toolchain_of(Target(TARGET, "cortex-a72"))
    (tmp_path / "sdk.cmake").write_text(FOREIGN.format(prefix=TARGET, root=f"/usr/{TARGET}"))
    settings = {
        "CMAKE_TOOLCHAIN_FILE": tmp_path / "sdk.cmake",
        "CMAKE_MAKE_PROGRAM": ninja(),
        "TORCH2CPP_TORCH": toolchain.torch,
        "ONNXRUNTIME_ROOT": toolchain.libraries["onnxruntime"].parent,
    }
    build = tmp_path / "build"
    command = [cmake(), "-S", str(made.project.folder), "-B", str(build), "-G", "Ninja"]
    subprocess.run([*command, *(f"-D{k}={v}" for k, v in settings.items())], check=True, capture_output=True)
    subprocess.run([cmake(), "--build", str(build), "-j", "1"], check=True, capture_output=True)
    runner = build / "early_exit_run"
    assert read_elf(runner).machine == "AArch64"
    command = toolchain.command(runner, "--golden", made.project.folder / "golden")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
