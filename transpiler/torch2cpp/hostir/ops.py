"""The operations of the host IR.

A structured, typed SSA form. Values are defined once; control flow is `If`, `Loop`, `Scope`
and `Try`, whose blocks end in a terminator that hands values on (`Yield`, `Continue`,
`Break`, `Leave`) or leaves the function (`Return`, `Raise`). There are no phi nodes: the
results of `If` are what its arms yield, the parameters of a `Loop` body are its carried
values (as in MLIR's `scf` dialect, with early exits added).

Operands are trees: tuples, lists and dicts with `Value`, `WeightRef` and Python constants as
leaves, as in `torch.fx`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

import torch

from torch2cpp.hostir.types import TensorType, Type
from torch2cpp.spans import Span


@final
@dataclass(eq=False, slots=True)
class Value:
    """One SSA value; compared by identity."""

    #: Unique in its program, in order of creation.
    id: int
    type: Type
    #: The Python name the value was bound to, or what it is for; need not be unique.
    name: str
    span: Span

    def __repr__(self) -> str:
        return f"%{self.name}.{self.id}"


@final
@dataclass(frozen=True, slots=True)
class WeightRef:
    """A parameter, buffer or constant tensor of the model, by its name in weights.safetensors."""

    name: str
    type: TensorType


@final
@dataclass(eq=False, slots=True)
class Cell:
    """A mutable place: an attribute that lives on between calls, or a variable that exceptions carry."""

    name: str
    type: Type
    #: "state" lives in the model instance; "local" in one call of the function.
    scope: str
    #: For state: the Python value (tensor, scalar, None, nested lists, ...) before the first call.
    initial: Any = None


Operand = Any  # Value | WeightRef | constant | tuple | list | dict | slice of operands


@final
@dataclass(eq=False, slots=True)
class Block:
    """Operations in order; the last one is a terminator."""

    params: tuple[Value, ...] = ()
    ops: list[Op] = field(default_factory=list)


@final
@dataclass(eq=False, slots=True)
class TensorOp:
    """One ATen operator. In-place operators and views keep their aliasing (see the schema)."""

    #: One value per tensor (or tensor list) the schema returns; none for a pure in-place call.
    results: tuple[Value, ...]
    overload: torch._ops.OpOverload
    #: Positional operands, in the order of the schema; trailing defaults may be left out.
    args: tuple[Operand, ...]
    #: Keyword-only operands of the schema.
    kwargs: dict[str, Operand]
    span: Span
    #: For a `select` that is `t[..., i]` and may be out of range: the dimension as its IndexError counts it.
    indexed: int | None = None


@final
@dataclass(eq=False, slots=True)
class HostOp:
    """Scalar arithmetic, containers, reading of tensors: one row of `host_ops.TABLE`."""

    result: Value | None
    name: str
    args: tuple[Operand, ...]
    span: Span


@final
@dataclass(eq=False, slots=True)
class If:
    """`cond` is a bool operand; each arm yields one value per result, or leaves."""

    results: tuple[Value, ...]
    cond: Operand
    then: Block
    orelse: Block
    span: Span


@final
@dataclass(eq=False, slots=True)
class Loop:
    """Repeats `body` until a `Break`.

    With `over`, the body also gets an index as its first parameter, and the loop ends by itself
    after the last index, as `for i in range(...)` does; then the results are the carried values.
    `Continue` hands on the carried values, `Break` one value per result.
    """

    #: After the loop: what `Break` hands out, or the carried values when `over` ran out.
    results: tuple[Value, ...]
    #: Initial values of the carried parameters of `body`.
    inits: tuple[Operand, ...]
    body: Block
    #: (start, stop, step) of Python's `range`, evaluated once; None for `while True`.
    over: tuple[Operand, Operand, Operand] | None
    span: Span


@final
@dataclass(eq=False, slots=True)
class Scope:
    """The body of a function interpreted in place; `Leave` ends it from any depth with its results."""

    results: tuple[Value, ...]
    #: What it was in Python (a function's name, `for`), for the reader.
    name: str
    #: Unique in its function; `Leave` names it.
    label: str
    body: Block
    span: Span


@final
@dataclass(frozen=True, slots=True)
class Handler:
    """`except` clause: names of the exception classes it takes, all of them when empty."""

    #: Class names with their bases resolved: matches when any name is among those raised.
    names: tuple[str, ...]
    #: Its first parameter is the exception's message, its second the name of its class; both are strings.
    body: Block


@final
@dataclass(eq=False, slots=True)
class Try:
    """Python's try: the body or a handler yields the results; `final` runs on every way out."""

    results: tuple[Value, ...]
    body: Block
    handlers: tuple[Handler, ...]
    final: Block | None
    span: Span


@final
@dataclass(eq=False, slots=True)
class Yield:
    """Ends an arm, a try body or a handler."""

    values: tuple[Operand, ...]
    span: Span


@final
@dataclass(eq=False, slots=True)
class Continue:
    """Starts the innermost loop's next iteration."""

    values: tuple[Operand, ...]
    span: Span


@final
@dataclass(eq=False, slots=True)
class Break:
    """Leaves the innermost loop."""

    values: tuple[Operand, ...]
    span: Span


@final
@dataclass(eq=False, slots=True)
class Leave:
    """Leaves the enclosing scope with this label, possibly out of loops inside it."""

    label: str
    values: tuple[Operand, ...]
    span: Span


@final
@dataclass(eq=False, slots=True)
class Return:
    """Leaves the function with one operand of its result type."""

    value: Operand
    span: Span


@final
@dataclass(eq=False, slots=True)
class Raise:
    """Raises a Python exception by class name; `bases` are the names handlers may catch it under.

    Without a name, inside a handler, it raises again what the innermost handler around it took.
    """

    name: str
    bases: tuple[str, ...]
    message: Operand
    span: Span


@final
@dataclass(eq=False, slots=True)
class Call:
    """Calls another function of the program (recursion)."""

    results: tuple[Value, ...]
    function: str
    args: tuple[Operand, ...]
    span: Span


@final
@dataclass(eq=False, slots=True)
class RegionCall:
    """Runs a region; made by region formation.

    With `instances` it runs the one of them at `index`: regions that are equal but for their weights,
    `region` the first of them.
    """

    results: tuple[Value, ...]
    region: str
    args: tuple[Operand, ...]
    span: Span
    instances: tuple[str, ...] = ()
    #: An int operand where there are instances.
    index: Operand = None

    @property
    def regions(self) -> tuple[str, ...]:
        """All regions it may run."""
        return self.instances or (self.region,)


@final
@dataclass(eq=False, slots=True)
class Load:
    """Reads a cell."""

    result: Value
    cell: Cell
    span: Span


@final
@dataclass(eq=False, slots=True)
class Store:
    """Writes a cell."""

    cell: Cell
    value: Operand
    span: Span


Op = (
    TensorOp | HostOp | If | Loop | Scope | Try | Yield | Continue | Break | Leave
    | Return | Raise | Call | RegionCall | Load | Store
)  # fmt: skip

Terminator = Yield | Continue | Break | Leave | Return | Raise
TERMINATORS = (Yield, Continue, Break, Leave, Return, Raise)


def leaves(tree: Operand) -> Iterator[Any]:
    """The leaves of an operand tree, in order."""
    if isinstance(tree, tuple | list):
        for item in tree:
            yield from leaves(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, slice):
        yield from leaves((tree.start, tree.stop, tree.step))
    else:
        yield tree


def map_leaves(tree: Operand, f: Any) -> Operand:
    """The same tree with `f` applied to every leaf."""
    if isinstance(tree, tuple):
        return tuple(map_leaves(x, f) for x in tree)
    if isinstance(tree, list):
        return [map_leaves(x, f) for x in tree]
    if isinstance(tree, dict):
        return {k: map_leaves(v, f) for k, v in tree.items()}
    if isinstance(tree, slice):
        return slice(map_leaves(tree.start, f), map_leaves(tree.stop, f), map_leaves(tree.step, f))
    return f(tree)


def values_in(tree: Operand) -> Iterator[Value]:
    """The SSA values among the leaves of an operand tree."""
    return (leaf for leaf in leaves(tree) if isinstance(leaf, Value))


def operands(op: Op) -> tuple[Operand, ...]:
    """What an operation reads itself, its blocks aside."""
    match op:
        case TensorOp():
            return (op.args, op.kwargs)
        case HostOp() | Call():
            return op.args
        case RegionCall():
            return (*op.args, op.index) if op.instances else op.args
        case If():
            return (op.cond,)
        case Loop():
            return (*op.inits, *(op.over or ()))
        case Yield() | Continue() | Break() | Leave():
            return op.values
        case Return() | Store():
            return (op.value,)
        case Raise():
            return (op.message,)
        case Scope() | Try() | Load():
            return ()


def results(op: Op) -> tuple[Value, ...]:
    """What an operation defines."""
    match op:
        case TensorOp() | If() | Loop() | Scope() | Try() | Call() | RegionCall():
            return op.results
        case HostOp():
            return () if op.result is None else (op.result,)
        case Load():
            return (op.result,)
        case _:
            return ()


def blocks(op: Op) -> tuple[Block, ...]:
    """The blocks of a control-flow operation."""
    match op:
        case If():
            return (op.then, op.orelse)
        case Loop() | Scope():
            return (op.body,)
        case Try():
            return (op.body, *(h.body for h in op.handlers), *((op.final,) if op.final else ()))
        case _:
            return ()


def walk(block: Block) -> Iterator[Op]:
    """Every operation of a block and of the blocks inside, outer first."""
    for op in block.ops:
        yield op
        for inner in blocks(op):
            yield from walk(inner)


def falls_through(block: Block) -> bool:
    """Whether control can reach the end of a block without a terminator there.

    A block also ends in an `If` both of whose arms leave, in a loop that is never broken out of, and
    the like: nothing follows these.
    """
    return not block.ops or not _leaves_for_good(block.ops[-1])


def _leaves_for_good(op: Op) -> bool:
    match op:
        case Yield() | Continue() | Break() | Leave() | Return() | Raise():
            return True
        case If():
            return not any(_hands_back(arm) for arm in (op.then, op.orelse))
        case Loop():
            return op.over is None and not _breaks(op.body)
        case Scope():
            left = any(isinstance(x, Leave) and x.label == op.label for x in walk(op.body))
            return not left and not falls_through(op.body)
        case Try():
            return not any(_hands_back(b) for b in (op.body, *(h.body for h in op.handlers)))
        case _:
            return False


def _hands_back(block: Block) -> bool:
    """Whether a block ends by giving its values to the operation it belongs to."""
    return falls_through(block) or isinstance(block.ops[-1], Yield)


def _breaks(block: Block) -> bool:
    """Whether a loop's body breaks out of that loop."""
    for op in block.ops:
        if isinstance(op, Break):
            return True
        if not isinstance(op, Loop) and any(_breaks(b) for b in blocks(op)):
            return True
    return False
