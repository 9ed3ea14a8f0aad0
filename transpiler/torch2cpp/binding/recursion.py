"""Functions that call themselves to a depth decided at run time become functions of the IR.

All other calls are interpreted in place. When a function is found deep inside itself, the fact is
remembered and binding starts again; from then on it is bound once for each set of static arguments
and of classes of objects, with its run-time arguments as parameters. Its result type starts as "never returns" and
grows over the rounds until it is stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from torch2cpp.binding import field_loads
from torch2cpp.binding.captured import Captured, captured
from torch2cpp.binding.containers import make_run_time, site_of
from torch2cpp.binding.context import Context, Exit, Restart, Terminated
from torch2cpp.binding.control import run_path
from torch2cpp.binding.convert import NoType, describe, from_operand, resolve, to_operand, type_of
from torch2cpp.binding.growing import check_open
from torch2cpp.binding.growth import learn_type
from torch2cpp.binding.join_values import Inside, type_in
from torch2cpp.binding.values import AbsVal, Bound, Func, Native, Rt, ScopeObj, State, Static, Tensor, Tup
from torch2cpp.hostir.ops import Block, Call, Return
from torch2cpp.hostir.program import Function, Param
from torch2cpp.hostir.types import NEVER, NeverType, OptionalType, StructType, Type, is_reference, join

#: A function this many times inside itself is taken for recursive.
MAX_NESTED = 10


@dataclass
class _Shape:
    """How arguments are split into static ones and parameters."""

    key: Any
    #: Parameter name -> its run-time value; the others are static.
    run_time: dict[str, AbsVal]
    static: dict[str, AbsVal]
    #: Those of the run-time values that are variables of functions around: parameter name -> variable.
    cells: dict[str, Captured] = field(default_factory=dict)


def is_recursive(cx: Context, f: Any) -> bool:
    """Whether a function is an IR function; learnt when it is found inside itself too often."""
    if f.node in cx.facts.recursive:
        return True
    nested = sum(frame.node is f.node for frame in cx.frames)
    if nested >= MAX_NESTED:
        cx.facts.recursive.add(f.node)
        raise Restart
    return False


def call_function(cx: Context, f: Any, names: dict[str, AbsVal], first: AbsVal) -> AbsVal:
    """Calls the IR function of `f`, binding it first if this round has not yet."""
    shape = _shape(cx, f, names)
    name = _name(cx, f, shape)
    types = _parameter_types(cx, f, name, shape)
    if name not in cx.functions:
        cx.functions[name] = None
        _bind(cx, f, name, shape, types, first)
    operands = tuple(to_operand(cx, v, t) for v, t in zip(shape.run_time.values(), types))
    result = cx.facts.function_results.get(name, NEVER)
    for key in [k for k in cx.state.heap if isinstance(k, tuple)]:
        del cx.state.heap[key]  # the call may write any attribute
    field_loads.forget(cx)
    if isinstance(result, NeverType):
        cx.emit(Call((), name, operands, cx.span))
        raise Terminated
    value = cx.value(result, f.name.rpartition(".")[2])
    cx.emit(Call((value,), name, operands, cx.span))
    return from_operand(cx, value, result, cx.facts.examples.get(("result", name)))


def _shape(cx: Context, f: Any, names: dict[str, AbsVal]) -> _Shape:
    run_time: dict[str, AbsVal] = {}
    static: dict[str, AbsVal] = {}
    key: list[Any] = []
    for n, v in names.items():
        o = resolve(cx, v)
        if (isinstance(o, Static) and not _is_data(o.value)) or isinstance(o, Func | Native | Bound):
            static[n] = v
            key.append((n, _identity(o)))
        else:
            make_run_time(cx, v)
            run_time[n] = v
            made = resolve(cx, v)
            if isinstance(made, Rt) and isinstance(made.type, StructType):
                key.append((n, made.type.name))  # a method that classes inherit is a function for each of them
    cells: dict[str, Captured] = {}
    for each in captured(cx, f):
        o = resolve(cx, each.value)
        if isinstance(o, Static | Func | Native | Bound):
            # Such a variable has one value for all calls from inside.
            known = repr(o.value) if isinstance(o, Static) and _is_data(o.value) else _identity(o)
            key.append((each.name, known))
            continue
        n = each.name
        while n in names or n in run_time:
            n += "_"
        make_run_time(cx, each.value)
        run_time[n], cells[n] = each.value, each
    return _Shape((id(f.node), tuple(key)), run_time, static, cells)


def _is_data(value: Any) -> bool:
    """Static values that differ between recursive calls are passed, so that one function serves them all."""
    if value is None or isinstance(value, bool | int | float | str | torch.Tensor):
        return True
    return isinstance(value, tuple) and all(map(_is_data, value))


def _identity(o: AbsVal) -> Any:
    return id(o.value) if isinstance(o, Static) else id(o.node) if isinstance(o, Func) else id(o)


def _name(cx: Context, f: Any, shape: _Shape) -> str:
    if shape.key not in cx.function_names:
        base = f.name.rpartition(".")[2].strip("<>")
        taken = set(cx.function_names.values())
        name = base
        while name in taken:
            name = f"{base}_{len(taken) + 1}"
        cx.function_names[shape.key] = name
    return cx.function_names[shape.key]


def _parameter_types(cx: Context, f: Any, name: str, shape: _Shape) -> list[Type]:
    """Parameter types with room for these arguments; growing them starts another round."""
    have = cx.facts.function_params.get(name) or [NEVER] * len(shape.run_time)
    out: list[Type] = []
    for (n, v), t in zip(shape.run_time.items(), have):
        try:
            mine = type_of(cx, v)
        except NoType:
            cx.refuse("T2C174", f"{f.name} calls itself with {describe(cx, v)} as {n!r}", "pass tensors and numbers")
        wide = join(t, mine)
        if wide is None:
            cx.refuse("T2C174", f"{f.name} is called with {t} and {mine} as {n!r}", "use one type per parameter")
        cx.facts.examples.setdefault(("param", name, n), v)
        out.append(_agree(cx, v, ("param", name, n), mine, wide))
    if out != have:
        cx.facts.function_params[name] = out
        if name in cx.functions:
            raise Restart
    return out


def _agree(cx: Context, v: AbsVal, site: Any, mine: Type, wide: Type) -> Type:
    """A container is the same object inside and outside: what either side stores widens both."""
    if not is_reference(mine) or isinstance(mine, StructType):
        return wide
    fact = cx.facts.containers.get(site)
    if fact is not None:
        wide = join(wide, fact) or wide
    own = site_of(cx, v)
    inside = wide.elem if isinstance(wide, OptionalType) else wide
    if own is not None and inside != mine and learn_type(cx, own, inside):
        raise Restart
    return wide


def _bind(cx: Context, f: Any, name: str, shape: _Shape, types: list[Type], first: AbsVal) -> None:
    from torch2cpp.binding.calls import run_function

    saved = (cx.state, cx.block, cx.frames, cx.labels, cx.path)
    exceptions = (cx.catching, cx.payload, cx.in_function)
    cx.catching, cx.payload, cx.in_function = [], {}, True
    scopes = {k: o for k, o in cx.state.heap.items() if not isinstance(k, tuple)}
    cx.state, cx.block, cx.path = State(dict(scopes)), Block(), (("function", name),)
    cx.labels = []
    try:
        params: list[Param] = []
        names = dict(shape.static)
        for (n, _), t in zip(shape.run_time.items(), types):
            value = cx.value(t, n)
            cx.named.add(value.id)
            params.append(Param(n, value))
            names[n] = _parameter(cx, value, t, ("param", name, n))
        for n, cell in shape.cells.items():
            around = cx.state.heap[cell.scope]
            assert isinstance(around, ScopeObj)
            cx.state.heap[cell.scope] = ScopeObj({**around.names, cell.name: names[n]}, around.parent)
        ordered = {n: names[n] for n in [*shape.static, *shape.run_time] if n not in shape.cells}
        body, state = cx.block, cx.state
        with cx.label("return") as label:
            end = run_path(cx, body, state, lambda: run_function(cx, f, ordered, first, label))
            exits = [*label.exits, *([end] if end is not None else [])]
        result = _result(cx, name, exits)
        for path in exits:
            with Inside(cx, path):
                cx.emit(Return(to_operand(cx, path.value, result), path.span))
        bound = Function(name, tuple(params), result, body, f.source.span(f.node))
        cx.functions[name] = bound
        check_open(cx)
    finally:
        cx.state, cx.block, cx.frames, cx.labels, cx.path = saved
        cx.catching, cx.payload, cx.in_function = exceptions


def _parameter(cx: Context, value: Any, t: Type, site: Any) -> AbsVal:
    from torch2cpp.binding.containers import run_time
    from torch2cpp.hostir.types import DictType, ListType, SetType

    v = from_operand(cx, value, t, cx.facts.examples.get(site))
    if isinstance(v, Rt) and isinstance(t, ListType | DictType | SetType):
        v.example = None  # an example of the container is none of its elements
        return run_time(cx, v, site)
    return v


def _result(cx: Context, name: str, exits: list[Exit]) -> Type:
    result: Type = cx.facts.function_results.get(name, NEVER)
    start = result
    for path in exits:
        with Inside(cx, path):
            make_run_time(cx, path.value)
        wide = join(result, type_in(cx, path, path.value))
        if wide is None:
            cx.refuse(
                "T2C174", f"{name} returns values of different types", "return values of one type", span=path.span
            )
        result = wide
        if isinstance(path.value, Tensor | Tup | Rt):
            cx.facts.examples.setdefault(("result", name), path.value)
    if result != start:
        cx.facts.function_results[name] = result
        cx.dirty = True
    return result
