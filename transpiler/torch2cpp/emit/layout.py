"""The C++ names of a program: entries, private functions, regions, their result structs and state cells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, takewhile
from typing import final

from torch2cpp.emit.cpp_types import CppTypes
from torch2cpp.emit.names import Scope, class_identifier, namespace_identifier
from torch2cpp.emit.tables import Tables
from torch2cpp.hostir.ops import Cell, RegionCall, walk
from torch2cpp.hostir.program import Program, Region


@final
@dataclass(frozen=True, slots=True)
class StateMethods:
    """Names of the methods that handle the state of an instance; the model's own entries come first."""

    reset: str
    save: str
    load: str
    clone: str


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Names by what they name; made once per project."""

    program: Program
    namespace: str
    class_name: str
    types: CppTypes
    #: Entries and private functions, by their name in the program.
    methods: dict[str, str]
    state_methods: StateMethods
    #: Methods of Regions, by region; of several that are called by index, the first.
    regions: dict[str, str]
    #: For a region that is called by index, all that are.
    instances: dict[str, tuple[str, ...]]
    #: Structs of regions with several results, and their fields in order.
    region_structs: dict[str, str]
    region_fields: dict[str, tuple[str, ...]]
    cells: dict[Cell, str]
    #: Containers of constants that are made once; functions add theirs.
    tables: Tables


def lay_out(program: Program) -> Layout:
    """Chooses every name; the order of the program decides which of two alike keeps its own."""
    namespace = namespace_identifier(program.name)
    class_name = class_identifier(program.class_name)
    if class_name == namespace:
        # A class may not be named like the namespace around it.
        class_name = f"{class_name}Model"
    taken = {class_name, "Regions", "State", "Impl"}
    types = CppTypes(program.structs, taken, namespace)
    members = Scope({class_name, "regions_", "state_", "weights", "set_threads"})
    methods = {name: members.fresh(name) for name in program.entries}
    reset, clone = (
        members.fresh(name if name not in program.entries else f"{name}_state") for name in ("reset", "clone")
    )
    state_methods = StateMethods(reset, members.fresh("save_state"), members.fresh("load_state"), clone)
    methods |= {name: members.fresh(name) for name in program.functions}
    # What templates/project/regions.h.j2 and regions.cpp.j2 call their own.
    region_scope = Scope({"Regions", "Compiled", "compiled_", "load", "weight", "weights", "weights_"})
    instances = indexed_regions(program)
    called = [name for name in program.regions if name not in {n for names in instances.values() for n in names[1:]}]
    regions = {name: region_scope.fresh(_shared_name(instances.get(name, (name,)))) for name in called}
    several = {name: r for name, r in program.regions.items() if len(r.results) > 1 and name in regions}
    struct_scope = Scope(taken | {r.cpp_name for r in types.structs})
    structs = {name: struct_scope.fresh(f"{class_identifier(regions[name])}Out") for name in several}
    fields = {name: _fields(region) for name, region in several.items()}
    cell_scope = Scope()
    cells = {cell: cell_scope.fresh(cell.name.replace(".", "_")) for cell in program.cells if cell.scope == "state"}
    tables = Tables({*taken, *methods.values(), *structs.values(), namespace} | {r.cpp_name for r in types.structs})
    return Layout(
        program,
        namespace,
        class_name,
        types,
        methods,
        state_methods,
        regions,
        instances,
        structs,
        fields,
        cells,
        tables,
    )


def indexed_regions(program: Program) -> dict[str, tuple[str, ...]]:
    """The regions of every call by index, by the first of them."""
    functions = chain(program.entries.values(), program.functions.values())
    calls = (op for f in functions for op in walk(f.body) if isinstance(op, RegionCall))
    return {op.region: op.instances for op in calls if op.instances}


def _shared_name(instances: tuple[str, ...]) -> str:
    """One name for all instances of a region.

    >>> _shared_name(("blocks_0", "blocks_1")), _shared_name(("step",))
    ('blocks', 'step')
    """
    if len(instances) == 1:
        return instances[0]
    agreed = takewhile(lambda letters: len(set(letters)) == 1, zip(*instances))
    return "".join(letters[0] for letters in agreed).rstrip("_0123456789") or instances[0]


def _fields(region: Region) -> tuple[str, ...]:
    scope = Scope()
    return tuple(scope.fresh(r.name) for r in region.results)
