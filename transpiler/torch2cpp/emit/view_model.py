"""What the templates read: frozen records, with all C++ text that needs logic already made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from torch2cpp.emit.layout import StateMethods
from torch2cpp.emit.tables import TableView
from torch2cpp.toolchain.targets.target import Target, architecture_of


@final
@dataclass(frozen=True, slots=True)
class FieldView:
    """One field of a struct."""

    type: str
    name: str
    python_name: str
    comment: str
    #: `kind::...` for conversion.
    kind: str


@final
@dataclass(frozen=True, slots=True)
class StructView:
    """A public struct."""

    name: str
    python_name: str
    #: "dict", "namedtuple", "object" or "struct" (held by reference).
    form: str
    fields: tuple[FieldView, ...]


@final
@dataclass(frozen=True, slots=True)
class ParamView:
    """One C++ parameter of a method."""

    name: str
    python_name: str
    type: str
    public_type: str
    #: C++ default of the public method; empty for none.
    default: str
    #: The same for pybind11.
    python_default: str
    #: dtype and shape in words.
    comment: str
    kind: str


@final
@dataclass(frozen=True, slots=True)
class PinnedView:
    """A parameter that has one accepted value."""

    python_name: str
    #: That value as a Python literal.
    literal: str


@final
@dataclass(frozen=True, slots=True)
class MethodView:
    """An entry or a private method."""

    name: str
    #: The name in Python; the variants of an entry for several kinds of input share it.
    python_name: str
    #: Whether another variant may take the inputs that this one refuses.
    has_next: bool
    result: str
    public_result: str
    result_comment: str
    result_kind: str
    params: tuple[ParamView, ...]
    pinned: tuple[PinnedView, ...]
    #: Names of the Python exceptions its own `raise` and `assert` raise.
    raises: tuple[str, ...]
    const: bool
    #: `model.py:18-32`
    place: str
    #: Parameters in Python's order: ("param", index) or ("pinned", index).
    order: tuple[tuple[str, int], ...]
    checks: tuple[str, ...]
    lines: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class RegionView:
    """A method of Regions."""

    method: str
    place: str
    #: Parameters with types, for the declaration.
    parameters: str
    arguments: str
    result: str
    #: The struct of several results; empty for one or none.
    struct: str
    fields: tuple[FieldView, ...]
    #: The member of Regions that runs it; with the index, where it is one of several.
    member: str
    #: The variable of the results, where they are checked.
    out: str
    #: Statements that compare the results with what the host program was made for.
    checks: tuple[str, ...]
    backend: str


@final
@dataclass(frozen=True, slots=True)
class InstanceView:
    """A compiled region with its weights, or several that are called by index."""

    member: str
    class_name: str
    header: str
    #: Expressions over `weights`, in slot order; by instance.
    weights: tuple[tuple[str, ...], ...]
    #: Whether the member is an array.
    indexed: bool


@final
@dataclass(frozen=True, slots=True)
class WeightView:
    """A weight as the file must hold it."""

    name: str
    #: C++ string literal of the name.
    literal: str
    dtype: str
    dims: str


@final
@dataclass(frozen=True, slots=True)
class CellView:
    """A variable that lives on between calls."""

    name: str
    python_name: str
    type: str
    initial: str
    #: `kind::...` for conversion.
    kind: str
    #: Checks of a value that was read from a file.
    checks: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class UnitView:
    """A translation unit of regions with options of its own."""

    path: str
    flags: tuple[str, ...]
    definitions: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class PackageView:
    """A library beyond libtorch, as CMake knows it."""

    name: str
    target: str
    title: str
    option: str


@final
@dataclass(frozen=True, slots=True)
class TargetView:
    """The machine that a project is cross-compiled for."""

    name: str
    processor: str
    cpu: str

    @property
    def toolchain_file(self) -> str:
        """The path of its CMake toolchain file in the project."""
        return f"cmake/toolchains/{self.name}.cmake"


def target_view(target: Target) -> TargetView | None:
    """None for the machine at hand, which needs no toolchain file."""
    if target.native:
        return None
    known = architecture_of(target)
    return TargetView(known.name, known.processor, target.cpu or known.cpu)


@final
@dataclass(frozen=True, slots=True)
class BelowView:
    """What lies below the C ABI, for CMake."""

    slim: bool
    #: Folders of the project with headers, and those of headers that are not ours.
    includes: tuple[str, ...]
    system_includes: tuple[str, ...]
    flags: tuple[str, ...]
    link_options: tuple[str, ...]
    units: tuple[UnitView, ...]
    #: Whether instances take their memory when they are made; slim only.
    planned: bool = False


@final
@dataclass(frozen=True, slots=True)
class MemoryView:
    """Bytes that an instance takes when it is made; none as long as they are not measured."""

    large: int = 0
    #: For blocks of up to 1024 bytes.
    small: int = 0
    #: `tokens[1]=512`, for people.
    sizes: str = ""

    @property
    def bytes(self) -> int:
        """All together."""
        return self.large + self.small


@final
@dataclass(frozen=True, slots=True)
class ProjectView:
    """The whole project."""

    namespace: str
    class_name: str
    version: str
    runtime_version: int
    torch_version: str
    #: Python files, without their folders.
    sources: tuple[str, ...]
    #: One line that says how the project was made.
    options: str
    #: The machine it is for; None for the one it was made on.
    target: TargetView | None
    objects: tuple[str, ...]
    #: Containers of constants that the host program makes once.
    tables: tuple[TableView, ...]
    structs: tuple[StructView, ...]
    entries: tuple[MethodView, ...]
    functions: tuple[MethodView, ...]
    regions: tuple[RegionView, ...]
    instances: tuple[InstanceView, ...]
    region_headers: tuple[str, ...]
    weights: tuple[WeightView, ...]
    #: Weights that the host program uses itself: name literal, expression over `weights`.
    host_weights: tuple[tuple[str, str], ...]
    cells: tuple[CellView, ...]
    units: tuple[UnitView, ...]
    link: tuple[str, ...]
    packages: tuple[PackageView, ...]
    runtime_sources: tuple[str, ...]
    below: BelowView
    #: Whether an instance has state between calls.
    stateful: bool
    state_methods: StateMethods
    #: Names of the backends used.
    backends: tuple[str, ...]
    #: Whether it draws random numbers.
    random: bool = False
    #: Whether it seeds the generator of random numbers, or reads or writes its state.
    sets_random: bool = False

    @property
    def has_pinned(self) -> bool:
        """Whether some parameter has one accepted value."""
        return any(m.pinned for m in self.entries)

    @property
    def macro(self) -> str:
        """The prefix of CMake options."""
        return self.namespace.upper()
