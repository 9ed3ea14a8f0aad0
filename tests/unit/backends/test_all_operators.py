"""Every ATen operator: its C++ call compiles and reaches the overload that eager calls.

Overload resolution is the compiler's business, so the proof is read off the object code: the
function made for a call must call `at::_ops::<overload>::call` and nothing else of that kind.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

from torch2cpp.backends.aten.calls import call
from torch2cpp.backends.aten.expressions import Unspellable
from torch2cpp.backends.aten.signatures import dispatch, include_root
from torch2cpp.emit.environment import shipped
from torch2cpp.hostir.ops import TensorOp, Value
from torch2cpp.hostir.types import BOOL, FLOAT, INT, ListType, TensorType
from torch2cpp.spans import NOWHERE
from torch2cpp.toolchain.tools import compiler

X = Value(1, TensorType(torch.float32, (None,)), "x", NOWHERE)
N, F, B = (Value(i, t, name, NOWHERE) for i, t, name in ((2, INT, "n"), (3, FLOAT, "f"), (4, BOOL, "b")))
XS = Value(5, ListType(X.type), "xs", NOWHERE)
SIGNATURE = "const at::Tensor& x, int64_t n, double f, bool b, const Tensors& xs"
#: Four values per schema type: constants, run-time values, and what else may stand there.
VALUES: dict[str, tuple[Any, Any, Any, Any]] = {
    "Tensor": (X, X, X, 2.5),
    "List[Tensor]": ([X, X], [X], XS, []),
    "List[Optional[Tensor]]": ([None, X],) * 4,
    "number": (2, F, 1.5, True),
    "int": (1, N, -1, 2**40),
    "float": (0.5, F, float("inf"), 2),
    "bool": (True, B, False, False),
    "str": ("mean",) * 4,
    "ScalarType": (torch.float32,) * 4,
    "Device": (torch.device("cpu"),) * 4,
    "Layout": (torch.strided,) * 4,
    "MemoryFormat": (torch.channels_last,) * 4,
    "List[int]": ([1, N], [0, 0], [3], []),
    "List[float]": ([1.0, 2],) * 4,
    "List[number]": ([1, 2.0],) * 4,
    "Generator": (None,) * 4,
}


def _operand(argument: Any, variant: int) -> Any:
    kind = str(argument.type)
    if kind.startswith("Optional["):
        if variant == 1:
            return None
        kind = kind[9:-1]
    if kind == "List[bool]":
        return [True] * (argument.N or 2)
    return VALUES[kind][variant]


def _calls() -> list[tuple[str, str, str]]:
    """(name of the dispatch entry, call, header) for every operator and variant that can be spelled."""
    out = []
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        base, _, overload = name.removeprefix("aten::").partition(".")
        entry = dispatch(base, overload) if name.startswith("aten::") else None
        packet = getattr(torch.ops.aten, base, None) if entry is not None else None
        op = getattr(packet, overload or "default", None)
        if entry is None or op is None:
            continue
        for variant in range(4):
            args, kwargs = [], {}
            try:
                for argument in op._schema.arguments:
                    if variant == 0 and argument.has_default_value():
                        continue
                    if argument.kwarg_only:
                        kwargs[argument.name] = _operand(argument, variant)
                    else:
                        args.append(_operand(argument, variant))
                made = call(TensorOp((), op, tuple(args), kwargs, NOWHERE), lambda v: v.name)
            except (Unspellable, KeyError):
                continue
            out.append((entry.name, made.text, made.header))
    return out


@pytest.mark.slow
def test_every_call_reaches_its_overload(tmp_path: Path) -> None:
    calls = _calls()
    assert len(calls) > 10_000
    headers = sorted({header for _, _, header in calls if header})
    lines = [f"#include <ATen/ops/{header}>" for header in headers]
    lines += ['#include "aten/aten_border.h"', "using namespace torch2cpp::aten;"]
    lines += [f"void call_{i}({SIGNATURE}) {{ static_cast<void>({text}); }}" for i, (_, text, _) in enumerate(calls)]
    (tmp_path / "all.cpp").write_text("\n".join(lines) + "\n")
    includes = [f"-I{shipped('templates')}", f"-I{shipped('runtime_cpp') / 'include'}", f"-isystem{include_root()}"]
    # Identical functions stay apart, and calls stay calls.
    options = ["-std=c++20", "-O1", "-fno-ipa-icf", "-w", *includes]
    command = [compiler(), *options, "-c", "all.cpp", "-o", "all.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    reached = _reached(tmp_path / "all.o")
    wrong = [
        f"{text}: {reached[i]} instead of {want}" for i, (want, text, _) in enumerate(calls) if reached[i] - {want}
    ]
    assert wrong == []
    # A constant that no conversion can hold, as infinity for an int, may leave nothing of a call.
    assert sum(not reached[i] for i in range(len(calls))) < len(calls) // 100


def _reached(obj: Path) -> dict[int, set[str]]:
    text = subprocess.run(["objdump", "-drC", obj], capture_output=True, text=True, check=True).stdout
    reached: dict[int, set[str]] = defaultdict(set)
    current: int | None = None
    for line in text.splitlines():
        if line.endswith(">:"):
            head = re.search(r"<call_(\d+)\(", line)
            current = int(head[1]) if head else None
        elif current is not None and (found := re.search(r"\bat::_ops::(\w+)::call\(", line)):
            reached[current].add(found[1])
    return reached
