"""Keys of run-time dicts and sets."""

from __future__ import annotations

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import describe, to_operand, type_of
from torch2cpp.binding.growth import learn_type, place_of
from torch2cpp.binding.values import AbsVal, Rt
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import DictType, SetType, Type, join


def key_operand(cx: Context, o: Rt, key: AbsVal) -> Operand:
    """A key that is looked up: the type of a run-time dict's or set's keys grows to take it."""
    have = o.type.key if isinstance(o.type, DictType) else o.type.elem  # type: ignore[union-attr]
    with cx.to_store():
        wide = join(have, type_of(cx, key))
    if wide is None:
        cx.refuse(
            "T2C111",
            f"a run-time {o.type} is asked for the key {describe(cx, key)}",
            "use keys of one type",
        )
    site = place_of(cx, o)
    if wide != have and site is not None:
        new: Type = DictType(wide, o.type.value, o.type.kind) if isinstance(o.type, DictType) else SetType(wide)
        if learn_type(cx, site, new):
            raise Restart
    return to_operand(cx, key, have)
