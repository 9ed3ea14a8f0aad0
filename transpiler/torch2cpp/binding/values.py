"""Abstract values: what the binding knows of a Python value while transpiling."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import libcst as cst
import torch

from torch2cpp.frontend.source import Source
from torch2cpp.hostir.ops import Value, WeightRef
from torch2cpp.hostir.types import OptionalType, ScalarType, Type
from torch2cpp.spans import Span

#: How many sample sizes every varying dimension carries (see meta.py).
WORLDS = 3


@final
@dataclass(eq=False, slots=True)
class Sym:
    """A varying size; compared by identity. `hints` are its sizes in the sample worlds."""

    hints: tuple[int, ...]
    #: Whether the hints were made up (a count decided by data), not taken from an example.
    free: bool = False
    #: Where a made-up size comes from, to remember a better hint across restarts.
    site: Any = None


Dim = int | Sym

#: Among the weights that a tensor may be a view of: any that was put into a container or field.
STORED = "*"


@final
@dataclass(frozen=True, slots=True)
class Meta:
    """What is known of a tensor."""

    dtype: torch.dtype
    dims: tuple[Dim, ...]


@final
@dataclass(frozen=True, slots=True)
class Static:
    """A Python object known while transpiling."""

    value: Any


@final
@dataclass(eq=False, slots=True)
class Host:
    """A run-time scalar."""

    type: ScalarType
    operand: Value
    #: Its value in the sample worlds, where it is known.
    hints: tuple[Any, ...] | None = None
    #: Loops over static ranges that this value follows from: unrolling those makes it static.
    loops: frozenset[Any] = frozenset()
    #: For an int that is a size: the tensor dimension it was read from.
    dim: Dim | None = None


@final
@dataclass(eq=False, slots=True)
class Tensor:
    """A run-time tensor, or a weight."""

    operand: Value | WeightRef
    meta: Meta
    #: For ints and bools that follow from the examples: real values in the sample worlds.
    shadow: tuple[torch.Tensor, ...] | None = None
    #: Names of the weights it may be a view of: writing to it makes those state.
    bases: frozenset[str] = frozenset()

    @property
    def rank(self) -> int:
        return len(self.meta.dims)


@final
@dataclass(eq=False, slots=True)
class Array:
    """A numpy array: a tensor under numpy's rules (see numpy_arrays.py)."""

    tensor: Tensor


@final
@dataclass(eq=False, slots=True)
class Tup:
    """A tuple of known length; `cls` is the NamedTuple or torch.return_types class it belongs to."""

    elems: tuple[Any, ...]
    cls: type | None = None
    #: Field names, for named tuples.
    names: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Ref:
    """A mutable object in the abstract heap."""

    id: int


@final
@dataclass(eq=False, slots=True)
class Rt:
    """A value whose structure is decided at run time: list, dict, set, struct, optional, union."""

    operand: Value
    type: Type
    #: An abstract value of the kind that is inside (element, held value): for sizes in the sample worlds.
    example: Any = None
    #: For an optional that stands for a name not assigned on every path: that name.
    unbound: str = ""


@final
@dataclass(eq=False, slots=True)
class Func:
    """A function or lambda defined inside interpreted code."""

    node: cst.FunctionDef | cst.Lambda
    source: Source
    name: str
    #: Heap id of the enclosing frame's scope, None at module level.
    scope: int | None
    globals: dict[str, Any]
    defaults: dict[str, Any]


@final
@dataclass(eq=False, slots=True)
class Bound:
    """A method or function with its first argument; `callee` is Static, Func or a handler."""

    callee: Any
    self: Any


@final
@dataclass(eq=False, slots=True)
class Native:
    """A function of the binding itself standing for a Python one."""

    name: str
    call: Callable[..., Any]


@final
@dataclass(eq=False, slots=True)
class RangeVal:
    """range(...) with a run-time bound."""

    start: Any
    stop: Any
    step: Any


@final
@dataclass(eq=False, slots=True)
class SliceVal:
    """slice(...) with a part that is not static."""

    start: Any
    stop: Any
    step: Any


@final
@dataclass(eq=False, slots=True)
class StarRest:
    """`*xs` of a list of run-time length, as the last argument of a call."""

    value: Any


@final
@dataclass(eq=False, slots=True)
class Iter:
    """An iterable built from others: enumerate, zip, reversed, map, items(), a generator expression."""

    kind: str
    parts: tuple[Any, ...]
    extra: Any = None
    #: How often it was consumed.
    uses: int = 0
    #: All its items as a list, once it was collected.
    collected: Any = None
    #: When it was made (see `Context.stamp`); 0 where it can be walked again.
    born: int = 0


@final
@dataclass(eq=False, slots=True)
class Option:
    """One of the values a choice may be."""

    #: Optional SSA value that holds it where the tag says so; None for a static option.
    slot: Value | None
    #: The static value, or a representative for sizes in the sample worlds.
    static: Any
    #: Whether the value may itself be None: the slot is then the value, whatever the tag says.
    nullable: bool = False

    @property
    def type(self) -> Type | None:
        """The type of the value; None for a static option."""
        if self.slot is None or self.nullable:
            return None if self.slot is None else self.slot.type
        assert isinstance(self.slot.type, OptionalType)
        return self.slot.type.elem


@final
@dataclass(eq=False, slots=True)
class Choice:
    """One of several values of unlike kinds; `tag` is the number of the option that is there."""

    tag: Value
    options: tuple[Option, ...]
    name: str
    #: The loop over a static range whose unrolling would make it one value.
    loop: Any = None


@final
@dataclass(frozen=True, slots=True)
class Poison:
    """What two paths left in one variable and does not join; an error only when it is read."""

    reason: str
    notes: tuple[tuple[Span, str], ...] = ()
    #: The loop, if unrolling it would help; the branch, if splitting would.
    loop: Any = None
    #: For a variable that a `try` body assigns: (the try's site, its name).
    kept: Any = None
    #: For a list, dict or object that some paths assign: the join, which is done in earnest once the variable is read.
    needed: Any = None
    #: Whether it comes from a statement that was refused: then reading it is no further problem.
    reported: bool = False


@final
@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that was never assigned (or was deleted)."""


UNBOUND = Unbound()
NONE = Static(None)

# Heap objects. Immutable: a write replaces the entry, so that branches copy the heap cheaply.


@final
@dataclass(frozen=True, slots=True)
class ScopeObj:
    """The local variables of one call."""

    names: dict[str, Any]
    parent: int | None = None


@final
@dataclass(frozen=True, slots=True)
class ListObj:
    """A list whose length is known; `site` is where it was made."""

    elems: tuple[Any, ...]
    site: Any
    kind: str = "list"


@final
@dataclass(frozen=True, slots=True)
class DictObj:
    """A dict whose keys are known (static keys)."""

    items: dict[Any, Any]
    site: Any
    #: defaultdict's factory
    factory: Any = None


@final
@dataclass(frozen=True, slots=True)
class PartialDict:
    """A dict some of whose keys are there on some paths only (see partial_dicts.py).

    Its items are in the order of insertion on every path. The values of keys that may be missing are
    those of a name that may be unbound: an optional, or a choice with `Unbound` among its options.
    """

    items: dict[Any, Any]
    site: Any
    factory: Any = None


@final
@dataclass(frozen=True, slots=True)
class InstanceObj:
    """An object of a user class whose class is known."""

    cls: type
    fields: dict[str, Any]
    site: Any


@final
@dataclass(frozen=True, slots=True)
class RtObj:
    """An object that became a run-time container: all names see this one value."""

    value: Rt
    site: Any


AbsVal = Any
HeapObj = ScopeObj | ListObj | DictObj | PartialDict | InstanceObj | RtObj

_fresh = itertools.count(1)


def fresh_id() -> int:
    """A heap id never used before."""
    return next(_fresh)


@final
@dataclass(slots=True)
class State:
    """All that differs between paths: the heap, attributes written, what is known of optionals."""

    heap: dict[Any, Any] = field(default_factory=dict)
    #: Value of an optional -> what it holds on this path; tag of a choice -> its number here.
    #: (tag, "not") -> the numbers that it is not.
    narrowed: dict[Any, Any] = field(default_factory=dict)
    #: Objects made on one of several paths that met: nothing refers to them any more but examples.
    left_over: frozenset[Any] = frozenset()
    #: Fields of run-time objects whose value is known (see field_loads.py).
    fields: dict[tuple[str, str, int], Any] = field(default_factory=dict)
    #: Value of a run-time object made on this path -> its fields that are not set yet (see late_fields.py).
    unset: dict[int, frozenset[str]] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.heap), dict(self.narrowed), self.left_over, dict(self.fields), dict(self.unset))
