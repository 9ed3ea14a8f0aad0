"""Loops over run-time iterations, interpreted to a fixed point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch2cpp.binding.context import Context, Exit, Label, Terminated
from torch2cpp.binding.control import run_path
from torch2cpp.binding.joins import Merged, merge
from torch2cpp.binding.retries import Mark
from torch2cpp.binding.values import Host, ScopeObj, State
from torch2cpp.hostir.ops import Block, Break, Continue, Loop, Operand
from torch2cpp.hostir.types import INT
from torch2cpp.spans import Span

#: Attempts after which a loop's variables count as not settling.
MAX_ATTEMPTS = 30


@dataclass
class LoopPlan:
    """What a loop needs to be bound."""

    key: Any
    span: Span
    #: (start, stop, step) for a loop that runs out by itself; None for one that only breaks.
    over: tuple[Operand, Operand, Operand] | None
    #: Interprets one iteration, given the index of a loop that runs out.
    body: Callable[[Host | None], None]
    break_label: Label
    continue_label: Label
    #: Whether the iterations are known, so that unrolling is possible.
    static: bool
    #: Whether reading values of unlike kinds is reason to unroll it.
    unrolls: bool
    #: Index values in the sample worlds.
    hints: tuple[int, ...]
    #: Names that do not live from one iteration to the next nor after the loop.
    local_names: frozenset[str]
    index_name: str = "i"


def run_loop(cx: Context, plan: LoopPlan) -> None:
    """Binds a loop; afterwards the current state is the one after it. Raises Terminated if nothing follows.

    Each attempt joins the back edges seen so far into the state at the loop's head. When an attempt's
    own back edges bring nothing new, it is the loop; otherwise its operations are dropped and the next
    attempt starts with them. Every attempt makes some variable wider, so this ends.
    """
    base = cx.state
    mark = Mark(cx)
    widened: list[Exit] = []
    for _ in range(MAX_ATTEMPTS):
        cx.state = base.copy()
        if _attempt(cx, plan, base, widened):
            return
        mark.drop()
    cx.refuse(
        "T2C120",
        "the types of this loop's variables do not settle",
        "give each variable that the loop changes one type (same dtype, same rank) for all iterations",
    )


def _attempt(cx: Context, plan: LoopPlan, base: State, widened: list[Exit]) -> bool:
    since = cx.next_id()
    entry = Exit(base.copy(), Block(), None, plan.span)
    head = _merge(cx, plan, entry, widened, [])
    params = head.results
    index: Host | None = None
    if plan.over is not None:
        v = cx.value(INT, plan.index_name)
        index = Host(INT, v, plan.hints, frozenset({plan.key}) if plan.static else frozenset())
        cx.loops[v.id] = index.loops
        body_block = Block((v, *params))
    else:
        body_block = Block(tuple(params))
    cx.loop_starts.append(cx.stamp())
    try:
        end = run_path(cx, body_block, head.state.copy(), lambda: plan.body(index))
    finally:
        cx.loop_starts.pop()
    backs = [*plan.continue_label.exits, *([end] if end is not None else [])]
    breaks = plan.break_label.exits
    plan.continue_label.exits, plan.break_label.exits = [], []
    for path in (*backs, *breaks):
        _forget(cx, path, plan.local_names)
    joined = [*backs, *breaks] if plan.over is not None else backs
    trial = _merge(cx, plan, Exit(base.copy(), Block(), None, plan.span), widened, joined)
    if not _settled(head, trial):
        widened.extend(Exit(p.state, Block(), None, p.span) for p in joined)
        return False
    columns = trial.operands[1 + len(widened) :]
    for path, operands in zip(backs, columns):
        path.block.ops.append(Continue(tuple(operands), path.span))
    cx.block.ops.extend(entry.block.ops)
    _finish(cx, plan, body_block, head, breaks, columns[len(backs) :], base, widened, since)
    return True


def _finish(
    cx: Context,
    plan: LoopPlan,
    body: Block,
    head: Merged,
    breaks: list[Exit],
    break_columns: list[list[Operand]],
    base: State,
    widened: list[Exit],
    since: int,
) -> None:
    inits = tuple(head.operands[0])
    if plan.over is not None:
        for path, operands in zip(breaks, break_columns):
            path.block.ops.append(Break(tuple(operands), path.span))
        after = _merge(cx, plan, Exit(base.copy(), Block(), None, plan.span), widened, [])
        cx.emit(Loop(tuple(after.results), inits, body, plan.over, plan.span))
        cx.state = after.state
        return
    if not breaks:
        cx.emit(Loop((), inits, body, None, plan.span))
        raise Terminated
    out = merge(cx, breaks, since=since)
    for path, operands in zip(breaks, out.operands):
        path.block.ops.append(Break(tuple(operands), path.span))
    cx.emit(Loop(tuple(out.results), inits, body, None, plan.span))
    cx.state = out.state


def _merge(cx: Context, plan: LoopPlan, entry: Exit, widened: list[Exit], more: list[Exit]) -> Merged:
    # The states of earlier attempts only count by their form; what converting them emits is dropped.
    # After an iteration the sizes are more telling than before the first.
    entry.likely = not widened
    stale = [Exit(w.state, Block(), None, w.span, likely=w is widened[-1]) for w in widened]
    for path in more:
        path.likely = False
    return merge(cx, [entry, *stale, *more], loop=plan.key if plan.static else None, unroll=plan.unrolls)


def _settled(head: Merged, trial: Merged) -> bool:
    """Whether joining in the new back edges changed neither what is carried nor its types or options."""
    if [v.type for v in head.results] != [v.type for v in trial.results] or head.options != trial.options:
        return False
    known = {k for k in head.state.heap if isinstance(k, tuple)}
    return known == {k for k in trial.state.heap if isinstance(k, tuple)} and set(head.state.narrowed) == set(
        trial.state.narrowed
    )


def _forget(cx: Context, path: Exit, names: frozenset[str]) -> None:
    scope = path.state.heap[cx.frame.scope]
    assert isinstance(scope, ScopeObj)
    if names & scope.names.keys():
        kept = {n: v for n, v in scope.names.items() if n not in names}
        path.state.heap[cx.frame.scope] = ScopeObj(kept, scope.parent)
