"""Branches, and the labels that returns, breaks and continues lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch2cpp.binding.context import Context, Exit, Label, Terminated
from torch2cpp.binding.joins import Merged, merge
from torch2cpp.binding.retries import again_where_confined
from torch2cpp.binding.values import AbsVal
from torch2cpp.hostir.ops import TERMINATORS, Block, If, Leave, Operand, Scope, Value, Yield, walk
from torch2cpp.spans import Span

Action = Callable[[], AbsVal]


def run_path(cx: Context, block: Block, state: Any, action: Action) -> Exit | None:
    """Runs `action` into `block`; the path's end, or None when it ended otherwise."""
    saved_block, saved_state, frames = cx.block, cx.state, len(cx.frames)
    path, span = cx.path, cx.span
    cx.block, cx.state = block, state
    try:
        value = action()
        return Exit(cx.state, cx.block, value, cx.span)
    except Terminated:
        return None
    finally:
        del cx.frames[frames:]
        cx.block, cx.state, cx.path, cx.span = saved_block, saved_state, path, span


def branch(
    cx: Context,
    cond: Operand,
    then: Action,
    orelse: Action,
    name: str,
    span: Span,
    refine: tuple[Callable[[Any], None], Callable[[Any], None]] | None = None,
) -> AbsVal:
    """`If` on a run-time condition; gives the joined value of both actions. Raises Terminated if neither goes on."""
    base = cx.state
    then_block, else_block = Block(), Block()
    then_state, else_state = base.copy(), base.copy()
    if refine:
        refine[0](then_state)
        refine[1](else_state)
    with cx.at(("then", span.line, span.column)):
        a = run_path(cx, then_block, then_state, then)
    with cx.at(("else", span.line, span.column)):
        b = run_path(cx, else_block, else_state, orelse)
    if a is None and b is None:
        cx.emit(If((), cond, then_block, else_block, span))
        raise Terminated
    if a is None or b is None:
        return _one_way(cx, cond, then_block, else_block, a, b, span)
    hints = cx.bool_hints.get(cond.id) if isinstance(cond, Value) else None
    if hints is not None:
        a.likely, b.likely = hints, not hints
    merged = merge(cx, [a, b], [[a.value, b.value]], [name])
    for path, operands in zip((a, b), merged.operands):
        path.block.ops.append(Yield(tuple(operands), span))
    cx.emit(If(tuple(merged.results), cond, then_block, else_block, span))
    cx.state = merged.state
    # What both arms know of the fields of objects was known before: values of one arm are not the other's.
    cx.state.fields = {k: v for k, v in a.state.fields.items() if b.state.fields.get(k) is v}
    return merged.extras[0]


def _one_way(
    cx: Context, cond: Operand, then_block: Block, else_block: Block, a: Exit | None, b: Exit | None, span: Span
) -> AbsVal:
    """One arm leaves: the other one's operations simply follow the `If`."""
    live = a or b
    assert live is not None
    gone, stays = (else_block, then_block) if a is not None else (then_block, else_block)
    if a is not None:
        cond = cx.host("not", cond, label="otherwise") if not isinstance(cond, bool) else not cond
    empty = Block(ops=[Yield((), span)])
    cx.emit(If((), cond, gone, empty, span))
    # Exits inside the arm that goes on refer to blocks nested in its operations, which stay as they are.
    cx.block.ops.extend(stays.ops)
    _redirect(cx, stays, cx.block)
    cx.state = live.state
    return live.value


def _redirect(cx: Context, old: Block, new: Block) -> None:
    """Exits that were to end `old` now end `new`, where its operations went."""
    for label in cx.labels:
        for e in label.exits:
            if e.block is old:
                e.block = new


# Labels ------------------------------------------------------------------------------------------


def labelled(cx: Context, name: str, action: Callable[[Label], AbsVal], span: Span) -> AbsVal:
    """Runs `action` with a label to leave it early; gives the joined value of all its exits."""
    return again_where_confined(cx, lambda: _labelled(cx, name, action, span))


def _labelled(cx: Context, name: str, action: Callable[[Label], AbsVal], span: Span) -> AbsVal:
    outer = cx.block
    body = Block()
    since = cx.next_id()
    with cx.label(name) as label:
        # A copy: what the action makes for itself, such as the variables of a function, ends with it.
        end = run_path(cx, body, cx.state.copy(), lambda: action(label))
        if end is not None:
            label.exits.append(end)
        exits = label.exits
    if not exits:
        _splice(cx, outer, body)
        raise Terminated
    if len(exits) == 1 and exits[0].block is body:
        return _follow_on(cx, outer, body, exits[0])
    merged = merge(cx, exits, [[e.value for e in exits]], [name], since=since)
    for e, operands in zip(exits, merged.operands):
        e.block.ops.append(Leave(label.name, tuple(operands), e.span))
    _close_scope(cx, outer, body, label.name, name, merged, span)
    cx.state = merged.state
    return merged.extras[0]


def _splice(cx: Context, outer: Block, body: Block) -> None:
    outer.ops.extend(body.ops)
    _redirect(cx, body, outer)


def _follow_on(cx: Context, outer: Block, body: Block, only: Exit) -> AbsVal:
    _splice(cx, outer, body)
    cx.state = only.state
    return only.value


def _close_scope(cx: Context, outer: Block, body: Block, label: str, name: str, merged: Merged, span: Span) -> None:
    """A scope, or nested ifs where every exit ends its path and the nesting stays shallow."""
    if _tail_depth(body.ops, label) <= 2:
        outer.ops.extend(_as_ifs(cx, body.ops, label, merged.results, span))
    else:
        outer.ops.append(Scope(tuple(merged.results), name, label, body, span))


def _tail_depth(ops: list[Any], label: str) -> int:
    """How deep ifs would nest if the scope became ifs; a large number if it cannot."""
    if not _ends(ops):
        return 99
    for i, op in enumerate(ops):
        if isinstance(op, If) and _leaves(op, label):
            rest = ops[i + 1 :]
            arms = (op.then, op.orelse)
            twice = bool(rest) and all(isinstance(arm.ops[-1], Yield) for arm in arms if arm.ops)
            if op.results or twice or not all(_ends(arm.ops) for arm in arms):
                return 99
            return 1 + max(_tail_depth(_arm(arm, rest), label) for arm in arms)
        if not isinstance(op, If | Leave) and _leaves(op, label):
            return 99
    return 0


def _ends(ops: list[Any]) -> bool:
    """Whether operations have their terminator already, and do not wait for that of an outer label."""
    if not ops:
        return False
    last = ops[-1]
    if isinstance(last, If):
        return not any(arm.ops and isinstance(arm.ops[-1], Yield) for arm in (last.then, last.orelse))
    return isinstance(last, TERMINATORS)


def _leaves(op: Any, label: str) -> bool:
    return any(isinstance(x, Leave) and x.label == label for x in walk(Block(ops=[op])))


def _arm(arm: Block, rest: list[Any]) -> list[Any]:
    """The operations of an arm, followed by what comes after the `If` when it falls through."""
    if arm.ops and isinstance(arm.ops[-1], TERMINATORS) and not isinstance(arm.ops[-1], Yield):
        return arm.ops
    return [op for op in arm.ops if not isinstance(op, Yield)] + rest


def _as_ifs(cx: Context, ops: list[Any], label: str, results: list[Value], span: Span) -> list[Any]:
    """The scope's operations with its exits at the ends of the arms of one `If` that has its results."""
    out: list[Any] = []
    for i, op in enumerate(ops):
        if not (isinstance(op, If) and _leaves(op, label)):
            out.append(op)
            continue
        blocks = []
        for arm in (op.then, op.orelse):
            inner = _arm(arm, ops[i + 1 :])
            last = inner[-1]
            if isinstance(last, Leave) and last.label == label and _tail_depth(inner, label) == 0:
                blocks.append(Block(ops=[*inner[:-1], Yield(last.values, last.span)]))
            elif any(_leaves(x, label) for x in inner):
                copies = [cx.value(v.type, v.name) for v in results]
                blocks.append(Block(ops=[*_as_ifs(cx, inner, label, copies, span), Yield(tuple(copies), span)]))
            else:
                blocks.append(Block(ops=list(inner)))
        out.append(If(tuple(results), op.cond, blocks[0], blocks[1], op.span))
        return out
    raise AssertionError("a scope with several exits has a branch")
