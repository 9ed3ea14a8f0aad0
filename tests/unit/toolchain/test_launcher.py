"""The object cache: what may be copied, and what must be compiled again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torch2cpp.toolchain import launcher
from torch2cpp.toolchain.tools import compiler


class Folder:
    """A project of one source and one header, compiled through the launcher."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        (root / "src").mkdir(parents=True)
        (root / "build").mkdir()
        self.write("src/a.h", "inline int answer() { return 42; }\n")
        self.write("src/a.cpp", '#include "a.h"\nint main() { return answer(); }\n')

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)

    def compile(self, *flags: str) -> int:
        """Compiles, links and runs; gives what the program returns."""
        source = str(self.root / "src/a.cpp")
        command = [compiler(), *flags, "-MD", "-MT", "a.o", "-MF", "a.o.d", "-o", "a.o", "-c", source]
        start = [sys.executable, "-S", "-E", launcher.__file__, str(self.cache), str(self.root)]
        subprocess.run([*start, *command], cwd=self.root / "build", check=True)
        subprocess.run([compiler(), "a.o", "-o", "a"], cwd=self.root / "build", check=True)
        return subprocess.run([str(self.root / "build/a")], check=False).returncode

    def kept(self) -> int:
        """Objects in the cache."""
        return len(list(self.cache.rglob("*.o")))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "one", tmp_path / "cache")


def test_the_same_again_is_copied(folder: Folder):
    assert (folder.compile(), folder.compile(), folder.kept()) == (42, 42, 1)


def test_another_folder_with_the_same_text_shares_objects(folder: Folder, tmp_path: Path):
    folder.compile()
    other = Folder(tmp_path / "two", folder.cache)
    assert (other.compile(), other.kept()) == (42, 1)
    assert "two/src/a.h" in (other.root / "build/a.o.d").read_text()


def test_a_changed_header_is_compiled(folder: Folder):
    folder.compile()
    folder.write("src/a.h", "inline int answer() { return 43; }\n")
    assert (folder.compile(), folder.kept()) == (43, 2)
    folder.write("src/a.h", "inline int answer() { return 42; }\n")
    assert (folder.compile(), folder.kept()) == (42, 2)


def test_other_flags_are_compiled(folder: Folder):
    folder.compile()
    folder.compile("-DX")
    assert folder.kept() == 2


def test_a_definition_that_names_the_folder_is_no_longer_shared(folder: Folder, tmp_path: Path):
    folder.compile(f"-DFOLDER={folder.root}")
    other = Folder(tmp_path / "two", folder.cache)
    other.compile(f"-DFOLDER={other.root}")
    assert other.kept() == 2


def test_errors_come_through(folder: Folder):
    folder.write("src/a.cpp", "int main( {\n")
    with pytest.raises(subprocess.CalledProcessError):
        folder.compile()
    assert folder.kept() == 0


def test_the_users_own_launcher_runs_behind(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log, own = tmp_path / "log", tmp_path / "own"
    own.write_text(f'#!/bin/sh\necho "$1" "$2" >> {log}\nshift\nexec "$@"\n')
    own.chmod(0o755)
    monkeypatch.setenv("CMAKE_CXX_COMPILER_LAUNCHER", f"{own};--mine")
    assert (folder.compile(), folder.compile()) == (42, 42)
    # What was compiled before needs neither.
    assert log.read_text() == f"--mine {compiler()}\n"
