"""What a binary says of itself: its machine, the libraries it needs, the glibc it needs. Read by `readelf`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from torch2cpp.toolchain.targets.target import TargetError
from torch2cpp.toolchain.tools import find_tool

#: Libraries that are part of the C library, hence of the machine: they are never carried along.
_OF_GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|anl|mvec|nsl)\.so\.\d+)$")
#: Major and minor number of a glibc release.
Glibc = tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Elf:
    """A program or a shared library."""

    machine: str
    #: The name that programs ask the loader for; empty for programs.
    soname: str
    #: Libraries it asks for, by their sonames.
    needed: tuple[str, ...]
    #: Folders where it looks for them.
    runpath: tuple[str, ...]
    #: The newest glibc whose functions it uses; (0, 0) for none.
    glibc: Glibc
    #: The newest glibc whose functions it has: that of a libc itself.
    defines: Glibc


def read_elf(path: Path) -> Elf:
    """The dynamic section of an ELF file. Raises TargetError for what is none."""
    command = [find_tool("readelf", "install binutils"), "-W", "-h", "-d", "-V", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"})
    machine = re.search(r"^\s*Machine:\s*(.+?)\s*$", done.stdout, re.MULTILINE)
    if machine is None:
        raise TargetError(f"{path} is no program or library")
    text = done.stdout
    paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text)
    defined, _, needed = text.partition("Version needs section")
    own = re.search(r"\(SONAME\).*\[(.*)\]", text)
    return Elf(
        machine[1],
        own[1] if own else "",
        tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", text)),
        tuple(part for each in paths for part in each.split(":") if part),
        _newest(needed),
        _newest(defined),
    )


def _newest(text: str) -> Glibc:
    found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)
    return max(((int(major), int(minor)) for major, minor in found), default=(0, 0))


def of_glibc(soname: str) -> bool:
    """Whether the machine itself has the library.

    >>> [of_glibc(name) for name in ("libm.so.6", "ld-linux-aarch64.so.1", "libstdc++.so.6", "libgomp.so.1")]
    [True, True, False, False]
    """
    return _OF_GLIBC.match(soname) is not None


def closure(start: Iterable[Path], find: Callable[[str], Path | None]) -> dict[str, Path]:
    """The libraries that programs need, and those that these need, by soname, without glibc's own.

    `find` says where a library is. Raises TargetError for one that is nowhere.
    """
    found: dict[str, Path] = {}
    todo = list(start)
    while todo:
        path = todo.pop()
        for name in read_elf(path).needed:
            if of_glibc(name) or name in found:
                continue
            place = find(name)
            if place is None:
                raise TargetError(f"{path.name} needs {name}, which is not there")
            found[name] = place
            todo.append(place)
    return found


def find_in(folders: Iterable[Path]) -> Callable[[str], Path | None]:
    """Looks a library up in folders, in order."""
    known = list(folders)

    def find(name: str) -> Path | None:
        return next((folder / name for folder in known if (folder / name).exists()), None)

    return find
