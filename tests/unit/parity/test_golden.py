"""Recorded cases: nested values as named tensors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ir_builder import Builder, tensor
from torch2cpp.hostir.types import (
    FLOAT,
    INT,
    NONE,
    STR,
    DictType,
    ListType,
    OptionalType,
    RecordType,
    SetType,
    TupleType,
    Type,
    UnionType,
)
from torch2cpp.parity.golden import flatten_value, write_golden
from torch2cpp.parity.run import Outcome


def empty_program():
    b = Builder()
    b.return_(None)
    return b.program(NONE)


@pytest.mark.parametrize(
    ("value", "type_", "names"),
    [
        (torch.ones(2), tensor(None), ["x"]),
        (3, INT, ["x"]),
        ("é", STR, ["x:str"]),
        (None, OptionalType(INT), ["x:none"]),
        ((1, [2.0, None]), TupleType((INT, TupleType((FLOAT, NONE), "list"))), ["x.0", "x.1.0", "x.1.1:none"]),
        ([1, 2], ListType(INT), ["x.0", "x.1"]),
        ({"a": 1}, DictType(STR, INT), ["x.a"]),
        ({(1, 2): 3}, DictType(TupleType((INT, INT)), INT), ["x.0.key.0", "x.0.key.1", "x.0.value"]),
        ({2, 1}, SetType(INT), ["x.0", "x.1"]),
        ({"n": 1}, RecordType("dict", "Out", (("n", INT),)), ["x.n"]),
        ({"n": 1}, RecordType("dict", "", (("n", INT), ("m", OptionalType(INT, absent=True)))), ["x.n"]),
        ("s", UnionType((INT, STR)), ["x:member", "x:str"]),
    ],
)
def test_names(value: object, type_: Type, names: list[str]):
    out: dict[str, torch.Tensor] = {}
    flatten_value(value, type_, "x", empty_program(), out)
    assert list(out) == names


def test_cases_are_listed_with_their_files(tmp_path: Path):
    b = Builder()
    x = b.param("x", tensor(None))
    b.return_(x)
    cases = [
        ("forward", (torch.ones(2),), Outcome(torch.ones(2))),
        ("forward", (torch.ones(1),), Outcome(raised="E", message="no")),
    ]
    assert write_golden(tmp_path, b.program(tensor(None)), cases, exact=True, stateful=True) == 2
    assert (tmp_path / "cases.txt").read_text().splitlines() == [
        "forward forward_0.in.safetensors forward_0.out.safetensors exact fresh",
        "forward forward_1.in.safetensors forward_1.error.txt exact next",
    ]
    assert load_file(tmp_path / "forward_0.out.safetensors")["out"].tolist() == [1, 1]
    assert (tmp_path / "forward_1.error.txt").read_text() == "E: no"
