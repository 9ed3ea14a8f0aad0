"""A compiler launcher that keeps objects by content: what was compiled before is copied.

    python -S -E launcher.py CACHE ROOT g++ -O2 -o x.o -c x.cpp

An object is found by the text of its source and the flags, with the project's folder ROOT taken out
of them, and by the content of all headers it included (outside of ROOT: their size and time). A
launcher of the user's, which CMake takes from the environment (CMAKE_CXX_COMPILER_LAUNCHER), runs behind this one. This
file is run on its own for every source, so it imports little and nothing of the package.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Options with a value that names an output: they do not change the object.
_OUTPUTS = ("-o", "-MF", "-MT", "-MQ")


def main(argv: list[str]) -> int:
    """Runs the compiler, or copies what it made before; gives its exit code."""
    cache, root, command = argv[1], argv[2].rstrip("/"), argv[3:]
    source, outputs = _parse(command)
    if source is None or "-o" not in outputs or "-MF" not in outputs:
        return subprocess.call([*_further(), *command])
    folder = os.path.join(cache, "objects", _key(command, source, root))
    for entry in _entries(folder):
        if all(_stamp(path.replace("$ROOT", root)) == stamp for path, stamp in entry["headers"]):
            with contextlib.suppress(OSError):
                _restore(folder, entry, outputs, root)
                return 0
    code = subprocess.call([*_further(), *command])
    if code == 0:
        with contextlib.suppress(OSError):
            _keep(folder, outputs, root)
    return code


def _further() -> list[str]:
    """The user's own launcher, such as ccache or sccache with its machines: it compiles what is not here."""
    return [word for word in os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split(";") if word]


def _parse(command: list[str]) -> "tuple[str | None, dict[str, str]]":
    outputs: dict[str, str] = {}
    source = None
    for i, word in enumerate(command[:-1]):
        if word in _OUTPUTS:
            outputs[word] = command[i + 1]
        if word == "-c":
            source = command[i + 1]
    return source, outputs


def _key(command: list[str], source: str, root: str) -> str:
    words = []
    skip = False
    for word in command[1:]:
        if not skip and word not in _OUTPUTS and word != source:
            # What a definition says gets into the object; where a header lies does not.
            words.append(word if word.startswith("-D") else word.replace(root, "$ROOT"))
        skip = word in _OUTPUTS
    digest = hashlib.sha256("\0".join([_compiler(command[0]), *words]).encode())
    with open(source, "rb") as file:
        # CMake's unity sources name what they include by its whole path.
        digest.update(file.read().replace(root.encode(), b"$ROOT"))
    # A quoted include is looked up beside the source first.
    digest.update(os.path.dirname(source).replace(root, "$ROOT").encode())
    return digest.hexdigest()


def _compiler(path: str) -> str:
    found = os.path.realpath(path)
    with contextlib.suppress(OSError):
        info = os.stat(found)
        return f"{found} {info.st_size} {int(info.st_mtime)}"
    return found


def _entries(folder: str) -> "list[dict[str, Any]]":
    entries = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json"):
                with open(os.path.join(folder, name)) as file:
                    entries.append(json.load(file))
    return entries


def _stamp(path: str) -> str:
    """What tells a header's content: its hash inside the project, size and time outside."""
    try:
        if path.startswith(("/usr/", "/opt/")) or "/site-packages/" in path:
            info = os.stat(path)
            return f"{info.st_size} {info.st_mtime_ns}"
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return "missing"


def _restore(folder: str, entry: "dict[str, Any]", outputs: dict[str, str], root: str) -> None:
    name = os.path.join(folder, entry["object"])
    temporary = outputs["-o"] + ".part"
    with contextlib.suppress(OSError):
        os.unlink(temporary)
    with open(name, "rb") as source, open(temporary, "wb") as target:
        target.write(source.read())
    with open(outputs["-MF"], "w") as file:
        headers = " ".join(path.replace("$ROOT", root).replace(" ", "\\ ") for path, _ in entry["headers"])
        file.write(f"{outputs.get('-MT', outputs['-o'])}: {headers}\n")
    os.replace(temporary, outputs["-o"])


def _keep(folder: str, outputs: dict[str, str], root: str) -> None:
    with open(outputs["-MF"]) as file:
        words = file.read().replace("\\\n", " ").replace("\\ ", "\0").split()
    paths = [os.path.abspath(w.replace("\0", " ")) for w in words if not w.endswith(":")]
    headers = [[path.replace(root, "$ROOT"), _stamp(path)] for path in dict.fromkeys(paths)]
    name = hashlib.sha256(json.dumps(headers).encode()).hexdigest()[:24]
    os.makedirs(folder, exist_ok=True)
    with open(outputs["-o"], "rb") as source:
        _put(folder, f"{name}.o", source.read())
    # The entry last: it may only name an object that is there.
    _put(folder, f"{name}.json", json.dumps({"object": f"{name}.o", "headers": headers}).encode())


def _put(folder: str, name: str, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(temporary, os.path.join(folder, name))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
