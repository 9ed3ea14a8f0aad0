"""Exceptions of user classes as objects: what they carry from `raise` to a handler.

An IR exception has a name and a message. What else a handler reads of it (attributes, `args`, methods)
goes through local cells: once a handler was seen to read more, every `raise` of such a class stores the
object's fields, and the handler makes the object anew from them.
"""

from __future__ import annotations

import builtins
from typing import Any

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.convert import NoType, describe, from_operand, resolve, to_operand, type_of
from torch2cpp.binding.unlike import common_type
from torch2cpp.binding.values import AbsVal, InstanceObj, Native, Ref, Rt, Static, Tup, fresh_id
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.ops import Cell, Load, Store
from torch2cpp.hostir.types import NEVER, TupleType


def is_user_class(cls: type) -> bool:
    """Whether an exception class is the user's own, so that only the program itself raises it."""
    return cls.__module__ != "builtins" and cls.__module__.partition(".")[0] != "torch"


def new_exception(cx: Context, cls: type[BaseException], args: list[AbsVal]) -> Ref:
    """An exception object whose `__init__` has not run yet."""
    ref = Ref(fresh_id())
    cx.state.heap[ref.id] = InstanceObj(cls, {"args": Tup(tuple(args))}, cx.site(None))
    return ref


def base_init(ref: AbsVal) -> Native:
    """`Exception.__init__` bound to an exception object: sets its `args`."""

    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        o = resolve(cx, ref)
        if isinstance(o, InstanceObj) and isinstance(ref, Ref):
            cx.write(ref.id, InstanceObj(o.cls, {**o.fields, "args": Tup(tuple(args))}, o.site))
        return Static(None)

    return Native("__init__", run)


def exception_of(cx: Context, v: AbsVal) -> InstanceObj | None:
    """The exception object behind a value, if it is one of a user class."""
    o = resolve(cx, v)
    return o if isinstance(o, InstanceObj) and issubclass(o.cls, BaseException) else None


def text_of(cx: Context, ref: AbsVal, o: InstanceObj) -> AbsVal:
    """`str(e)`"""
    from torch2cpp.binding.calls import call_method_if_any
    from torch2cpp.binding.strings import to_repr, to_str
    from torch2cpp.binding.variables import use

    own = call_method_if_any(cx, ref, "__str__", [])
    if own is not None:
        return own
    args = use(cx, o.fields["args"])
    elems = args.elems if isinstance(args, Tup) else ()
    if not elems:
        return Static("")
    if len(elems) > 1:
        return to_repr(cx, args)
    return to_repr(cx, elems[0]) if issubclass(o.cls, KeyError) else to_str(cx, elems[0])


def message_of(cx: Context, ref: AbsVal, o: InstanceObj) -> Any:
    """The operand of the message a `raise` hands out. What has no text needs a handler around."""
    try:
        text = cx.probe(lambda: text_of(cx, ref, o))
    except Refused:
        text = None
    if text is not None:
        text = text_of(cx, ref, o)
        return text.value if isinstance(text, Static) else text.operand
    if not any(issubclass(o.cls, c) for t in cx.catching for c in t.classes):
        text_of(cx, ref, o)  # says what is wrong
    if o.cls not in cx.facts.textless:
        cx.facts.textless.add(o.cls)
        raise Restart
    return ""


# What is carried ----------------------------------------------------------------------------------


def store(cx: Context, o: InstanceObj) -> None:
    """Stores what handlers want of an exception that is raised now."""
    have = cx.facts.raised.setdefault(o.cls, {})
    for around in cx.catching:
        around.raised.add(o.cls)
    wanted = any(c in cx.facts.payload_wanted for c in o.cls.__mro__)
    news = False
    for name, value in o.fields.items():
        try:
            wide = common_type(cx, have.get(name, NEVER), type_of(cx, value))
        except NoType:
            continue
        if wide is None:
            cx.refuse("T2C191", f"{o.cls.__name__}.{name} is given {describe(cx, value)}", "use one type per field")
        cx.facts.examples.setdefault(("raised", o.cls, name), value)
        news |= wide != have.get(name)
        have[name] = wide
    if not wanted:
        return
    if not any(issubclass(o.cls, c) for t in cx.catching for c in t.classes) and cx.in_function:
        cx.refuse(
            "T2C191",
            f"{o.cls.__name__} is raised in a function that calls itself, and read outside",
            "return the values instead",
        )
    if news:
        raise Restart
    for name, value in o.fields.items():
        if name in have:
            cx.emit(Store(_cell(cx, o.cls, name), to_operand(cx, value, have[name]), cx.span))


def _cell(cx: Context, cls: type, name: str) -> Cell:
    key = (cls, name)
    if key not in cx.payload:
        # A handler that may get several classes also loads what the others would carry, and does not look at it.
        cx.payload[key] = Cell(f"{cls.__name__}_{name}", cx.facts.raised[cls][name], "local", initial="unset")
    return cx.payload[key]


def candidates(cx: Context, cls: type) -> list[type]:
    """The classes a handler of `cls` may get, as far as they are known to be raised."""
    return [c for c in cx.facts.raised if issubclass(c, cls)]


def load(cx: Context, cls: type, raised: frozenset[type]) -> dict[type, Ref]:
    """What a handler of `cls` may have caught of these classes, made anew: one object for each class."""
    out: dict[type, Ref] = {}
    for c in candidates(cx, cls):
        if c not in raised:
            continue
        fields: dict[str, AbsVal] = {}
        for name, t in cx.facts.raised[c].items():
            value = cx.value(t, name)
            cx.emit(Load(value, _cell(cx, c, name), cx.span))
            example = cx.facts.examples.get(("raised", c, name))
            # A tuple is taken apart where it is read: the exception may be of another class.
            whole = isinstance(t, TupleType)
            fields[name] = Rt(value, t, example) if whole else from_operand(cx, value, t, example, ("raised", c, name))
        ref = Ref(fresh_id())
        cx.state.heap[ref.id] = InstanceObj(c, fields, ("caught", c))
        out[c] = ref
    return out


def names_below(cx: Context, cls: type) -> list[str]:
    """Names of the exception classes that are `cls` or derived from it: Python's own and the program's."""
    known = [c for c in vars(builtins).values() if isinstance(c, type) and issubclass(c, BaseException)]
    below = [c for c in (*known, *cx.facts.raised, cls) if issubclass(c, cls)]
    names = [c.__name__ for c in below]
    if cls.__name__ in ("RuntimeError", "LinAlgError", "_LinAlgError"):
        names += ["LinAlgError", "_LinAlgError"]
    return list(dict.fromkeys(names))
