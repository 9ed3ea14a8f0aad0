"""Operators on abstract values: arithmetic, comparison, truth."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from torch2cpp.binding import known_objects, partial_dicts
from torch2cpp.binding.aten import NoOverload, call_aten
from torch2cpp.binding.choices import distributes
from torch2cpp.binding.context import Context
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import describe, is_scalar, resolve
from torch2cpp.binding.kept_objects import holds_state, is_kept
from torch2cpp.binding.meta import DEFAULT_HINTS, distinct, hints_of
from torch2cpp.binding.values import (
    WORLDS,
    AbsVal,
    Array,
    Choice,
    DictObj,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    PartialDict,
    RangeVal,
    Rt,
    Static,
    Tensor,
    Tup,
)
from torch2cpp.hostir.host_ops import checked
from torch2cpp.hostir.ops import Operand
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    STR,
    DictType,
    ListType,
    OptionalType,
    ScalarType,
    SetType,
    StructType,
)

#: Python operator -> (Python function, host operation, ATen name, reflected method, in-place ATen name)
BINARY: dict[str, tuple[Callable[..., Any], str, str]] = {
    "+": (operator.add, "add", "add"),
    "-": (operator.sub, "sub", "sub"),
    "*": (operator.mul, "mul", "mul"),
    "/": (operator.truediv, "truediv", "div"),
    "//": (operator.floordiv, "floordiv", "floor_divide"),
    "%": (operator.mod, "mod", "remainder"),
    "**": (operator.pow, "pow", "pow"),
    "&": (operator.and_, "and", "bitwise_and"),
    "|": (operator.or_, "or", "bitwise_or"),
    "^": (operator.xor, "xor", "bitwise_xor"),
    "<<": (operator.lshift, "lshift", "bitwise_left_shift"),
    ">>": (operator.rshift, "rshift", "bitwise_right_shift"),
    "@": (operator.matmul, "", "matmul"),
}
COMPARE: dict[str, tuple[Callable[..., Any], str, str]] = {
    "<": (operator.lt, "lt", "lt"),
    "<=": (operator.le, "le", "le"),
    ">": (operator.gt, "gt", "gt"),
    ">=": (operator.ge, "ge", "ge"),
    "==": (operator.eq, "eq", "eq"),
    "!=": (operator.ne, "ne", "ne"),
}
_METHODS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
}  # fmt: skip


def static_call(cx: Context, f: Callable[..., Any], *args: Any) -> AbsVal:
    """Runs Python for real on static values; what it raises is raised at run time, if ever reached."""
    try:
        return Static(f(*args))
    except Exception as e:
        cx.raise_(type(e), str(e))


def tensor_of(cx: Context, v: AbsVal) -> Tensor | None:
    """The value as a tensor, a weight of the model included."""
    if isinstance(v, Tensor):
        return v
    if isinstance(v, Static) and isinstance(v.value, torch.Tensor):
        return cx.weight(v.value)
    return None


def plain(v: AbsVal) -> AbsVal:
    """A member of an IntEnum, or of another enum of numbers or strings, as the number or string it is."""
    if not isinstance(v, Static) or not isinstance(v.value, enum.Enum):
        return v
    cls: Any = type(v.value)
    kind: Any = next((t for t in (int, float, str) if issubclass(cls, t)), None)
    if kind is None or type(v.value.value) is not kind or cls.__eq__ is not kind.__eq__:
        return v
    return Static(v.value.value)


def _is_array(v: AbsVal) -> bool:
    return isinstance(v, Array) or (isinstance(v, Static) and isinstance(v.value, np.ndarray))


def _of_numpy(v: AbsVal) -> AbsVal:
    """A constant scalar of numpy as the Python number with the same value and the same arithmetic."""
    exact = isinstance(v, Static) and isinstance(v.value, np.float64 | np.int64 | np.int32 | np.bool_)
    return Static(v.value.item()) if exact else v


def unwrap(cx: Context, v: AbsVal, what: str) -> AbsVal:
    """The value inside an optional; None raises as Python does."""
    from torch2cpp.binding.optional import held_or_raise

    if isinstance(v, Rt) and isinstance(v.type, OptionalType):
        return held_or_raise(cx, v, TypeError, what)
    return v


@distributes
@partial_dicts.settles
def binary(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal:
    """`a <sign> b`"""
    python, host, aten = BINARY[sign]
    if isinstance(a, Static) and isinstance(b, Static) and not _tensors(a, b) and not _mutable(cx, a, b):
        return static_call(cx, lambda x, y: checked(python(x, y)), a.value, b.value)
    a, b = plain(a), plain(b)
    if sign in ("+", "-", "*"):  # by zero, numpy divides otherwise
        a, b = _of_numpy(a), _of_numpy(b)
    a = unwrap(cx, a, f"unsupported operand type(s) for {sign}: 'NoneType' and another")
    b = unwrap(cx, b, f"unsupported operand type(s) for {sign}: another and 'NoneType'")
    if isinstance(a, Choice) or isinstance(b, Choice):  # what an optional held
        return binary(cx, sign, a, b)
    if _is_array(a) or _is_array(b):
        from torch2cpp.binding import numpy_arrays

        return numpy_arrays.binary(cx, sign, numpy_arrays.at_run_time(cx, a), numpy_arrays.at_run_time(cx, b))
    if tensor_of(cx, a) is not None or tensor_of(cx, b) is not None:
        return _tensor_binary(cx, sign, aten, a, b)
    if is_scalar(a) and is_scalar(b):
        return _scalar_binary(cx, sign, python, host, a, b)
    from torch2cpp.binding.container_operators import container_binary

    out = container_binary(cx, sign, a, b)
    if out is None:
        out = _user_operator(cx, sign, a, b)
    if out is None:
        cx.refuse(
            "T2C150",
            f"{sign!r} between {describe(cx, a)} and {describe(cx, b)}",
            "convert one side, or write it as a function",
        )
    return out


def _mutable(cx: Context, *vals: Static) -> bool:
    return any(isinstance(v.value, list | dict | set) or is_kept(cx, v.value) for v in vals)


def _kept(cx: Context, *vals: Static) -> bool:
    return any(holds_state(cx, v.value) for v in vals)


def _tensors(*vals: Static) -> bool:
    return any(isinstance(v.value, torch.Tensor) for v in vals)


def _tensor_binary(cx: Context, sign: str, aten: str, a: AbsVal, b: AbsVal) -> AbsVal:
    x, y = tensor_of(cx, a), tensor_of(cx, b)
    try:
        if x is not None:
            other: AbsVal = y if y is not None else b
            return call_aten(cx, aten, [x, other])
        assert y is not None
        # the reflected methods of torch.Tensor, as torch/_tensor.py defines them
        if sign == "-":
            return call_aten(cx, "rsub", [y, a])
        if sign == "/":
            return call_aten(cx, "mul", [call_aten(cx, "reciprocal", [y]), a])
        if sign in ("**", "%", "<<", ">>"):
            return call_aten(cx, aten, [a, y])
        if sign == "//":
            return call_aten(cx, "floor_divide", [_scalar_tensor(cx, a, y), y])
        return call_aten(cx, aten, [y, a])
    except NoOverload as error:
        user = _user_operator(cx, sign, a, b)
        if user is not None:
            return user
        cx.refuse("T2C151", f"no operator fits {error}", "convert the operands to tensors or numbers")


def _scalar_tensor(cx: Context, a: AbsVal, like: Tensor) -> AbsVal:
    dtype = like.meta.dtype
    return call_aten(cx, "full", [Tup(()), a], {"dtype": Static(dtype)})


def scalar_operand(cx: Context, v: AbsVal) -> Operand:
    """A scalar as an operand."""
    assert is_scalar(v)
    return v.value if isinstance(v, Static) else v.operand


def _type(v: AbsVal) -> ScalarType:
    t = v.type if isinstance(v, Host) else {bool: BOOL, int: INT, float: FLOAT, str: STR}.get(type(v.value), STR)
    assert isinstance(t, ScalarType)
    return t


def with_hints(cx: Context, host: Host, python: Callable[..., Any], *vals: AbsVal) -> Host:
    """Adds to an int result its value in the sample worlds, and the loops it follows from."""
    known = [hints_of(v) for v in vals]
    if host.type == FLOAT and all(known):
        try:
            host.hints = tuple(float(python(*[k[w] for k in known if k])) for w in range(WORLDS))
        except (ArithmeticError, ValueError, TypeError):
            host.hints = None
    if host.type == INT:
        out: list[int] = []
        for w in range(WORLDS):
            try:
                out.append(int(python(*[k[w] if k else DEFAULT_HINTS[w] for k in known])))
            except (ArithmeticError, ValueError, TypeError):
                out.append(DEFAULT_HINTS[w])
        small = [n for n in out if abs(n) < 2**31]
        # a run-time int that is the same in all worlds would pass for a constant size
        host.hints = distinct(out) if len(small) == WORLDS else DEFAULT_HINTS
    return host


def note_hints(cx: Context, out: Host, hints: tuple[bool, ...]) -> None:
    """Remembers what a condition is in each of the sample worlds: the way taken there has the better sizes."""
    out.hints = hints
    cx.bool_hints[out.operand.id] = hints[0]


def _scalar_binary(cx: Context, sign: str, python: Any, host: str, a: AbsVal, b: AbsVal) -> AbsVal:
    ta, tb = _type(a), _type(b)
    x, y = scalar_operand(cx, a), scalar_operand(cx, b)
    if STR in (ta, tb):
        if sign == "+" and ta == tb == STR:
            return cx.scalar("str.add", x, y)
        if sign == "*" and ta != tb and {ta, tb} <= {STR, INT, BOOL}:
            text, times = (x, y) if ta == STR else (y, x)
            return cx.scalar("str.mul", text, _as_int(cx, times) if BOOL in (ta, tb) else times)
        if sign == "%" and ta == STR:
            from torch2cpp.binding.strings import percent_format

            return percent_format(cx, a, b)
        from torch2cpp.binding.python_errors import python_error

        error = python_error(cx, "binary", (sign, Host(ta, x), Host(tb, y)))
        assert error is not None
        cx.raise_(TypeError, str(error))
    if sign == "**" and ta != FLOAT and tb != FLOAT:
        return _int_pow(cx, a, b)
    if sign in ("&", "|", "^", "<<", ">>") and FLOAT in (ta, tb):
        cx.raise_(TypeError, f"unsupported operand type(s) for {sign}: '{_py(ta)}' and '{_py(tb)}'")
    if sign == "@":
        cx.raise_(TypeError, f"unsupported operand type(s) for @: '{_py(ta)}' and '{_py(tb)}'")
    return with_hints(cx, cx.scalar(host, x, y), python, a, b)


def _as_int(cx: Context, flag: Operand) -> Operand:
    return int(flag) if isinstance(flag, bool) else cx.host("int", flag)


def _int_pow(cx: Context, a: AbsVal, b: AbsVal) -> AbsVal:
    """An int where the exponent is known to be non-negative; a run-time exponent is refused, since its
    sign decides between int and float."""
    x, y = scalar_operand(cx, a), scalar_operand(cx, b)
    if isinstance(b, Static):
        if b.value < 0:
            return cx.scalar("pow", cx.host("float", x), float(b.value))
        return with_hints(cx, cx.scalar("pow", x, y), operator.pow, a, b)
    # A loop index or a size is never negative; anything else is checked at run time.
    negative = cx.host("lt", y, 0)

    def refuse() -> AbsVal:
        cx.raise_(ValueError, "int ** negative int at run time gives a float; write float(a) ** b")

    branch(cx, negative, refuse, lambda: Static(None), "sign", cx.span)
    return with_hints(cx, cx.scalar("pow", x, y), operator.pow, a, b)


def _py(t: ScalarType) -> str:
    return t.kind


@known_objects.compares
@distributes
@partial_dicts.settles
def compare(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal:
    """`a <sign> b` for the ordering and equality operators."""
    python, host, aten = COMPARE[sign]
    if isinstance(a, Static) and isinstance(b, Static) and not _tensors(a, b) and not _kept(cx, a, b):
        return static_call(cx, python, a.value, b.value)
    a, b = _of_numpy(plain(a)), _of_numpy(plain(b))
    if sign in ("==", "!="):
        from torch2cpp.binding.exceptions import ExcClass

        if isinstance(a, ExcClass) or isinstance(b, ExcClass):
            from torch2cpp.binding.expressions import identical

            return identical(cx, a, b) if sign == "==" else logical_not(cx, identical(cx, a, b))
        out = _optional_equality(cx, sign, a, b)
        if out is not None:
            return out
    a = unwrap(cx, a, f"'{sign}' not supported between instances of 'NoneType' and another")
    b = unwrap(cx, b, f"'{sign}' not supported between instances of another and 'NoneType'")
    if isinstance(a, Choice) or isinstance(b, Choice):  # what an optional held
        return compare(cx, sign, a, b)
    if _is_array(a) or _is_array(b):
        from torch2cpp.binding import numpy_arrays

        return numpy_arrays.compare(cx, sign, numpy_arrays.at_run_time(cx, a), numpy_arrays.at_run_time(cx, b))
    x, y = tensor_of(cx, a), tensor_of(cx, b)
    if x is not None or y is not None:
        return _tensor_compare(cx, sign, aten, a, b, x, y)
    if is_scalar(a) and is_scalar(b):
        ta, tb = _type(a), _type(b)
        if (ta == STR) != (tb == STR):
            if sign in ("==", "!="):
                return Static(sign == "!=")
            cx.raise_(TypeError, f"'{sign}' not supported between instances of '{_py(ta)}' and '{_py(tb)}'")
        out = cx.scalar(host, scalar_operand(cx, a), scalar_operand(cx, b))
        xs, ys = hints_of(a), hints_of(b)
        if xs and ys:
            note_hints(cx, out, tuple(bool(python(x, y)) for x, y in zip(xs, ys)))
        return out
    from torch2cpp.binding.container_operators import container_compare

    result = container_compare(cx, sign, a, b)
    if result is None:
        result = _user_operator(cx, sign, a, b)
    if result is None:
        if sign in ("==", "!="):
            if _never_equal(cx, a, b):
                return Static(sign == "!=")
            if _compared_by_identity(cx, a) and _compared_by_identity(cx, b):
                from torch2cpp.binding.expressions import identical

                return identical(cx, a, b) if sign == "==" else logical_not(cx, identical(cx, a, b))
        cx.refuse("T2C152", f"{describe(cx, a)} {sign} {describe(cx, b)}", "compare values of one type")
    return result


def _never_equal(cx: Context, a: AbsVal, b: AbsVal) -> bool:
    return type(resolve(cx, a)) is not type(resolve(cx, b)) or isinstance(a, Static) != isinstance(b, Static)


def _compared_by_identity(cx: Context, v: AbsVal) -> bool:
    """Whether a value is an object of a user class that says nothing about equality."""
    o = resolve(cx, v)
    is_struct = isinstance(o, Rt) and isinstance(o.type, StructType)
    if not isinstance(o, InstanceObj) and not is_struct:
        return False
    from torch2cpp.binding.objects import python_class

    cls = python_class(cx, v)
    return cls is not None and getattr(cls, "__eq__", None) is object.__eq__


def _optional_equality(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`x == None`, and equality of an optional with something."""
    from torch2cpp.binding.optional import is_none

    for v, other in ((a, b), (b, a)):
        if isinstance(other, Static) and other.value is None and not isinstance(v, Tensor):
            same = is_none(cx, v)
            return same if sign == "==" else logical_not(cx, same)
        if isinstance(v, Rt) and isinstance(v.type, OptionalType):
            from torch2cpp.binding.optional import held

            missing = is_none(cx, v)
            if isinstance(missing, Static):
                return None
            return branch(
                cx,
                missing.operand,
                lambda: Static(sign == "!="),
                lambda: compare(cx, sign, held(cx, v), other),
                "equal",
                cx.span,
            )
    return None


def _tensor_compare(
    cx: Context, sign: str, aten: str, a: AbsVal, b: AbsVal, x: Tensor | None, y: Tensor | None
) -> AbsVal:
    try:
        if x is not None:
            return call_aten(cx, aten, [x, y if y is not None else b])
        swapped = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le", "==": "eq", "!=": "ne"}[sign]
        assert y is not None
        return call_aten(cx, swapped, [y, a])
    except NoOverload as error:
        if sign in ("==", "!="):
            return Static(sign == "!=")
        cx.refuse("T2C151", f"no operator fits {error}", "convert the operands to tensors or numbers")


def _user_operator(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`__add__` and its like on objects of user classes; equality is that of the class, or identity."""
    from torch2cpp.binding.dataclass_methods import comparison

    out = comparison(cx, sign, a, b) if sign in COMPARE else None
    if out is not None:
        return out
    name = _METHODS[sign]
    reflected = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}.get(name, f"r{name}")
    out = _implemented(cx, a, f"__{name}__", b)
    if out is None:
        out = _implemented(cx, b, f"__{reflected}__", a)
    if out is None and sign == "!=":
        same = _implemented(cx, a, "__eq__", b)
        return None if same is None else logical_not(cx, same)
    return out


def own_inplace(cx: Context, sign: str, a: AbsVal, b: AbsVal) -> AbsVal | None:
    """`a <sign>= b` by a method of a user class such as `__iadd__`; None where there is none."""
    return _implemented(cx, a, f"__i{_METHODS[sign]}__", b)


def _implemented(cx: Context, obj: AbsVal, method: str, other: AbsVal) -> AbsVal | None:
    """What an operator's method gives; None if there is none, or it gives NotImplemented."""
    from torch2cpp.binding.calls import call_method_if_any

    out = call_method_if_any(cx, obj, method, [other])
    return None if isinstance(out, Static) and out.value is NotImplemented else out


@distributes
def unary(cx: Context, sign: str, a: AbsVal) -> AbsVal:
    """`-a`, `+a`, `~a`"""
    functions: dict[str, Any] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
    python = functions[sign]
    if isinstance(a, Static) and not _tensors(a) and not _kept(cx, a):
        return static_call(cx, lambda x: checked(python(x)), a.value)
    a = unwrap(cx, a, f"bad operand type for unary {sign}: 'NoneType'")
    if isinstance(a, Choice):  # what an optional held
        return unary(cx, sign, a)
    if isinstance(a, Array):
        from torch2cpp.binding import numpy_arrays

        return numpy_arrays.unary(cx, sign, a)
    t = tensor_of(cx, a)
    if t is not None:
        return call_aten(cx, {"-": "neg", "+": "positive", "~": "bitwise_not"}[sign], [t])
    if isinstance(a, Host) and a.type != STR:
        if sign == "+":
            return a if a.type != BOOL else cx.scalar("int", a.operand)
        if sign == "~" and a.type == FLOAT:
            cx.raise_(TypeError, "bad operand type for unary ~: 'float'")
        return with_hints(cx, cx.scalar("neg" if sign == "-" else "invert", a.operand), python, a)
    from torch2cpp.binding.calls import call_method_if_any

    out = call_method_if_any(cx, a, {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[sign], [])
    if out is None:
        cx.refuse("T2C150", f"unary {sign!r} on {describe(cx, a)}", "convert it to a number or tensor")
    return out


@distributes
def logical_not(cx: Context, v: AbsVal) -> AbsVal:
    """`not v`"""
    c = truth(cx, v)
    if isinstance(c, Static):
        return Static(not c.value)
    out = cx.scalar("not", c.operand)
    if c.hints:
        note_hints(cx, out, tuple(not h for h in c.hints))
    return out


@distributes
def truth(cx: Context, v: AbsVal) -> Static | Host:
    """`bool(v)` as a static or host bool."""
    obj = resolve(cx, v)
    match obj:
        case Static(value) if is_kept(cx, value):
            return _object_truth(cx, v)
        case Static(value) if not isinstance(value, torch.Tensor):
            return Static(bool(value))
        case Host():
            if obj.type == BOOL:
                return obj
            if obj.type == STR:
                return cx.scalar("gt", cx.host("str.len", obj.operand), 0)
            out = cx.scalar("ne", obj.operand, 0 if obj.type == INT else 0.0)
            if obj.hints:
                note_hints(cx, out, tuple(bool(h) for h in obj.hints))
            return out
        case Tup():
            return Static(bool(obj.elems))
        case ListObj():
            return Static(bool(obj.elems))
        case DictObj():
            return Static(bool(obj.items))
        case PartialDict():
            return partial_dicts.truth(cx, v, obj)
        case Rt():
            return _rt_truth(cx, obj)
        case Iter() if obj.kind in ("list", "dict_view", "unordered"):
            return truth(cx, obj.parts[0]) if obj.kind != "list" else Static(bool(obj.parts))
        case RangeVal():
            from torch2cpp.binding.iteration import items_of

            return truth(cx, compare(cx, ">", items_of(cx, obj).count, Static(0)))  # type: ignore[no-any-return]
        case Array():
            from torch2cpp.binding.numpy_arrays import item

            if all(d == 1 for d in obj.tensor.meta.dims):
                # numpy takes the truth of an array of one element, whatever its rank.
                return cx.scalar("tensor.truth", obj.tensor.operand, label="truth")
            return truth(cx, item(cx, obj))  # type: ignore[no-any-return]
    t = tensor_of(cx, obj)
    if t is not None:
        return cx.scalar("tensor.truth", t.operand, label="truth")
    if isinstance(obj, InstanceObj):
        return _object_truth(cx, v)
    return Static(True)


def _object_truth(cx: Context, v: AbsVal) -> Static | Host:
    """What `__bool__` or `__len__` of a user class says."""
    from torch2cpp.binding.calls import call_method_if_any

    for name in ("__bool__", "__len__"):
        own = call_method_if_any(cx, v, name, [])
        if own is not None:
            found: Static | Host = truth(cx, own)
            return found
    return Static(True)


def _rt_truth(cx: Context, v: Rt) -> Static | Host:
    from torch2cpp.binding.optional import held, is_none

    match v.type:
        case ListType():
            return cx.scalar("gt", cx.host("list.len", v.operand), 0)
        case DictType():
            return cx.scalar("gt", cx.host("dict.len", v.operand), 0)
        case SetType():
            return cx.scalar("gt", cx.host("set.len", v.operand), 0)
        case OptionalType():
            missing = is_none(cx, v)
            if isinstance(missing, Static):
                return Static(False) if missing.value else truth(cx, held(cx, v))
            out = branch(cx, missing.operand, lambda: Static(False), lambda: truth(cx, held(cx, v)), "truth", cx.span)
            assert isinstance(out, Static | Host)
            if isinstance(out, Host):
                cx.knows.setdefault(out.operand.id, ((v,), ()))  # what is true is not None
            return out
        case StructType():
            from torch2cpp.binding import struct_dicts

            if struct_dicts.is_dict(cx, v):
                return Static(True)  # without keys it is no struct
            return _object_truth(cx, v)
    return Static(True)
