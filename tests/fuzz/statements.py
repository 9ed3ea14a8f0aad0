"""Statements of random programs: assignments, branches, loops, containers, tensors written in place."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.draw import LISTS, OTHERS, SCALARS, TENSORS, Draw, Loop
from tests.fuzz.expressions import bounds, comparison, comprehension, condition, divisor, expression, index

#: Blocks nested deeper than this hold simple statements only.
MAX_NESTING = 4


#: What `for` runs over.
_ITERATED = (
    "range", "range", "range", "ints", "f1", "f2", "tensors", "zip", "enumerate", "items", "floats", "static",
    "reversed",
)  # fmt: skip


def any_type(d: Draw) -> str:
    group = d.pick((SCALARS, SCALARS, TENSORS, TENSORS, LISTS, OTHERS))
    return d.pick(group)


def statements(d: Draw, count: int) -> None:
    """Writes up to so many statements at the current place."""
    for _ in range(count):
        if d.budget <= 0 or _ends(d):
            return
        d.budget -= 1
        statement(d)


def _ends(d: Draw) -> bool:
    """Whether the line before ends this block, so that nothing may follow."""
    last = d.lines[-1] if d.lines else ""
    here = len(last) - len(last.lstrip()) == 4 * d.indent
    return here and last.lstrip().split(" ")[0] in ("return", "break", "continue", "raise")


def statement(d: Draw) -> None:
    """Writes one statement."""
    rows: list[tuple[int, Callable[[], None]]] = [
        (10, lambda: _assign(d)),
        (8, lambda: _reassign(d)),
        (7, lambda: _augment(d)),
        (4, lambda: _change_list(d)),
        (4, lambda: _change_tensor(d)),
        (2, lambda: _change_dict(d)),
        (1, lambda: _assert(d)),
        (1, lambda: _unpack(d)),
        (1, lambda: _change_state(d)),
    ]
    if d.indent < MAX_NESTING:
        rows += [
            (9, lambda: _if(d)),
            (7, lambda: _for(d)),
            (4, lambda: _while(d)),
            (2, lambda: _try(d)),
            (2, lambda: _fill_maybe(d)),
            (1, lambda: _closure(d)),
        ]
    if d.loops or d.indent > 1:
        rows += [(3, lambda: _exit(d))]
    at = d.rng.randrange(sum(w for w, _ in rows))
    for weight, make in rows:
        if at < weight:
            make()
            return
        at -= weight


def _free(d: Draw, type_: str) -> list[str]:
    return [n for n in d.of_type(type_) if n not in d.fixed]


def _assign(d: Draw) -> None:
    type_ = any_type(d)
    name = d.fresh(type_[0])
    text = expression(d, type_)
    if d.chance(0.1) and not text.startswith(("lambda", "*")):
        other = d.fresh(type_[0])
        d.line(f"{name} = {other} = {text}")
        d.names[other] = type_
    else:
        d.line(f"{name} = {text}")
    d.names[name] = type_


def _reassign(d: Draw) -> None:
    type_ = any_type(d)
    if names := _free(d, type_):
        name = d.pick(names)
        if d.indent == 1 and not d.loops and d.chance(0.1):
            type_ = any_type(d)
        text = expression(d, type_)
        d.line(f"{name} = {text}")
        d.names[name] = type_
    else:
        _assign(d)


def _augment(d: Draw) -> None:
    type_ = d.pick(("int", "int", "float", "f1", "f0", "i1", "f2", "str", "ints", "bool", "num"))
    names = _free(d, type_)
    if not names:
        _assign(d)
        return
    name = d.pick(names)
    match type_:
        case "int":
            op = d.pick(("+", "-", "+", "//", "%", "&", "|", "^", "<<"))
            right = divisor(d, 1) if op in ("//", "%") else "1" if op == "<<" else expression(d, "int", 1)
        case "float":
            op, right = d.pick(("+", "-", "*")), expression(d, d.pick(("float", "int")), 1)
        case "num":
            op, right = d.pick(("+", "-")), expression(d, d.pick(("float", "int")), 1)
        case "str":
            op, right = "+", expression(d, "str", 1)
        case "ints":
            op, right = "+", expression(d, "ints", 1)
        case "bool":
            op, right = d.pick(("&", "|", "^")), expression(d, "bool", 1)
        case "i1":
            op, right = d.pick(("+", "-")), expression(d, "int", 1)
        case _:
            op, right = d.pick(("+", "-", "*")), expression(d, d.pick(("float", "int", "f0")), 1)
    d.line(f"{name} {op}= {right}")


def _change_list(d: Draw) -> None:
    type_, elem = d.pick((("ints", "int"), ("floats", "float"), ("tensors", "f1"), ("ints", "int")))
    names = _free(d, type_)
    if not names:
        name = d.fresh(type_[0])
        d.line(f"{name} = {d.pick(('[]', expression(d, type_)))}")
        d.names[name] = type_
        return
    name = d.pick(names)
    e = lambda: expression(d, elem, 1)  # noqa: E731
    ordered = elem != "f1"
    rows: list[tuple[int, Callable[[], str]]] = [
        (8, lambda: f"{name}.append({e()})"),
        (2, lambda: f"{name}.insert({index(d, 1)}, {e()})"),
        (2, lambda: f"{name}.extend({expression(d, type_, 1)})"),
        (3, lambda: f"{name}[{index(d, 1)}] = {e()}"),
        (1, lambda: f"{name}.pop({d.pick(('', '0', '-1'))})"),
        (1, lambda: f"del {name}[{index(d, 1)}]"),
        (1, lambda: f"{name}.reverse()"),
        (1, lambda: f"{name}[{bounds(d, 1)}] = {expression(d, type_, 1)}"),
        (1, lambda: f"{name}.clear()"),
    ]
    if ordered:
        rows += [
            (2, lambda: f"{name}.sort({d.pick(('', 'reverse=True', 'key=lambda q: -q'))})"),
            (1, lambda: f"{name}.remove({e()})"),
            (2, lambda: f"{name}[{index(d, 1)}] += {e()}"),
        ]
    d.line(d.weighted(rows))


def _change_tensor(d: Draw) -> None:
    type_ = d.pick(("f1", "f1", "f2", "i1"))
    names = _free(d, type_)
    if not names:
        _assign(d)
        return
    x = d.pick(names)
    elem = "int" if type_ == "i1" else "float"
    e = lambda: expression(d, elem, 1)  # noqa: E731
    if type_ in ("f1", "f2") and d.chance(0.25):
        v = d.fresh("view")
        d.line(f"{v} = {x}[{bounds(d, 1, False)}]")
        d.names[v] = type_
        d.line(d.pick((f"{v} += {e()}", f"{v}[...] = {e()}", f"{v}.mul_({e()})", f"{v}.zero_()")))
        return
    rows: list[tuple[int, Callable[[], str]]] = [
        (4, lambda: f"{x}[{index(d, 1)}] = {e()}"),
        (3, lambda: f"{x}[{index(d, 1)}] += {e()}"),
        (2, lambda: f"{x}[{bounds(d, 1, False)}] = {e()}"),
        (2, lambda: f"{x}[{x} > {e()}] = {e()}"),
        (2, lambda: f"{x}.{d.pick(('add_', 'mul_', 'sub_', 'fill_'))}({e()})"),
        (1, lambda: f"{x}.{d.pick(('zero_()', 'abs_()', 'neg_()'))}"),
        (1, lambda: f"{x}.clamp_(min={e()})"),
    ]
    if type_ == "f2":
        rows += [
            (2, lambda: f"{x}[:, {index(d, 1)}] = {e()}"),
            (1, lambda: f"{x}[{index(d, 1)}, {index(d, 1)}] -= {e()}"),
        ]
    d.line(d.weighted(rows))


def _change_dict(d: Draw) -> None:
    type_, elem = d.pick((("table", "int"), ("rows", "f1"), ("table", "int")))
    names = _free(d, type_)
    if not names:
        name = d.fresh(type_[0])
        d.line(f"{name} = {expression(d, type_)}")
        d.names[name] = type_
        return
    name = d.pick(names)
    key = lambda: expression(d, "int", 1)  # noqa: E731
    value = lambda: expression(d, elem, 1)  # noqa: E731
    rows: list[tuple[int, Callable[[], str]]] = [
        (6, lambda: f"{name}[{key()}] = {value()}"),
        (1, lambda: f"{name}.pop({key()}, None)"),
        (1, lambda: f"{name}.setdefault({key()}, {value()})"),
        (1, lambda: f"{name}.update({expression(d, type_, 1)})"),
    ]
    if elem == "int":
        k = key()
        rows.append((2, lambda: f"{name}[{k}] = {name}.get({k}, 0) + {value()}"))
        rows.append((1, lambda: f"{name}[{k}] += 1"))
    d.line(d.weighted(rows))


def _change_state(d: Draw) -> None:
    """Attributes of the model, and values of dicts with known keys."""
    if "self.count" in d.names and d.chance(0.7):
        d.line(
            d.pick(
                (
                    f"self.count += {expression(d, 'int', 1)}",
                    f"self.count = {expression(d, 'int', 1)}",
                    f"self.b[{index(d, 1)}] = {expression(d, 'float', 1)}",
                    f"self.b += {expression(d, 'float', 1)}",
                    f"self.last = {expression(d, 'f1', 1)}",
                )
            )
        )
    elif names := _free(d, "record"):
        d.line(f"{d.pick(names)}['n'] {d.pick(('=', '+='))} {expression(d, 'int', 1)}")
    else:
        _assign(d)


def _assert(d: Draw) -> None:
    cond = f"({expression(d, 'bool')} or {d.pick(('True', expression(d, 'bool')))})"
    message = d.pick(("", ", 'bad'", f', f"got {{{d.pick(d.of_type("int") or ["1"])}}}"'))
    d.line(f"assert {cond}{message}")


def _unpack(d: Draw) -> None:
    a, b = d.fresh("a"), d.fresh("b")
    match d.rng.randrange(4):
        case 0:
            d.line(f"{a}, {b} = {expression(d, 'pair')}")
            d.names |= {a: "int", b: "float"}
        case 1:
            d.line(f"{a}, *{b} = {expression(d, 'ints')}")
            d.names |= {a: "int", b: "ints"}
        case 2:
            d.line(f"{a}, {b} = {expression(d, 'int')}, {expression(d, 'f1')}")
            d.names |= {a: "int", b: "f1"}
        case _:
            names = _free(d, "int")
            if len(names) >= 2:
                x, y = d.pick(names), d.pick(names)
                d.line(f"{x}, {y} = {y}, {expression(d, 'int', 1)}")


def _body(d: Draw, header: str, count: int = 0) -> dict[str, str]:
    """A block of a few statements; gives the names it assigned."""
    with d.block(header):
        statements(d, count or d.rng.randrange(1, 4))
        ended = _ends(d)
        after = dict(d.names)
    return {} if ended else after


def _if(d: Draw) -> None:
    test = condition(d)
    if d.chance(0.12):
        name = d.fresh("w")
        test = f"({name} := {expression(d, 'int', 1)}) {d.pick(('>', '<', '=='))} {expression(d, 'int', 1)}"
        d.names[name] = "int"
    shared = d.fresh("n")
    type_ = any_type(d)
    both = d.chance(0.35)
    arms = [f"if {test}:"]
    while d.chance(0.3) and len(arms) < 3:
        arms.append(f"elif {condition(d)}:")
    if both or d.chance(0.4):
        arms.append("else:")
    for arm in arms:
        with d.block(arm):
            if both:
                text = expression(d, type_)
                statements(d, d.rng.randrange(0, 2))
                if not _ends(d):
                    d.line(f"{shared} = {text}")
                    d.names[shared] = type_
            statements(d, d.rng.randrange(0 if both else 1, 3))
    if both:
        d.names[shared] = type_


def _exit(d: Draw) -> None:
    """break, continue, return or raise, mostly under a condition."""
    kinds = ["return"]
    if d.loops:
        kinds += ["break", "break", "break"] + ["continue", "continue"] * d.loops[-1].continues
    if d.chance(0.15):
        kinds = ["raise"]
    kind = d.pick(kinds)
    if kind == "return":
        text = f"return {result(d)}"
    elif kind == "raise":
        text = f"raise {d.pick(('ValueError', 'RuntimeError', 'KeyError'))}({expression(d, 'str', 1)})"
    else:
        text = kind
    if d.chance(0.8):
        with d.block(f"if {condition(d)}:"):
            if d.chance(0.3):
                statements(d, 1)
            if not _ends(d):
                d.line(text)
    else:
        d.line(text)


def result(d: Draw) -> str:
    """What a return statement gives."""
    if d.result is not None:
        return expression(d, d.result)
    if d.chance(0.5):
        return expression(d, any_type(d), 1)
    return f"{expression(d, any_type(d), 1)}, {expression(d, any_type(d), 1)}"


def _for(d: Draw) -> None:
    i = d.fresh("i")
    kind = d.pick(_ITERATED)
    e = lambda t: expression(d, t, 1)  # noqa: E731
    j = d.fresh("j")
    match kind:
        case "range":
            header = d.pick(
                (
                    f"range({e('int')} % 5)",
                    f"range({e('int')} % 3, 5)",
                    "range(3)",
                    f"range(5, {e('int')} % 4, -2)",
                    f"range(len({e('ints')}))",
                    f"range({e('f1')}.shape[0])",
                )
            )
            target, names = i, {i: "int"}
        case "ints" | "floats" | "f1" | "f2" | "tensors":
            header, target = e(kind), i
            names = {i: {"ints": "int", "floats": "float", "f1": "f0", "f2": "f1", "tensors": "f1"}[kind]}
        case "zip":
            header, target, names = f"zip({e('ints')}, {e('f2')})", f"{i}, {j}", {i: "int", j: "f1"}
        case "enumerate":
            header = f"enumerate({e('tensors')}{d.pick(('', ', 1', ', start=2'))})"
            target, names = f"{i}, {j}", {i: "int", j: "f1"}
        case "items":
            header, target, names = f"{e('table')}.items()", f"{i}, {j}", {i: "int", j: "int"}
        case "static":
            header, target, names = d.pick(("(1, 2)", "[3, -1, 4]", "(0,)")), i, {i: "int"}
        case _:
            header, target, names = f"reversed({e('ints')})", i, {i: "int"}
    _loop(d, f"for {target} in {header}:", names, continues=True)


def _loop(d: Draw, header: str, names: dict[str, str], continues: bool, first: str = "") -> None:
    # A list that is iterated must not grow in the loop: the program would not end.
    iterated = {n for n in d.names if d.names[n] in (*LISTS, "table", "rows") and n in header}
    added = iterated - d.fixed
    d.fixed |= added
    with d.block(header):
        d.names |= names
        d.loops.append(Loop(continues))
        if first:
            d.line(first)
        statements(d, d.rng.randrange(1, 4))
        d.loops.pop()
    d.fixed -= added
    if d.chance(0.15):
        _body(d, "else:", 1)


def _while(d: Draw) -> None:
    c = d.fresh("c")
    d.line(f"{c} = {d.pick(('0', '0', '1'))}")
    d.names[c] = "int"
    d.fixed.add(c)
    limit = d.pick(("3", "5", f"{expression(d, 'int', 1)} % 6"))
    if d.chance(0.25):
        # left from inside
        with_break = f"if {c} > 4:"
        with d.block("while True:"):
            d.line(f"{c} += 1")
            d.line(with_break)
            d.line("    break")
            d.loops.append(Loop(True))
            statements(d, d.rng.randrange(1, 4))
            d.loops.pop()
        return
    test = f"{c} < {limit}" + (f" and {condition(d, 1)}" if d.chance(0.5) else "")
    _loop(d, f"while {test}:", {}, continues=True, first=f"{c} += 1")


def _try(d: Draw) -> None:
    _body(d, "try:")
    for _ in range(d.pick((1, 1, 2))):
        kind = d.pick(("ValueError", "RuntimeError", "ZeroDivisionError", "(IndexError, KeyError)", "Exception"))
        named = d.chance(0.4)
        with d.block(f"except {kind} as err:" if named else f"except {kind}:"):
            if named and d.chance(0.6):
                name = d.fresh("s")
                d.line(f"{name} = str(err)")
                d.names[name] = "str"
            statements(d, d.rng.randrange(1, 3))
        if kind == "Exception":
            break
    if d.chance(0.2):
        _body(d, "else:", 1)
    if d.chance(0.15):
        _body(d, "finally:", 1)


def _fill_maybe(d: Draw) -> None:
    """None that becomes a value in a loop, and is tested afterwards."""
    inner = d.pick(("int", "f1", "f0", "ints", "float"))
    m = d.fresh("m")
    d.line(f"{m} = None")
    i = d.fresh("i")
    with d.block(f"for {i} in {d.pick(('range(3)', expression(d, 'ints', 1)))}:"):
        d.names[i] = "int"
        with d.block(f"if {condition(d)}:"):
            d.line(f"{m} = {expression(d, inner)}")
    with d.block(f"if {m} is not None:"):
        d.names[m] = inner
        statements(d, d.rng.randrange(1, 3))
    if inner in ("int", "f1"):
        d.names[m] = f"maybe_{inner}"


def _closure(d: Draw) -> None:
    """A local function or lambda over variables of the function around it."""
    types = tuple(d.pick(("int", "float", "f1", "ints")) for _ in range(d.rng.randrange(1, 3)))
    res = d.pick(("int", "float", "f1", "bool"))
    g = d.fresh("g")
    params = {d.fresh("p"): t for t in types}
    if d.chance(0.4):
        with d.bound(**params):
            body = expression(d, res, 1)
        d.line(f"{g} = lambda {', '.join(params)}: {body}")
    else:
        saved = (d.loops, set(d.fixed), d.result, d.budget)
        d.loops, d.result, d.budget = [], res, min(d.budget, 4)
        d.fixed |= set(d.names)
        with d.block(f"def {g}({', '.join(params)}):"):
            d.names |= params
            statements(d, d.rng.randrange(1, 3))
            if not _ends(d):
                d.line(f"return {expression(d, res)}")
        d.loops, d.fixed, d.result, d.budget = saved
        d.budget -= 2
    if d.indent == 1 and not d.loops:
        d.helpers[g] = (types, res)


__all__ = ["any_type", "comparison", "comprehension", "result", "statements"]
