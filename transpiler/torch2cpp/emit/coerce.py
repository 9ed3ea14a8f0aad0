"""A C++ expression of one type as a value of a wider one."""

from __future__ import annotations

import re
from collections.abc import Callable

from torch2cpp.emit.precedence import ATOM, POSTFIX, Expr, call
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    ListType,
    NoneType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    join,
)

Spell = Callable[[Type], str]


def conversion(expr: Expr, source: Type, target: Type, spelled: Spell) -> Expr:
    """`expr` as `target`; unchanged where C++ converts by itself.

    Raises TypeError where a variable of `target` cannot hold the value: the program is malformed.
    """
    if spelled(source) == spelled(target):
        return expr
    match source, target:
        case NoneType(), OptionalType():
            return Expr("std::nullopt", POSTFIX)
        case _, UnionType():
            return _into_union(expr, source, target, spelled)
        case OptionalType(), OptionalType():
            return _through(expr, source.elem, target, spelled)
        case _, OptionalType():
            inner = conversion(expr, source, target.elem, spelled)
            return inner if inner is expr else call(spelled(target), inner)
        case TupleType(), TupleType() if len(source.elems) == len(target.elems):
            if not _is_simple(expr):
                return _named(expr, source, target, spelled)
            parts = [
                conversion(Expr(f"std::get<{i}>({expr.text})", POSTFIX), s, t, spelled).text
                for i, (s, t) in enumerate(zip(source.elems, target.elems))
            ]
            return Expr(f"{spelled(target)}{{{', '.join(parts)}}}", POSTFIX)
        case TupleType(), ListType():
            if not _is_simple(expr):
                return _named(expr, source, target, spelled)
            items = [
                conversion(Expr(f"std::get<{i}>({expr.text})", POSTFIX), s, target.elem, spelled)
                for i, s in enumerate(source.elems)
            ]
            return call(f"{spelled(target)}::of", *items)
    if (source, target) in ((BOOL, INT), (BOOL, FLOAT), (INT, FLOAT)):
        return call(f"static_cast<{spelled(target)}>", expr)
    raise TypeError(f"a value of type {source} cannot become {target}")


def _is_simple(expr: Expr) -> bool:
    """Whether the expression names a variable or a part of one, so that it may be spelled several times."""
    return re.fullmatch(r"[\w.>*-]+|\(?\*[\w.>-]+\)?|std::get<\d+>\([\w.>*-]+\)", expr.text) is not None


def _named(expr: Expr, source: Type, target: Type, spelled: Spell) -> Expr:
    """The conversion of a value that is computed once."""
    inner = conversion(Expr("from", ATOM), source, target, spelled)
    return Expr(f"[](const auto& from) {{ return {inner.text}; }}({expr.text})", POSTFIX)


def _into_union(expr: Expr, source: Type, target: UnionType, spelled: Spell) -> Expr:
    if isinstance(source, UnionType):
        if not _is_simple(expr):
            return _named(expr, source, target, spelled)
        arms = []
        for i, member in enumerate(source.members):
            inner = conversion(Expr(f"std::get<{i}>({expr.text})", POSTFIX), member, target, spelled)
            arms.append(f"{expr.text}.index() == {i} ? {inner.text}")
        # The last member needs no test.
        last = arms[-1].split(" ? ", 1)[1]
        return Expr(f"({' : '.join([*arms[:-1], last])})", POSTFIX)
    for i, member in enumerate(target.members):
        if _same_kind(source, member):
            inner = conversion(expr, source, member, spelled)
            return call(spelled(target), Expr(f"std::in_place_index<{i}>", POSTFIX), inner)
    raise TypeError(f"a value of type {source} is no member of {target}")


def _same_kind(source: Type, member: Type) -> bool:
    """Whether the member is the one that `source` was joined into."""
    return join(source, member) == member


def _through(expr: Expr, inner: Type, target: OptionalType, spelled: Spell) -> Expr:
    if not _is_simple(expr):
        return _named(expr, OptionalType(inner), target, spelled)
    value = conversion(Expr(f"*{expr.text}", POSTFIX - 1), inner, target.elem, spelled)
    made = spelled(target)
    return Expr(f"({expr.text}.has_value() ? {made}({value.text}) : {made}())", POSTFIX)
