"""Libraries of a target out of Python's packages: downloaded by pip for that platform, checked, unpacked in part."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch2cpp.toolchain.targets.elf import Glibc
from torch2cpp.toolchain.targets.target import Architecture, TargetError

#: The oldest glibc that packages are built for.
_OLDEST = 17


def platforms(architecture: Architecture, glibc: Glibc) -> list[str]:
    """Platform tags of packages that run where that glibc is, the newest first.

    >>> from torch2cpp.toolchain.targets.target import ARCHITECTURES
    >>> platforms(ARCHITECTURES["aarch64-linux-gnu"], (2, 18))
    ['manylinux_2_18_aarch64', 'manylinux_2_17_aarch64', 'manylinux2014_aarch64']
    """
    major, minor = glibc
    tags = [f"manylinux_{major}_{n}_{architecture.wheels}" for n in range(minor, _OLDEST - 1, -1)]
    return [*tags, f"manylinux2014_{architecture.wheels}"]


@contextmanager
def downloaded(requirement: str, tags: Sequence[str]) -> Iterator[Path]:
    """The wheel of a requirement for the platforms, in a folder that goes away. Raises TargetError."""
    with tempfile.TemporaryDirectory(prefix="torch2cpp_wheel_") as folder:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", version, "--dest", folder]
        command += [word for tag in tags for word in ("--platform", tag)]
        done = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
        found = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or len(found) != 1:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise TargetError(
                f"pip could not fetch {requirement} for {tags[0]}: {said[-1] if said else 'it said nothing'}\n"
                "  help: see that `python -m pip download` works here; or give the folder that has it"
            )
        yield found[0]


def unpack(wheel: Path, wanted: Callable[[str], bool], folder: Path) -> list[Path]:
    """The wanted files of a wheel below `folder`; what the wheel's record says of each is checked.

    Raises TargetError for a file that is not what the record says.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = csv.reader(io.StringIO(archive.read(record).decode()))
        digests = {row[0]: row[1].removeprefix("sha256=") for row in rows if row and row[1]}
        out = []
        for name in names:
            if name.endswith("/") or not wanted(name):
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
            if name in digests and _digest(target) != digests[name]:
                raise TargetError(f"{wheel.name}: {name} is not what the package's record says; fetch it again")
            out.append(target)
    return out


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        raw = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
