"""What a backend is, what it makes, and how the emitted C++ uses it.

A backend compiles *distinct* regions (`regions.share`): regions that differ only in which weights
they use are compiled once. Whatever the backend, a distinct region named `encode` becomes one C++
class, declared in `src/regions/encode/encode.h`, in `namespace <project>::regions`:

    class Encode {
     public:
      // One tensor per weight slot, in the order of `RegionUse.weights`; shares, never copies.
      explicit Encode(std::vector<torch2cpp::Tensor> weights);
      ~Encode();
      Encode(Encode&&) noexcept;
      Encode& operator=(Encode&&) noexcept;
      // Raises torch2cpp::PyError. Safe to call from several threads at once.
      std::tuple<Tensor, Tensor> operator()(const Tensor& src, int64_t n, const List<Tensor>& parts) const;
     private:
      struct Impl;
      std::unique_ptr<Impl> impl_;
    };

The header includes only the runtime library and `torch/csrc/stable/tensor.h`: the class looks the
same for every backend, so the host program does not know which one compiled a region.

Parameters, in the order of `Region.params`, by IR type:
    tensor -> const Tensor&; int -> int64_t; float -> double; bool -> bool; str -> const std::string&;
    list[T] -> const List<T>&; tuple (T, U) -> const std::tuple<T, U>&
Results, in the order of `Region.results`: none -> void; one -> its type; several -> std::tuple of their types:
    tensor -> Tensor; int -> int64_t; float -> double; bool -> bool; list[T] -> List<T>; tuple -> std::tuple.
A 0-d bool tensor that the host branches on stays a `Tensor` here; the host reads it.

What the emitter does for every region name of the program:
    use = compiled.uses["encode"]        # RegionUse: class_name, header, weights (names in slot order)
    member    regions::Encode encode_;   one per distinct (class, weights); call sites may share one
    built by  encode_({weights.get("a.weight"), weights.get("a.bias")})     in the order of use.weights
    called by auto [memory, state] = encode_(src, n);
It writes `compiled.sources` (path below the project root -> text) unchanged, and builds
`compiled.units` (each with its own flags and definitions) into an object library that the program,
the pybind11 module and the region checker link; `compiled.link` and `compiled.packages` name what they
need beyond libtorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, final

import torch

from torch2cpp.regions.image_borders import Images
from torch2cpp.regions.share import DistinctRegion
from torch2cpp.spans import Span
from torch2cpp.toolchain.targets.target import Target

__all__ = [
    "Artifact",
    "Backend",
    "CompiledRegions",
    "Context",
    "Package",
    "Refusal",
    "RegionReport",
    "RegionUse",
    "Safety",
    "Target",
    "Unit",
]

#: Settings of a backend for one region, from the fastest on: later ones are for regions that came out wrong.
Safety = Literal["fast", "safe"]


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a backend does not take a region; short enough for one line of a report."""

    reason: str
    span: Span
    #: Positions in the region's body of the operations at fault, where the rest of it could be taken.
    culprits: frozenset[int] = frozenset()


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """One C++ translation unit."""

    #: Path below the project's root; one of the artifact's sources.
    path: str
    #: Compiler options beyond the project's own, such as `-ffast-math` parts or `-mavx512f`.
    flags: tuple[str, ...] = ()
    #: Preprocessor definitions, `NAME` or `NAME=VALUE`.
    definitions: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A library that regions need beyond libtorch: how CMake finds it, and where it is on this machine."""

    #: `find_package(<name> REQUIRED)`; `cmake/Find<name>.cmake` is among the sources where CMake has no such module.
    name: str
    #: The CMake target to link.
    target: str
    #: Compiler and linker options that do the same for the region checker, which is built without CMake.
    compile_options: tuple[str, ...] = ()
    link_options: tuple[str, ...] = ()
    #: For the project's README: what it is called, and the CMake option that says where it is.
    title: str = ""
    option: str = ""


@final
@dataclass(frozen=True, slots=True)
class Artifact:
    """What one backend made of a batch of distinct regions."""

    #: Path below the project's root -> text.
    sources: Mapping[str, str] = field(default_factory=dict)
    units: tuple[Unit, ...] = ()
    #: Needs beyond libtorch: "openmp", "sleef".
    link: frozenset[str] = frozenset()
    packages: frozenset[Package] = frozenset()
    #: Further regions that the reference backend must compile along, for the sources refer to them.
    companions: tuple[DistinctRegion, ...] = ()
    #: Distinct regions that could not be compiled after all, by name.
    refused: Mapping[str, Refusal] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Context:
    """What a backend may use while it compiles a batch."""

    #: C++ namespace of the project; the regions live in `<namespace>::regions`.
    namespace: str
    target: Target
    #: Sample inputs by name of the distinct region, the most telling first.
    samples: Mapping[str, Sequence[tuple[Any, ...]]]
    #: Values of the weights by name, for backends that need them while compiling.
    weights: Mapping[str, torch.Tensor]
    #: Folder for what may be reused between runs.
    cache: Path
    #: By distinct region, how careful to be; "fast" where absent.
    safety: Mapping[str, Safety] = field(default_factory=dict)
    #: By distinct region, which parameters and results lie with the channels last; for backends that keep images so.
    images: Mapping[str, Images] = field(default_factory=dict)


class Backend(Protocol):
    """Compiles distinct regions. One instance serves one transpilation.

    One whose regions take and give images as `Context.images` has them says so with an attribute `keeps_images = True`;
    its `aten` forms are given contiguous ones then. Others never meet a tensor that lies otherwise than in Python.
    """

    @property
    def name(self) -> str:
        """The name used on the command line and in model.json."""

    @property
    def safeties(self) -> tuple[Safety, ...]:
        """The settings it has, fastest first."""

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        """Whether it can take the region, judged without compiling."""

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        """Sources for all the regions, in few translation units; what fails is in `refused`."""


@final
@dataclass(frozen=True, slots=True)
class RegionUse:
    """How the host program gets at one region of the program."""

    #: C++ class in `<project>::regions`, such as `Encode`.
    class_name: str
    #: To be included as `"regions/encode/encode.h"` below src/.
    header: str
    #: Names in weights.safetensors, one per slot, for the constructor.
    weights: tuple[str, ...]
    #: The distinct region's name.
    distinct: str


@final
@dataclass(frozen=True, slots=True)
class RegionReport:
    """What was tried for one distinct region, for the user and model.json."""

    region: str
    #: (backend, safety, largest absolute error or None when not run, why it was not chosen or "chosen").
    tried: tuple[tuple[str, Safety, float | None, str], ...]
    #: The backend chosen.
    chosen: str
    #: Sample inputs that the chosen code was compared with eager on.
    samples: int
    #: Where backends were measured against each other: microseconds a call, over the inputs of the examples.
    microseconds: Mapping[str, float] = field(default_factory=dict)
    #: Root mean square error of each result on what the examples gave; empty where nothing was compared.
    rounding: tuple[float, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class CompiledRegions:
    """All regions of a program, compiled and believed; what emission needs."""

    #: By region name of the program.
    uses: Mapping[str, RegionUse]
    sources: Mapping[str, str]
    units: tuple[Unit, ...]
    link: frozenset[str]
    reports: tuple[RegionReport, ...]
    packages: tuple[Package, ...] = ()
