"""str(), repr(), format() and f-strings: known parts are put together while transpiling."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import libcst as cst
import torch

from torch2cpp.binding import operators, partial_dicts, struct_dicts
from torch2cpp.binding.choices import distributes
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.kept_objects import holds_state, is_kept
from torch2cpp.binding.string_format import percent_format, str_format_method
from torch2cpp.binding.string_methods import is_text, string_item, string_method
from torch2cpp.binding.values import AbsVal, Array, DictObj, Host, InstanceObj, Iter, ListObj, Rt, Static, Tensor, Tup
from torch2cpp.hostir.pyvalues import own_fields
from torch2cpp.hostir.types import (
    STR,
    DictType,
    ListType,
    NoneType,
    OptionalType,
    ScalarType,
    StructType,
    TupleType,
    Type,
    UnionType,
    limit_of,
)

Text = Static | Host


def concatenated(cx: Context, parts: Sequence[Text]) -> Text:
    """Strings joined in order; neighbours that are known become one."""
    merged: list[Text] = []
    for p in parts:
        if isinstance(p, Static) and merged and isinstance(merged[-1], Static):
            merged[-1] = Static(merged[-1].value + p.value)
        elif not isinstance(p, Static) or p.value:
            merged.append(p)
    if not merged:
        return Static("")
    out = merged[0]
    for p in merged[1:]:
        out = cx.scalar("str.add", operators.scalar_operand(cx, out), operators.scalar_operand(cx, p), label="text")
    return out


# str and repr -------------------------------------------------------------------------------------


def to_str(cx: Context, v: AbsVal) -> Text:
    """`str(v)`"""
    out: Text = _str_of(cx, v)
    return out


@distributes
@partial_dicts.settles
def _str_of(cx: Context, v: AbsVal) -> Text:
    from torch2cpp.binding.exception_objects import text_of
    from torch2cpp.binding.exceptions import Exc

    o = resolve(cx, v)
    match o:
        case Static(value) if isinstance(value, str):
            return o
        case Host():
            return o if o.type == STR else cx.scalar("str", o.operand, label="text")
        case Exc():
            if o.caught and any(issubclass(t, k) for t in cx.facts.textless & o.raised for k in o.classes):
                cx.refuse("T2C220", "an exception that carries what has no text is turned into text", "read its fields")
            return o.message
        case Rt(type=OptionalType()):
            return _optional(cx, o, to_str)
        case InstanceObj() if issubclass(o.cls, BaseException):
            text = text_of(cx, v, o)
            assert isinstance(text, Static | Host)
            return text
        case InstanceObj() | Rt(type=StructType()):
            out = _user_text(cx, v, "__str__")
            if out is not None:
                return out
        case Static(value) if is_kept(cx, value):
            out = _user_text(cx, v, "__str__")
            if out is not None:
                return out
    return to_repr(cx, v)


def to_repr(cx: Context, v: AbsVal) -> Text:
    """`repr(v)`"""
    out: Text = _repr_of(cx, v)
    return out


@distributes
@partial_dicts.settles
def _repr_of(cx: Context, v: AbsVal) -> Text:
    from torch2cpp.binding.exceptions import Exc

    o = resolve(cx, v)
    match o:
        case Static(value) if is_kept(cx, value):
            return _kept_repr(cx, v, value)
        case Static(value):
            return _static_repr(cx, o, value)
        case Host():
            return cx.scalar("repr", o.operand, label="text")
        case Tup():
            return _tuple_repr(cx, o)
        case ListObj():
            items = _bracketed(cx, "[", [to_repr(cx, e) for e in o.elems], "]")
            return items if o.kind == "list" else concatenated(cx, [Static("deque("), items, Static(_ending(o.kind))])
        case DictObj():
            if o.factory is not None:
                cx.refuse("T2C220", "a defaultdict is printed", "print dict(d)")
            pairs = [concatenated(cx, [Static(f"{k!r}: "), to_repr(cx, x)]) for k, x in o.items.items()]
            return _bracketed(cx, "{", pairs, "}")
        case Rt(type=OptionalType()):
            return _optional(cx, o, to_repr)
        case Rt(type=StructType()):
            out = _struct_repr(cx, v, o)
            return out if out is not None else _refuse_text(cx, v)
        case Rt():
            return _run_time_repr(cx, o)
        case Exc():
            if o.caught:
                cx.refuse("T2C220", "repr() of a caught exception", "use type(e).__name__ and str(e)")
            shown = [to_repr(cx, a) for a in o.args] or ([to_repr(cx, o.message)] if _has_text(o.message) else [])
            return _bracketed(cx, f"{o.cls.__name__}(", shown, ")")
        case InstanceObj():
            out = _instance_repr(cx, v, o)
            if out is not None:
                return out
    return _refuse_text(cx, v)


def _has_text(message: Text) -> bool:
    return not isinstance(message, Static) or bool(message.value)


def _refuse_text(cx: Context, v: AbsVal) -> NoReturn:
    remedy = "print its numbers: t.item(), t.tolist()" if isinstance(v, Tensor) else "print numbers and strings"
    cx.refuse("T2C220", f"{describe(cx, v)} is turned into text", remedy)


def _static_repr(cx: Context, o: Static, value: Any) -> Text:
    if isinstance(value, torch.Tensor):
        return _refuse_text(cx, o)
    if isinstance(value, tuple | list) and any(isinstance(x, torch.Tensor) for x in value):
        return _refuse_text(cx, o)
    if holds_state(cx, value) and type(value) in (tuple, list):
        inside = tuple(map(Static, value))
        return _tuple_repr(cx, Tup(inside)) if isinstance(value, tuple) else _bracketed(
            cx, "[", [to_repr(cx, e) for e in inside], "]")  # fmt: skip
    out = operators.static_call(cx, repr, value)
    assert isinstance(out, Static)
    return out


def _kept_repr(cx: Context, v: AbsVal, value: Any) -> Text:
    """An object of the model with state: what a user's `__repr__`, or a dataclass's own, makes of it."""
    out = _object_repr(cx, v, type(value), list(own_fields(value)))
    return out if out is not None else _refuse_text(cx, v)


def _bracketed(cx: Context, before: str, parts: Sequence[Text], after: str) -> Text:
    pieces: list[Text] = [Static(before)]
    for i, p in enumerate(parts):
        pieces += [p] if i == 0 else [Static(", "), p]
    return concatenated(cx, [*pieces, Static(after)])


def _tuple_repr(cx: Context, o: Tup) -> Text:
    shown = [to_repr(cx, e) for e in o.elems]
    if o.cls is not None and o.names:
        fields = [concatenated(cx, [Static(f"{n}="), s]) for n, s in zip(o.names, shown)]
        return _bracketed(cx, f"{o.cls.__name__}(", fields, ")")
    return _bracketed(cx, "(", shown, ",)" if len(shown) == 1 else ")")


def _optional(cx: Context, o: Rt, text: Callable[[Context, AbsVal], Text]) -> Text:
    from torch2cpp.binding.optional import held, is_none

    missing = is_none(cx, o)
    if isinstance(missing, Static):
        return Static("None") if missing.value else text(cx, held(cx, o))
    out = branch(cx, missing.operand, lambda: Static("None"), lambda: text(cx, held(cx, o)), "text", cx.span)
    assert isinstance(out, Static | Host)
    return out


def _run_time_repr(cx: Context, o: Rt) -> Text:
    if isinstance(o.type, NoneType):
        return Static("None")
    if not printable(o.type):
        if isinstance(o.type, ListType) and o.type.kind == "list":
            return _texts_joined(cx, o)
        return _refuse_text(cx, o)
    shown = cx.scalar("repr", o.operand, label="text")
    if isinstance(o.type, ListType) and o.type.kind.startswith("deque"):
        return concatenated(cx, [Static("deque("), shown, Static(_ending(o.type.kind))])
    return shown


def _ending(kind: str) -> str:
    """How the text of a deque ends."""
    limit = limit_of(kind)
    return ")" if limit is None else f", maxlen={limit})"


def _texts_joined(cx: Context, o: Rt) -> Text:
    """`repr` of a list whose elements have a text of their own."""
    from torch2cpp.binding.comprehensions import consume
    from torch2cpp.binding.containers import new_list
    from torch2cpp.binding.list_methods import list_append

    site = (cx.site(None), "texts")
    texts = new_list(cx, [], site)
    consume(cx, o, lambda x: list_append(cx, texts, to_repr(cx, x)), site)
    listed = resolve(cx, texts)
    assert isinstance(listed, Rt)
    return concatenated(cx, [Static("["), cx.scalar("str.join", ", ", listed.operand, label="text"), Static("]")])


def printable(t: Type, inside: bool = False) -> bool:
    """Whether the run time has Python's text for values of this type."""
    match t:
        case ScalarType():
            return not t.of
        case ListType():
            return (not inside or t.kind == "list") and printable(t.elem, True)
        case DictType():
            return t.kind == "dict" and printable(t.key, True) and printable(t.value, True)
        case TupleType():
            return t.kind == "tuple" and all(printable(e, True) for e in t.elems)
        case OptionalType():
            return printable(t.elem, True)
        case UnionType():
            return all(printable(m, True) for m in t.members)
    return str(t) == "never"


def _user_text(cx: Context, v: AbsVal, name: str) -> Text | None:
    """What `__str__` or `__repr__` of a user class gives."""
    from torch2cpp.binding.calls import call_method_if_any

    out = call_method_if_any(cx, v, name, [])
    if out is None:
        return None
    if is_text(out):
        assert isinstance(out, Static | Host)
        return out
    cx.raise_(TypeError, f"{name} returned non-string")


def _instance_repr(cx: Context, v: AbsVal, o: InstanceObj) -> Text | None:
    return _object_repr(cx, v, o.cls, list(o.fields))


def _struct_repr(cx: Context, v: AbsVal, o: Rt) -> Text | None:
    """`repr` of a run-time object, or of a dict with known keys that lives at run time."""
    assert isinstance(o.type, StructType)
    key = cx.struct_key(o.type.name)
    if isinstance(key, type):
        return _object_repr(cx, v, key, list(cx.facts.structs[key]))
    full = struct_dicts.whole(cx, o)
    if full is not o:
        return to_repr(cx, full)
    pairs = [
        concatenated(cx, [Static(f"{k!r}: "), to_repr(cx, struct_dicts.get_item(cx, o, Static(k)))])
        for k in struct_dicts.keys(cx, o)
    ]
    return _bracketed(cx, "{", pairs, "}")


def _object_repr(cx: Context, v: AbsVal, cls: type, fields: list[str]) -> Text | None:
    from torch2cpp.binding.attributes import get_attribute

    if dataclasses.is_dataclass(cls) and hasattr(cls.__repr__, "__wrapped__"):
        shown = [
            concatenated(cx, [Static(f"{f.name}="), to_repr(cx, get_attribute(cx, v, f.name))])
            for f in dataclasses.fields(cls)
            if f.repr and f.name in fields
        ]
        return _bracketed(cx, f"{cls.__qualname__}(", shown, ")")
    return _user_text(cx, v, "__repr__")


# format -------------------------------------------------------------------------------------------


def format_value(cx: Context, v: AbsVal, spec: Text) -> Text:
    """`format(v, spec)`; the spec must be known."""
    out: Text = _formatted(cx, v, spec)
    return out


@distributes
@partial_dicts.settles
def _formatted(cx: Context, v: AbsVal, spec: Text) -> Text:
    if not isinstance(spec, Static):
        cx.refuse("T2C221", "a format specification that is decided at run time", "write the width and precision out")
    o = resolve(cx, v)
    if isinstance(o, Array) and o.tensor.rank == 0 and spec.value:
        from torch2cpp.binding.numpy_arrays import item

        return format_value(cx, item(cx, o), spec)
    t = operators.tensor_of(cx, o)
    if t is not None:
        return _format_tensor(cx, o, t, spec)
    match o:
        case Static(value) if not is_kept(cx, value):
            out = operators.static_call(cx, format, value, spec.value)
            assert isinstance(out, Static)
            return out
        case Host():
            if not spec.value:
                return to_str(cx, o)
            return cx.scalar("str.format", o.operand, spec.value, label="text")
        case Rt(type=OptionalType()):
            from torch2cpp.binding.optional import held, is_none

            missing = is_none(cx, o)
            if isinstance(missing, Static):
                return format_value(cx, Static(None) if missing.value else held(cx, o), spec)
            out = branch(
                cx,
                missing.operand,
                lambda: format_value(cx, Static(None), spec),
                lambda: format_value(cx, held(cx, o), spec),
                "text",
                cx.span,
            )
            assert isinstance(out, Static | Host)
            return out
        case InstanceObj() | Static() | Rt(type=StructType()):
            from torch2cpp.binding.calls import call_method_if_any

            out = call_method_if_any(cx, v, "__format__", [spec])
            if isinstance(out, Static | Host):
                return out
    if not spec.value:
        return to_str(cx, v)
    cx.raise_(TypeError, f"unsupported format string passed to {_class_name(o)}.__format__")


def _class_name(o: AbsVal) -> str:
    match o:
        case Tup():
            return o.cls.__name__ if o.cls is not None else "tuple"
        case ListObj():
            return "collections.deque" if o.kind.startswith("deque") else "list"
        case DictObj():
            return "dict" if o.factory is None else "collections.defaultdict"
        case InstanceObj():
            return o.cls.__name__
        case Rt():
            return str(o.type).partition("[")[0]
        case Iter():
            return o.kind
    return "object"


def _format_tensor(cx: Context, o: AbsVal, t: Tensor, spec: Static) -> Text:
    """As torch.Tensor.__format__: a 0-d tensor formats its item, others take no specification."""
    from torch2cpp.binding.aten import scalar_item

    plain = not (isinstance(o, Static) and type(o.value) is not torch.Tensor)
    if t.rank == 0 and plain:
        return format_value(cx, scalar_item(cx, t), spec)
    if spec.value:
        name = "Tensor" if plain else type(o.value).__name__
        cx.raise_(TypeError, f"unsupported format string passed to {name}.__format__")
    return _refuse_text(cx, t)


# f-strings ----------------------------------------------------------------------------------------


def formatted_string(cx: Context, node: cst.FormattedString) -> Text:
    """An f-string."""
    prefix = node.start.rstrip("\"'").lower().replace("f", "")
    return concatenated(cx, _parts(cx, node.parts, prefix, node.end))


def _parts(cx: Context, parts: Sequence[Any], prefix: str, quote: str) -> list[Text]:
    out: list[Text] = []
    for part in parts:
        if isinstance(part, cst.FormattedStringText):
            out.append(Static(_literal(part.value, prefix, quote)))
        else:
            out += _expression(cx, part, prefix, quote)
    return out


def _literal(text: str, prefix: str, quote: str) -> str:
    text = text.replace("{{", "{").replace("}}", "}")
    # A quote at the end of the text would run into the closing ones.
    escaped = text if len(quote) == 1 or "r" in prefix or not text.endswith(quote[0]) else text[:-1] + "\\" + quote[0]
    return str(ast.literal_eval(f"{prefix}{quote}{escaped}{quote}"))


def _expression(cx: Context, node: cst.FormattedStringExpression, prefix: str, quote: str) -> list[Text]:
    from torch2cpp.binding.expressions import evaluate

    out: list[Text] = []
    conversion = node.conversion
    if node.equal is not None:
        code = cst.Module(body=[]).code_for_node
        before, after = code(node.whitespace_before_expression), code(node.whitespace_after_expression)
        out.append(Static(f"{before}{code(node.expression)}{code(node.equal)}{after}"))
        if conversion is None and node.format_spec is None:
            conversion = "r"
    value = evaluate(cx, node.expression)
    spec = concatenated(cx, _parts(cx, node.format_spec or (), prefix, quote))
    return [*out, converted(cx, value, conversion, spec)]


def converted(cx: Context, value: AbsVal, conversion: str | None, spec: Text) -> Text:
    """A value after `!r`, `!s` or `!a`, formatted."""
    if conversion == "r":
        value = to_repr(cx, value)
    elif conversion == "s":
        value = to_str(cx, value)
    elif conversion == "a":
        text = to_repr(cx, value)
        if not isinstance(text, Static):
            cx.refuse("T2C222", "!a of a run-time value", "use !r")
        value = Static(ascii(resolve(cx, value).value))
    return format_value(cx, value, spec)


__all__ = [
    "concatenated", "converted", "format_value", "formatted_string", "percent_format", "printable",
    "str_format_method", "string_item", "string_method", "to_repr", "to_str",
]  # fmt: skip
