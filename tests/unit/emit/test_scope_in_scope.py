"""A scope whose result is that of a scope inside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch2cpp.project import transpile


def pick(n: int) -> list[str]:
    out = []
    match (n, "a"):
        case (0, _):
            out.append("none")
        case (3, s):
            out.append(s)
        case [a, b]:
            out.append(f"{a}{b}")
    return out


@pytest.fixture
def source(tmp_path: Path) -> str:
    transpile(pick, [(0,), (3,), (5,)], entries=["pick"], backend="aten", out=tmp_path / "out")
    return "\n".join(p.read_text() for p in (tmp_path / "out" / "src").glob("*.cpp"))


def test_the_variable_is_not_used_in_its_own_initialiser(source: str) -> None:
    lines = source.splitlines()
    defined = [line for line in lines if "= [&]() -> std::string {" in line and line.strip().startswith("std::string ")]
    for line in defined:
        name = line.split()[1]
        rest = lines[lines.index(line) + 1 :]
        assert not any(other.strip().startswith(f"{name} = ") for other in rest), source
