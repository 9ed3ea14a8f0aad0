"""Copies of operations with other blocks or operands: passes never change a program they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from torch2cpp.hostir.ops import (
    Block,
    Break,
    Call,
    Continue,
    Handler,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Op,
    Operand,
    Raise,
    RegionCall,
    Return,
    Scope,
    Store,
    TensorOp,
    Try,
    Value,
    Yield,
    blocks,
    falls_through,
    map_leaves,
    results,
    walk,
)
from torch2cpp.hostir.program import Function, Program


def with_blocks(op: Op, change: Callable[[Block], Block]) -> Op:
    """A control-flow operation with each of its blocks changed; any other operation as it is."""
    match op:
        case If():
            return replace(op, then=change(op.then), orelse=change(op.orelse))
        case Loop() | Scope():
            return replace(op, body=change(op.body))
        case Try():
            handlers = tuple(Handler(h.names, change(h.body)) for h in op.handlers)
            final = None if op.final is None else change(op.final)
            return replace(op, body=change(op.body), handlers=handlers, final=final)
        case _:
            return op


def with_operands(op: Op, change: Callable[[Operand], Operand]) -> Op:
    """The operation with each operand tree changed; its blocks stay as they are."""
    match op:
        case TensorOp():
            return replace(op, args=change(op.args), kwargs=change(op.kwargs))
        case HostOp() | Call():
            return replace(op, args=change(op.args))
        case RegionCall():
            return replace(op, args=change(op.args), index=change(op.index) if op.instances else None)
        case If():
            return replace(op, cond=change(op.cond))
        case Loop():
            return replace(op, inits=change(op.inits), over=None if op.over is None else change(op.over))
        case Yield() | Continue() | Break() | Leave():
            return replace(op, values=change(op.values))
        case Return() | Store():
            return replace(op, value=change(op.value))
        case Raise():
            return replace(op, message=change(op.message))
        case Scope() | Try() | Load():
            return op


class Rewriter:
    """Walks a function in order and makes a new body; a pass overrides `visit`.

    Values that were replaced stand in `known`, and later operands follow.
    """

    def __init__(self) -> None:
        self.known: dict[Value, Operand] = {}

    def function(self, function: Function) -> Function:
        """The function with its body rewritten."""
        return replace(function, body=self.block(function.body))

    def block(self, block: Block) -> Block:
        """The block rewritten; what stands after a terminator is dropped."""
        ops: list[Op] = []
        for op in block.ops:
            ops += self.visit(self.resolved(op))
            if not falls_through(Block((), ops[-1:])):
                break
        return Block(block.params, ops)

    def visit(self, op: Op) -> list[Op]:
        """What stands in the place of an operation whose operands are resolved already."""
        return [with_blocks(op, self.block)]

    def resolved(self, op: Op) -> Op:
        """The operation with replaced values replaced."""
        return with_operands(op, self.operand) if self.known else op

    def operand(self, tree: Operand) -> Operand:
        """The operand tree with replaced values replaced."""
        return map_leaves(tree, lambda x: self.known.get(x, x) if isinstance(x, Value) else x)

    def replace_all(self, values: tuple[Value, ...], operands: tuple[Operand, ...]) -> None:
        """From here on each value is the operand in its place; operands are resolved already."""
        self.known.update(zip(values, operands, strict=True))


def with_functions(program: Program, change: Callable[[Function], Function]) -> Program:
    """A program with every function and entry changed."""
    return replace(
        program,
        functions={name: change(f) for name, f in program.functions.items()},
        entries={name: change(f) for name, f in program.entries.items()},
    )


def iteration_ends(body: Block) -> Iterator[Continue | Break]:
    """The terminators that end an iteration of the loop this is the body of."""
    for op in body.ops:
        if isinstance(op, Continue | Break):
            yield op
        elif not isinstance(op, Loop):
            for inner in blocks(op):
                yield from iteration_ends(inner)


def defined_values(block: Block) -> Iterator[Value]:
    """Every value defined in a block or inside it, block parameters too."""
    yield from block.params
    for op in block.ops:
        yield from results(op)
        for inner in blocks(op):
            yield from defined_values(inner)


def fresh_ids(program: Program) -> Iterator[int]:
    """Ids for new values, beyond all that the program uses."""
    highest = 0
    for function in (*program.functions.values(), *program.entries.values()):
        own = [p.value for p in function.params if p.value is not None]
        highest = max(highest, *(v.id for v in (*own, *defined_values(function.body))), 0)
    for region in program.regions.values():
        inner = [r for op in region.body for r in results(op)]
        highest = max(highest, *(v.id for v in (*region.params, *inner)), 0)
    return count(highest + 1)


def all_ops(program: Program) -> Iterator[Op]:
    """Every operation of every function."""
    for function in (*program.functions.values(), *program.entries.values()):
        yield from walk(function.body)
