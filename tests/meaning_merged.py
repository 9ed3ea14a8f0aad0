"""The small programs of `tests/meaning` as entries of few models, so that few C++ builds cover them all."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from meaning_cases import HEADER, METHOD, Case

_MODEL = """

class Merged(nn.Module):
    def __init__(self):
        super().__init__()
{made}

{methods}


def make_model():
    return Merged().eval()


def make_inputs():
    return {{entry: inputs() for entry in ENTRIES}}


def inputs():
    g = torch.Generator().manual_seed(0)
    sizes = [(4, None), (2, 5), (5, 0), (1, 1), (3, 2)]
    return [(torch.randn(rows, 3, generator=g) * (1 + rows % 3), *([] if n is None else [n])) for rows, n in sizes]


ENTRIES = {entries!r}
STATEFUL = True
"""


def merged(cases: Sequence[Case], path: Path) -> Path:
    """Writes a model file with one entry `case_NAME` per program; classes of each get names of their own."""
    texts = [_renamed(case) for case in cases]
    made = "\n".join(f"        self.m_{c.name} = M_{c.name}()" for c in cases)
    methods = "\n\n".join(f"    def case_{c.name}(self, x, n=3):\n        return self.m_{c.name}(x, n)" for c in cases)
    entries = [f"case_{c.name}" for c in cases]
    path.write_text(HEADER + "\n\n".join(texts) + _MODEL.format(made=made, methods=methods, entries=entries))
    return path


def _renamed(case: Case) -> str:
    is_class = re.search(r"^class M\(", case.text, re.MULTILINE)
    text = case.text if is_class else METHOD + textwrap.indent(case.text, " " * 8)
    for name in re.findall(r"^class (\w+)", text, re.MULTILINE):
        text = re.sub(rf"\b{name}\b", f"{name}_{case.name}", text)
    return text
