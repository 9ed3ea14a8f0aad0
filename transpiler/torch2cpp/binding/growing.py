"""Loops over lists and dicts that their own body makes longer or shorter.

Python looks at the length again before each item of a list, and raises when a dict has changed. Most
loops change nothing they walk, so the plain form comes first; when its body turns out to write to the
list, the loop is bound again in this form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch2cpp.binding import operators
from torch2cpp.binding.context import Context, Label, Restart
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.iteration import Items
from torch2cpp.binding.values import NONE, AbsVal, Host, Rt, ScopeObj, Static
from torch2cpp.binding.variables import set_name
from torch2cpp.hostir.ops import Block, HostOp, Value, walk
from torch2cpp.hostir.types import DictType, ListType

#: Host operations that change how many items a container has.
_RESIZING = {
    "list.append", "list.appendleft", "list.extend", "list.insert", "list.pop", "list.remove", "list.clear",
    "list.delete", "list.set_slice", "list.delete_slice", "dict.set", "dict.pop", "dict.delete", "dict.update",
    "dict.clear",
}  # fmt: skip


class Watch:
    """Whether the operations emitted from now on change the container that a loop walks."""

    def __init__(self, cx: Context, items: Items, key: Any) -> None:
        source = resolve(cx, items.source) if items.source is not None else None
        self.cx, self.key = cx, key
        self.operand: Value | None = source.operand if isinstance(source, Rt) else None
        self.block, self.start = cx.block, len(cx.block.ops)

    def check(self) -> None:
        """Learns it, and starts binding again."""
        if self.operand is None:
            return
        for op in walk(Block(ops=self.block.ops[self.start :])):
            if isinstance(op, HostOp) and op.name in _RESIZING and op.args[0] is self.operand:
                self.cx.facts.growing.add(self.key)
                raise Restart


def loop_over_growing(
    cx: Context,
    items: Items,
    one: Callable[[AbsVal], None],
    orelse: Callable[[], None] | None,
    key: Any,
    local_names: frozenset[str],
) -> None:
    """A loop that asks for the length before every item."""
    from torch2cpp.binding.loops import LoopPlan, run_loop

    source = resolve(cx, items.source)
    assert isinstance(source, Rt)
    position = f"{len(cx.facts.growing)}:position"  # no Python name: nothing of the user's can clash
    set_name(cx, cx.frame.scope, position, Static(0))

    def whole(out: Label) -> AbsVal:
        with cx.label("exhausted") as exhausted, cx.label("continue") as continue_label:

            def body(_: Host | None) -> None:
                at = cx.state.heap[cx.frame.scope].names[position]
                _go_on_or_leave(cx, source, items, at, exhausted)
                set_name(cx, cx.frame.scope, position, operators.binary(cx, "+", at, Static(1)))
                with cx.in_loop(out, continue_label):
                    one(items.get(at))

            run_loop(
                cx,
                LoopPlan(key, cx.span, None, body, exhausted, continue_label, False, False, (0, 1, 2), local_names),
            )
        if orelse is not None:
            orelse()
        return NONE

    labelled(cx, "for", whole, cx.span)
    scope = cx.state.heap[cx.frame.scope]
    assert isinstance(scope, ScopeObj)
    kept = {n: v for n, v in scope.names.items() if n != position}
    cx.write(cx.frame.scope, ScopeObj(kept, scope.parent), position)


def _go_on_or_leave(cx: Context, source: Rt, items: Items, at: AbsVal, exhausted: Label) -> None:
    """Leaves the loop after the last item; a dict that has changed raises, as Python does."""
    if isinstance(source.type, DictType):
        now = cx.scalar("dict.len", source.operand)
        changed = operators.truth(cx, operators.compare(cx, "!=", now, items.count))
        assert isinstance(changed, Host)

        def fail() -> AbsVal:
            cx.raise_(RuntimeError, "dictionary changed size during iteration")

        branch(cx, changed.operand, fail, lambda: NONE, "changed", cx.span)
    else:
        assert isinstance(source.type, ListType)
        now = cx.scalar("list.len", source.operand)
    more = operators.truth(cx, operators.compare(cx, "<", at, now))
    assert isinstance(more, Host)

    def stop() -> AbsVal:
        cx.leave(exhausted, NONE)

    branch(cx, more.operand, lambda: NONE, stop, "more", cx.span)
