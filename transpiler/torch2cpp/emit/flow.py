"""How the blocks of a function become C++ scopes: which fall through, which are flattened into their parent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from torch2cpp.emit.fold import Folding
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Continue,
    If,
    Leave,
    Loop,
    Op,
    Raise,
    Return,
    Scope,
    Try,
    Yield,
    blocks,
    results,
    walk,
)


@final
@dataclass(eq=False, slots=True)
class Flow:
    """Facts about the control flow of one function."""

    folding: Folding
    #: Scopes whose every `Leave` is the last thing done: printed in place, without a lambda.
    inline: set[str] = field(default_factory=set)
    #: Scopes that something inside leaves together with what is around them: printed as a block that
    #: `goto` leaves, since no jump gets out of a lambda.
    blocks: set[str] = field(default_factory=set)

    def falls_through(self, block: Block) -> bool:
        """Whether what follows the block's operation can run after it."""
        last = block.ops[-1] if block.ops else None
        match last:
            case None | Yield():
                return True
            case Leave():
                return last.label in self.inline
            case If():
                return self.folding.is_expression(last) or any(map(self.falls_through, blocks(last)))
            case Try():
                # Ends a block only when none of its ways goes on.
                return any(map(self.falls_through, blocks(last)))
            case Loop():
                return last.over is not None or has_break(last.body)
            case Continue() | Break() | Return() | Raise():
                return False
            case _:
                return True

    def is_silent(self, op: Op) -> bool:
        """Whether an operation prints nothing by itself, being folded into its use."""
        made = results(op)
        return len(made) == 1 and made[0] in self.folding.folded


def analyse(body: Block, folding: Folding) -> Flow:
    """The flow of a function."""
    flow = Flow(folding)
    for op in walk(body):
        if isinstance(op, Scope):
            if _count_leaves(op.body, op.label) == _tail_leaves(op.body, op.label):
                flow.inline.add(op.label)
            elif _jumps_out(op.body, frozenset({op.label}), in_loop=False):
                flow.blocks.add(op.label)
    return flow


def _jumps_out(block: Block, labels: frozenset[str], in_loop: bool) -> bool:
    """Whether a jump inside has its target outside: another scope than `labels`, a loop, the function."""
    for op in block.ops:
        match op:
            case Return():
                return True
            case Break() | Continue() if not in_loop:
                return True
            case Leave() if op.label not in labels:
                return True
            case Scope():
                inside = labels | {op.label}
            case _:
                inside = labels
        if any(_jumps_out(inner, inside, in_loop or isinstance(op, Loop)) for inner in blocks(op)):
            return True
    return False


def has_break(body: Block) -> bool:
    """Whether a loop's own body breaks out of it."""
    for op in body.ops:
        if isinstance(op, Break):
            return True
        if not isinstance(op, Loop) and any(map(has_break, blocks(op))):
            return True
    return False


def _count_leaves(block: Block, label: str) -> int:
    return sum(isinstance(op, Leave) and op.label == label for op in walk(block))


def _tail_leaves(block: Block, label: str) -> int:
    last = block.ops[-1]
    if isinstance(last, Leave) and last.label == label:
        return 1
    if isinstance(last, If):
        return sum(_tail_leaves(arm, label) for arm in blocks(last))
    return 0
