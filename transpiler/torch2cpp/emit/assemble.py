"""Program and compiled regions -> the records that the templates read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import PurePath
from typing import Any

import torch

from torch2cpp.backends.protocol import CompiledRegions
from torch2cpp.backends.registry import REFERENCE
from torch2cpp.emit import literals
from torch2cpp.emit.checks import check_input
from torch2cpp.emit.cpp_types import DTYPES, CppTypes, Record, describe, parameter, spell
from torch2cpp.emit.functions import FunctionText, function_text
from torch2cpp.emit.initial import initial_value, state_tensors
from torch2cpp.emit.kinds import kind
from torch2cpp.emit.layout import Layout, lay_out
from torch2cpp.emit.names import Scope
from torch2cpp.emit.nodes import Comments, render
from torch2cpp.emit.precedence import ATOM, POSTFIX, Expr
from torch2cpp.emit.view_model import (
    CellView,
    FieldView,
    InstanceView,
    MethodView,
    PackageView,
    ParamView,
    PinnedView,
    ProjectView,
    RegionView,
    StructView,
    UnitView,
    WeightView,
)
from torch2cpp.hostir.ops import Cell, Raise, WeightRef, leaves, operands, walk
from torch2cpp.hostir.program import REQUIRED, Program, Region
from torch2cpp.hostir.random_ops import is_random, sets_random
from torch2cpp.hostir.types import (
    DictType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    SetType,
    TupleType,
    Type,
    UnionType,
)


def assemble(program: Program, compiled: CompiledRegions, probes: bool = False, **about: Any) -> ProjectView:
    """Everything the templates need; `about` is what the program does not know (version, options, ...).

    With `probes`, the host program measures its branches.
    """
    layout = lay_out(program)
    main_file = next((f.span.file for f in program.entries.values()), "")
    entries = [_method(function_text(f, layout, main_file, probes), layout) for f in program.entries.values()]
    functions = [_method(function_text(f, layout, main_file, probes), layout) for f in program.functions.values()]
    chosen = {report.region: report.chosen for report in compiled.reports}
    instances, members = _instances(compiled, layout, chosen)
    regions = [
        _region(name, program.regions[name], layout, members[name], chosen.get(compiled.uses[name].distinct, ""))
        for name in layout.regions
    ]
    cells = [_cell(c, layout) for c in layout.cells]
    for entry in chain(program.entries.values(), program.functions.values()):
        kind(entry.result, layout.types)
    return ProjectView(
        namespace=layout.namespace,
        class_name=layout.class_name,
        sources=tuple(PurePath(s).name for s in own_sources(program)),
        objects=tuple(r.cpp_name for r in layout.types.structs),
        structs=tuple(_struct(r, layout.types) for r in _in_order(layout.types)),
        entries=tuple(entries),
        functions=tuple(functions),
        regions=tuple(regions),
        instances=instances,
        region_headers=tuple(sorted({i.header for i in instances})),
        weights=tuple(_weight(n, w) for n, w in all_weights(program).items()),
        host_weights=tuple((literals.string(n), _weight_operand(n, program, True)) for n in _host_weights(program)),
        cells=tuple(cells),
        tables=layout.tables.views,
        units=tuple(UnitView(u.path, u.flags, u.definitions) for u in compiled.units),
        link=tuple(sorted(compiled.link)),
        packages=tuple(PackageView(p.name, p.target, p.title or p.name, p.option) for p in compiled.packages),
        stateful=bool(cells),
        state_methods=layout.state_methods,
        backends=tuple(sorted({r.chosen for r in compiled.reports})),
        random=is_random(program),
        sets_random=sets_random(program),
        **about,
    )


def _cell(cell: Cell, layout: Layout) -> CellView:
    initial = initial_value(cell.initial, cell.type, cell.name, layout.types)
    name = layout.cells[cell]
    checks = check_input(Expr(f"state.{name}", POSTFIX), cell.name, cell.type, layout.types, kind="state")
    return CellView(
        name=name,
        python_name=cell.name,
        type=spell(cell.type, layout.types),
        initial=initial,
        kind=kind(cell.type, layout.types),
        checks=tuple(render(checks, Comments(""))),
    )


def own_sources(program: Program) -> list[str]:
    """The model's own Python files, that of the first entry first; files of torch are left out."""
    first = next((f.span.file for f in program.entries.values()), "")
    torch_folder = str(PurePath(torch.__file__).parent)
    rest = [s for s in program.sources if s != first and not s.startswith(torch_folder)]
    return [first, *rest]


def all_weights(program: Program) -> dict[str, torch.Tensor]:
    """The tensors of weights.safetensors: weights, and what state holds before the first call."""
    out = dict(program.weights)
    for cell in program.cells:
        if cell.scope == "state":
            for name, tensor in state_tensors(cell).items():
                out.setdefault(name, tensor)
    return out


def _host_weights(program: Program) -> list[str]:
    """Names of the weights that functions use outside of regions, in order of use."""
    names: dict[str, None] = {}
    for function in chain(program.entries.values(), program.functions.values()):
        for op in walk(function.body):
            names |= {leaf.name: None for leaf in leaves(operands(op)) if isinstance(leaf, WeightRef)}
    return list(names)


def _method(text: FunctionText, layout: Layout) -> MethodView:
    params: list[ParamView] = []
    pinned: list[PinnedView] = []
    order: list[tuple[str, int]] = []
    by_name = {p.python_name: p for p in text.params}
    # C++ allows defaults at the end of the list only.
    open_end = True
    defaults: dict[str, str] = {}
    for given in reversed(text.params):
        open_end = open_end and given.default is not REQUIRED
        defaults[given.python_name] = _default(given.default, given.ir_type, layout) if open_end else ""
    for param in text.function.params:
        if param.value is None:
            order.append(("pinned", len(pinned)))
            pinned.append(PinnedView(param.name, repr(param.pinned)))
            continue
        given = by_name[param.name]
        order.append(("param", len(params)))
        params.append(
            ParamView(given.name, param.name, given.type, given.public_type, defaults[param.name],
                      _python_default(param.default), describe(given.ir_type), kind(given.ir_type, layout.types))
        )  # fmt: skip
    nodes = [
        n for g in text.params for n in check_input(Expr(g.name, ATOM), g.python_name, g.ir_type, layout.types)
    ]  # fmt: skip
    raises = {op.name: None for op in walk(text.function.body) if isinstance(op, Raise) and op.name}
    result = text.function.result
    python_name, has_next = _variant(text.python_name, layout.program)
    return MethodView(
        name=text.name,
        python_name=python_name,
        has_next=has_next,
        result=text.result,
        public_result=text.public_result,
        result_comment=describe(result),
        result_kind=kind(result, layout.types),
        params=tuple(params),
        pinned=tuple(pinned),
        raises=tuple(raises),
        const=text.const,
        place=text.python_place,
        order=tuple(order),
        checks=tuple(render(nodes, Comments(""))),
        lines=text.lines,
    )


def _variant(name: str, program: Program) -> tuple[str, bool]:
    """The entry a function is a variant of, and whether another one follows it."""
    for entry, names in program.variants.items():
        if name in names:
            return entry, name != names[-1]
    return name, False


def _default(value: Any, t: Type, layout: Layout) -> str:
    if value is REQUIRED:
        return ""
    if value is None:
        return "std::nullopt" if isinstance(t, OptionalType) else "{}"
    if isinstance(t, OptionalType):
        return _default(value, t.elem, layout)
    if isinstance(t, ScalarType):
        return literals.constant(float(value) if t.kind == "float" else value)
    if isinstance(value, list | tuple | dict) and not value:
        return "{}"
    if isinstance(t, TupleType) and isinstance(value, list | tuple):
        return f"{{{', '.join(_default(v, e, layout) for v, e in zip(value, t.elems))}}}"
    return ""


def _python_default(value: Any) -> str:
    if value is REQUIRED:
        return ""
    if value is None:
        return "pb::none()"
    if isinstance(value, bool | int | float | str):
        return f"pb::cast({literals.constant(value)})"
    if isinstance(value, list | tuple):
        made = "pb::make_tuple(" + ", ".join(map(_python_default, value)) + ")"
        return made if isinstance(value, tuple) else f"pb::list({made})"
    return ""


# -- regions ---------------------------------------------------------------------------------------


def _instances(
    compiled: CompiledRegions, layout: Layout, chosen: dict[str, str]
) -> tuple[tuple[InstanceView, ...], dict[str, str]]:
    """One member per compiled class and weights; call sites that agree in both share it."""
    scope = Scope({"weights_"})
    made: dict[tuple[str, bool, tuple[tuple[str, ...], ...]], InstanceView] = {}
    members: dict[str, str] = {}
    for name in layout.regions:
        use = compiled.uses[name]
        indexed = name in layout.instances
        sets = tuple(compiled.uses[each].weights for each in layout.instances.get(name, (name,)))
        key = (use.class_name, indexed, sets)
        if key not in made:
            member = scope.fresh(f"{layout.regions[name]}_")
            exact = chosen.get(use.distinct) == REFERENCE
            weights = tuple(tuple(_weight_operand(w, layout.program, exact) for w in names) for names in sets)
            made[key] = InstanceView(member, use.class_name, use.header, weights, indexed)
        members[name] = made[key].member
    return tuple(made.values()), members


def _weight_operand(name: str, program: Program, exact: bool) -> str:
    """How a region gets a weight: for the reference backend a parameter stays one, see as_parameter."""
    text = f"weights.get({literals.string(name)})"
    return f"py::as_parameter({text})" if exact and program.weights[name].requires_grad else text


def _region(name: str, region: Region, layout: Layout, member: str, backend: str) -> RegionView:
    scope = Scope()
    names = [scope.fresh(p.name) for p in region.params]
    types = [parameter(p.type, layout.types) for p in region.params]
    parameters = [f"{t} {n}" for t, n in zip(types, names)]
    if name in layout.instances:
        index = scope.fresh("index")
        parameters.insert(0, f"int64_t {index}")
        member = f"{member}[static_cast<std::size_t>({index})]"
    fields: tuple[FieldView, ...] = ()
    if name in layout.region_structs:
        fields = tuple(
            FieldView(spell(r.type, layout.types), cpp, r.name, describe(r.type), "")
            for r, cpp in zip(region.results, layout.region_fields[name])
        )
        result = layout.region_structs[name]
    else:
        result = spell(region.results[0].type, layout.types) if region.results else "void"
    reached = layout.region_fields.get(name)
    out = scope.fresh("out")
    checks = [
        node
        for i, r in enumerate(region.results)
        for node in check_input(
            Expr(f"{out}.{reached[i]}" if reached else out, POSTFIX), r.name, r.type, layout.types, kind="region result"
        )
    ]
    return RegionView(
        method=layout.regions[name],
        place=f"{PurePath(region.span.file).name}:{region.span.lines}",
        parameters=", ".join(parameters),
        arguments=", ".join(names),
        result=result,
        struct=layout.region_structs.get(name, ""),
        fields=fields,
        member=member,
        out=out,
        checks=tuple(render(checks, Comments(""))),
        backend=backend,
    )


# -- structs, weights ------------------------------------------------------------------------------


def _struct(record: Record, types: CppTypes) -> StructView:
    fields = tuple(
        FieldView(spell(t, types, "torch::stable::Tensor", "torch2cpp"), cpp, python, describe(t), kind(t, types))
        for python, cpp, t in record.fields
    )
    return StructView(record.cpp_name, record.python_name, record.kind, fields)


def _in_order(types: CppTypes) -> list[Record]:
    """All structs, those held by value inside others, or in their containers, first."""
    by_name = {r.cpp_name: r for r in (*types.structs, *types.records)}
    done: dict[str, Record] = {}

    def visit(record: Record) -> None:
        if record.cpp_name in done:
            return
        for _, _, t in record.fields:
            for inner in _held(t, types):
                visit(by_name[inner])
        done[record.cpp_name] = record

    for record in list(by_name.values()):
        visit(record)
    return list(done.values())


def _held(t: Type, types: CppTypes) -> Iterator[str]:
    match t:
        case RecordType():
            yield types.name_of(t)
        case OptionalType():
            yield from _held(t.elem, types)
        case TupleType():
            for e in t.elems:
                yield from _held(e, types)
        case UnionType():
            for m in t.members:
                yield from _held(m, types)
        case ListType() | SetType():
            yield from _held(t.elem, types)
        case DictType():
            yield from _held(t.key, types)
            yield from _held(t.value, types)


def _weight(name: str, tensor: torch.Tensor) -> WeightView:
    dims = ", ".join(str(d) for d in tensor.shape)
    return WeightView(name, literals.string(name), DTYPES[tensor.dtype], dims)
