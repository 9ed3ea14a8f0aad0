"""Analysis: which values may share storage, and which storages are ever written.

By unification over the whole program (Steensgaard): every tensor value, container and cell has a
class; views and in-place results join their operand's class, what is put into a container joins
the class of its contents, block parameters and results join what is handed to them. Classes only
say "may share"; values in different classes never do. Fields of tuples, records and objects are kept
apart, elements of lists and dicts are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

from torch2cpp.hostir.host_ops import SET_MERGERS
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Call,
    Cell,
    Continue,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Op,
    Operand,
    RegionCall,
    Return,
    Scope,
    Store,
    TensorOp,
    Try,
    Value,
    WeightRef,
    Yield,
    leaves,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.schema import aliased_operands, changes_sizes, written_operands
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    OptionalType,
    RecordType,
    SetType,
    StructType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)

#: The result is one of the operands, as it is.
_TRANSPARENT = {"select", "optional.some", "optional.get", "optional.cast", "union.make", "union.get"}
_MAKERS = {"list.new", "set.new", "dict.new"}
#: Make something with fields; the number of operands before their values.
_FIELD_MAKERS = {"tuple.make": 0, "record.make": 1, "struct.new": 2}
#: The place of what stands at no place of its own.
_ANYWHERE = "*"
_GETTERS = {
    "list.get",
    "list.item",
    "list.pop",
    "list.min",
    "list.max",
    "dict.get",
    "dict.find",
    "dict.pop",
    "set.pop",
}
#: Take or set what stands at a constant place: container, place.
_FIELD_GETTERS = {"tuple.get", "record.get", "struct.get"}
_SETTERS = {"list.set", "list.append", "list.appendleft", "list.insert", "dict.set", "set.add"}
#: Contents of all containers involved mix.
_MERGERS = {
    "list.extend",
    "list.slice",
    "list.set_slice",
    "list.copy",
    "list.concat",
    "list.repeat",
    "list.reversed",
    "dict.copy",
    "dict.update",
    "dict.keys",
    "dict.values",
    "set.sorted",
    *SET_MERGERS,
}
#: Only look, or make something new.
_DETACHED = {
    "tensor.make",
    "tensor.numpy_sum",
    "random.state",
    "random.set_state",
    "same",
    "equal",
    "print",
    "list.sum",
    "math.fsum",
    "statistics.mean",
    "statistics.variance",
    "statistics.pvariance",
    "statistics.stdev",
    "statistics.pstdev",
    "list.contains",
    "list.index",
    "list.count",
    "list.remove",
    "list.sort",
    "list.clear",
    "list.delete",
    "dict.contains",
    "dict.delete",
    "set.contains",
    "set.discard",
    "set.clear",
}


def holds_storage(type_: Type) -> bool:
    """Whether a value of the type is, or leads to, something that can be changed in place."""
    match type_:
        case TensorType() | ListType() | DictType() | SetType() | StructType() | TupleType() | RecordType():
            return True
        case OptionalType():
            return holds_storage(type_.elem)
        case UnionType():
            return any(holds_storage(m) for m in type_.members)
        case _:
            return False


@final
class Storages:
    """The classes of a program, and which are written by tensor operations."""

    def __init__(self, solver: _Solver, written: Iterable[int], resized: Iterable[int], outside: Iterable[int]) -> None:
        self._solver = solver
        #: Classes that some tensor operation writes.
        self.written = frozenset(written)
        #: Classes of tensors whose sizes some operation changes in place.
        self.resized = frozenset(resized)
        #: Classes that live on outside the call: of arguments and of state, with all they lead to.
        self.outside = frozenset(outside)

    def of(self, key: Value | Cell | WeightRef) -> int:
        """The class of a tensor's storage or of a container itself."""
        return self._solver.find(self._solver.node(key))

    def written_by(self, op: TensorOp) -> frozenset[int]:
        """The classes of the storage an operation writes."""
        return frozenset(self._solver.written(op))

    def reached(self, key: Value | Cell | WeightRef) -> frozenset[int]:
        """The class of a value, and those of all that its contents lead to."""
        return self._solver.reached(self._solver.node(key))


def find_storages(program: Program) -> Storages:
    """The storage classes of a program."""
    solver = _Solver(program)
    functions = [*program.functions.values(), *program.entries.values()]
    for function in functions:
        solver.block(function.body, function, {}, None)
    ops = [op for function in functions for op in walk(function.body)]
    if _written(solver, program, ops) & _argument_classes(solver, program):
        # The caller may hand in one tensor under two names.
        for function in program.entries.values():
            tensors = [c for c in _reached_by(solver, _parameters(function)) if c in solver.storages]
            for other in tensors[1:]:
                solver.unify(tensors[0], other)
    state = [solver.reached(solver.node(c)) for c in program.cells if c.scope == "state"]
    outside = _argument_classes(solver, program).union(*state)
    resized = {c for op in ops if isinstance(op, TensorOp) and changes_sizes(op) for c in solver.written(op)}
    return Storages(solver, _written(solver, program, ops), resized, {solver.find(c) for c in outside})


def _parameters(function: Function) -> list[Value]:
    return [p.value for p in function.params if p.value is not None]


def _reached_by(solver: _Solver, values: Iterable[Value]) -> list[int]:
    found = {c for v in values if holds_storage(v.type) for c in solver.reached(solver.node(v))}
    return sorted(found)


def _argument_classes(solver: _Solver, program: Program) -> set[int]:
    return {c for f in program.entries.values() for c in _reached_by(solver, _parameters(f))}


def _written(solver: _Solver, program: Program, ops: Iterable[Op]) -> set[int]:
    found: set[int] = set()
    for op in ops:
        if isinstance(op, TensorOp):
            found.update(solver.written(op))
        elif isinstance(op, RegionCall) and program.regions[op.region].aliasing:
            found.update(c for tree in (*op.args, *op.results) for c in solver.tensors(tree))
    return found


@final
@dataclass(slots=True)
class _Solver:
    """Union-find over nodes, each with nodes for its contents, by place."""

    program: Program
    nodes: dict[Any, int] = field(default_factory=dict)
    parent: list[int] = field(default_factory=list)
    contents: dict[int, dict[Any, int]] = field(default_factory=dict)
    #: Nodes known to be tensors' storages.
    storages: set[int] = field(default_factory=set)

    # -- classes -------------------------------------------------------------------------------

    def node(self, key: Any) -> int:
        name = ("weight", key.name) if isinstance(key, WeightRef) else key
        if isinstance(key, Value) and isinstance(key.type, StructType):
            # All objects of a class share one class of contents.
            name = key.type
        if name not in self.nodes:
            self.nodes[name] = self.new()
            if isinstance(key, WeightRef) or (isinstance(key, Value) and _is_tensor(key.type)):
                self.storages.add(self.nodes[name])
        return self.nodes[name]

    def new(self) -> int:
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, node: int) -> int:
        while self.parent[node] != node:
            self.parent[node] = self.parent[self.parent[node]]
            node = self.parent[node]
        return node

    def content(self, node: int, place: Any = _ANYWHERE) -> int:
        """The node of what is at a place of a container; one for all places once any is unknown."""
        root = self.find(node)
        places = self.contents.setdefault(root, {})
        if place == _ANYWHERE or _ANYWHERE in places:
            nodes = list(places.values()) or [self.new()]
            self.contents[root] = {_ANYWHERE: nodes[0]}
            self.join(nodes)
            return nodes[0]
        return places.setdefault(place, self.new())

    def unify(self, a: int, b: int) -> None:
        work = [(a, b)]
        while work:
            x, y = map(self.find, work.pop())
            if x == y:
                continue
            self.parent[y] = x
            if y in self.storages:
                self.storages.add(x)
            theirs, ours = self.contents.pop(y, {}), self.contents.pop(x, {})
            if _ANYWHERE in theirs or _ANYWHERE in ours:
                nodes = [*ours.values(), *theirs.values()]
                self.contents[x] = {_ANYWHERE: nodes[0]}
                work += [(nodes[0], other) for other in nodes[1:]]
            elif theirs or ours:
                self.contents[x] = {**theirs, **ours}
                work += [(ours[place], theirs[place]) for place in ours.keys() & theirs.keys()]

    def reached(self, node: int) -> frozenset[int]:
        found: set[int] = set()
        work = [self.find(node)]
        while work:
            at = work.pop()
            if at not in found:
                found.add(at)
                work += [self.find(inner) for inner in self.contents.get(at, {}).values()]
        return frozenset(found)

    def keys(self, tree: Operand) -> list[Value | WeightRef]:
        """The leaves of an operand that lead to storage."""
        return [
            leaf
            for leaf in leaves(tree)
            if isinstance(leaf, WeightRef) or (isinstance(leaf, Value) and holds_storage(leaf.type))
        ]

    def tensors(self, tree: Operand) -> list[int]:
        """Classes of the tensors an operator's operand stands for; a list stands for its elements."""
        found = []
        for key in self.keys(tree):
            node = self.node(key)
            found.append(self.find(node if _is_tensor(key.type) else self.content(node)))
        return found

    def written(self, op: TensorOp) -> set[int]:
        """Classes of the storage an operation writes."""
        return {c for tree in written_operands(op) for c in self.tensors(tree)}

    def flow(self, tree: Operand, to: Value | Cell) -> None:
        """The operand's value becomes a value of `to`."""
        self.flow_into(tree, self.node(to))

    def flow_into(self, tree: Operand, node: int) -> None:
        if isinstance(tree, tuple | list | dict):
            items = tree.items() if isinstance(tree, dict) else enumerate(tree)
            for place, item in items:
                if self.keys(item):
                    self.flow_into(item, self.content(node, place))
        else:
            for key in self.keys(tree):
                self.unify(node, self.node(key))

    def flows(self, trees: Iterable[Operand], to: Iterable[Value]) -> None:
        for tree, value in zip(trees, to, strict=True):
            if holds_storage(value.type):
                self.flow(tree, value)

    # -- operations ----------------------------------------------------------------------------

    def block(self, block: Block, function: Function, scopes: dict[str, Scope], loop: Loop | None) -> None:
        """Everything in a block; terminators hand values to the construct they end."""
        self.inner(block, None, function, scopes, loop)

    def inner(
        self, block: Block, owner: If | Try | None, function: Function, scopes: dict[str, Scope], loop: Loop | None
    ) -> None:
        for op in block.ops:
            match op:
                case If():
                    self.inner(op.then, op, function, scopes, loop)
                    self.inner(op.orelse, op, function, scopes, loop)
                case Try():
                    for body in (op.body, *(h.body for h in op.handlers)):
                        self.inner(body, op, function, scopes, loop)
                    if op.final is not None:
                        self.inner(op.final, None, function, scopes, loop)
                case Loop():
                    carried = op.body.params[1:] if op.over is not None else op.body.params
                    self.flows(op.inits, carried)
                    if op.over is not None:
                        self.flows(carried, op.results)
                    self.inner(op.body, None, function, scopes, op)
                case Scope():
                    self.inner(op.body, None, function, {**scopes, op.label: op}, loop)
                case Yield() if owner is not None:
                    self.flows(op.values, owner.results)
                case Continue() if loop is not None:
                    self.flows(op.values, loop.body.params[1:] if loop.over is not None else loop.body.params)
                case Break() if loop is not None:
                    self.flows(op.values, loop.results)
                case Leave():
                    self.flows(op.values, scopes[op.label].results)
                case Return() if self.program.functions.get(function.name) is function:
                    # What an entry returns goes to nobody inside.
                    self.flow_into(op.value, self.node(self.returned(function.name)))
                case _:
                    self.straight(op)

    def returned(self, function: str) -> Any:
        return ("returned", function)

    def straight(self, op: Op) -> None:
        match op:
            case TensorOp():
                if changes_sizes(op):
                    # Some of these make the tensor share the storage of another operand.
                    self.join(self.tensors((op.args, op.kwargs)))
                for i, result in enumerate(op.results):
                    if holds_storage(result.type):
                        own = self.tensors(result)
                        for tree in aliased_operands(op, i):
                            for node in self.tensors(tree):
                                self.unify(own[0], node)
            case HostOp():
                self.host(op)
            case Call():
                function = self.program.functions[op.function]
                self.flows(op.args, _parameters(function))
                for result in op.results:
                    if holds_storage(result.type):
                        node = self.node(self.returned(op.function))
                        place = op.results.index(result)
                        self.unify(self.node(result), node if len(op.results) == 1 else self.content(node, place))
            case RegionCall():
                nodes = [n for tree in (*op.args, *op.results) for n in self.tensors(tree)]
                for node in nodes[1:]:
                    self.unify(nodes[0], node)
            case Load():
                if holds_storage(op.result.type):
                    self.unify(self.node(op.cell), self.node(op.result))
            case Store():
                self.flow(op.value, op.cell)
            case _:
                pass

    def host(self, op: HostOp) -> None:
        result = op.result if op.result is not None and holds_storage(op.result.type) else None
        args = [self.node(k) for k in self.keys(op.args)]
        own = [] if result is None else [self.node(result)]
        if op.name in _DETACHED or not args:
            return
        if op.name in _TRANSPARENT:
            self.join(own + args)
        elif op.name in _FIELD_MAKERS and own:
            self.fields(op, own[0])
        elif op.name in _FIELD_GETTERS and not isinstance(op.args[1], Value):
            counted_back = type(op.args[1]) is int and op.args[1] < 0
            self.join([self.content(args[0], _ANYWHERE if counted_back else op.args[1]), *own])
        elif op.name == "struct.set":
            self.join([self.content(args[0], op.args[1]), *args[1:]])
        elif op.name in _MAKERS:
            self.join([self.content(n) for n in own] + args)
        elif op.name in _GETTERS:
            self.join([self.content(args[0]), *own])
        elif op.name in _SETTERS:
            self.join([self.content(args[0]), *args[1:]])
        elif op.name in _MERGERS:
            self.join([self.content(n) for n in args + own])
        elif own or len(args) > 1:
            # Nothing is known: everything may lead to everything.
            self.join(args + own)
            self.unify(self.content(args[0]), args[0])

    def fields(self, op: HostOp, made: int) -> None:
        """The operands of something with fields flow into its fields."""
        first = _FIELD_MAKERS[op.name]
        values = op.args[first:]
        places = op.args[first - 1] if first else range(len(values))
        for place, value in zip(places, values, strict=True):
            if self.keys(value):
                self.flow_into(value, self.content(made, place))

    def join(self, nodes: list[int]) -> None:
        for node in nodes[1:]:
            self.unify(nodes[0], node)


def _is_tensor(type_: Type) -> bool:
    if isinstance(type_, OptionalType):
        return _is_tensor(type_.elem)
    return isinstance(type_, TensorType)
