"""Expressions of a wanted type: each function gives Python text that mostly evaluates, and sometimes raises."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.draw import Draw

#: Deeper than this, expressions are names and literals.
MAX_DEPTH = 3


def expression(d: Draw, type_: str, depth: int = 0) -> str:
    """Text of an expression of this type."""
    names = d.of_type(type_)
    if names and d.chance(0.35 + 0.2 * depth):
        return d.pick(names)
    if depth >= MAX_DEPTH:
        return d.pick(names) if names else _LITERALS[type_](d)
    if depth and d.chance(0.06):
        c, a, b = condition(d, depth + 1), expression(d, type_, depth + 1), expression(d, type_, depth + 1)
        return f"({a} if {c} else {b})"
    callable_ = [n for n, (_, result) in d.helpers.items() if result == type_]
    if callable_ and d.chance(0.25):
        name = d.pick(callable_)
        return f"{name}({', '.join(expression(d, t, depth + 1) for t in d.helpers[name][0])})"
    return _MAKERS[type_](d, depth + 1)


def condition(d: Draw, depth: int = 0) -> str:
    """What `if` and `while` test: mostly a bool, else anything with a truth value."""
    if depth < 2 and d.chance(0.25):
        kind = d.pick(("int", "ints", "str", "f0", "table", "maybe_int", "float", "tensors"))
        return expression(d, kind, max(depth, 2))
    return expression(d, "bool", depth)


def small_int(d: Draw) -> str:
    return str(d.rng.randrange(-4, 7))


def index(d: Draw, depth: int) -> str:
    """An index, mostly in range of a short sequence."""
    return d.weighted([(6, lambda: d.pick(("0", "-1", "1", "0"))), (2, lambda: expression(d, "int", depth))])


def divisor(d: Draw, depth: int) -> str:
    return d.weighted([(7, lambda: d.pick(("2", "3", "-3", "7", "-2"))), (1, lambda: expression(d, "int", depth + 1))])


def bounds(d: Draw, depth: int, steps: bool = True) -> str:
    """The inside of a slice."""
    a = d.pick(("", "0", "1", "-2", small_int(d)))
    b = d.pick(("", "-1", "3", expression(d, "int", depth + 1)))
    step = d.pick(("", "", "", ":2")) if steps else ""
    return f"{a}:{b}{step}"


def comparison(d: Draw, type_: str, depth: int) -> str:
    op = d.pick(("<", "<=", ">", ">=", "==", "!="))
    a, b = expression(d, type_, depth), expression(d, type_, depth)
    if d.chance(0.2):
        return f"({a} {op} {b} {d.pick(('<', '<=', '>', '!='))} {expression(d, type_, depth)})"
    return f"({a} {op} {b})"


def comprehension(d: Draw, depth: int, type_: str) -> str:
    """The inside of a comprehension or generator expression whose items have this type."""
    v = d.fresh("v")
    source, kind = d.pick((("ints", "int"), ("range", "int"), ("floats", "float"), ("tensors", "f1"), ("f1", "f0"),
                           ("enumerate", "int"), ("zip", "int"), ("f2", "f1")))  # fmt: skip
    target, names = v, {v: kind}
    if source == "range":
        text = f"range({expression(d, 'int', depth + 1)} % 5)"
    elif source == "enumerate":
        w = d.fresh("w")
        target, names = f"{v}, {w}", {v: "int", w: "float"}
        text = f"enumerate({expression(d, 'floats', depth + 1)})"
    elif source == "zip":
        w = d.fresh("w")
        target, names = f"{v}, {w}", {v: "int", w: "f1"}
        text = f"zip({expression(d, 'ints', depth + 1)}, {expression(d, 'tensors', depth + 1)})"
    else:
        text = expression(d, source, depth + 1)
    with d.bound(**names):
        body = expression(d, type_, depth)
        where = f" if {expression(d, 'bool', depth + 1)}" if d.chance(0.3) else ""
    return f"{body} for {target} in {text}{where}"


_F1_METHODS = ("clone()", "flip(0)", "cumsum(0)", "sort().values", "clamp(-1.0, 1.0)")
_SORTS = ("", ", reverse=True", ", key=lambda q: -q", ", key=lambda q: q % 3")


# One function per type ---------------------------------------------------------------------------


def _int(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (3, lambda: small_int(d)),
            (6, lambda: f"({e('int')} {d.pick(('+', '-'))} {e('int')})"),
            (2, lambda: f"({e('int')} * {e('int')}) % 1009"),
            (3, lambda: f"({e('int')} {d.pick(('//', '%'))} {divisor(d, n)})"),
            (2, lambda: f"({e('int')} {d.pick(('&', '|', '^'))} {e('int')})"),
            (1, lambda: f"({e('int')} {d.pick(('<<', '>>'))} {d.pick(('1', '2', '3'))})"),
            (1, lambda: f"{d.pick(('-', '~', '+'))}{e('int')}"),
            (1, lambda: f"abs({e('int')})"),
            (1, lambda: f"({d.pick(('2', '3', '-2'))} ** ({e('int')} % 4))"),
            (2, lambda: f"len({e(d.pick(('ints', 'floats', 'tensors', 'str', 'table', 'f1', 'rows')))})"),
            (2, lambda: f"{e('f1')}.{d.pick(('shape[0]', 'size(0)', 'numel()', 'dim()', 'size(-1)'))}"),
            (1, lambda: f"{e('f2')}.{d.pick(('shape[0]', 'size(1)', 'shape[-1]'))}"),
            (2, lambda: f"{d.pick(('int', 'round'))}({e('float')})"),
            (1, lambda: f"int({e('bool')})"),
            (2, lambda: f"int({e('f1')}.{d.pick(('argmax()', 'sum()'))})"),
            (1, lambda: f"int(({e('f1')} > {e('float')}).sum())"),
            (2, lambda: f"{e('i1')}[{index(d, n)}].item()"),
            (2, lambda: f"{e('ints')}[{index(d, n)}]"),
            (1, lambda: f"{e('pair')}[0]"),
            (2, lambda: f"{d.pick(('max', 'min'))}({e('int')}, {e('int')})"),
            (1, lambda: f"{d.pick(('max', 'min'))}({e('ints')}, default={small_int(d)})"),
            (1, lambda: f"{d.pick(('max', 'min'))}({e('ints')})"),
            (1, lambda: f"sum({e('ints')})"),
            (2, lambda: f"sum({comprehension(d, n, d.pick(('int', 'bool')))})"),
            (1, lambda: f"{d.pick(('max', 'min'))}(({comprehension(d, n, 'int')}), default={small_int(d)})"),
            (1, lambda: f"{e('ints')}.count({e('int')})"),
            (1, lambda: f"{e('ints')}.index({e('int')})"),
            (2, lambda: f"{e('table')}.get({e('int')}, {e('int')})"),
            (1, lambda: f"{e('table')}[{e('int')}]"),
            (1, lambda: f"{e('record')}['n']"),
            (1, lambda: f"{e('i0')}.item()"),
            (1, lambda: f"int({e('i0')})"),
            (1, lambda: f"({e('maybe_int')} or {e('int')})"),
            (1, lambda: f"math.{d.pick(('floor', 'ceil'))}({e('float')})"),
        ]
    )


def _float(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (3, lambda: d.pick(("0.5", "1.5", "-0.25", "2.0", "0.1", "-1.0"))),
            (5, lambda: f"({e('float')} {d.pick(('+', '-', '*'))} {e(d.pick(('float', 'int')))})"),
            (2, lambda: f"({e(d.pick(('int', 'float')))} / {d.pick(('2', '4.0', '3'))})"),
            (1, lambda: f"({e('float')} {d.pick(('//', '%'))} {d.pick(('2', '0.5', '-1.5'))})"),
            (1, lambda: f"({e('int')} / {e('int')})"),
            (1, lambda: f"({e('float')} ** 2)"),
            (2, lambda: f"float({e(d.pick(('int', 'f0', 'bool')))})"),
            (3, lambda: f"{e('f0')}.item()"),
            (3, lambda: f"{e(d.pick(('f1', 'f2')))}.{d.pick(('sum()', 'mean()', 'max()', 'abs().sum()'))}.item()"),
            (2, lambda: f"{e('f1')}[{index(d, n)}].item()"),
            (1, lambda: f"round({e('float')}, {d.pick(('1', '2', '0'))})"),
            (1, lambda: f"abs({e('float')})"),
            (1, lambda: f"{d.pick(('max', 'min'))}({e('float')}, {e('float')})"),
            (1, lambda: f"math.sqrt(abs({e('float')}))"),
            (2, lambda: f"{e('floats')}[{index(d, n)}]"),
            (1, lambda: f"sum({e('floats')}, 0.0)"),
            (1, lambda: f"sum(({comprehension(d, n, 'float')}), 0.0)"),
            (1, lambda: f"{e('pair')}[1]"),
            (1, lambda: f"-{e('float')}"),
        ]
    )


def _bool(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (1, lambda: d.pick(("True", "False"))),
            (6, lambda: comparison(d, "int", n)),
            (4, lambda: comparison(d, "float", n)),
            (1, lambda: comparison(d, "str", n)),
            (1, lambda: f"({e('int')} < {e('float')})"),
            (3, lambda: f"({e('bool')} {d.pick(('and', 'or'))} {e('bool')})"),
            (2, lambda: f"(not {e('bool')})"),
            (3, lambda: f"bool({e('f0')} > {e('float')})"),
            (2, lambda: f"bool(({e('f1')} > {e('float')}).{d.pick(('any', 'all'))}())"),
            (1, lambda: f"({e('f0')} {d.pick(('<', '>='))} {e('float')}).item()"),
            (2, lambda: f"({e('int')} {d.pick(('in', 'not in'))} {e('ints')})"),
            (1, lambda: f"({e('int')} in {e('table')})"),
            (1, lambda: f"({e('str')} in {e('str')})"),
            (1, lambda: f"({e('maybe_int')} is {d.pick(('', 'not '))}None)"),
            (1, lambda: f"({e('maybe_f1')} is {d.pick(('', 'not '))}None)"),
            (2, lambda: f"{d.pick(('any', 'all'))}({comprehension(d, n, 'bool')})"),
            (1, lambda: f"({e('ints')} == {e('ints')})"),
            (1, lambda: f"({e('bool')} == {e('bool')})"),
            (1, lambda: comparison(d, "num", n)),
            (1, lambda: f"({e('pair')} < {e('pair')})"),
            (1, lambda: f"bool({e(d.pick(('int', 'ints', 'str', 'float')))})"),
            (1, lambda: f"{e('record')}['on']"),
        ]
    )


def _str(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (3, lambda: d.pick(("'a'", "'bc'", "''", "'x-y'"))),
            (3, lambda: f"({e('str')} + {e('str')})"),
            (4, lambda: _fstring(d, n)),
            (2, lambda: f"str({e(d.pick(('int', 'float', 'bool', 'ints', 'pair')))})"),
            (1, lambda: f"repr({e(d.pick(('str', 'float', 'maybe_int', 'num')))})"),
            (1, lambda: f"({e('str')} * {d.pick(('2', '0', '3'))})"),
            (1, lambda: f"{e('str')}[{index(d, n)}]"),
            (1, lambda: f"{e('str')}[{bounds(d, n)}]"),
            (1, lambda: f"{e('str')}.{d.pick(('upper', 'strip', 'lower', 'title'))}()"),
            (1, lambda: f"{e('str')}.replace('a', 'xy')"),
            (1, lambda: f"','.join({comprehension(d, n, 'str')})"),
            (1, lambda: f"'%d|%.3f' % ({e('int')}, {e('float')})"),
            (1, lambda: f"'{{}}:{{}}'.format({e('int')}, {e('bool')})"),
        ]
    )  # fmt: skip


def _fstring(d: Draw, n: int) -> str:
    spec = d.pick((".2f", ".1e", "6.3f", "g"))
    start, middle = d.pick(("", "n=")), d.pick(("", "/"))
    return f'f"{start}{{{_bare(d, "int", n)}}}{middle}{{{_bare(d, "float", n)}:{spec}}}"'


def _numbered(d: Draw, items: str) -> str:
    i, v = d.fresh("i"), d.fresh("v")
    return f"{{{i}: {v} for {i}, {v} in enumerate({items})}}"


def _bare(d: Draw, type_: str, n: int) -> str:
    """An expression that may stand inside an f-string: no quotes."""
    names = d.of_type(type_)
    if not names:
        return _LITERALS[type_](d)
    name = d.pick(names)
    return d.pick((name, f"{name} + 1", f"{name} * 2"))


def _f0(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (4, lambda: f"{e(d.pick(('f1', 'f2')))}.{d.pick(('sum()', 'mean()', 'max()', 'min()', 'norm()'))}"),
            (3, lambda: f"{e('f1')}[{index(d, n)}]"),
            (3, lambda: f"({e('f0')} {d.pick(('+', '-', '*'))} {e(d.pick(('f0', 'float', 'int')))})"),
            (1, lambda: f"({e('float')} {d.pick(('+', '-', '*'))} {e('f0')})"),
            (1, lambda: f"torch.tensor({e('float')})"),
            (1, lambda: f"torch.{d.pick(('relu', 'tanh', 'abs'))}({e('f0')})"),
            (1, lambda: f"sum(({comprehension(d, n, 'f0')}), torch.zeros(()))"),
        ]
    )


def _f1(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    names = d.of_type("f1")
    same = lambda: d.pick(names) if names else "torch.ones(3)"  # noqa: E731
    return d.weighted(
        [
            (5, lambda: f"({e('f1')} {d.pick(('+', '-', '*'))} {e(d.pick(('float', 'int', 'f0')))})"),
            (2, lambda: f"({e('float')} - {e('f1')})"),
            (2, lambda: f"({e('f1')} {d.pick(('+', '*'))} {e('f1')})"),
            (3, lambda: f"torch.{d.pick(('relu', 'tanh', 'abs', 'sin', 'sigmoid'))}({e('f1')})"),
            (3, lambda: f"{e('f1')}[{bounds(d, n, False)}]"),
            (2, lambda: (lambda x: f"{x}[{x} > {e('float')}]")(same())),
            (3, lambda: f"torch.cat([{e('f1')}, {e('f1')}])"),
            (1, lambda: f"torch.stack([{e('f0')}, {e('f0')}])"),
            (1, lambda: f"torch.cat([{e('f1')}, {e('f0')}.reshape(1)])"),
            (2, lambda: f"{e('f2')}[{index(d, n)}]"),
            (2, lambda: f"{e('f2')}.{d.pick(('sum(0)', 'mean(1)', 'flatten()', 'sum(-1)'))}"),
            (2, lambda: (lambda x: f"torch.where({x} > {e('float')}, {x}, {d.pick((f'-{x}', f'{x} * 2'))})")(same())),
            (2, lambda: f"{e('f1')}.{d.pick(_F1_METHODS)}"),
            (1, lambda: f"{e('i1')}.float()"),
            (1, lambda: f"torch.tensor([{e('float')}, {e('float')}])"),
            (1, lambda: f"torch.{d.pick(('zeros', 'ones'))}(max(0, {e('int')} % 5))"),
            (1, lambda: f"{e('tensors')}[{index(d, n)}]"),
            (1, lambda: f"{e('rows')}[{e('int')}]"),
            (1, lambda: f"{e('record')}['t']"),
            (1, lambda: f"torch.full(({e('int')} % 4,), {e('float')})"),
        ]
    )  # fmt: skip


def _f2(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    names = d.of_type("f1")
    same = lambda: d.pick(names) if names else "torch.ones(3)"  # noqa: E731
    return d.weighted(
        [
            (3, lambda: f"({e('f2')} {d.pick(('+', '*'))} {e(d.pick(('float', 'int', 'f0')))})"),
            (2, lambda: f"{e('f1')}.unsqueeze({d.pick(('0', '1', '-1'))})"),
            (2, lambda: (lambda x: f"({x}[:, None] * {x}[None, :])")(same())),
            (1, lambda: f"torch.stack({e('tensors')})"),
            (1, lambda: (lambda x: f"torch.stack([{x}, {x} + 1])")(same())),
            (1, lambda: f"{e('f2')}.{d.pick(('t()', 'clone()', 'transpose(0, 1)'))}"),
            (2, lambda: f"{e('f2')}[{bounds(d, n, False)}]"),
            (1, lambda: f"torch.{d.pick(('relu', 'tanh'))}({e('f2')})"),
            (1, lambda: f"torch.zeros({d.pick(('2', '1', '3'))}, abs({e('int')}) % 4)"),
        ]
    )


def _i0(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (2, lambda: f"{e('i1')}[{index(d, n)}]"),
            (2, lambda: f"{e('i1')}.{d.pick(('sum()', 'max()'))}"),
            (1, lambda: f"{e('f1')}.argmax()"),
            (1, lambda: f"torch.tensor({e('int')})"),
            (1, lambda: f"({e('i0')} + {small_int(d)})"),
        ]
    )


def _i1(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (2, lambda: f"torch.arange({e('int')} % 5)"),
            (3, lambda: f"({e('i1')} {d.pick(('+', '-', '*'))} {small_int(d)})"),
            (1, lambda: f"({e('i1')} {d.pick(('//', '%'))} {d.pick(('2', '-3', '3'))})"),
            (2, lambda: f"{e('i1')}[{bounds(d, n, False)}]"),
            (1, lambda: f"torch.tensor([{e('int')}, {e('int')}])"),
            (1, lambda: f"{e('f1')}.argsort()"),
            (1, lambda: f"({e('f1')} > {e('float')}).nonzero().flatten()"),
            (1, lambda: f"({e('f1')} > {e('float')}).long()"),
            (1, lambda: f"torch.cat([{e('i1')}, {e('i1')}])"),
            (1, lambda: f"torch.tensor({e('ints')}, dtype=torch.int64)"),
        ]
    )


def _b1(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (4, lambda: f"({e('f1')} {d.pick(('>', '<='))} {e('float')})"),
            (2, lambda: f"({e('i1')} {d.pick(('==', '!=', '<'))} {e('int')})"),
            (1, lambda: f"~{e('b1')}"),
        ]
    )


def _ints(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (3, lambda: "[" + ", ".join(e("int") for _ in range(d.rng.randrange(4))) + "]"),
            (3, lambda: f"[{comprehension(d, n, 'int')}]"),
            (1, lambda: f"list(range({e('int')} % 5))"),
            (1, lambda: f"sorted({e('ints')}{d.pick(_SORTS)})"),
            (1, lambda: f"{e('ints')}[{bounds(d, n)}]"),
            (1, lambda: f"({e('ints')} + {e('ints')})"),
            (1, lambda: f"({e('ints')} * {d.pick(('2', '0'))})"),
            (2, lambda: f"{e('i1')}.tolist()"),
            (1, lambda: f"sorted({comprehension(d, n, 'int')})"),
            (1, lambda: f"list({d.pick(('reversed', 'list', 'sorted'))}({e('ints')}))"),
            (1, lambda: f"list({e('table')}{d.pick(('', '.keys()', '.values()'))})"),
        ]
    )  # fmt: skip


def _floats(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (2, lambda: "[" + ", ".join(e("float") for _ in range(d.rng.randrange(4))) + "]"),
            (2, lambda: f"[{comprehension(d, n, 'float')}]"),
            (2, lambda: f"{e('f1')}.tolist()"),
            (1, lambda: f"{e('floats')}[{bounds(d, n)}]"),
            (1, lambda: f"sorted({e('floats')})"),
            (1, lambda: f"({e('floats')} + {e('floats')})"),
        ]
    )


def _tensors(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (3, lambda: "[" + ", ".join(e("f1") for _ in range(d.rng.randrange(1, 4))) + "]"),
            (2, lambda: f"[{comprehension(d, n, 'f1')}]"),
            (1, lambda: f"list({e('f2')})"),
            (1, lambda: f"{e('tensors')}[{bounds(d, n)}]"),
            (1, lambda: f"list({e('f2')}.unbind(0))"),
        ]
    )


def _table(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (2, lambda: f"{{{e('int')}: {e('int')}}}"),
            (1, lambda: "{}"),
            (2, lambda: (lambda v: f"{{{v}: {v} * 2 for {v} in {e('ints')}}}")(d.fresh("v"))),
            (1, lambda: _numbered(d, e('ints'))),
        ]
    )  # fmt: skip


def _rows(d: Draw, n: int) -> str:
    e = lambda t: expression(d, t, n)  # noqa: E731
    return f"{{{e('int')}: {e('f1')}, {e('int')}: {e('f1')}}}"


def _record(d: Draw, n: int) -> str:
    return f"{{'n': {expression(d, 'int', n)}, 't': {expression(d, 'f1', n)}, 'on': {expression(d, 'bool', n)}}}"


def _pair(d: Draw, n: int) -> str:
    return f"({expression(d, 'int', n)}, {expression(d, 'float', n)})"


def _num(d: Draw, n: int) -> str:
    """An int or a float, which of them is decided at run time."""
    e = lambda t: expression(d, t, n)  # noqa: E731
    return d.weighted(
        [
            (2, lambda: f"({e('int')} if {condition(d, n)} else {e('float')})"),
            (2, lambda: f"{d.pick(('max', 'min'))}({e('int')}, {e('float')})"),
            (2, lambda: f"({e('num')} {d.pick(('+', '-', '*'))} {e(d.pick(('int', 'float')))})"),
            (1, lambda: f"abs({e('num')})"),
        ]
    )


def _maybe(inner: str) -> Callable[[Draw, int], str]:
    def make(d: Draw, n: int) -> str:
        return f"({expression(d, inner, n)} if {condition(d, n)} else None)"

    return make


_MAKERS: dict[str, Callable[[Draw, int], str]] = {
    "int": _int, "float": _float, "bool": _bool, "str": _str,
    "f0": _f0, "f1": _f1, "f2": _f2, "i0": _i0, "i1": _i1, "b1": _b1,
    "ints": _ints, "floats": _floats, "tensors": _tensors,
    "pair": _pair, "table": _table, "rows": _rows, "record": _record,
    "maybe_int": _maybe("int"), "maybe_f1": _maybe("f1"), "num": _num,
}  # fmt: skip

_LITERALS: dict[str, Callable[[Draw], str]] = {
    "int": small_int,
    "float": lambda d: d.pick(("0.5", "-1.25", "2.0", "0.1")),
    "bool": lambda d: d.pick(("True", "False")),
    "str": lambda d: d.pick(("'a'", "'bc'", "''")),
    "f0": lambda d: "torch.tensor(0.5)",
    "f1": lambda d: d.pick(("torch.ones(3)", "torch.tensor([1.0, -2.0])", "torch.zeros(0)")),
    "f2": lambda d: d.pick(("torch.ones(2, 3)", "torch.eye(2)")),
    "i0": lambda d: "torch.tensor(2)",
    "i1": lambda d: "torch.tensor([3, -1, 2])",
    "b1": lambda d: "torch.tensor([True, False, True])",
    "ints": lambda d: d.pick(("[1, 2, 3]", "[]", "[5]")),
    "floats": lambda d: d.pick(("[0.5, 2.0]", "[1.5]")),
    "tensors": lambda d: "[torch.ones(2), torch.zeros(2)]",
    "pair": lambda d: "(1, 0.5)",
    "table": lambda d: d.pick(("{1: 2}", "{0: 5, 3: 1}")),
    "rows": lambda d: "{0: torch.ones(2)}",
    "record": lambda d: "{'n': 1, 't': torch.ones(2), 'on': True}",
    "maybe_int": lambda d: d.pick(("None", "3")),
    "maybe_f1": lambda d: d.pick(("None", "torch.ones(2)")),
    "num": lambda d: d.pick(("1", "0.5")),
}
