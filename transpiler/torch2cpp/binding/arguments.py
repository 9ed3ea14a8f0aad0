"""Passing arguments to Python functions: the same names, defaults and errors as in Python."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, NoReturn

import libcst as cst

from torch2cpp.binding import operators
from torch2cpp.binding.context import Context
from torch2cpp.binding.convert import describe
from torch2cpp.binding.values import AbsVal, DictObj, Ref, StarRest, Static, Tup, fresh_id


def bind_arguments(cx: Context, f: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> dict[str, AbsVal]:
    """Python's rules for passing arguments; what Python would reject raises TypeError at run time."""
    p = f.node.params
    only_positional = [x.name.value for x in p.posonly_params]
    positional = [*only_positional, *(x.name.value for x in p.params)]
    spread = _spread_of_any_length(cx, f, positional, args)
    args = args[:-1] if spread is not None else _expand_star(cx, f, positional, args, kwargs)
    keyword_only = [x.name.value for x in p.kwonly_params]
    out = dict(zip(positional, args))
    rest = args[len(positional) :]
    extra: dict[str, AbsVal] = {}
    for k, v in kwargs.items():
        if (k in positional and k not in only_positional) or k in keyword_only:
            if k in out:
                cx.raise_(TypeError, f"{f.name}() got multiple values for argument '{k}'")
            out[k] = v
        else:
            extra[k] = v
    if p.star_kwarg is not None:
        ref = Ref(fresh_id())
        cx.state.heap[ref.id] = DictObj(extra, ("kwargs", cx.site(None)))
        out[p.star_kwarg.name.value] = ref
    elif extra:
        _unexpected(cx, f, extra, only_positional)
    if isinstance(p.star_arg, cst.Param) and spread is not None:
        out[p.star_arg.name.value] = operators.binary(cx, "+", Tup(tuple(rest)), spread) if rest else spread
    elif isinstance(p.star_arg, cst.Param):
        static = all(isinstance(a, Static) for a in rest)
        star: AbsVal = Static(tuple(a.value for a in rest)) if static else Tup(tuple(rest))
        out[p.star_arg.name.value] = star
    elif rest:
        given_by_name = sum(k in kwargs for k in keyword_only)
        _too_many(cx, f, positional, len(args), given_by_name)
    _check_missing(cx, f, [n for n in positional if n not in out and n not in f.defaults], "positional")
    _check_missing(cx, f, [n for n in keyword_only if n not in out and n not in f.defaults], "keyword-only")
    for n in (*positional, *keyword_only):
        out.setdefault(n, f.defaults.get(n))
    return out


def _unexpected(cx: Context, f: Any, extra: dict[str, AbsVal], only_positional: list[str]) -> NoReturn:
    by_name = [k for k in extra if k in only_positional]
    if by_name:
        listed = f"'{', '.join(by_name)}'"
        cx.raise_(TypeError, f"{f.name}() got some positional-only arguments passed as keyword arguments: {listed}")
    cx.raise_(TypeError, f"{f.name}() got an unexpected keyword argument '{next(iter(extra))}'")


def _too_many(cx: Context, f: Any, positional: list[str], given: int, by_name: int) -> NoReturn:
    cx.raise_(TypeError, _too_many_text(f, positional, str(given), given == 1, by_name))


def _too_many_text(f: Any, positional: list[str], given: str, one: bool, by_name: int = 0) -> str:
    """The message about too many arguments, `given` of them."""
    most = len(positional)
    least = sum(n not in f.defaults for n in positional)
    takes = f"from {least} to {most}" if least < most else str(most)
    plural = "" if most == 1 and least == most else "s"
    if by_name:
        s, t = "" if one else "s", "" if by_name == 1 else "s"
        given = f"{given} positional argument{s} (and {by_name} keyword-only argument{t})"
    were = "was" if one and not by_name else "were"
    return f"{f.name}() takes {takes} positional argument{plural} but {given} {were} given"


def _check_missing(cx: Context, f: Any, missing: list[str], kind: str) -> None:
    if missing:
        cx.raise_(TypeError, _missing_text(f, missing, kind))


def _missing_text(f: Any, missing: list[str], kind: str) -> str:
    names = [f"'{m}'" for m in missing]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])}{',' * (len(names) > 2)} and {names[-1]}"
    s = "" if len(names) == 1 else "s"
    return f"{f.name}() missing {len(names)} required {kind} argument{s}: {listed}"


def _spread_of_any_length(cx: Context, f: Any, positional: list[str], args: list[AbsVal]) -> AbsVal | None:
    """`f(*xs)` where `f` takes `*args`: those as a tuple of run-time length; None where there is no such call."""
    from torch2cpp.binding.builtin_table import TABLE

    if not args or not isinstance(args[-1], StarRest) or not isinstance(f.node.params.star_arg, cst.Param):
        return None
    if len(args) - 1 < len(positional) or any(isinstance(a, StarRest) for a in args[:-1]):
        return None
    return TABLE[tuple](cx, [args[-1].value], {})


def _expand_star(
    cx: Context, f: Any, positional: list[str], args: list[AbsVal], kwargs: dict[str, AbsVal]
) -> list[AbsVal]:
    """`f(*xs)` with a list of run-time length: as many items as parameters are left."""
    from torch2cpp.binding.iteration import items_of
    from torch2cpp.binding.list_methods import raise_if

    before = next((i for i, a in enumerate(args[:-1]) if isinstance(a, StarRest)), None)
    if before is not None:
        cx.refuse("T2C203", f"*{describe(cx, args[before].value)} before other arguments", "pass the list itself")
    if not args or not isinstance(args[-1], StarRest):
        return args
    given = args[:-1]
    if not isinstance(f, Generated) and isinstance(f.node.params.star_arg, cst.Param):
        cx.refuse("T2C203", f"*{describe(cx, args[-1].value)} for {f.name}", "let the function take a list")
    left = [n for n in positional[len(given) :] if n not in kwargs]
    if any(n in f.defaults for n in left):
        cx.refuse("T2C203", f"*{describe(cx, args[-1].value)} for parameters with defaults", "pass them one by one")
    items = items_of(cx, args[-1].value)
    if isinstance(items.count, Static):
        return [*given, *(items.get(Static(i)) for i in range(items.count.value))]
    count = items.count.operand

    def surplus() -> Any:
        from torch2cpp.binding.strings import concatenated

        all_names = list(f.positional) if isinstance(f, Generated) else positional
        text = _too_many_text(f, all_names, "\0", False)
        first, _, second = text.partition("\0")
        number = cx.scalar("str", cx.host("add", count, len(given) + len(all_names) - len(positional)))
        whole = concatenated(cx, [Static(first), number, Static(second)])
        return whole.value if isinstance(whole, Static) else whole.operand

    raise_if(cx, cx.host("gt", count, len(left)), TypeError, surplus)
    for few in range(len(left)):
        text = _missing_text(f, left[few:], "positional")
        raise_if(cx, cx.host("eq", count, few), TypeError, lambda text=text: text)  # type: ignore[misc]
    return [*given, *(items.get(Static(i)) for i in range(len(left)))]


@dataclass(frozen=True)
class Generated:
    """The parameters of a method that Python wrote: of a NamedTuple's `__new__`, a dataclass's `__init__`."""

    name: str
    #: The first one, `self` or `_cls`, included.
    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    #: Those that have a default.
    defaults: frozenset[str]

    @staticmethod
    def of(name: str, method: Any) -> Generated:
        """Those of a real method."""
        params = inspect.signature(method).parameters.values()
        only = tuple(p.name for p in params if p.kind is p.KEYWORD_ONLY)
        optional = frozenset(p.name for p in params if p.default is not p.empty)
        return Generated(name, tuple(p.name for p in params if p.name not in only), only, optional)

    def bind(self, cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> dict[str, AbsVal]:
        """What is given for each parameter but the first, by Python's rules."""
        args = _expand_star(cx, self, list(self.positional[1:]), args, kwargs)
        out = dict(zip(self.positional[1:], args))
        for k, v in kwargs.items():
            if k not in self.positional[1:] and k not in self.keyword_only:
                cx.raise_(TypeError, f"{self.name}() got an unexpected keyword argument '{k}'")
            if k in out:
                cx.raise_(TypeError, f"{self.name}() got multiple values for argument '{k}'")
            out[k] = v
        if len(args) >= len(self.positional):
            by_name = sum(k in kwargs for k in self.keyword_only)
            _too_many(cx, self, list(self.positional), len(args) + 1, by_name)
        missing = [n for n in self.positional[1:] if n not in out and n not in self.defaults]
        _check_missing(cx, self, missing, "positional")
        missing = [n for n in self.keyword_only if n not in out and n not in self.defaults]
        _check_missing(cx, self, missing, "keyword-only")
        return out
