"""The host operations: one row each, read by the binding, the interpreter and the emitter.

A row gives the operation's result type from its operand types, what it does in Python (the
reference interpreter runs that), how C++ spells it, and its effect on order:

- "pure": no effect, cannot raise; may move and be dropped;
- "raises": no effect, but may raise (out of range, overflow, division by zero);
- "reads": reads a container or tensor storage that something else may write;
- "writes": writes one, prints, or draws random numbers.

`cpp` is a format string over the operands' C++ expressions, or a name called with all of them.
Functions without a namespace are in `torch2cpp::` of runtime_cpp.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import torch

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
    TensorType,
    TupleType,
    Type,
)

Effect = Literal["pure", "raises", "reads", "writes"]
INT_MIN, INT_MAX = -(2**63), 2**63 - 1


@final
@dataclass(frozen=True, slots=True)
class HostOpInfo:
    """One row; see the module's docstring."""

    name: str
    #: Python meaning, called with the operands' values.
    evaluate: Callable[..., Any]
    #: C++ spelling.
    cpp: str
    effect: Effect
    #: Result type from operand types; None for an operation without result.
    result: Callable[..., Type | None]
    #: Whether the arguments must be of one and the same scalar type (ints are widened to float).
    promote: bool = False


TABLE: dict[str, HostOpInfo] = {}


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tagged:
    """A union's value in the reference interpreter: which member it is, and the value."""

    index: int
    value: Any

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, Tagged) else other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Tagged) -> bool:
        return bool(self.value < other.value)

    def __gt__(self, other: Tagged) -> bool:
        return bool(self.value > other.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)


def _row(
    name: str,
    evaluate: Callable[..., Any],
    cpp: str,
    effect: Effect,
    result: Type | Callable[..., Type | None] | None,
    promote: bool = False,
) -> None:
    rule = result if callable(result) else (lambda *_: result)
    TABLE[name] = HostOpInfo(name, evaluate, cpp, effect, rule, promote)


def checked(value: Any) -> Any:
    """An int as C++ holds it: beyond 64 bits raises OverflowError."""
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise OverflowError("int result does not fit in 64 bits")
    return value


def _checked(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: checked(f(*args))


def _numeric(*types: Type) -> Type:
    """float if any operand is, else int (bool counts as int)."""
    return FLOAT if FLOAT in types else INT


def _bitwise(a: Type, b: Type) -> Type:
    return BOOL if a == b == BOOL else INT


# Arithmetic. `a ** b` of ints is an int only where b is known to be non-negative.
_row("add", _checked(operator.add), "add", "raises", _numeric, promote=True)
_row("sub", _checked(operator.sub), "sub", "raises", _numeric, promote=True)
_row("mul", _checked(operator.mul), "mul", "raises", _numeric, promote=True)
_row("truediv", operator.truediv, "truediv", "raises", FLOAT)
_row("floordiv", _checked(operator.floordiv), "floordiv", "raises", _numeric, promote=True)
_row("mod", operator.mod, "mod", "raises", _numeric, promote=True)
_row("pow", _checked(operator.pow), "pow", "raises", _numeric, promote=True)
#: pow(base, exponent, modulus)
_row("pow_mod", pow, "pow_mod", "raises", INT)
_row("neg", _checked(operator.neg), "neg", "raises", _numeric)
_row("abs", _checked(abs), "abs", "raises", _numeric)
_row("invert", operator.invert, "invert", "pure", INT)
_row("and", operator.and_, "({0} & {1})", "pure", _bitwise)
_row("or", operator.or_, "({0} | {1})", "pure", _bitwise)
_row("xor", operator.xor, "({0} ^ {1})", "pure", _bitwise)
_row("lshift", _checked(operator.lshift), "lshift", "raises", INT)
_row("rshift", operator.rshift, "rshift", "raises", INT)
_row("not", operator.not_, "!{0}", "pure", BOOL)

# Comparisons of scalars, strings and tuples of them.
for _name, _op, _sign in (
    ("lt", operator.lt, "<"),
    ("le", operator.le, "<="),
    ("gt", operator.gt, ">"),
    ("ge", operator.ge, ">="),
    ("eq", operator.eq, "=="),
    ("ne", operator.ne, "!="),
):
    _row(_name, _op, f"({{0}} {_sign} {{1}})", "pure", BOOL, promote=True)
#: Equality of containers, which may change: by value, as Python's `==`.
_row("equal", operator.eq, "equal", "reads", BOOL)
#: `a < b` of lists: the first elements that differ decide.
_row("list.less", operator.lt, "list_less", "reads", BOOL)
#: A value chosen without a branch; both are already computed.
_row("select", lambda c, a, b: a if c else b, "({0} ? {1} : {2})", "pure", lambda c, a, b: a)
_row("min", min, "min", "pure", _numeric, promote=True)
_row("max", max, "max", "pure", _numeric, promote=True)

# Conversions.
_row("int", _checked(int), "to_int", "raises", INT)
_row("float", float, "to_float", "raises", FLOAT)
_row("bool", bool, "truth", "pure", BOOL)
_row("str", str, "str", "reads", STR)
_row("repr", repr, "repr", "reads", STR)
_row("round", _checked(round), "round", "raises", INT)
_row("round_digits", _checked(round), "round", "raises", lambda x, n: x)

#: A member of an enum by its position, and back. The result type of the first comes from its result value.
_row("enum.member", lambda i: i, "{0}", "pure", lambda i: None)
_row("enum.position", lambda i: i, "{0}", "pure", INT)

# math.*
for _name in ("sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos",
              "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fabs", "radians", "degrees", "erf",
              "erfc", "gamma", "lgamma", "cbrt", "exp2"):  # fmt: skip
    _row(f"math.{_name}", getattr(math, _name), f"math::{_name}", "raises", FLOAT)
for _name in ("atan2", "hypot", "fmod", "pow", "copysign", "remainder", "ldexp"):
    _row(f"math.{_name}", getattr(math, _name), f"math::{_name}", "raises", FLOAT)
#: math.log(x, base)
_row("math.log_base", math.log, "math::log", "raises", FLOAT)
for _name in ("ceil", "floor", "trunc"):
    _row(f"math.{_name}", _checked(getattr(math, _name)), f"math::{_name}", "raises", INT)
for _name in ("isnan", "isinf", "isfinite"):
    _row(f"math.{_name}", getattr(math, _name), f"math::{_name}", "pure", BOOL)
for _name in ("gcd", "lcm", "comb", "perm"):
    _row(f"math.{_name}", _checked(getattr(math, _name)), f"math::{_name}", "raises", INT)
for _name in ("factorial", "isqrt"):
    _row(f"math.{_name}", _checked(getattr(math, _name)), f"math::{_name}", "raises", INT)

# Of lists of numbers.
_row("math.fsum", math.fsum, "math::fsum", "reads", FLOAT)
for _name in ("mean", "variance", "pvariance", "stdev", "pstdev"):
    _row(f"statistics.{_name}", getattr(statistics, _name), f"statistics::{_name}", "reads", FLOAT)

# Strings.
_row("str.add", operator.add, "({0} + {1})", "pure", STR)
_row("str.mul", operator.mul, "str_repeat", "pure", STR)
_row("str.len", len, "str_len", "pure", INT)
#: format(value, spec), as f-strings, str.format and % use it; the spec is constant.
_row("str.format", format, "format", "raises", STR)
_row("str.get", operator.getitem, "str_get", "raises", STR)
_row("str.slice", lambda s, a, b, c: s[slice(a, b, c)], "str_slice", "raises", STR)
_row("str.contains", operator.contains, "str_contains", "pure", BOOL)
_row("str.join", lambda sep, xs: sep.join(xs), "str_join", "reads", STR)
_row("str.split", lambda s, *a: s.split(*a), "str_split", "pure", ListType(STR))
_row("str.rsplit", lambda s, *a: s.rsplit(*a), "str_rsplit", "raises", ListType(STR))
_row("str.splitlines", str.splitlines, "str_splitlines", "pure", ListType(STR))
for _name in ("partition", "rpartition"):
    _row(f"str.{_name}", getattr(str, _name), f"str_{_name}", "raises", TupleType((STR, STR, STR)))
for _name in ("center", "ljust", "rjust"):
    _row(f"str.{_name}", getattr(str, _name), f"str_{_name}", "raises", STR)
_row("str.swapcase", str.swapcase, "str_swapcase", "pure", STR)
for _name in ("count", "rfind"):
    _row(f"str.{_name}", getattr(str, _name), f"str_{_name}", "pure", INT)
for _name in ("index", "rindex"):
    _row(f"str.{_name}", getattr(str, _name), f"str_{_name}", "raises", INT)
for _name in ("upper", "lower", "strip", "lstrip", "rstrip", "title", "capitalize"):
    _row(f"str.{_name}", getattr(str, _name), f"str_{_name}", "pure", STR)
_row("str.replace", str.replace, "str_replace", "pure", STR)
_row("str.startswith", str.startswith, "str_startswith", "pure", BOOL)
_row("str.endswith", str.endswith, "str_endswith", "pure", BOOL)
for _name in ("isdigit", "isalpha", "isalnum", "isdecimal", "isnumeric", "isspace", "isupper", "islower", "isascii"):
    _row(f"str.{_name}", getattr(str, _name), f"str_{_name}", "pure", BOOL)
for _name in ("removeprefix", "removesuffix"):
    _row(f"str.{_name}", getattr(str, _name), f"str_{_name}", "pure", STR)
_row("str.zfill", str.zfill, "str_zfill", "pure", STR)
_row("str.find", str.find, "str_find", "pure", INT)
_row("str.ord", ord, "str_ord", "raises", INT)
_row("str.chr", chr, "str_chr", "raises", STR)

# Reading tensors.


def _numpy_sum(t: torch.Tensor, axis: int | None) -> torch.Tensor:
    if not t.is_contiguous():
        raise NotImplementedError("numpy's sum of an array that is not contiguous")
    return torch.from_numpy(np.array(np.add.reduce(t.numpy(), axis=axis)))


def _item_type(t: Type) -> Type:
    assert isinstance(t, TensorType)
    if t.dtype is torch.bool:
        return BOOL
    return FLOAT if t.dtype.is_floating_point else ScalarType("complex") if t.dtype.is_complex else INT


def _tolist_type(t: Type) -> Type:
    assert isinstance(t, TensorType)
    out = _item_type(t)
    for _ in t.dims:
        out = ListType(out)
    return out


#: tensor.item(): raises RuntimeError unless there is exactly one element. C++: item<bool|int64_t|double>.
_row("tensor.item", lambda t: t.item(), "item<{T}>({0})", "reads", _item_type)
#: bool(tensor): non-zero, with Python's error when not one element.
_row("tensor.truth", bool, "truth({0})", "reads", BOOL)
_row("tensor.tolist", lambda t: t.tolist(), "to_list<{T}>({0})", "reads", _tolist_type)
#: Size of one dimension (negative counts from the end); the dimension is constant.
_row("tensor.size", lambda t, i: t.shape[i], "size({0}, {1})", "pure", INT)
_row("tensor.numel", lambda t: t.numel(), "numel({0})", "pure", INT)
#: torch.tensor(data) for scalars or nested lists of run-time scalars; args: data, dtype.
_row(
    "tensor.make",
    lambda data, dtype: torch.tensor(data, dtype=dtype),
    "make_tensor",
    "raises",
    lambda data, dtype: None,
)
#: np.add.reduce(tensor.numpy(), axis) of a contiguous tensor of floats, without an axis over everything.
_row("tensor.numpy_sum", lambda t, axis=None: _numpy_sum(t, axis), "numpy_sum", "reads", lambda *xs: None)
_row("tensor.is_same", operator.is_, "is_same", "pure", BOOL)

# Lists (references; index errors as Python's). Deques share them.


def _elem(t: Type, *_: Type) -> Type:
    assert isinstance(t, ListType | SetType)
    return t.elem


def _named_item(xs: Sequence[Any], index: int, noun: str) -> Any:
    if not -len(xs) <= index < len(xs):
        raise IndexError(f"{noun} index out of range")
    return xs[index]


#: list.new's result type is given by its result value; operands are the first elements.
_row("list.new", lambda *xs: list(xs), "{T}::of({args})", "writes", lambda *xs: None)
_row("list.len", len, "len({0})", "reads", INT)
_row("list.get", operator.getitem, "{0}.get({1})", "reads", _elem)
#: list.get of what Python calls by another name: "tuple" or "deque".
_row("list.item", lambda xs, i, noun: _named_item(xs, i, noun), "{0}.get({1}, {2})", "reads", _elem)
_row("list.set", operator.setitem, "{0}.set({1}, {2})", "writes", None)
_row("list.append", lambda xs, x: xs.append(x), "{0}.append({1})", "writes", None)
_row("list.appendleft", lambda xs, x: xs.insert(0, x), "{0}.insert(0, {1})", "writes", None)
_row("list.extend", lambda xs, ys: xs.extend(ys), "{0}.extend({1})", "writes", None)
_row("list.insert", lambda xs, i, x: xs.insert(i, x), "{0}.insert({1}, {2})", "writes", None)
_row("list.pop", lambda xs, i=-1: xs.pop(i), "{0}.pop({1})", "writes", _elem)
_row("list.remove", lambda xs, x: xs.remove(x), "{0}.remove({1})", "writes", None)
_row("list.clear", lambda xs: xs.clear(), "{0}.clear()", "writes", None)
_row("list.delete", operator.delitem, "{0}.erase({1})", "writes", None)
_row("list.slice", lambda xs, a, b, c: xs[slice(a, b, c)], "{0}.slice({1}, {2}, {3})", "reads", lambda xs, *_: xs)
_row(
    "list.set_slice",
    lambda xs, a, b, c, ys: operator.setitem(xs, slice(a, b, c), ys),
    "{0}.set_slice({1}, {2}, {3}, {4})",
    "writes",
    None,
)
_row(
    "list.delete_slice",
    lambda xs, a, b, c: operator.delitem(xs, slice(a, b, c)),
    "{0}.erase_slice({1}, {2}, {3})",
    "writes",
    None,
)
_row("list.copy", list, "{0}.copy()", "reads", lambda xs: xs)
_row("list.concat", operator.add, "{0}.concat({1})", "reads", lambda xs, ys: xs)
_row("list.repeat", lambda xs, n: xs * n, "{0}.repeat({1})", "reads", lambda xs, n: xs)
_row("list.reverse", lambda xs: xs.reverse(), "{0}.reverse()", "writes", None)
_row("list.reversed", lambda xs: xs[::-1], "{0}.reversed()", "reads", lambda xs: xs)
_row("list.contains", operator.contains, "{0}.contains({1})", "reads", BOOL)
_row("list.index", lambda xs, x: xs.index(x), "{0}.index({1})", "reads", INT)
_row("list.count", lambda xs, x: xs.count(x), "{0}.count({1})", "reads", INT)
#: Sorted in place, stable; args: list, reverse.
_row("list.sort", lambda xs, rev: xs.sort(reverse=rev), "{0}.sort({1})", "writes", None)
#: Sorted in place by keys computed beforehand (one per element); args: list, keys, reverse.
_row(
    "list.sort_by",
    lambda xs, keys, rev: operator.setitem(
        xs, slice(None), [xs[i] for i in sorted(range(len(xs)), key=lambda i: keys[i], reverse=rev)]
    ),
    "{0}.sort_by({1}, {2})",
    "writes",
    None,
)
_row("list.sum", sum, "{0}.sum()", "reads", lambda xs: INT if _elem(xs) == BOOL else _elem(xs))
_row("list.min", min, "{0}.min()", "reads", _elem)
_row("list.max", max, "{0}.max()", "reads", _elem)
_row("list.any", any, "{0}.any()", "reads", BOOL)
_row("list.all", all, "{0}.all()", "reads", BOOL)
#: list(range(start, stop, step))
_row("list.range", lambda a, b, c: list(range(a, b, c)), "range", "raises", ListType(INT))

# Dicts and sets (references, in order of insertion).


def _value(t: Type, *_: Type) -> Type:
    assert isinstance(t, DictType)
    return t.value


def _items(t: Type) -> Type:
    assert isinstance(t, DictType)
    return ListType(TupleType((t.key, t.value)))


_row("dict.new", lambda *kv: dict(zip(kv[::2], kv[1::2])), "{T}::of({args})", "writes", lambda *kv: None)
_row("dict.len", len, "len({0})", "reads", INT)
_row("dict.get", operator.getitem, "{0}.get({1})", "reads", _value)
_row("dict.find", lambda d, k: d.get(k), "{0}.find({1})", "reads", lambda d, k: OptionalType(_value(d)))
_row("dict.set", operator.setitem, "{0}.set({1}, {2})", "writes", None)
_row("dict.contains", operator.contains, "{0}.contains({1})", "reads", BOOL)
_row("dict.pop", lambda d, k: d.pop(k), "{0}.pop({1})", "writes", _value)
_row("dict.delete", operator.delitem, "{0}.erase({1})", "writes", None)
_row("dict.update", lambda d, e: d.update(e), "{0}.update({1})", "writes", None)
_row("dict.clear", lambda d: d.clear(), "{0}.clear()", "writes", None)
_row("dict.copy", dict, "{0}.copy()", "reads", lambda d: d)
_row("dict.keys", list, "{0}.keys()", "reads", lambda d: ListType(d.key))
_row("dict.values", lambda d: list(d.values()), "{0}.values()", "reads", lambda d: ListType(d.value))
_row("dict.items", lambda d: list(d.items()), "{0}.items()", "reads", _items)
_row("set.new", lambda *xs: set(xs), "{T}::of({args})", "writes", lambda *xs: None)
_row("set.len", len, "len({0})", "reads", INT)
_row("set.add", lambda s, x: s.add(x), "{0}.add({1})", "writes", None)
_row("set.discard", lambda s, x: s.discard(x), "{0}.discard({1})", "writes", None)
_row("set.contains", operator.contains, "{0}.contains({1})", "reads", BOOL)
_row("set.sorted", sorted, "{0}.sorted()", "reads", lambda s: ListType(s.elem))
#: In the order in which Python walks the set: see SetType.
_row("set.members", list, "{0}.members()", "reads", lambda s: ListType(s.elem))
_row("set.copy", set, "{0}.copy()", "reads", lambda s: s)
_row("set.union", operator.or_, "{0}.set_union({1})", "reads", lambda s, _: s)
_row("set.intersection", operator.and_, "{0}.intersection({1})", "reads", lambda s, _: s)
_row("set.difference", operator.sub, "{0}.difference({1})", "reads", lambda s, _: s)
_row("set.symmetric_difference", operator.xor, "{0}.symmetric_difference({1})", "reads", lambda s, _: s)
for _name in ("update", "intersection_update", "difference_update", "symmetric_difference_update"):
    _row(f"set.{_name}", getattr(set, _name), f"{{0}}.{_name}({{1}})", "writes", None)
#: What `update` does with the keys of a dict, which makes room for all of them first.
_row("set.update_keys", lambda s, keys: s.update(dict.fromkeys(keys)), "{0}.update_keys({1})", "writes", None)
_row("set.clear", lambda s: s.clear(), "{0}.clear()", "writes", None)
_row("set.pop", lambda s: s.pop(), "{0}.pop()", "writes", _elem)
#: Those that leave members of their operands in their result, or in the set they change; none raises.
SET_MERGERS = frozenset(
    f"set.{name}"
    for name in (
        "members",
        "copy",
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
        "update",
        "intersection_update",
        "difference_update",
        "symmetric_difference_update",
        "update_keys",
    )
)

# Tuples, records, structs, optionals, unions. Their result types come from the result value.
_row("tuple.make", lambda *xs: tuple(xs), "{T}{{{args}}}", "pure", lambda *xs: TupleType(tuple(xs)))
#: index is a constant, in range
_row("tuple.get", operator.getitem, "std::get<{1}>({0})", "pure", lambda t, i: None)
#: operands: field names (constant tuple), then one value per field
_row("record.make", lambda names, *xs: dict(zip(names, xs)), "{T}{{{args1}}}", "pure", lambda *xs: None)
_row("record.get", lambda r, name: r[name], "{0}.{1}", "pure", lambda r, name: None)
#: operands: struct name, field names, then one value per field
_row("struct.new", lambda cls, names, *xs: _Object(cls, dict(zip(names, xs))), "make<{S}>({args2})", "writes",
     lambda *xs: None)  # fmt: skip
_row("struct.get", lambda o, name: o.fields[name], "{0}->{1}", "reads", lambda o, name: None)
_row("struct.set", lambda o, name, x: o.fields.__setitem__(name, x), "{0}->{1} = {2}", "writes", None)
#: What a variable holds before its first assignment; never read.
_row("undefined", lambda: None, "{T}{{}}", "pure", lambda: None)
_row("same", operator.is_, "is_same", "pure", BOOL)
_row("optional.some", lambda x: x, "{T}({0})", "pure", lambda x: None)
_row("optional.none", lambda: None, "std::nullopt", "pure", lambda: None)
#: The same optional with a wider type inside, or as a field of a dict whose key may be missing, and back.
_row("optional.cast", lambda x: x, "optional_cast<{T}>({0})", "pure", lambda t: None)
_row("optional.is_none", lambda x: x is None, "!{0}.has_value()", "pure", BOOL)
#: The value of an optional known not to be None.
_row("optional.get", lambda x: x, "*{0}", "pure", lambda t: t.elem)
#: args: member index (constant), value; result type is the union
_row("union.make", lambda i, x: Tagged(i, x), "{T}(std::in_place_index<{0}>, {1})", "pure", lambda *xs: None)
#: The number of the member that is there.
_row("union.index", lambda u: u.index, "union_index({0})", "pure", INT)
#: Member `i` (constant) as an optional: None unless it is the one that is there.
_row("union.get", lambda u, i: u.value if u.index == i else None, "union_get<{1}>({0})", "pure",
     lambda u, i: OptionalType(u.members[0]))  # fmt: skip

# The default generator of random numbers.
_row("random.seed", lambda seed: torch.manual_seed(seed), "seed_random", "writes", None)
_row("random.state", torch.get_rng_state, "random_state", "writes", lambda: None)
_row("random.set_state", torch.set_rng_state, "set_random_state", "writes", None)

#: print(*args): operands are strings already formatted.
_row("print", lambda s: print(s), "print", "writes", None)


#: Operation -> those of its operands that say which part of a value is meant: constants, as they are in C++.
CONSTANT_OPERANDS = {
    "tuple.get": (1,),
    "record.make": (0,),
    "record.get": (1,),
    "struct.new": (0, 1),
    "struct.get": (1,),
    "struct.set": (1,),
    "union.make": (0,),
    "union.get": (1,),
}


@final
class _Object:
    """A run-time object in the reference interpreter."""

    __slots__ = ("cls", "fields")

    def __init__(self, cls: str, fields: dict[str, Any]) -> None:
        self.cls, self.fields = cls, fields


def result_type(name: str, types: Sequence[Type]) -> Type | None:
    """The result type a row gives for operand types; KeyError for an unknown operation."""
    return TABLE[name].result(*types)
