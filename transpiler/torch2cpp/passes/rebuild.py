"""Copies of operations with other blocks or operands: passes never change a program they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from torch2cpp.hostir.ops import Block, Handler, If, Loop, Op, Scope, Try, Value, blocks, results, walk
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


def with_functions(program: Program, change: Callable[[Function], Function]) -> Program:
    """A program with every function and entry changed."""
    return replace(
        program,
        functions={name: change(f) for name, f in program.functions.items()},
        entries={name: change(f) for name, f in program.entries.items()},
    )


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
