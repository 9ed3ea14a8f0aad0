"""What can be chosen about compiling regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from torch2cpp.backends.protocol import CompiledRegions, Target
from torch2cpp.backends.registry import DEFAULT
from torch2cpp.backends.runtimes import LIBTORCH, Runtime
from torch2cpp.regions.image_borders import ImageGroup
from torch2cpp.regions.samples import Sample


@final
@dataclass(frozen=True, slots=True)
class RegionOptions:
    """How regions are to be compiled."""

    #: C++ namespace of the project.
    namespace: str
    #: Folder in which the checker is built; anything in it may be overwritten.
    work: Path
    #: Folder for what later runs may reuse.
    cache: Path
    backend: str = DEFAULT
    target: Target = field(default_factory=Target)
    runtime: Runtime = LIBTORCH
    #: Real inputs by region name, recorded while the examples ran.
    recorded: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    #: Sample inputs by distinct region, where they were made before.
    samples: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    #: What `auto` chooses from; all that are installed where empty.
    candidates: tuple[str, ...] = ()
    #: Whether every region's `aten` form is compiled along, so that searches with different backends share it.
    every_twin: bool = False
    #: Says of which regions the program makes too much of their rounding: distinct region -> why. They go to `aten`.
    grows: Callable[[CompiledRegions], Mapping[str, str]] | None = None
    #: Images that only regions see, which a backend may keep with the channels last.
    image_groups: Sequence[ImageGroup] = ()
    #: Whether compiled code is compared with eager; off only where the caller does so itself.
    verify: bool = True
