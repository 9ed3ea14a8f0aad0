"""Binding of whole programs: entries of a model, in rounds until nothing new is learned."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch2cpp.binding.aten import NoOverload
from torch2cpp.binding.calls import _unwrapped
from torch2cpp.binding.context import Context, Exit, Facts, Frame, Restart, struct_name
from torch2cpp.binding.control import run_path
from torch2cpp.binding.convert import SLICE, NoType, describe, same_layout, to_operand
from torch2cpp.binding.growth import fit_inside
from torch2cpp.binding.join_values import Inside, type_in
from torch2cpp.binding.signature import InputSpec, ParamSpec, kinds_of, own_signature
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    DictObj,
    Host,
    Meta,
    Ref,
    Rt,
    State,
    Static,
    Tensor,
    Tup,
    fresh_id,
)
from torch2cpp.binding.variables import local_names
from torch2cpp.diagnostics import Diagnostic, Refused
from torch2cpp.frontend.source import parse_function
from torch2cpp.hostir.ops import Block, Return, Value
from torch2cpp.hostir.program import Function, Param, Program, Struct
from torch2cpp.hostir.pyvalues import has_fields
from torch2cpp.hostir.types import (
    NONE as NONE_TYPE,
)
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    SetType,
    StructType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    join_or_union,
)
from torch2cpp.spans import NOWHERE

#: Every round learns something; a program needing more rounds does not settle.
MAX_ROUNDS = 400


def bind(
    model: Any,
    examples: Sequence[Any] | dict[str, Sequence[Any]],
    entries: Sequence[str] = ("forward",),
    dynamic_shapes: Any = None,
    pin: dict[str, Any] | None = None,
    name: str | None = None,
) -> Program:
    """The host IR of a model's entries.

    `examples` are argument tuples of the only entry, or entry name -> list of them. Raises
    `Refused` (diagnostics with places) and `SignatureError`.
    """
    per_entry = examples if isinstance(examples, dict) else {entries[0]: examples}
    facts = Facts()
    weight_names = _weight_names(model)
    kinds = [k for e in entries for k in _kinds(model, e, list(per_entry.get(e, [()])), dynamic_shapes, pin or {})]
    if len(kinds) > 1:
        for kind in kinds:
            _settle_alone(facts, weight_names, model, kind)
    for _ in range(MAX_ROUNDS):
        cx = _new_round(facts, weight_names, model)
        bound: dict[str, list[Function]] = {e: [] for e in entries}
        try:
            for kind in kinds:
                bound[kind.entry].append(_bind_kind(cx, kind))
        except Restart:
            continue
        except Refused as refused:
            raise _together([*cx.problems, *refused.diagnostics]) from refused
        if cx.problems:
            raise _together(cx.problems)
        if not cx.dirty:
            return _program(cx, model, bound, name)
    raise Refused(
        [Diagnostic("T2C120", NOWHERE, "the types of this program do not settle", "keep one type per variable")]
    )


def _together(problems: list[Diagnostic]) -> Refused:
    """All problems, each once, in the order of the source."""
    unique = {(d.code, d.span, d.message): d for d in problems}
    return Refused(sorted(unique.values(), key=lambda d: (d.span.file, d.span.line, d.span.column)))


def _weight_names(model: Any) -> dict[int, str]:
    names: dict[int, str] = {}
    if isinstance(model, torch.nn.Module):
        for n, p in model.named_parameters(remove_duplicate=False):
            names.setdefault(id(p), n)
        for n, b in model.named_buffers(remove_duplicate=False):
            names.setdefault(id(b), n)
    return names


def _module_paths(model: Any) -> dict[int, str]:
    if not isinstance(model, torch.nn.Module):
        return {id(model): ""}
    return {id(m): n for n, m in model.named_modules(remove_duplicate=False)}


def _name_containers(cx: Context, model: Any) -> None:
    if isinstance(model, torch.nn.Module):
        for path, module in model.named_modules():
            for attr, value in vars(module).items():
                own = isinstance(value, list | dict) or (has_fields(value) and not isinstance(value, torch.nn.Module))
                if own and not attr.startswith("_"):
                    cx.object_names[id(value)] = f"{path}.{attr}" if path else attr


@dataclass(frozen=True)
class _Kind:
    """An entry for one kind of input."""

    entry: str
    #: Name of the IR function.
    name: str
    function: Any
    #: The entry's `self`, if it has one.
    first: AbsVal | None
    specs: list[ParamSpec]


def _kinds(model: Any, entry: str, examples: list[Any], dynamic_shapes: Any, pin: dict[str, Any]) -> list[_Kind]:
    function, first = _entry_function(model, entry)
    kinds = kinds_of(function, examples, first is not None, dynamic_shapes, pin)
    names = [entry, *(f"{entry}_{i}" for i in range(2, len(kinds) + 1))]
    return [_Kind(entry, n, function, first, specs) for n, specs in zip(names, kinds)]


def _new_round(facts: Facts, weight_names: dict[int, str], model: Any) -> Context:
    facts.rounds += 1
    cx = Context(facts, weight_names, _module_paths(model))
    _name_containers(cx, model)
    return cx


def _settle_alone(facts: Facts, weight_names: dict[int, str], model: Any, kind: _Kind) -> None:
    """Learns what one kind of input needs, so that the others are not bound again for each fact of it."""
    for _ in range(MAX_ROUNDS):
        cx = _new_round(facts, weight_names, model)
        try:
            _bind_kind(cx, kind)
        except Restart:
            continue
        except Refused:
            return  # reported when all are bound
        if cx.problems or not cx.dirty:
            return


def _bind_kind(cx: Context, kind: _Kind) -> Function:
    function, first, name, specs = kind.function, kind.first, kind.name, kind.specs
    parsed = parse_function(function)
    cx.state, cx.block, cx.frames, cx.labels, cx.path = State(), Block(), [], [], (("entry", name),)
    cx.span = parsed.source.span(parsed.node)
    params: list[Param] = []
    names: dict[str, AbsVal] = {}
    parts: dict[str, dict[str, AbsVal]] = {}
    for spec in specs:
        param, value = _parameter(cx, spec)
        params.append(param)
        (parts.setdefault(spec.part_of, {}) if spec.part_of else names)[spec.name] = value
    signature = own_signature(function)
    names |= _gathered(cx, signature, parts, first)
    own = next(iter(signature.parameters.values()), None)
    if first is not None and own is not None and own.kind is not inspect.Parameter.VAR_POSITIONAL:
        names = {own.name: first, **names}
    body = cx.block
    exits = _run(cx, function, parsed, names, first)
    cx.returning = True
    try:
        result = _result_type(cx, exits)
        for path in exits:
            with Inside(cx, path):
                fit_inside(cx, path.value, result)
                operand = to_operand(cx, path.value, result)
                cx.emit(Return(operand, path.span))
    finally:
        cx.returning = False
    return Function(name, tuple(params), result, body, cx.span)


def _gathered(
    cx: Context, signature: inspect.Signature, parts: dict[str, dict[str, AbsVal]], first: AbsVal | None
) -> dict[str, AbsVal]:
    """`*args` and `**kwargs` of an entry, from the parameters that they became; `self` may be one of `*args`."""
    out: dict[str, AbsVal] = {}
    for i, (name, p) in enumerate(signature.parameters.items()):
        given = parts.get(name, {})
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            items = ([first] if i == 0 and first is not None else []) + list(given.values())
            out[name] = Tup(tuple(items)) if items else Static(())
        elif p.kind is inspect.Parameter.VAR_KEYWORD:
            ref = Ref(fresh_id())
            cx.state.heap[ref.id] = DictObj(given, ("input", name))
            out[name] = ref
    return out


def _entry_function(model: Any, entry: str) -> tuple[Any, AbsVal | None]:
    """The plain function of an entry, and its `self`."""
    member = getattr(model, entry, None) if not inspect.isfunction(model) else model
    if member is None:
        raise Refused(
            [Diagnostic("T2C001", NOWHERE, f"{type(model).__name__} has no method {entry!r}", "name another entry")]
        )
    if inspect.ismethod(member):
        return _unwrapped(member.__func__), Static(member.__self__)
    if inspect.isfunction(member):
        return _unwrapped(member), None
    return _unwrapped(type(member).__call__), Static(member)


def _run(cx: Context, function: Any, parsed: Any, names: dict[str, AbsVal], first: AbsVal) -> list[Exit]:
    from torch2cpp.binding.statements import run_body

    scope_parent: int | None = None
    owner: type | None = None
    if function.__closure__:
        cells = {n: Static(c.cell_contents) for n, c in zip(function.__code__.co_freevars, function.__closure__)}
        scope_parent = cx.new_scope(dict(cells), None)
        owner = cells["__class__"].value if "__class__" in cells else None
    scope = cx.new_scope(names, scope_parent)
    with cx.label("return") as label:
        frame = Frame(
            function.__qualname__,
            scope,
            function.__globals__,
            parsed.source,
            label,
            owner=owner,
            first=first,
            local_names=local_names(parsed.node),
            node=parsed.node,
        )

        def body() -> AbsVal:
            cx.frames.append(frame)
            run_body(cx, parsed.node.body)
            return NONE

        block, state = cx.block, cx.state
        try:
            end = run_path(cx, block, state, body)
        except NoOverload as error:
            cx.refuse("T2C151", f"no operator fits {error}", "check the arguments' types")
        except NoType as error:
            cx.refuse("T2C113", f"{error} would have to exist at run time", "keep modules and functions static")
        if end is not None:
            label.exits.append(end)
        return label.exits


def _result_type(cx: Context, exits: list[Exit]) -> Type:
    result: Type | None = None
    for path in exits:
        try:
            t = type_in(cx, path, path.value)
        except NoType as error:
            what = f"{_described(cx, path)} is returned: {error}"
            cx.refuse("T2C114", what, "return tensors, numbers and containers", span=path.span)
        if _holds_members(cx, t, set()):
            remedy = "return the names or values of enum members, the numbers of modules, and the bounds of slices"
            cx.refuse("T2C114", f"{_described(cx, path)} is returned", remedy, span=path.span)
        result = t if result is None else join_or_union(result, t)
    return result if result is not None else NONE_TYPE


def _described(cx: Context, path: Exit) -> str:
    with Inside(cx, path):
        return describe(cx, path.value)


def _holds_members(cx: Context, t: Type, seen: set[Type]) -> bool:
    """Whether a value of this type has members of an enum or modules in it, which are positions at run time."""
    match t:
        case ScalarType():
            return bool(t.of)
        case OptionalType() | ListType() | SetType():
            inner: tuple[Type, ...] = (t.elem,)
        case DictType():
            inner = (t.key, t.value)
        case TupleType():
            inner = t.elems
        case RecordType():
            inner = tuple(x for _, x in t.fields)
            if t.name == SLICE and SLICE not in cx.facts.named_tuples:
                return True
        case UnionType():
            inner = t.members
        case StructType() if t not in seen:
            seen.add(t)
            inner = tuple(cx.facts.structs[cx.struct_key(t.name)].values())
        case _:
            return False
    return any(_holds_members(cx, x, seen) for x in inner)


# Parameters --------------------------------------------------------------------------------------


def _parameter(cx: Context, spec: ParamSpec) -> tuple[Param, AbsVal]:
    if spec.spec.is_static:
        return Param(spec.name, None, spec.default, spec.spec.static), Static(spec.spec.static)
    # What the model stores in a container that it is given decides what that can hold.
    value = cx.value(cx.facts.containers.get(("input", spec.name), spec.spec.type), spec.name)
    cx.named.add(value.id)
    return Param(spec.name, value, spec.default), abstract(cx, spec.spec, value, spec.name)


def _learned(cx: Context, value: Value, path: str) -> Type:
    """The type of a container among the inputs with room for all that the model stores there."""
    wide = cx.facts.containers.get(("input", path), value.type)
    if not same_layout(value.type, wide):
        cx.refuse("T2C111", f"{path} is a {value.type} inside an argument and would have to hold a {wide}",
                  "copy it before something of another type is stored with it")  # fmt: skip
    return wide


def abstract(cx: Context, spec: InputSpec, value: Value, path: str) -> AbsVal:
    """The abstract value of an input."""
    t = spec.type
    match t:
        case TensorType():
            return Tensor(value, Meta(t.dtype, spec.dims), spec.shadow)
        case ScalarType():
            return Host(t, value, (4, 3, 5) if t.kind == "int" else None)
        case OptionalType():
            return Rt(value, t, example=_example(cx, spec.parts[0]))
        case ListType():
            from torch2cpp.binding.containers import run_time

            example = _example(cx, spec.parts[0]) if spec.parts else None
            wide = _learned(cx, value, path)
            if spec.lengths:
                cx.lengths[value.id] = spec.lengths
            return run_time(cx, Rt(value, wide, example=example), ("input", path))
        case DictType():
            from torch2cpp.binding.containers import run_time

            table = _learned(cx, value, path)
            return run_time(cx, Rt(value, table, example=_example(cx, spec.parts[0])), ("input", path))
        case TupleType():
            elems = tuple(
                abstract(cx, p, cx.host("tuple.get", value, i, type_=p.type, label=f"{path}_{i}"), f"{path}.{i}")
                for i, p in enumerate(spec.parts)
            )
            return Tup(elems) if t.kind == "tuple" else _list(cx, elems, path)
        case RecordType():
            fields = {
                n: abstract(cx, p, cx.host("record.get", value, n, type_=p.type, label=n), f"{path}.{n}")
                for (n, _), p in zip(t.fields, spec.parts)
            }
            from torch2cpp.binding.containers import new_dict

            return new_dict(cx, [(Static(n), v) for n, v in fields.items()], ("input", path))
    raise AssertionError(t)


def _list(cx: Context, elems: tuple[AbsVal, ...], path: str) -> AbsVal:
    from torch2cpp.binding.containers import new_list

    return new_list(cx, list(elems), ("input", path))


def _example(cx: Context, spec: InputSpec) -> AbsVal:
    """A representative of what is inside an optional or list input; only its sizes are looked at."""
    match spec.type:
        case TensorType():
            return Tensor(cx.value(spec.type, "example"), Meta(spec.type.dtype, spec.dims))
        case TupleType() | RecordType():
            return Tup(tuple(_example(cx, p) for p in spec.parts))
    return None


# The program -------------------------------------------------------------------------------------


def snake(name: str) -> str:
    """`EarlyExitNet` -> `early_exit_net`"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _program(cx: Context, model: Any, bound: dict[str, list[Function]], name: str | None) -> Program:
    functions = {f.name: f for fs in bound.values() for f in fs}
    variants = {e: tuple(f.name for f in fs) for e, fs in bound.items() if len(fs) > 1}
    class_name = model.__name__ if inspect.isfunction(model) else type(model).__name__
    used = _used_weights(cx, functions)
    structs = {
        StructType(struct_name(k)): Struct(
            struct_name(k), dict(fields), kind="object" if isinstance(k, type) else "dict"
        )
        for k, fields in cx.facts.structs.items()
    }
    files = dict.fromkeys(file for file, _ in cx.line_kinds)
    program = Program(
        name or snake(class_name),
        class_name,
        functions,
        dict(cx.functions),
        list(cx.cells.values()),
        {n: t for n, t in cx.weights.items() if n in used},
        structs,
        {},
        variants,
        tuple(files),
    )
    LINE_KINDS[id(program)] = cx.line_kinds
    return program


#: For `explain`: program -> kind of each line. Kept beside the program, which is data of the IR only.
LINE_KINDS: dict[int, dict[tuple[str, int], set[str]]] = {}


def _used_weights(cx: Context, functions: dict[str, Function]) -> set[str]:
    from torch2cpp.hostir.ops import WeightRef, leaves, operands, walk

    used: set[str] = set()
    for f in (*functions.values(), *cx.functions.values()):
        for op in walk(f.body):
            used |= {leaf.name for leaf in leaves(operands(op)) if isinstance(leaf, WeightRef)}
    return used | {c.name for c in cx.cells.values() if isinstance(c.initial, torch.Tensor)}
