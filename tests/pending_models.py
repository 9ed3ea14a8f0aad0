"""Lists of models that do not work yet: explicit, with reasons, and exact."""

from __future__ import annotations

from pathlib import Path

import pytest


def pending(file: Path) -> dict[str, str]:
    """Model name -> reason, from a list with one `name: reason` per line; `#` starts a comment."""
    entries = {}
    for line in file.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(":")
            assert reason.strip(), f"{file.name}: {name} has no reason"
            entries[name.strip()] = reason.strip()
    return entries


def parameters(models: list[Path], pending_file: Path) -> list[object]:
    """One pytest parameter per model; a pending one must fail, so that the list can only shrink."""
    reasons = pending(pending_file)
    unknown = set(reasons) - {path.stem for path in models}
    assert not unknown, f"{pending_file.name} names models that do not exist: {sorted(unknown)}"
    return [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.xfail(strict=True, reason=reasons[path.stem])] if path.stem in reasons else [],
        )
        for path in models
    ]
