"""C++ expressions with the precedence of their outermost operator, so that parentheses are put where needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

(LOWEST, ASSIGN, COND, LOR, LAND, BITOR, BITXOR, BITAND, EQ, REL, SHIFT, ADD, MUL, UNARY, POSTFIX, ATOM) = range(16)

#: Levels whose mixing compilers warn about unless parentheses show what is meant.
_CLARIFIED = {LOR: LAND, BITOR: POSTFIX, BITXOR: POSTFIX, BITAND: POSTFIX, EQ: SHIFT, REL: SHIFT}


@final
@dataclass(frozen=True, slots=True)
class Expr:
    """The text of an expression and how tightly its outermost operator binds."""

    text: str
    level: int


def wrap(expr: Expr, level: int) -> str:
    """The text, in parentheses unless it binds at least as tightly as `level`.

    >>> wrap(Expr("a + b", ADD), MUL), wrap(Expr("a * b", MUL), ADD)
    ('(a + b)', 'a * b')
    """
    return expr.text if expr.level >= level else f"({expr.text})"


def binary(sign: str, level: int, a: Expr, b: Expr) -> Expr:
    """A left-associative operator.

    >>> binary("-", ADD, Expr("a", ATOM), binary("-", ADD, Expr("b", ATOM), Expr("c", ATOM))).text
    'a - (b - c)'
    >>> binary("||", LOR, binary("&&", LAND, Expr("a", ATOM), Expr("b", ATOM)), Expr("c", ATOM)).text
    '(a && b) || c'
    """
    left, right = level, level + 1
    if level in _CLARIFIED:
        # Same operator on the left needs none: a || b || c.
        left = level if a.level == level else _CLARIFIED[level] + 1
        right = max(right, _CLARIFIED[level] + 1)
    if level in (EQ, REL):
        left = right = SHIFT
    return Expr(f"{wrap(a, left)} {sign} {wrap(b, right)}", level)


def call(function: str, *args: Expr) -> Expr:
    """A call.

    >>> call("py::len", Expr("xs", ATOM)).text
    'py::len(xs)'
    """
    return Expr(f"{function}({', '.join(a.text for a in args)})", POSTFIX)


def receiver(expr: Expr) -> str:
    """What stands before a member's name: `xs.` or, for an optional's value, `xs->`."""
    if expr.text.startswith("*") and re.fullmatch(r"\*[\w.>-]+", expr.text):
        return f"{expr.text[1:]}->"
    return f"{wrap(expr, POSTFIX)}."
