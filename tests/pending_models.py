"""Lists of models that do not work yet: explicit, with reasons, and exact.

python tests/pending_models.py [FOLDER ...]     writes each folder's pending.txt afresh
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HEADER = """\
# Models of this folder that the reference interpreter does not run as Python does yet, with the reason.
# One that works but stands here fails its test; `python tests/pending_models.py` writes the list afresh.
"""


def pending(file: Path) -> dict[str, str]:
    """Model name -> reason, from a list with one `name: reason` per line; `#` starts a comment."""
    entries = {}
    for line in file.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(":")
            assert reason.strip(), f"{file.name}: {name} has no reason"
            entries[name.strip()] = reason.strip()
    return entries


def parameters(folder: Path) -> list[object]:
    """One pytest parameter per model of `folder`/models; a pending one must fail, so that the list can only shrink."""
    models = sorted((folder / "models").glob("*.py"))
    reasons = pending(folder / "pending.txt")
    unknown = set(reasons) - {path.stem for path in models}
    assert not unknown, f"pending.txt of {folder.name} names models that do not exist: {sorted(unknown)}"
    return [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.xfail(strict=True, reason=reasons[path.stem])] if path.stem in reasons else [],
        )
        for path in models
    ]


def reason_of(error: BaseException) -> str:
    """One short line: kind, message, and the place where a message has one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    text = f"{type(error).__name__}: {lines[0]}".replace("\n", " ")
    return text.replace(str(Path.cwd()) + "/", "")[:200]


def record(folder: Path) -> None:
    """Run every model of the folder and write what failed, and why."""
    from model_files import load_model_file
    from through_interpreter import assert_same_as_python

    lines = []
    for path in sorted((folder / "models").glob("*.py")):
        try:
            assert_same_as_python(load_model_file(path))
        except Exception as error:  # whatever it is, it is the reason
            lines.append(f"{path.stem}: {reason_of(error)}\n")
            print(lines[-1], end="", flush=True)
        else:
            print(f"{path.stem} works", flush=True)
    (folder / "pending.txt").write_text(HEADER + "".join(lines))


if __name__ == "__main__":
    here = Path(__file__).parent
    for each in [Path(arg) for arg in sys.argv[1:]] or [here / "corpus", here / "models_of_users"]:
        record(each)
