"""What compiled code relies on, as text for the region's class (templates/regions/guards.j2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from torch2cpp.backends.exported.shapes import Requirements
from torch2cpp.backends.exported.suitable import DTYPE_NAMES
from torch2cpp.backends.interface import Interface
from torch2cpp.emit.names import Scope


@final
@dataclass(frozen=True, slots=True)
class Input:
    """A tensor parameter in the class's call operator."""

    name: str
    sizes_name: str
    dtype: str
    rank: int
    strides: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Guards:
    """The checks of one call: all in C++ expressions."""

    inputs: tuple[Input, ...]
    #: (symbol, where its value is read)
    symbols: tuple[tuple[str, str], ...]
    #: What must hold for the compiled code to be right.
    conditions: tuple[str, ...]

    @property
    def nonempty(self) -> tuple[str, ...]:
        """That there are elements at all: compiled code may divide by a size."""
        return tuple(f"{name} > 0" for name, _ in self.symbols)


def guards(view: Interface, needs: Requirements) -> Guards:
    """The checks for the parameters of `view`, which are tensors only."""
    scope = Scope({p.name for p in view.params} | {name for name, _, _ in needs.symbols} | {"in", "out", "eagerly"})
    inputs = tuple(
        Input(p.name, scope.fresh(f"{p.name}_sizes"), dtype_code(layout.dtype), len(layout.sizes), layout.strides)
        for p, layout in zip(view.params, needs.inputs, strict=True)
    )
    read = {(i, d) for _, i, d in needs.symbols}
    sizes = [
        f"{inputs[i].sizes_name}[{d}] == {size}"
        for i, layout in enumerate(needs.inputs)
        for d, size in enumerate(layout.sizes)
        if (i, d) not in read
    ]
    symbols = tuple((name, f"{inputs[i].sizes_name}[{d}]") for name, i, d in needs.symbols)
    return Guards(inputs, symbols, (*sizes, *needs.conditions))


def dtype_code(dtype: torch.dtype) -> str:
    """The C ABI's number of a dtype, as C++."""
    return f"aoti_torch_dtype_{DTYPE_NAMES[dtype]}()"
