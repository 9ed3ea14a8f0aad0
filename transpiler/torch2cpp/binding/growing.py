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
from torch2cpp.binding.convert import resolve, same_layout
from torch2cpp.binding.iteration import Items, compared, still_there
from torch2cpp.binding.values import NONE, AbsVal, Host, Rt, ScopeObj, Static
from torch2cpp.binding.variables import set_name
from torch2cpp.hostir.ops import Block, Call, HostOp, Value, walk
from torch2cpp.hostir.types import DictType, SetType, Type

#: Host operations that change how many items a container has.
_RESIZING = {
    "list.append", "list.appendleft", "list.extend", "list.insert", "list.pop", "list.remove", "list.clear",
    "list.delete", "list.set_slice", "list.delete_slice", "dict.set", "dict.pop", "dict.delete", "dict.update",
    "dict.clear", "set.add", "set.discard", "set.update", "set.intersection_update", "set.difference_update",
    "set.symmetric_difference_update", "set.update_keys", "set.clear", "set.pop",
}  # fmt: skip


#: Those that make a place for a new key, and those that take one away.
_ADDING = {"dict.set", "dict.update", "set.add", "set.update", "set.update_keys", "set.symmetric_difference_update"}
_REMOVING = {
    "dict.pop", "dict.delete", "dict.clear", "set.discard", "set.intersection_update", "set.difference_update",
    "set.symmetric_difference_update", "set.clear", "set.pop",
}  # fmt: skip
#: Operations whose result no other value can be, if that value is older.
_MAKING = {
    "list.new", "list.copy", "list.slice", "list.concat", "list.repeat", "list.reversed", "list.range", "str.split",
    "tensor.tolist", "set.sorted", "set.members", "set.new", "set.copy", "set.union", "set.intersection",
    "set.difference", "set.symmetric_difference", "dict.new", "dict.copy", "dict.keys", "dict.values", "dict.items",
}  # fmt: skip


class Watch:
    """Whether the operations emitted from now on change the container that a loop walks."""

    def __init__(self, cx: Context, items: Items, key: Any) -> None:
        self.cx, self.key = cx, key
        self.source = _operand(cx, items.source)
        self.walked = [v for v in (_operand(cx, x) for x in items.walked) if v is not None]
        self.fixed = [v for v in (_operand(cx, x) for x in items.fixed) if v is not None]
        self.block, self.start = cx.block, len(cx.block.ops)

    def check(self) -> None:
        """Learns it, and starts binding again."""
        if self.source is None and not self.fixed and not self.walked:
            return
        ops = [op for op in walk(Block(ops=self.block.ops[self.start :])) if isinstance(op, HostOp | Call)]
        if any(_changes(self.cx, op, v) for op in ops for v in self.fixed):
            self.cx.refuse(
                "T2C166", "a dict is made longer or shorter while zip() or reversed() walks it", "walk a copy"
            )
        for walked in self.walked:
            self._note(walked, {_name(op) for op in ops if _changes(self.cx, op, walked)}, ops)
        source = self.source
        if source is None:
            return
        changing = {_name(op) for op in ops if _changes(self.cx, op, source)}
        if changing & _ADDING and changing & _REMOVING:
            what = "set" if isinstance(source.type, SetType) else "dict"
            members = "members" if what == "set" else "keys"
            message = f"a {what} loses and gets {members} while it is iterated"
            self.cx.refuse("T2C166", message, f"iterate over list(the {what})")
        self._note(source, changing, ops)

    def _note(self, walked: Value, changing: set[str], ops: list[HostOp | Call]) -> None:
        calls = {op.function for op in ops if isinstance(op, Call)}
        self.cx.open_loops += [(self.key, walked.type, name) for name in calls]
        if changing:
            self.cx.facts.growing.add(self.key)
            raise Restart


def _operand(cx: Context, v: AbsVal) -> Value | None:
    o = resolve(cx, v) if v is not None else None
    return o.operand if isinstance(o, Rt) else None


def _name(op: HostOp | Call) -> str:
    return op.name if isinstance(op, HostOp) else "call"


def _changes(cx: Context, op: HostOp | Call, container: Value) -> bool:
    """Whether an operation may change how many items a container has."""
    if isinstance(op, Call):
        return _resizes(cx, op.function, container.type, set())
    return op.name in _RESIZING and _may_be(cx, op.args[0], container)


def _resizes(cx: Context, function: str, t: Type, seen: set[str]) -> bool:
    """Whether a function, or one that it calls, changes the length of a container of a type."""
    seen.add(function)
    bound = cx.functions.get(function)
    if bound is None:
        return False  # being bound at this moment, see `check_open`
    for op in walk(bound.body):
        if isinstance(op, HostOp) and op.name in _RESIZING and _alike(op.args[0].type, t):
            return True
        if isinstance(op, Call) and op.function not in seen and _resizes(cx, op.function, t, seen):
            return True
    return False


def check_open(cx: Context) -> None:
    """Looks again at loops that call a function which was not yet complete when they were bound."""
    for key, t, function in cx.open_loops:
        if key not in cx.facts.growing and _resizes(cx, function, t, set()):
            cx.facts.growing.add(key)
            raise Restart


def _may_be(cx: Context, a: Value, b: Value) -> bool:
    """Whether two values may be one and the same container."""
    if a is b:
        return True
    if not _alike(a.type, b.type):
        return False
    return not (_made_after(cx, a, b) or _made_after(cx, b, a))


def _made_after(cx: Context, new: Value, old: Value) -> bool:
    """Whether a value is a new container, made when the other value was there already."""
    op = cx.made_by.get(new.id)
    made = op is not None and op.name in _MAKING
    other = cx.made_by.get(old.id)
    return made and (old.id < new.id or (other is not None and other.name in _MAKING))


def _alike(a: Type, b: Type) -> bool:
    """Whether containers of these types can be the same object."""
    return same_layout(a, b) or same_layout(b, a)


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

    items = items.live() if items.live is not None else items
    source = resolve(cx, items.source) if items.source is not None else None
    position = f"{cx.next_id()}:position"  # no Python name: nothing of the user's can clash
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


def _go_on_or_leave(cx: Context, source: Rt | None, items: Items, at: AbsVal, exhausted: Label) -> None:
    """Leaves the loop after the last item; a dict that has changed raises, as Python does."""
    if source is not None and isinstance(source.type, DictType | SetType):
        is_dict = isinstance(source.type, DictType)
        now = cx.scalar("dict.len" if is_dict else "set.len", source.operand)
        changed = operators.truth(cx, operators.compare(cx, "!=", now, items.count))
        assert isinstance(changed, Host)

        def fail() -> AbsVal:
            name = "dictionary" if is_dict else "Set"
            cx.raise_(RuntimeError, f"{name} changed size during iteration")

        branch(cx, changed.operand, fail, lambda: NONE, "changed", cx.span)
        more = compared(cx, "<", at, now)
    else:
        more = still_there(cx, items, at)
    assert isinstance(more, Host)

    def stop() -> AbsVal:
        cx.leave(exhausted, NONE)

    branch(cx, more.operand, lambda: NONE, stop, "more", cx.span)
