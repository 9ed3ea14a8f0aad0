"""`"..." % args` and `"...".format(...)`."""

from __future__ import annotations

import operator
import re
import string
from _string import formatter_field_name_split  # type: ignore[import-not-found]
from dataclasses import dataclass
from typing import Any

from torch2cpp.binding import operators
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.kept_objects import holds_state
from torch2cpp.binding.string_methods import is_text
from torch2cpp.binding.values import AbsVal, DictObj, Host, Static, Tup
from torch2cpp.hostir.types import BOOL, FLOAT, INT

Text = Static | Host


# % ------------------------------------------------------------------------------------------------

_PERCENT = re.compile(
    r"%(?:\((?P<key>[^()]*)\))?(?P<flags>[#0\- +]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d*))?[hlL]?(?P<kind>.)",
    re.S,
)


def percent_format(cx: Context, fmt: AbsVal, args: AbsVal) -> Text:
    """`fmt % args`"""
    from torch2cpp.binding.strings import concatenated

    if not isinstance(fmt, Static):
        cx.refuse("T2C223", "a format string that is decided at run time", "write the format out")
    o = resolve(cx, args)
    if isinstance(o, Static) and operators.tensor_of(cx, o) is None and not holds_state(cx, o.value):
        out = operators.static_call(cx, operator.mod, fmt.value, o.value)
        assert isinstance(out, Static)
        return out
    source = _Arguments(cx, o, args)
    parts: list[Text] = []
    end = 0
    for m in _PERCENT.finditer(fmt.value):
        parts.append(Static(fmt.value[end : m.start()]))
        end = m.end()
        parts.append(Static("%") if m["kind"] == "%" else _percent_part(cx, m, source))
    rest = fmt.value[end:]
    if "%" in rest:
        cx.raise_(ValueError, "incomplete format")
    source.check_used_up()
    return concatenated(cx, [*parts, Static(rest)])


class _Arguments:
    """The right side of `%`, taken one by one or by key."""

    def __init__(self, cx: Context, o: AbsVal, whole: AbsVal) -> None:
        self.cx, self.o, self.whole = cx, o, whole
        self.items = list(o.elems) if isinstance(o, Tup) else [whole]
        self.next = 0

    def take(self) -> AbsVal:
        if self.next >= len(self.items):
            self.cx.raise_(TypeError, "not enough arguments for format string")
        self.next += 1
        return self.items[self.next - 1]

    def named(self, key: str) -> AbsVal:
        from torch2cpp.binding.items import get_item

        if not isinstance(self.o, DictObj):
            self.cx.raise_(TypeError, "format requires a mapping")
        self.next = len(self.items)
        return get_item(self.cx, self.whole, Static(key))

    def number(self, text: str | None, what: str) -> int | None:
        """A width or precision; `*` takes it from the arguments."""
        if text != "*":
            return int(text) if text else 0 if text == "" else None
        v = self.take()
        if not isinstance(v, Static) or type(v.value) is not int:
            self.cx.refuse("T2C221", f"the {what} of a % format is decided at run time", f"write the {what} out")
        return int(v.value)

    def check_used_up(self) -> None:
        if self.next < len(self.items) and not isinstance(self.o, DictObj):
            self.cx.raise_(TypeError, "not all arguments converted during string formatting")


@dataclass(frozen=True)
class _Spec:
    flags: str
    width: int | None
    precision: int | None

    def fill(self, number: bool) -> str:
        """Alignment, sign, zeros and width in the words of format()."""
        width, flags = self.width, self.flags
        left = "-" in flags
        if width is not None and width < 0:
            width, left = -width, True
        sign = ("+" if "+" in flags else " " if " " in flags else "") if number else ""
        alternate = "#" if "#" in flags and number else ""
        zero = "0" if number and "0" in flags and not left and width else ""
        align = "<" if left else "" if zero else ">"
        return f"{align}{sign}{alternate}{zero}{width or ''}"


def _percent_part(cx: Context, m: re.Match[str], source: _Arguments) -> Text:
    from torch2cpp.binding.strings import format_value, to_repr, to_str

    kind = m["kind"]
    width = source.number(m["width"], "width")
    precision = source.number(m["precision"], "precision")
    value = source.named(m["key"]) if m["key"] is not None else source.take()
    spec = _Spec(m["flags"], width, precision)
    if kind in "sr":
        text = to_str(cx, value) if kind == "s" else to_repr(cx, value)
        if width is None and precision is None:
            return text
        cut = "" if precision is None else f".{precision}"
        return format_value(cx, text, Static(f"{spec.fill(False)}{cut}s"))
    if kind not in "diuxXofFeEgG":
        cx.refuse("T2C224", f"%{kind} of {describe(cx, value)}", "use %d, %s, %r, %x or a float format")
    number = _number(cx, value, kind)
    if kind in "fFeEgG":
        digits = 6 if precision is None else precision
        return format_value(cx, number, Static(f"{spec.fill(True)}.{digits}{kind}"))
    if precision is not None:
        cx.refuse("T2C224", f"a precision with %{kind}", "use a width")
    return format_value(cx, number, Static(f"{spec.fill(True)}{'d' if kind in 'diu' else kind}"))


def _number(cx: Context, v: AbsVal, kind: str) -> Static | Host:
    """The argument of a number format as an int or a float."""
    from torch2cpp.binding.aten import scalar_item

    v = operators.unwrap(cx, v, f"%{kind} format: a real number is required, not NoneType")
    t = operators.tensor_of(cx, resolve(cx, v))
    if t is not None:
        v = scalar_item(cx, t)
    floats = kind in "fFeEgG"
    if isinstance(v, Static) and isinstance(v.value, bool | int | float):
        if not floats and kind not in "diu" and isinstance(v.value, float):
            cx.raise_(TypeError, f"%{kind} format: an integer is required, not float")
        out = operators.static_call(cx, float if floats else int, v.value)
        assert isinstance(out, Static)
        return out
    if isinstance(v, Host) and v.type in (BOOL, INT, FLOAT):
        if floats:
            return v if v.type == FLOAT else cx.scalar("float", v.operand)
        if v.type == FLOAT and kind not in "diu":
            cx.raise_(TypeError, f"%{kind} format: an integer is required, not float")
        return v if v.type == INT else cx.scalar("int", v.operand)
    if is_text(v) and floats:
        cx.raise_(TypeError, "must be real number, not str")
    if is_text(v):
        needed = "a real number" if kind in "diu" else "an integer"
        cx.raise_(TypeError, f"%{kind} format: {needed} is required, not str")
    cx.refuse("T2C224", f"%{kind} of {describe(cx, v)}", "format numbers")


# str.format ---------------------------------------------------------------------------------------


def str_format_method(cx: Context, fmt: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> Text:
    """`fmt.format(*args, **kwargs)`"""
    if not isinstance(fmt, Static):
        cx.refuse("T2C223", "a format string that is decided at run time", "write the format out")
    return _Formatter(cx, args, kwargs).text(fmt.value)


class _Formatter:
    def __init__(self, cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> None:
        self.cx, self.args, self.kwargs = cx, args, kwargs
        self.automatic = 0
        #: Whether fields are numbered in the format; None as long as none was met.
        self.numbered: bool | None = None

    def text(self, fmt: str) -> Text:
        from torch2cpp.binding.strings import concatenated, converted

        parts: list[Text] = []
        for literal, field, spec, conversion in self._parsed(fmt):
            parts.append(Static(literal))
            if field is not None:
                value = self._field(field)
                parts.append(converted(self.cx, value, conversion, self.text(spec or "")))
        return concatenated(self.cx, parts)

    def _parsed(self, fmt: str) -> list[tuple[str, str | None, str | None, str | None]]:
        parsed = operators.static_call(self.cx, lambda: list(string.Formatter().parse(fmt)))
        assert isinstance(parsed, Static)
        return list(parsed.value)

    def _field(self, field: str) -> AbsVal:
        from torch2cpp.binding.attributes import get_attribute
        from torch2cpp.binding.items import get_item

        first, rest = formatter_field_name_split(field)
        value = self._argument(first)
        for is_attribute, name in rest:
            value = get_attribute(self.cx, value, name) if is_attribute else get_item(self.cx, value, Static(name))
        return value

    def _argument(self, first: Any) -> AbsVal:
        if first == "" or isinstance(first, int):
            numbered = first != ""
            if self.numbered not in (None, numbered):
                ways = ("manual field specification", "automatic field numbering")
                before, after = ways if self.numbered else reversed(ways)
                self.cx.raise_(ValueError, f"cannot switch from {before} to {after}")
            self.numbered = numbered
        if first == "":
            first, self.automatic = self.automatic, self.automatic + 1
        if isinstance(first, int):
            if first >= len(self.args):
                message = f"Replacement index {first} out of range for positional args tuple"
                self.cx.raise_(IndexError, message)
            return self.args[first]
        if first not in self.kwargs:
            self.cx.raise_(KeyError, repr(first))
        return self.kwargs[first]
