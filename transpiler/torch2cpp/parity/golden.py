"""Inputs and outputs recorded from Python, as the files that the emitted runner reads in `ctest`.

The names of values follow `flat.h`: `x`, `x.0`, `x.key`, `x:str`, `x:none`, `x:member`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from torch2cpp.hostir.interpret import bind_arguments
from torch2cpp.hostir.program import REQUIRED, Function, Program
from torch2cpp.hostir.pyvalues import to_internal
from torch2cpp.hostir.random_ops import is_random
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    NoneType,
    OptionalType,
    RecordType,
    ScalarType,
    SetType,
    StructType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    may_be_absent,
)
from torch2cpp.parity.run import Outcome

#: How much is recorded: cases, and bytes in all.
_MOST_CASES, _MOST_BYTES = 16, 16_000_000

_DTYPES = {"bool": torch.bool, "int": torch.int64, "float": torch.float64, "complex": torch.complex128}


def write_golden(
    folder: Path, program: Program, cases: Sequence[tuple[str, Sequence[Any], Outcome]], *, exact: bool, stateful: bool
) -> int:
    """Writes the first cases (entry, arguments, outcome) and `cases.txt`; gives the number written.

    None are written of a program that draws random numbers: the runner has no seed in common with Python.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    lines: list[str] = []
    size = 0
    if is_random(program):
        (folder / "cases.txt").write_text("random - - - -\n")
        return 0
    for i, (entry, args, outcome) in enumerate(cases[:_MOST_CASES]):
        function = variant(program, entry, args)
        inputs = flatten_arguments(function, args, program)
        size += _bytes(inputs)
        output, data = _outcome_file(function, outcome, program, f"{entry}_{i}")
        size += _bytes(data) if isinstance(data, dict) else len(data)
        # Successive calls on one instance: later ones mean nothing without the earlier.
        if size > _MOST_BYTES:
            break
        save_file(storable(inputs), folder / f"{entry}_{i}.in.safetensors")
        if isinstance(data, dict):
            save_file(storable(data), folder / output)
        else:
            (folder / output).write_text(data)
        state = "next" if stateful and i > 0 else "fresh"
        lines.append(f"{entry} {entry}_{i}.in.safetensors {output} {'exact' if exact else 'close'} {state}\n")
    (folder / "cases.txt").write_text("".join(lines))
    return len(lines)


def variant(program: Program, entry: str, args: Sequence[Any]) -> Function:
    """The function of the entry that takes these arguments."""
    names = program.variants.get(entry, (entry,))
    for name in names[:-1]:
        try:
            bind_arguments(program, program.entries[name], args, {})
        except (TypeError, ValueError):
            continue
        return program.entries[name]
    return program.entries[names[-1]]


def _outcome_file(function: Function, outcome: Outcome, program: Program, name: str) -> tuple[str, dict[str, torch.Tensor] | str]:  # noqa: E501 # fmt: skip
    if outcome.raised:
        return f"{name}.error.txt", f"{outcome.raised}: {outcome.message}"
    out: dict[str, torch.Tensor] = {}
    flatten_value(outcome.value, function.result, "out", program, out)
    return f"{name}.out.safetensors", out


def flatten_arguments(function: Function, args: Sequence[Any], program: Program) -> dict[str, torch.Tensor]:
    """The arguments of an entry as named tensors; those left to their defaults are left out."""
    out: dict[str, torch.Tensor] = {}
    for i, param in enumerate(function.params):
        if param.value is None or i >= len(args) or args[i] is REQUIRED:
            continue
        flatten_value(args[i], param.value.type, param.name, program, out)
    return out


def flatten_value(value: Any, t: Type, name: str, program: Program, out: dict[str, torch.Tensor]) -> None:
    """One nested value as named tensors."""
    if hasattr(value, "_value_") and hasattr(value, "_name_"):
        value = value.value
    match t:
        case OptionalType() if value is not None:
            flatten_value(value, t.elem, name, program, out)
        case OptionalType() | NoneType():
            out[f"{name}:none"] = torch.tensor(True)
        case TensorType():
            out[name] = torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
        case ScalarType(kind="str"):
            out[f"{name}:str"] = torch.tensor(list(value.encode()), dtype=torch.uint8)
        case ScalarType():
            out[name] = torch.tensor(value, dtype=_DTYPES[t.kind])
        case ListType():
            for i, item in enumerate(value):
                flatten_value(item, t.elem, f"{name}.{i}", program, out)
        case SetType():
            for i, item in enumerate(sorted(value)):
                flatten_value(item, t.elem, f"{name}.{i}", program, out)
        case TupleType():
            for i, (item, elem) in enumerate(zip(value, t.elems)):
                flatten_value(item, elem, f"{name}.{i}", program, out)
        case DictType():
            _flatten_dict(value, t, name, program, out)
        case RecordType():
            for key, field in t.fields:
                if not may_be_absent(field) or key in value:
                    flatten_value(_member(value, key), field, f"{name}.{key}", program, out)
        case StructType():
            for key, field in program.structs[t].fields.items():
                if not may_be_absent(field) or (key in value if isinstance(value, dict) else hasattr(value, key)):
                    flatten_value(_member(value, key), field, f"{name}.{key}", program, out)
        case UnionType():
            index = _member_index(value, t, program)
            out[f"{name}:member"] = torch.tensor(index)
            flatten_value(value, t.members[index], name, program, out)


def _flatten_dict(
    value: dict[Any, Any], t: DictType, name: str, program: Program, out: dict[str, torch.Tensor]
) -> None:
    by_name = t.key == ScalarType("str")
    for i, (key, item) in enumerate(value.items()):
        if by_name:
            flatten_value(item, t.value, f"{name}.{key}", program, out)
        else:
            flatten_value(key, t.key, f"{name}.{i}.key", program, out)
            flatten_value(item, t.value, f"{name}.{i}.value", program, out)


def _member(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value[key]
    if dataclasses.is_dataclass(value) or hasattr(value, key):
        return getattr(value, key)
    raise TypeError(f"{type(value).__name__} has no {key}")


def _member_index(value: Any, t: UnionType, program: Program) -> int:
    for i, member in enumerate(t.members):
        try:
            to_internal(value, member, "result", program.structs, {})
        except (TypeError, ValueError):
            continue
        return i
    raise TypeError(f"{value!r} is no member of {t}")


def storable(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors in the order of their names, each with memory of its own, as safetensors wants them."""
    return {name: t.detach().clone().contiguous() for name, t in sorted(tensors.items())}


def _bytes(tensors: dict[str, torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors.values())
