"""docs/limitations.md: every snippet called refused is refused with its code, every other one is right."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from like_python import assert_like_python, assert_refused

PAGE = Path(__file__).parents[1] / "docs" / "limitations.md"


def _entries() -> list[tuple[str, str, str]]:
    """(code, refused snippet, accepted snippet) of each entry."""
    out = []
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        code = section.split(":")[0]
        snippets = re.findall(r"```python\n(.*?)```", section, flags=re.S)
        assert len(snippets) == 2, f"{code}: one refused and one accepted snippet"
        out.append((code, *snippets))
    return out


def _load(text: str, folder: Path, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(f"import torch\n\n{text}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checked_distributions() -> Iterator[None]:
    """Distributions check their arguments: the first use of torch.compile in a process ends that for all of them."""
    before = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(True)
    yield
    torch.distributions.Distribution.set_default_validate_args(before)


@pytest.mark.usefixtures("checked_distributions")
@pytest.mark.parametrize(("code", "refused", "accepted"), _entries(), ids=[e[0] for e in _entries()])
def test_refused_and_accepted(code: str, refused: str, accepted: str, tmp_path: Path) -> None:
    no = _load(refused, tmp_path, f"refused_{code}")
    assert_refused(no.f, code, *no.inputs)
    yes = _load(accepted, tmp_path, f"accepted_{code}")
    assert_like_python(yes.f, *yes.inputs)
