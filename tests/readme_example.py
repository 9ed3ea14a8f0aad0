"""The README's model and the C++ and the refusal that it shows, which come from real runs.

python tests/readme_example.py      writes both into README.md afresh
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from model_files import ROOT
from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Refused
from torch2cpp.model_file import ModelFile, load_model_file
from torch2cpp.options import Options
from torch2cpp.pipeline import transpile

README = ROOT / "README.md"
REFUSED = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        seen = set(x.tolist())
        return [i * 2 for i in seen]
"""


def blocks(language: str) -> list[str]:
    """The README's code blocks of a language ("" for none), in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def model_file(folder: Path) -> ModelFile:
    """The README's model, as a file in `folder`."""
    path = folder / "halting.py"
    path.write_text(blocks("python")[0])
    return load_model_file(str(path))


def emitted_forward(folder: Path) -> str:
    """The C++ that the README's model becomes: its entry."""
    file = model_file(folder)
    options = Options(name=file.name, backend="aten", out=folder / "out")
    transpile(file.make_model(), file.make_inputs(), options)
    host = (folder / "out" / "src" / "halting.cpp").read_text()
    found = re.search(r"^// forward.*?^}\n", host, re.MULTILINE | re.DOTALL)
    assert found is not None, host
    return found.group()


def refusal(folder: Path) -> str:
    """What is said about a program that cannot be transpiled."""
    path = folder / "mixed.py"
    path.write_text(REFUSED + "\n\ndef make_model():\n    return Model()\n\n\ndef make_inputs():\n    return []\n")
    file = load_model_file(str(path))
    import torch

    try:
        bind(file.make_model(), [(torch.ones(3, 2),), (torch.ones(4, 2),)])
    except Refused as error:
        return str(error).replace(f"{folder}/", "") + "\n"
    raise AssertionError("the README's refused program is accepted")


def replaced(text: str, language: str, number: int, content: str) -> str:
    """The text with the content of its code block `number` of a language replaced."""
    found = [m for m in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if m[1] == language]
    block = found[number]
    return text[: block.start(2)] + content + text[block.end(2) :]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        text = replaced(README.read_text(), "cpp", 0, emitted_forward(Path(name)))
        README.write_text(replaced(text, "", -1, refusal(Path(name))))
