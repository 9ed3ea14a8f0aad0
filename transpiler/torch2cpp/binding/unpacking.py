"""`a, *b, c = values`."""

from __future__ import annotations

from torch2cpp.binding import operators
from torch2cpp.binding.aten import elements
from torch2cpp.binding.choices import distribute
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.iteration import Items, items_of, to_run_time_list
from torch2cpp.binding.optional import held_or_raise
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    Choice,
    Host,
    Rt,
    Static,
    Tup,
)
from torch2cpp.hostir.types import (
    ListType,
    OptionalType,
)


def unpack(cx: Context, v: AbsVal, count: int, star: int | None) -> list[AbsVal]:
    """The values for `a, b, *rest = v`."""
    from torch2cpp.binding.containers import new_list

    if isinstance(v, Choice):
        whole = distribute(cx, v, lambda option: Tup(tuple(unpack(cx, option, count, star))))
        return unpack(cx, whole, count, None)
    o = resolve(cx, v)
    elems = elements(cx, v)
    if elems is None:
        if isinstance(o, Rt) and isinstance(o.type, OptionalType):
            held = held_or_raise(cx, o, TypeError, "cannot unpack non-iterable NoneType object")
            return unpack(cx, held, count, star)
        if isinstance(o, Rt) and isinstance(o.type, ListType):
            return _unpack_run_time(cx, v, count, star)
        items = items_of(cx, v)
        if not isinstance(items.count, Static):
            if star is not None:
                return _unpack_run_time(cx, to_run_time_list(cx, v), count, star)
            return _unpack_counted(cx, items, count)
        elems = [items.get(Static(i)) for i in range(items.count.value)]
    if star is None:
        if len(elems) != count:
            _wrong_count(cx, len(elems), count)
        return elems
    if len(elems) < count - 1:
        cx.raise_(ValueError, f"not enough values to unpack (expected at least {count - 1}, got {len(elems)})")
    tail = count - 1 - star
    middle = elems[star : len(elems) - tail]
    return [*elems[:star], new_list(cx, middle, cx.site(None)), *elems[len(elems) - tail :]]


def _wrong_count(cx: Context, have: int, want: int) -> None:
    if have > want:
        cx.raise_(ValueError, f"too many values to unpack (expected {want})")
    cx.raise_(ValueError, f"not enough values to unpack (expected {want}, got {have})")


def _unpack_run_time(cx: Context, v: AbsVal, count: int, star: int | None) -> list[AbsVal]:
    if star is not None:
        from torch2cpp.binding.control import branch
        from torch2cpp.binding.expressions import make_slice
        from torch2cpp.binding.items import get_item

        items = items_of(cx, v)
        assert isinstance(items.count, Host)
        few = cx.host("lt", items.count.operand, count - 1, label="too_few")
        branch(cx, few, lambda: _too_few(cx, items.count, f"at least {count - 1}"), lambda: NONE, "count", cx.span)
        tail = count - 1 - star
        end = Static(-tail if tail else None)
        head = [get_item(cx, v, Static(i)) for i in range(star)]
        middle = get_item(cx, v, make_slice([Static(star), end, Static(None)]))
        return [*head, middle, *(get_item(cx, v, Static(i - tail)) for i in range(tail))]
    return _unpack_counted(cx, items_of(cx, v), count)


def _too_few(cx: Context, have: Static | Host, want: str) -> AbsVal:
    n = cx.host("str", operators.scalar_operand(cx, have))
    text = cx.host("str.add", f"not enough values to unpack (expected {want}, got ", n)
    cx.raise_(ValueError, cx.host("str.add", text, ")"))


def _unpack_counted(cx: Context, items: Items, count: int) -> list[AbsVal]:
    """A run-time number of items for a fixed number of names: checked at run time."""
    from torch2cpp.binding.control import branch

    assert isinstance(items.count, Host)
    wrong = cx.host("ne", items.count.operand, count, label="wrong_count")

    def fail() -> AbsVal:
        few = cx.host("lt", items.count.operand, count)  # type: ignore[union-attr]

        def too_many() -> AbsVal:
            cx.raise_(ValueError, f"too many values to unpack (expected {count})")

        return branch(cx, few, lambda: _too_few(cx, items.count, str(count)), too_many, "count", cx.span)

    branch(cx, wrong, fail, lambda: Static(None), "count", cx.span)
    return [items.get(Static(i)) for i in range(count)]
