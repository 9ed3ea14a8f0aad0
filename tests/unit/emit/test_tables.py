"""Containers of constants that are only looked up in are made once, equal ones together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from torch2cpp.diagnostics import Refused
from torch2cpp.project import transpile


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stoi = {f"w{i}": i for i in range(40)}
        self.itos = [f"w{i}" for i in range(40)]

    def forward(self, x: Tensor, text: str) -> tuple[list[int], list[str], bool, list[str]]:
        ids = [self.stoi.get(w, 0) for w in text.split()]
        more = [self.stoi[w] for w in text.split() if w in self.stoi]
        mine = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"]
        mine.append(text)  # its own in each call
        return ids + more, [self.itos[i] for i in ids], text in self.stoi, mine


def test_tables_are_made_once(tmp_path: Path) -> None:
    inputs = [(torch.ones(1), "w1 w39 zz"), (torch.ones(1), "w2")]
    transpile(Words(), inputs, backend="aten", out=tmp_path / "words", name="words")
    source = (tmp_path / "words/src/words.cpp").read_text()
    made = re.findall(r"^const (\S.*)& (\w+)\(\) \{$", source, re.MULTILINE)
    assert made == [
        ("py::Dict<std::string, int64_t>", "stoi_table"),
        ("py::Set<std::string>", "stoi_table_2"),
        ("py::List<std::string>", "itos_table"),
    ]
    assert source.count('"w39"') == 3
    # What is changed is made where it is used.
    assert '"l", "m", text' in source


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = {f"w{i}": i if i % 2 else str(i) for i in range(200)}

    def forward(self, x: Tensor, text: str) -> object:
        return self.table[text]


def test_many_entries_of_several_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="a dict looks among 200 known values of several types"):
        transpile(Mixed(), [(torch.ones(1), "w1")], backend="aten", out=tmp_path / "mixed")
