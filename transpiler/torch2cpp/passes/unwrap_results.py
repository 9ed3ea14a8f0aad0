"""Hands on what is inside an optional or a tuple, where every way makes one, and looks through both.

Before:

    if flag
      a: float32[?]? = optional.some(x)
      yield a
    else
      b: float32[?]? = optional.some(y)
      yield b
    -> h: float32[?]?
    missing: bool = optional.is_none(h)
    ...
    v: float32[?] = optional.get(h)

After:

    if flag
      yield x
    else
      yield y
    -> v: float32[?]
    ...

The same for what loops carry: a state that is there from the first iteration on is no optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, final

from torch2cpp.hostir.fit import operand_type
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Continue,
    HostOp,
    If,
    Leave,
    Loop,
    Op,
    Operand,
    Scope,
    Try,
    Value,
    Yield,
    walk,
)
from torch2cpp.hostir.program import Function, Program
from torch2cpp.hostir.types import OptionalType, TensorType, TupleType, Type
from torch2cpp.passes.rebuild import Rewriter, fresh_ids, iteration_ends, with_functions

#: How a handed-on value is taken apart.
Wrapper = Literal["optional.some", "tuple.make"]
#: One per handed-on value; None for what stays as it is.
Plan = Sequence[Wrapper | None]


def unwrap_results(program: Program) -> Program:
    """Optionals and tuples that control flow hands on are taken apart where every way makes them."""
    ids = fresh_ids(program)
    return with_functions(program, lambda f: _unwrapped(f, ids))


def _unwrapped(function: Function, ids: Iterator[int]) -> Function:
    made = {
        op.result: op
        for op in walk(function.body)
        if isinstance(op, HostOp) and op.result is not None and op.name in ("optional.some", "tuple.make")
    }
    return _Unwrapper(made, ids).function(function) if made else function


@final
@dataclass(frozen=True, slots=True)
class _Plans:
    """How the terminators of a block take apart what they hand on."""

    at_yield: Plan = ()
    at_continue: Plan = ()
    at_break: Plan = ()
    at_leave: Mapping[str, Plan] = field(default_factory=dict)


@final
class _Unwrapper(Rewriter):
    def __init__(self, made: dict[Value, HostOp], ids: Iterator[int]) -> None:
        super().__init__()
        #: Optionals and tuples by what made them, in the program as it was.
        self.made = made
        self.ids = ids
        #: What is inside of an optional or a tuple, in the program as it becomes.
        self.inside: dict[Value, tuple[Operand, ...]] = {}
        self.plans = _Plans()

    def visit(self, op: Op) -> list[Op]:
        match op:
            case HostOp():
                return [] if self.seen_through(op) else [op]
            case If():
                return self.if_(op)
            case Loop():
                return self.loop(op)
            case Scope():
                return self.scope(op)
            case Try():
                saved, self.plans = self.plans, replace(self.plans, at_yield=())
                done = super().visit(op)
                self.plans = saved
                return done
            case Yield():
                return self.end(op, self.plans.at_yield)
            case Continue():
                return self.end(op, self.plans.at_continue)
            case Break():
                return self.end(op, self.plans.at_break)
            case Leave():
                return self.end(op, self.plans.at_leave[op.label])
            case _:
                return [op]

    def seen_through(self, op: HostOp) -> bool:
        """Whether the operation only looks into a value whose inside is known, which takes its place."""
        if op.result is None:
            return False
        if op.name in ("optional.some", "tuple.make"):
            self.inside[op.result] = tuple(op.args)
            return False
        inside = self.inside.get(op.args[0]) if op.args and isinstance(op.args[0], Value) else None
        if inside is None:
            return False
        match op.name:
            case "optional.is_none":
                self.known[op.result] = False
                return True
            case "optional.get":
                return self.stands_for(inside[0], op.result)
            case "tuple.get":
                return self.stands_for(inside[op.args[1]], op.result)
            case _:
                return False

    def stands_for(self, operand: Operand, result: Value) -> bool:
        if not _of_type(operand, result.type):
            return False
        self.known[result] = operand
        return True

    # -- ways on ----------------------------------------------------------------------------

    def if_(self, op: If) -> list[Op]:
        ends = [arm.ops[-1] for arm in (op.then, op.orelse) if isinstance(arm.ops[-1], Yield)]
        plan = [self.wrapper(r.type, [e.values[k] for e in ends]) for k, r in enumerate(op.results)]
        results, after = self.opened(op.results, plan)
        with_plans = self.with_plans(replace(self.plans, at_yield=plan))
        return [replace(op, results=results, then=with_plans(op.then), orelse=with_plans(op.orelse)), *after]

    def scope(self, op: Scope) -> list[Op]:
        ends = [e for e in walk(op.body) if isinstance(e, Leave) and e.label == op.label]
        plan = [self.wrapper(r.type, [e.values[k] for e in ends]) for k, r in enumerate(op.results)]
        results, after = self.opened(op.results, plan)
        leaves = {**self.plans.at_leave, op.label: plan}
        body = self.with_plans(replace(self.plans, at_yield=(), at_leave=leaves))(op.body)
        return [replace(op, results=results, body=body), *after]

    def loop(self, op: Loop) -> list[Op]:
        counted = op.over is not None
        carried = op.body.params[int(counted) :]
        exits = list(iteration_ends(op.body))
        breaks = [e for e in exits if isinstance(e, Break)]
        plan: list[Wrapper | None] = []
        for k, param in enumerate(carried):
            handed = [e.values[k] for e in exits if isinstance(e, Continue) or counted]
            plan.append(self.wrapper(param.type, [op.inits[k], *(v for v in handed if v is not param)]))
        # A counted loop's results are what it carries.
        at_break = plan if counted else [
            self.wrapper(r.type, [e.values[k] for e in breaks]) for k, r in enumerate(op.results)
        ]  # fmt: skip
        before, inits = self.taken_apart(op.inits, plan, op)
        params, first = self.opened(carried, plan)
        results, after = self.opened(op.results, at_break)
        plans = replace(self.plans, at_yield=(), at_continue=plan, at_break=at_break)
        body = self.with_plans(plans)(op.body)
        body = Block((*op.body.params[: int(counted)], *params), [*first, *body.ops])
        return [*before, replace(op, results=results, inits=inits, body=body), *after]

    def with_plans(self, plans: _Plans) -> Callable[[Block], Block]:
        """Rewrites blocks whose terminators follow the plans."""

        def change(block: Block) -> Block:
            saved, self.plans = self.plans, plans
            done = self.block(block)
            self.plans = saved
            return done

        return change

    def end(self, op: Yield | Continue | Break | Leave, plan: Plan) -> list[Op]:
        if not any(plan):
            return [op]
        before, values = self.taken_apart(op.values, plan, op)
        return [*before, replace(op, values=values)]

    def wrapper(self, type_: Type, sources: Sequence[Operand]) -> Wrapper | None:
        """How values of this type are taken apart; None unless every source was just put together."""
        if not sources or not isinstance(type_, OptionalType | TupleType) or type_ == TupleType(()):
            return None
        name: Wrapper = "optional.some" if isinstance(type_, OptionalType) else "tuple.make"
        inner = _inner_types(type_)
        for source in sources:
            op = self.made.get(source) if isinstance(source, Value) else None
            if op is None or op.name != name or len(op.args) != len(inner):
                return None
            if not all(map(_of_type, op.args, inner)):
                return None
        return name

    def taken_apart(self, values: Sequence[Operand], plan: Plan, at: Op) -> tuple[list[Op], tuple[Operand, ...]]:
        """The values with those of the plan replaced by what is inside, and the operations that get at it."""
        before: list[Op] = []
        out: list[Operand] = []
        for value, wrapper in zip(values, plan, strict=True):
            if wrapper is None:
                out.append(value)
            elif value in self.inside:
                out += self.inside[value]
            else:
                for k, inner in enumerate(_inner_types(value.type)):
                    part = Value(next(self.ids), inner, value.name, at.span)
                    name, more = ("optional.get", ()) if wrapper == "optional.some" else ("tuple.get", (k,))
                    before.append(HostOp(part, name, (value, *more), at.span))
                    out.append(part)
        return before, tuple(out)

    def opened(self, values: Sequence[Value], plan: Plan) -> tuple[tuple[Value, ...], list[Op]]:
        """New values for what is inside those of the plan, and the operations that put them together again."""
        out: list[Value] = []
        after: list[Op] = []
        for value, wrapper in zip(values, plan, strict=True):
            if wrapper is None:
                out.append(value)
                continue
            inner = _inner_types(value.type)
            names = [value.name] if len(inner) == 1 else [f"{value.name}_{k}" for k in range(len(inner))]
            parts = tuple(Value(next(self.ids), t, name, value.span) for t, name in zip(inner, names))
            out += parts
            after.append(HostOp(value, wrapper, parts, value.span))
            self.inside[value] = parts
        return tuple(out), after


def _inner_types(type_: Type) -> tuple[Type, ...]:
    assert isinstance(type_, OptionalType | TupleType)
    return (type_.elem,) if isinstance(type_, OptionalType) else type_.elems


def _of_type(operand: Operand, type_: Type) -> bool:
    """Whether the operand is of the type, sizes of tensors aside; trees of operands are no values yet."""
    if operand is None or isinstance(operand, tuple | list | dict):
        return False
    given = operand_type(operand)
    return given == type_ or (isinstance(given, TensorType) and isinstance(type_, TensorType))
