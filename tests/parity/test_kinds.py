"""Every kind of value goes from Python to C++ and back, through the module and through files."""

from __future__ import annotations

from collections import deque, namedtuple
from dataclasses import make_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from emitted import compiled_by_aten
from ir_builder import Builder, tensor
from torch2cpp.emit.write_project import write_project
from torch2cpp.hostir.program import Function, Program, Struct
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    STR,
    DictType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)
from torch2cpp.parity.compare import compare
from torch2cpp.parity.golden import write_golden
from torch2cpp.parity.run import Outcome
from torch2cpp.project import load_module
from torch2cpp.toolchain.build import Built, build

Pair = namedtuple("Pair", "left right")
Node = make_dataclass("Node", ["label", "next"])
NODE = StructType("Node")
ROW = tensor(None, 2)
NAN = float("nan")

#: Type and values; each becomes an entry that gives back what it is given.
CASES: list[tuple[Type, list[Any]]] = [
    (ROW, [torch.randn(3, 2), torch.zeros(0, 2)]),
    (tensor(dtype=torch.bfloat16), [torch.tensor(1.5, dtype=torch.bfloat16)]),
    (BOOL, [True, False]),
    (INT, [-3, 2**62]),
    (FLOAT, [0.1, NAN, float("-inf"), -0.0]),
    (STR, ["", "héé\n\0x"]),
    (ScalarType("complex"), [1 - 2j]),
    (OptionalType(ROW), [None, torch.ones(1, 2)]),
    (ListType(OptionalType(INT)), [[], [1, None, 3]]),
    (ListType(FLOAT, "deque"), [deque([1.0, 2.0])]),
    (ListType(INT, "tuple"), [(), (1, 2, 3)]),
    (TupleType((INT, TupleType((STR, ROW), "list"))), [(1, ["a", torch.ones(2, 2)])]),
    (TupleType(()), [()]),
    (DictType(STR, ListType(INT)), [{}, {"b": [1], "a": []}]),
    (DictType(TupleType((INT, BOOL)), FLOAT), [{(2, True): 0.5, (1, False): 1.5}]),
    (SetType(INT), [set(), {3, 1}]),
    (RecordType("dict", "Output", (("boxes", ROW), ("n", INT))), [{"boxes": torch.ones(1, 2), "n": 1}]),
    (RecordType("namedtuple", "Pair", (("left", INT), ("right", OptionalType(STR)))), [Pair(1, None), Pair(2, "x")]),
    (RecordType("object", "Box", (("corner", FLOAT),)), [make_dataclass("Box", ["corner"])(2.5)]),
    (UnionType((INT, STR, ListType(INT))), [1, "one", [1, 1]]),
    (OptionalType(UnionType((ROW, BOOL))), [None, True, torch.ones(2, 2)]),
    (NODE, [Node("a", Node("b", None))]),
]


def echo_program() -> Program:
    entries: dict[str, Function] = {}
    whole = None
    for i, (type_, _) in enumerate(CASES):
        b = Builder(f"echo_{i}")
        b.return_(b.param("x", type_))
        whole = b.program(type_)
        entries |= whole.entries
    assert whole is not None
    structs = {NODE: Struct("Node", {"label": STR, "next": OptionalType(NODE)})}
    return replace(whole, name="echo", class_name="Echo", entries=entries, structs=structs)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    program = echo_program()
    folder = tmp_path_factory.mktemp("kinds") / "echo"
    write_project(program, compiled_by_aten(program), folder, "kinds")
    return build(folder, "echo", python=True, warnings=True)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_python_gets_back_what_it_gave(built: Built, case: int):
    echo = getattr(load_module("echo", built.module).Echo(), f"echo_{case}")
    for value in CASES[case][1]:
        found = compare(value, echo(value), exact=True)
        assert found.differences == []


def test_tensors_are_the_same_object(built: Built):
    x = torch.randn(3, 2)
    assert load_module("echo", built.module).Echo().echo_0(x) is x


@pytest.mark.parametrize(
    ("case", "value", "said"),
    [
        (0, [1.0], "x: expected a tensor, got list"),
        (3, 1.5, "x: expected int, got float"),
        (8, [1, "a"], r"x\[1\]: expected int, got str"),
        (11, (1,), "x: expected 2 values, got tuple"),
        (13, {"a": 3}, r"x\['a'\]: expected a list, got int"),
        (16, {"boxes": torch.ones(1, 2)}, "x: dict lacks n"),
        (19, None, "x: expected another type, got NoneType"),
    ],
)
def test_what_does_not_fit_is_named(built: Built, case: int, value: object, said: str):
    with pytest.raises(TypeError, match=said):
        getattr(load_module("echo", built.module).Echo(), f"echo_{case}")(value)


def test_an_int_beyond_64_bits_is_refused(built: Built):
    with pytest.raises(OverflowError):
        load_module("echo", built.module).Echo().echo_3(2**63)


def test_values_go_through_files(built: Built, tmp_path: Path):
    import subprocess

    cases = [
        (f"echo_{i}", (value,), Outcome(value))
        for i, (_, values) in enumerate(CASES)
        for value in values
        # The format of the files has no complex numbers of double precision.
        if not isinstance(value, complex)
    ]
    assert len(cases) > 16
    program = echo_program()
    for start in range(0, len(cases), 16):
        part = cases[start : start + 16]
        write_golden(tmp_path / "golden", program, part, exact=True, stateful=False)
        done = subprocess.run(
            [built.runner, "--golden", tmp_path / "golden"], capture_output=True, text=True, check=False
        )
        assert f"{len(part)} of {len(part)} as recorded" in done.stdout, done.stdout + done.stderr
