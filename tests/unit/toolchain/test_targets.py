"""Targets: names, what is said where something is missing, what is checked of what is fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from torch2cpp.backends.served import check_served
from torch2cpp.toolchain.bundle import make_bundle
from torch2cpp.toolchain.targets import fetch, store
from torch2cpp.toolchain.targets.elf import closure, find_in, read_elf
from torch2cpp.toolchain.targets.emulator import ANY, emulated_processor, emulator_command
from torch2cpp.toolchain.targets.libtorch import libtorch_version
from torch2cpp.toolchain.targets.target import ARCHITECTURES, Target, TargetError, architecture
from torch2cpp.toolchain.targets.toolchain import library_of, toolchain_of
from torch2cpp.toolchain.tools import torch_folder

ARM = ARCHITECTURES["aarch64-linux-gnu"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCH2CPP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def installed(cache: Path, **changes: object) -> Path:
    """A target that seems to be set up."""
    for name in ("g++", "torch"):
        (cache / name).mkdir(parents=True)
    entry = {
        "name": ARM.name,
        "compiler": str(cache / "g++"),
        "sysroot": None,
        "libtorch": str(cache / "torch"),
        "torch": store.torch_release(),
        "glibc": [2, 36],
        "libraries": {},
    }
    path = store.target_folder(ARM.name) / "target.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(entry | changes))
    return path


def test_an_unknown_target_is_refused_with_those_there_are() -> None:
    with pytest.raises(TargetError, match="there is no target pdp11; there are native, aarch64-linux-gnu"):
        toolchain_of(Target("pdp11"))


def test_32_bit_arm_is_refused_with_the_reason() -> None:
    with pytest.raises(TargetError, match=r"no backend serves 32-bit Arm.*use that and --target aarch64-linux-gnu"):
        architecture("arm-linux-gnueabihf")


def test_native_code_takes_no_processor() -> None:
    with pytest.raises(TargetError, match="--cpu is for other targets"):
        toolchain_of(Target("native", "cortex-a53"))
    assert toolchain_of(Target()).command(Path("program"), "x") == ["program", "x"]


def test_a_target_is_set_up_first(cache: Path) -> None:
    with pytest.raises(TargetError, match="is not set up here: run `torch2cpp target add aarch64-linux-gnu` once"):
        toolchain_of(Target(ARM.name))
    assert store.targets_added() == []


def test_a_target_belongs_to_a_release(cache: Path) -> None:
    installed(cache, torch="1.0.0")
    with pytest.raises(TargetError, match=r"set up for PyTorch 1\.0\.0.*again"):
        store.find_target(ARM.name)


def test_what_a_target_is_built_with_may_be_gone(cache: Path) -> None:
    path = installed(cache)
    assert store.find_target(ARM.name).glibc == (2, 36)
    assert store.targets_added() == [ARM.name]
    with pytest.raises(TargetError, match=r"without the library of backend onnxruntime.*--with onnxruntime"):
        library_of(Target(ARM.name), "onnxruntime")
    (cache / "torch").rmdir()
    with pytest.raises(TargetError, match="torch, which is gone"):
        store.find_target(ARM.name)
    path.write_text("{")
    with pytest.raises(TargetError, match="cannot be read"):
        store.find_target(ARM.name)


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match=r"install g\+\+-aarch64-linux-gnu"):
        store.add_target(ARM.name)
    with pytest.raises(TargetError, match="there is no compiler arm-g"):
        store.add_target(ARM.name, compiler="arm-g++")


def test_a_compiler_for_another_machine_is_refused() -> None:
    with pytest.raises(TargetError, match=r"compiles for .*, not for aarch64-linux-gnu"):
        store.add_target(ARM.name, compiler="g++")


def test_a_missing_emulator_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(cache)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match="install qemu-user"):
        emulator_command(ARM, store.find_target(ARM.name), None)


def test_a_processor_that_qemu_does_not_know_has_a_stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "qemu-aarch64"
    program.write_text("#!/bin/sh\necho Available CPUs: cortex-a53 cortex-a72 max\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert emulated_processor(ARM, None) == "cortex-a53"
    assert emulated_processor(ARM, "generic") == "cortex-a53"
    assert emulated_processor(ARM, "cortex-a72") == "cortex-a72"
    assert emulated_processor(ARM, "cortex-a78") == ANY == "max"


def test_a_processor_without_stand_in_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "qemu-aarch64"
    program.write_text("#!/bin/sh\necho Available CPUs: cortex-a53\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match="cannot emulate a cortex-a78"):
        emulated_processor(ARM, "cortex-a78")


def test_a_libtorch_of_another_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"is no libtorch: it has no lib/libtorch_cpu\.so"):
        libtorch_version(tmp_path, ARM)
    with pytest.raises(TargetError, match=r"is for .*, not for AArch64"):
        libtorch_version(torch_folder(), ARM)


def wheel(folder: Path, text: bytes, recorded: bytes) -> Path:
    """A package of one file, whose record tells of `recorded`."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(recorded).digest()).rstrip(b"=").decode()
    path = folder / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/lib/x.so", text)
        archive.writestr("a/other.py", b"")
        archive.writestr("a-1.dist-info/RECORD", f"a/lib/x.so,sha256={digest},{len(text)}\na/other.py,,\n")
    return path


def test_files_are_what_the_packages_record_says(tmp_path: Path) -> None:
    good = fetch.unpack(wheel(tmp_path, b"code", b"code"), lambda name: name.endswith(".so"), tmp_path / "out")
    assert [p.relative_to(tmp_path / "out").as_posix() for p in good] == ["a/lib/x.so"]
    assert good[0].read_bytes() == b"code"
    with pytest.raises(TargetError, match="is not what the package's record says"):
        fetch.unpack(wheel(tmp_path, b"evil", b"code"), lambda _: True, tmp_path / "out")


def test_binaries_tell_what_they_need(tmp_path: Path) -> None:
    library = torch_folder() / "lib" / "libtorch_cpu.so"
    elf = read_elf(library)
    assert elf.soname == "libtorch_cpu.so"
    assert "libc10.so" in elf.needed
    assert (2, 0) < elf.glibc < (3, 0)
    with pytest.raises(TargetError, match=r"needs libc10\.so, which is not there"):
        closure([library], lambda name: None if name == "libc10.so" else library)
    assert find_in([tmp_path, library.parent])("libc10.so") == library.parent / "libc10.so"
    (tmp_path / "text").write_text("text")
    with pytest.raises(TargetError, match="is no program or library"):
        read_elf(tmp_path / "text")


def test_a_folder_that_is_no_project_is_not_bundled(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="is no project of torch2cpp"):
        make_bundle(tmp_path, tmp_path / "out")


@pytest.mark.parametrize("backend", ["auto", "openvino"])
def test_backends_without_code_for_a_target_are_refused(backend: str) -> None:
    check_served(backend, Target())
    check_served("aten", Target(ARM.name))
    with pytest.raises(
        TargetError, match=f"backend {backend} has no code for aarch64-linux-gnu: .*--backend aotinductor"
    ):
        check_served(backend, Target(ARM.name))
