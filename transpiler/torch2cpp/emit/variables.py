"""Which values share a C++ variable, where each variable is declared, and what it is called.

SSA gives every assignment a name of its own; C++ has variables, and the reader wants Python's. Values
that a branch or a loop hands on take the variable they are handed to, where the two are never needed
at the same time (`liveness`); so do values that Python kept under one name. What is left to assign
is then what Python assigned too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal, final

from torch2cpp.emit.flow import Flow
from torch2cpp.emit.liveness import Interference, interference
from torch2cpp.emit.names import RESERVED, identifier
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Continue,
    If,
    Leave,
    Loop,
    Op,
    Operand,
    Scope,
    Try,
    Value,
    Yield,
    blocks,
    results,
)
from torch2cpp.hostir.program import Function
from torch2cpp.hostir.types import Type

#: A place in a function: the blocks on the way there with the index of the operation in each.
Path = tuple[tuple[Block, int], ...]
Declared = Literal["parameter", "definition", "before", "index", "handler"]


@final
@dataclass(eq=False, slots=True)
class Variable:
    """One C++ variable and the values it holds in turn."""

    values: list[Value]
    type: Type
    #: Where values are assigned and where they are read, in the order of the program.
    assigned: list[Path] = field(default_factory=list)
    read: list[Path] = field(default_factory=list)
    declared: Declared = "definition"
    #: The block that declares it and the operation it is declared at or before; None for parameters.
    block: Block | None = None
    at: Op | None = None
    name: str = ""

    @property
    def is_constant(self) -> bool:
        """Whether it is assigned once, where it is declared."""
        return len(self.assigned) == 1 and self.declared in ("definition", "handler")


@final
class Variables:
    """The variables of a function; `of[value]` for every value that is not folded."""

    def __init__(self, of: dict[Value, Variable]) -> None:
        self.of = of
        self._by_op: dict[Op | None, list[Variable]] = {}
        for variable in dict.fromkeys(of.values()):
            self._by_op.setdefault(variable.at, []).append(variable)

    def declared_at(self, op: Op, how: Declared) -> list[Variable]:
        """The variables to declare at or in front of an operation."""
        return [v for v in self._by_op.get(op, ()) if v.declared == how]


def allocate(
    function: Function, flow: Flow, spelled: Callable[[Type], str], reserved: frozenset[str] = frozenset()
) -> Variables:
    """Gives every value of a function its variable, none of them named as in `reserved`.

    `spelled` is the C++ type of a type.
    """
    return _Allocator(function, flow, spelled, reserved | RESERVED).run()


@final
class _Allocator:
    def __init__(
        self, function: Function, flow: Flow, spelled: Callable[[Type], str], reserved: frozenset[str]
    ) -> None:
        self.reserved = reserved
        self.function = function
        self.flow = flow
        self.spelled = spelled
        self.params = tuple(p.value for p in function.params if p.value is not None)
        self.of: dict[Value, Variable] = {}
        self.fixed: set[Value] = set()
        self.handled: set[Value] = set()
        self.moves: list[tuple[int, Operand, Value]] = []
        self.definitions: dict[Path, set[Value]] = {}

    def run(self) -> Variables:
        for value in self.params:
            self._define(value, ())
        self._block(self.function.body, (), (), 0)
        clashes = interference(self.params, self.function.body, self.flow.folding)
        self._coalesce(clashes)
        for variable in dict.fromkeys(self.of.values()):
            self._place(variable)
        self._unite_names(clashes)
        _name(list(dict.fromkeys(self.of.values())), self.function, self.flow, self.reserved)
        return Variables(self.of)

    # -- sites ---------------------------------------------------------------------------------

    def _define(self, value: Value, path: Path) -> None:
        self.definitions.setdefault(path, set()).add(value)
        variable = self.of.setdefault(value, Variable([value], value.type))
        variable.assigned.append(path)

    def _read(self, op: Op, path: Path) -> None:
        for value in self.flow.folding.read_by(op):
            self.of[value].read.append(path)

    def _block(self, block: Block, path: Path, targets: tuple[tuple[Op, tuple[Value, ...]], ...], depth: int) -> None:
        for i, op in enumerate(block.ops):
            self._op(op, (*path, (block, i)), targets, depth)

    def _op(self, op: Op, path: Path, targets: tuple[tuple[Op, tuple[Value, ...]], ...], depth: int) -> None:
        if self.flow.is_silent(op):
            return
        match op:
            case Yield() | Break() | Continue() | Leave():
                self._read(op, path)
                if not (isinstance(op, Leave) and self._is_lambda(op.label)):
                    self._move(op.values, _target(op, targets), path, depth)
            case If() if not self.flow.folding.is_expression(op):
                self._read(op, path)
                self._results(op, path)
                for arm in blocks(op):
                    self._block(arm, path, (*targets, (op, op.results)), depth)
            case Loop():
                self._loop(op, path, targets, depth + 1)
            case Scope() | Try():
                self._results(op, path)
                if isinstance(op, Scope) and self._is_lambda(op.label):
                    # A lambda returns its results: they are assigned once, by its call.
                    for value in op.results:
                        self._define(value, path)
                for block in blocks(op):
                    own = () if isinstance(op, Try) and block is op.final else op.results
                    for param in block.params:
                        self.fixed.add(param)
                        self.handled.add(param)
                        self._define(param, (*path, (block, 0)))
                    self._block(block, path, (*targets, (op, own)), depth)
            case _:
                self._read(op, path)
                for value in results(op):
                    if value not in self.of:
                        self._define(value, path)

    def _is_lambda(self, label: str) -> bool:
        return label not in self.flow.inline and label not in self.flow.blocks

    def _results(self, op: Op, path: Path) -> None:
        """Makes the results' variables known; the moves into them are their assignments."""
        for value in results(op):
            self.of.setdefault(value, Variable([value], value.type)).read.append(path)

    def _loop(self, op: Loop, path: Path, targets: tuple[tuple[Op, tuple[Value, ...]], ...], depth: int) -> None:
        self._read(op, path)
        carried = op.body.params
        if op.over is not None:
            self.fixed.add(carried[0])
            self._define(carried[0], path)
            carried = carried[1:]
        self._move(op.inits, carried, path, depth)
        self._results(op, path)
        if op.over is not None:
            self._move(carried, op.results, path, depth)
        self._block(op.body, path, (*targets, (op, op.results)), depth)

    def _move(self, sources: tuple[Operand, ...], targets: tuple[Value, ...], path: Path, depth: int) -> None:
        for source, target in zip(sources, targets):
            self._define(target, path)
            self.moves.append((-depth, source, target))
            if isinstance(source, Value) and source in self.of:
                self.of[source].read.append(path)

    # -- sharing -------------------------------------------------------------------------------

    def _coalesce(self, clashes: Interference) -> None:
        """Unites what is moved, innermost loops first: a copy there costs most."""
        for _, source, target in sorted(self.moves, key=lambda m: m[0]):
            if isinstance(source, Value) and source not in self.flow.folding.folded and self._can_unite(
                self.of[source], self.of[target], clashes
            ):  # fmt: skip
                self._unite(self.of[source], self.of[target])

    def _can_unite(self, a: Variable, b: Variable, clashes: Interference) -> bool:
        if a is b or self.fixed.intersection(a.values) or self.fixed.intersection(b.values):
            return False
        return self.spelled(a.type) == self.spelled(b.type) and not clashes.between(a.values, set(b.values))

    def _unite(self, a: Variable, b: Variable) -> None:
        a.values += b.values
        a.assigned += b.assigned
        a.read += b.read
        for value in b.values:
            self.of[value] = a

    def _unite_names(self, clashes: Interference) -> None:
        """Unites variables of one Python name where the first is declared in reach of the second."""
        by_name: dict[tuple[str, str], list[Variable]] = {}
        for variable in dict.fromkeys(self.of.values()):
            by_name.setdefault((variable.values[0].name, self.spelled(variable.type)), []).append(variable)
        for variables in by_name.values():
            kept: list[Variable] = []
            for b in variables:
                if not any(self._united_by_name(a, b, clashes) for a in kept):
                    kept.append(b)

    def _united_by_name(self, a: Variable, b: Variable, clashes: Interference) -> bool:
        if not self._can_unite(a, b, clashes):
            return False
        trial = Variable(a.values + b.values, a.type, a.assigned + b.assigned, a.read + b.read)
        self._place(trial)
        if trial.declared not in ("parameter", "definition") or (trial.at, trial.block) != (a.at, a.block):
            return False
        self._unite(a, b)
        self._place(a)
        return True

    # -- declarations --------------------------------------------------------------------------

    def _place(self, variable: Variable) -> None:
        """Finds the innermost block that holds all of the variable, and where in it to declare."""
        common: Path | None = None
        for path in (*variable.assigned, *variable.read):
            common = path if common is None else _common(common, path)
        if not common:
            variable.declared, variable.block, variable.at = "parameter", self.function.body, None
            return
        block, index = common[-1]
        op = block.ops[index]
        variable.block, variable.at = block, op
        if self.handled.intersection(variable.values):
            variable.declared = "handler"
        elif self.fixed.intersection(variable.values):
            variable.declared = "index"
        elif self._defines(op, common, variable):
            variable.declared = "definition"
        else:
            variable.declared = "before"

    def _defines(self, op: Op, path: Path, variable: Variable) -> bool:
        if isinstance(op, Loop):
            return any(v in op.body.params for v in variable.values)
        if isinstance(op, Scope) and self._is_lambda(op.label):
            return len(op.results) == 1 and op.results[0] in variable.values
        if isinstance(op, If | Scope | Try) and not (isinstance(op, If) and self.flow.folding.is_expression(op)):
            return False
        if isinstance(op, Yield | Break | Continue | Leave):
            return False
        return not self.definitions.get(path, set()).isdisjoint(variable.values)


def _target(
    op: Yield | Break | Continue | Leave, targets: tuple[tuple[Op, tuple[Value, ...]], ...]
) -> tuple[Value, ...]:
    for owner, values in reversed(targets):
        match op, owner:
            case Yield(), If() | Try():
                return values
            case Break(), Loop():
                return values
            case Continue(), Loop():
                return owner.body.params[1:] if owner.over is not None else owner.body.params
            case Leave(), Scope() if owner.label == op.label:
                return values
    raise AssertionError(f"{type(op).__name__} without a target at {op.span}")


def _common(a: Path, b: Path) -> Path:
    """The deepest place from which both can be seen: the first of the two in their common block."""
    for i, (x, y) in enumerate(zip(a, b)):
        if x[0] is not y[0]:
            return a[:i]
        if x[1] != y[1]:
            return (*a[:i], min(x, y, key=lambda step: step[1]))
    return min(a, b, key=len)


# -- names -----------------------------------------------------------------------------------------


def _name(variables: list[Variable], function: Function, flow: Flow, reserved: frozenset[str]) -> None:
    """Names that are free in the variable's C++ scope, in the scopes around it and in those inside."""
    parents = dict(_scopes(function.body, flow))
    own: dict[Block, set[str]] = {}
    inside: dict[Block, set[str]] = {}
    order = {block: i for i, block in enumerate(parents)}
    parameters = {p.value for p in function.params if p.value is not None}
    for variable in sorted(variables, key=lambda v: (v.declared != "parameter", order[v.block or function.body])):
        scope = variable.block or function.body
        if variable.declared == "index":
            assert isinstance(variable.at, Loop)
            scope = variable.at.body
        scope = _cpp_scope(scope, parents)
        chain = list(_chain(scope, parents))
        taken = set(reserved).union(inside.get(scope, ()), *(own.get(b, ()) for b in chain))
        variable.name = _fresh(_python_name(variable, parameters), taken)
        own.setdefault(scope, set()).add(variable.name)
        for block in chain:
            inside.setdefault(block, set()).add(variable.name)


#: Names that say what a value is made of, not what the model's author called it.
_GENERIC = frozenset(
    {"value", "item", "elem", "element", "list", "dict", "set", "make", "get", "ret", "result", "slice", "select"}
    | {"len", "text", "add", "sub", "mul", "v", "t", "r"}
)  # fmt: skip


def _python_name(variable: Variable, parameters: Collection[Value]) -> str:
    """A parameter's own name; else the one most of the values have, the author's names before generic ones."""
    if variable.declared == "parameter":
        return next(v.name for v in variable.values if v in parameters)
    names = [v.name for v in variable.values]
    chosen = [n for n in names if n not in _GENERIC] or names
    return max(dict.fromkeys(chosen), key=chosen.count)


def _fresh(name: str, taken: set[str]) -> str:
    base = identifier(name)
    out, n = base, 1
    while out in taken:
        n += 1
        out = f"{base}_{n}"
    return out


def _scopes(body: Block, flow: Flow) -> Iterator[tuple[Block, tuple[Block | None, bool]]]:
    """Every block with its parent, and whether it is printed into the parent's braces."""
    yield body, (None, False)
    stack = [body]
    while stack:
        block = stack.pop()
        for op in block.ops:
            for inner in blocks(op):
                yield inner, (block, is_flattened(op, inner, flow))
                stack.append(inner)


def is_flattened(op: Op, block: Block, flow: Flow) -> bool:
    """Whether a block may be printed without braces of its own, because the other arm leaves."""
    if isinstance(op, If):
        return not all(map(flow.falls_through, blocks(op)))
    return isinstance(op, Scope) and op.label in flow.inline


def _cpp_scope(block: Block, parents: dict[Block, tuple[Block | None, bool]]) -> Block:
    parent, flattened = parents[block]
    return _cpp_scope(parent, parents) if flattened and parent is not None else block


def _chain(block: Block, parents: dict[Block, tuple[Block | None, bool]]) -> Iterator[Block]:
    current: Block | None = block
    while current is not None:
        yield current
        current = parents[current][0]
