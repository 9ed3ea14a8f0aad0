"""`match`: a chain of tests; patterns that look inside a value leave early where they fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

from torch2cpp.binding import operators, struct_dicts
from torch2cpp.binding.aten import elements
from torch2cpp.binding.container_operators import contains
from torch2cpp.binding.containers import new_dict, new_list
from torch2cpp.binding.context import Context, Label
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.expressions import condition, evaluate, identical
from torch2cpp.binding.items import get_item
from torch2cpp.binding.optional import Fact, held, is_none, narrow, refinements
from torch2cpp.binding.values import NONE, AbsVal, DictObj, Host, PartialDict, Rt, Static, Tup
from torch2cpp.binding.variables import assign, use
from torch2cpp.hostir.types import DictType, ListType, OptionalType

#: Classes whose only positional pattern matches the subject itself.
_SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
Captures = dict[str, AbsVal]


def run_match(cx: Context, node: cst.Match) -> None:
    """Runs a `match` statement."""
    _cases(cx, evaluate(cx, node.subject), list(node.cases))


def _cases(cx: Context, subject: AbsVal, cases: list[cst.MatchCase]) -> None:
    """The first case that fits."""
    if not cases:
        return
    case, rest = cases[0], cases[1:]
    cx.span = cx.frame.source.place(case.pattern, cx.span)
    found = _simple(cx, case.pattern, subject)
    if found is None:
        _inside(cx, subject, case, rest)
        return
    test, captures = found
    if isinstance(test, Static):
        if not test.value:
            _cases(cx, subject, rest)
        else:
            _guarded(cx, subject, case, captures, rest)
        return
    if case.guard is not None:
        _inside(cx, subject, case, rest)
        return
    _either(cx, test, lambda: _body(cx, case, captures), lambda: _cases(cx, subject, rest))


def _either(cx: Context, test: Host, then: Any, orelse: Any) -> None:
    """A branch whose arms know what the test says of optionals."""
    true, false = refinements(cx, test)

    def arm(facts: list[Fact], action: Any) -> AbsVal:
        narrow(cx.state, cx, facts)
        action()
        return NONE

    branch(cx, test.operand, lambda: arm(true, then), lambda: arm(false, orelse), "case", cx.span)


def _body(cx: Context, case: cst.MatchCase, captures: Captures) -> None:
    from torch2cpp.binding.statements import run_body

    for name, v in captures.items():
        assign(cx, name, use(cx, v))
    run_body(cx, case.body)


def _guarded(cx: Context, subject: AbsVal, case: cst.MatchCase, captures: Captures, rest: list[cst.MatchCase]) -> None:
    """A pattern that fits for sure: only its guard decides."""
    for name, v in captures.items():
        assign(cx, name, use(cx, v))
    guard: Static | Host = Static(True) if case.guard is None else condition(cx, case.guard)
    if isinstance(guard, Host):
        assert case.guard is not None
        cx.span = cx.frame.source.place(case.guard, cx.span)
        _either(cx, guard, lambda: _body(cx, case, {}), lambda: _cases(cx, subject, rest))
    elif guard.value:
        _body(cx, case, {})
    else:
        _cases(cx, subject, rest)


def _inside(cx: Context, subject: AbsVal, case: cst.MatchCase, rest: list[cst.MatchCase]) -> None:
    """A case whose pattern may fail half-way."""

    def attempt(fail: Label, done: Label) -> AbsVal:
        captures = _match(cx, case.pattern, subject, fail)
        for name, v in captures.items():
            assign(cx, name, use(cx, v))
        if case.guard is not None:
            _require(cx, condition(cx, case.guard), fail)
        _body(cx, case, {})
        cx.leave(done, NONE)

    def whole(done: Label) -> AbsVal:
        labelled(cx, "case", lambda fail: attempt(fail, done), cx.span)
        _cases(cx, subject, rest)
        return NONE

    labelled(cx, "match", whole, cx.span)


def _require(cx: Context, test: Static | Host, fail: Label) -> None:
    """The path goes on only where the test holds."""
    if isinstance(test, Static):
        if not test.value:
            cx.leave(fail, NONE)
        return
    _either(cx, test, lambda: None, lambda: cx.leave(fail, NONE))


# Patterns that are one test ------------------------------------------------------------------------


def _simple(cx: Context, pattern: cst.MatchPattern, v: AbsVal) -> tuple[Static | Host, Captures] | None:
    """The test of a pattern that does not look inside the subject, and what it captures; None for others."""
    match pattern:
        case cst.MatchValue():
            return operators.truth(cx, operators.compare(cx, "==", v, evaluate(cx, pattern.value))), {}
        case cst.MatchSingleton():
            constant = {"None": None, "True": True, "False": False}[pattern.value.value]
            return operators.truth(cx, identical(cx, v, Static(constant))), {}
        case cst.MatchAs(pattern=None):
            return Static(True), {} if pattern.name is None else {pattern.name.value: v}
        case cst.MatchAs():
            inner = _simple(cx, pattern.pattern, v) if pattern.pattern is not None else None
            if inner is None or pattern.name is None:
                return inner
            return inner[0], {**inner[1], pattern.name.value: v}
        case cst.MatchOr() if not _names(pattern) and all(map(_is_simple, (e.pattern for e in pattern.patterns))):
            return _any_of(cx, [e.pattern for e in pattern.patterns], v), {}
    return None


def _is_simple(pattern: cst.MatchPattern) -> bool:
    match pattern:
        case cst.MatchValue() | cst.MatchSingleton():
            return True
        case cst.MatchAs():
            return pattern.pattern is None or _is_simple(pattern.pattern)
        case cst.MatchOr():
            return all(_is_simple(e.pattern) for e in pattern.patterns)
    return False


def _any_of(cx: Context, patterns: Sequence[cst.MatchPattern], v: AbsVal) -> Static | Host:
    """Whether any of the patterns fits, tried in order."""
    found = _simple(cx, patterns[0], v)
    assert found is not None
    test = found[0]
    if len(patterns) == 1:
        return test
    if isinstance(test, Static):
        return test if test.value else _any_of(cx, patterns[1:], v)
    out = branch(cx, test.operand, lambda: Static(True), lambda: _any_of(cx, patterns[1:], v), "either", cx.span)
    assert isinstance(out, Static | Host)
    return out


def _names(pattern: cst.MatchPattern) -> list[str]:
    """The names a pattern captures, in order."""
    found: list[str] = []

    class Finder(cst.CSTVisitor):
        def visit_MatchAs(self, node: cst.MatchAs) -> None:
            if node.name is not None:
                found.append(node.name.value)

        def visit_MatchStar(self, node: cst.MatchStar) -> None:
            if node.name is not None:
                found.append(node.name.value)

        def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
            if node.rest is not None:
                found.append(node.rest.value)

    pattern.visit(Finder())
    return sorted(set(found))


# Patterns that look inside -------------------------------------------------------------------------


def _match(cx: Context, pattern: cst.MatchPattern, v: AbsVal, fail: Label) -> Captures:
    """What the pattern captures; paths on which it does not fit leave to `fail`."""
    found = _simple(cx, pattern, v)
    if found is not None:
        _require(cx, found[0], fail)
        return found[1]
    v = _unwrapped(cx, v, fail)
    match pattern:
        case cst.MatchAs() if pattern.pattern is not None:
            captures = _match(cx, pattern.pattern, v, fail)
            return captures if pattern.name is None else {**captures, pattern.name.value: v}
        case cst.MatchOr():
            return _match_or(cx, pattern, v, fail)
        case cst.MatchList() | cst.MatchTuple():
            return _match_sequence(cx, list(pattern.patterns), v, fail)
        case cst.MatchClass():
            return _match_class(cx, pattern, v, fail)
        case cst.MatchMapping():
            return _match_mapping(cx, pattern, v, fail)
    cx.refuse("T2C240", f"a {type(pattern).__name__} pattern", "write it as if and elif")


def _unwrapped(cx: Context, v: AbsVal, fail: Label) -> AbsVal:
    """What an optional holds: None fits no pattern that looks inside."""
    o = resolve(cx, v)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        _require(cx, operators.logical_not(cx, is_none(cx, o)), fail)
        return held(cx, o)
    return v


def _match_or(cx: Context, pattern: cst.MatchOr, v: AbsVal, fail: Label) -> Captures:
    names = _names(pattern)

    def attempt(alternative: cst.MatchPattern, other: Label, out: Label) -> AbsVal:
        captures = _match(cx, alternative, v, other)
        cx.leave(out, Tup(tuple(captures[n] for n in names)))

    def choose(out: Label) -> AbsVal:
        for e in pattern.patterns:
            labelled(cx, "alternative", lambda other, e=e: attempt(e.pattern, other, out), cx.span)  # type: ignore[misc]
        cx.leave(fail, NONE)

    found = labelled(cx, "either", choose, cx.span)
    assert isinstance(found, Tup)
    return dict(zip(names, found.elems))


def _match_sequence(cx: Context, patterns: list[Any], v: AbsVal, fail: Label) -> Captures:
    star = next((i for i, p in enumerate(patterns) if isinstance(p, cst.MatchStar)), None)
    least = len(patterns) - (star is not None)
    o = resolve(cx, v)
    elems = elements(cx, v)
    if elems is None and isinstance(o, Static) and isinstance(o.value, range):
        elems = [Static(x) for x in o.value]
    if elems is None:
        if not (isinstance(o, Rt) and isinstance(o.type, ListType)):
            cx.leave(fail, NONE)
        return _match_run_time_list(cx, patterns, v, o, star, fail)
    if len(elems) < least or (star is None and len(elems) != least):
        cx.leave(fail, NONE)
    captures: Captures = {}
    for i, p in enumerate(patterns):
        if i == star:
            rest = elems[i : len(elems) - (least - i)]
            if p.name is not None:
                captures[p.name.value] = new_list(cx, rest, (cx.site(None), "star"))
        else:
            at = i if star is None or i < star else len(elems) - len(patterns) + i
            captures |= _match(cx, p.value, elems[at], fail)
    return captures


def _match_run_time_list(cx: Context, patterns: list[Any], v: AbsVal, o: Rt, star: int | None, fail: Label) -> Captures:
    from torch2cpp.binding.expressions import make_slice

    least = len(patterns) - (star is not None)
    count = cx.host("list.len", o.operand)
    _require(cx, cx.scalar("eq" if star is None else "ge", count, least), fail)
    captures: Captures = {}
    for i, p in enumerate(patterns):
        if i != star:
            at = i if star is None or i < star else i - len(patterns)
            captures |= _match(cx, p.value, get_item(cx, v, Static(at)), fail)
        elif p.name is not None:
            end = i + 1 - len(patterns)
            bounds = make_slice([Static(i), Static(end if end else None), NONE])
            captures[p.name.value] = get_item(cx, v, bounds)
    return captures


def _match_class(cx: Context, pattern: cst.MatchClass, v: AbsVal, fail: Label) -> Captures:
    from torch2cpp.binding.attributes import Missing, find_attribute
    from torch2cpp.binding.objects import is_instance

    cls = evaluate(cx, pattern.cls)
    if not (isinstance(cls, Static) and isinstance(cls.value, type)):
        cx.refuse("T2C241", f"a class pattern of {describe(cx, cls)}", "name a class")
    _require(cx, operators.truth(cx, is_instance(cx, v, cls.value)), fail)
    captures: Captures = {}
    wanted: list[tuple[str, cst.MatchPattern]] = []
    if cls.value in _SELF_MATCHING and pattern.patterns:
        captures |= _match(cx, pattern.patterns[0].value, v, fail)
    else:
        names = getattr(cls.value, "__match_args__", ())
        if len(pattern.patterns) > len(names):
            given = len(pattern.patterns)
            text = f"{cls.value.__name__}() accepts {len(names)} positional sub-patterns ({given} given)"
            cx.raise_(TypeError, text)
        wanted += [(n, p.value) for n, p in zip(names, pattern.patterns)]
    wanted += [(k.key.value, k.pattern) for k in pattern.kwds]
    for name, inner in wanted:
        try:
            value = use(cx, find_attribute(cx, v, name))
        except Missing:
            cx.leave(fail, NONE)
        captures |= _match(cx, inner, value, fail)
    return captures


def _match_mapping(cx: Context, pattern: cst.MatchMapping, v: AbsVal, fail: Label) -> Captures:
    o = resolve(cx, v)
    if not (
        isinstance(o, DictObj | PartialDict)
        or (isinstance(o, Static) and isinstance(o.value, Mapping))
        or (isinstance(o, Rt) and (isinstance(o.type, DictType) or struct_dicts.is_dict(cx, o)))
    ):
        cx.leave(fail, NONE)
    captures: Captures = {}
    taken: list[Any] = []
    for e in pattern.elements:
        key = evaluate(cx, e.key)
        if not isinstance(key, Static):
            cx.refuse("T2C242", "a mapping pattern with a run-time key", "write it as if and elif")
        taken.append(key.value)
        _require(cx, operators.truth(cx, contains(cx, v, key)), fail)
        captures |= _match(cx, e.pattern, use(cx, get_item(cx, v, key)), fail)
    if pattern.rest is not None:
        items = _known_pairs(cx, o)
        kept = [(Static(k), x) for k, x in items.items() if k not in taken]
        captures[pattern.rest.value] = new_dict(cx, kept, (cx.site(None), "rest"))
    return captures


def _known_pairs(cx: Context, o: AbsVal) -> dict[Any, AbsVal]:
    if isinstance(o, DictObj):
        return o.items
    if isinstance(o, Static):
        return {k: Static(x) for k, x in o.value.items()}
    cx.refuse("T2C242", "**rest of a run-time dict", "take the keys that are needed")
