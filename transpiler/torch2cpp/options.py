"""What can be chosen about a transpilation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from torch2cpp.passes.order import ALL
from torch2cpp.toolchain.targets.target import NATIVE, Target


@final
@dataclass(frozen=True, slots=True)
class Options:
    """Choices of one transpilation; the defaults are those of the command line."""

    #: Name of the project, its namespace and its library; from the model where None.
    name: str | None = None
    #: Methods to deploy.
    entries: tuple[str, ...] = ("forward",)
    backend: str = "aotinductor"
    target: str = NATIVE
    #: The target's processor as `-mcpu=` knows it; any of its architecture where None.
    cpu: str | None = None
    #: What lies below the C ABI: libtorch, or slim, which needs none.
    runtime: str = "libtorch"
    #: Whether the runner is one executable without shared libraries; with slim only.
    static: bool = False
    #: The largest sizes of inputs, by the name of a dimension: memory for them is taken ahead; with slim only.
    max_sizes: Mapping[str, int] = field(default_factory=dict)
    #: Threads of tensor operations; as torch has them where None.
    threads: int | None = None
    #: Dimensions declared to vary, in the form of torch.export.
    dynamic_shapes: Any = None
    #: Parameters fixed while transpiling.
    pin: Mapping[str, Any] = field(default_factory=dict)
    #: Folder of the emitted project.
    out: Path = Path("out")
    #: Folder for one numbered text per stage; None for none.
    dump_dir: Path | None = None
    #: The passes over the host IR that run, by name; see passes/order.py.
    passes: frozenset[str] = ALL
    #: Whether the host IR is verified after every stage.
    verify_ir: bool = True
    #: Whether compiled regions are compared with eager before they are believed.
    verify_regions: bool = True
    #: Whether regions keep their backend though the program's results then differ by more than the tolerance.
    free_rounding: bool = False
    #: Successive examples are calls on one instance.
    stateful: bool = False
    #: Whether the host program can count and measure its branches.
    profile: bool = False
    #: What `up_to_date` knows the project again by; empty where that was not asked for.
    fingerprint: str = ""

    @property
    def machine(self) -> Target:
        """The target with its processor."""
        return Target(self.target, self.cpu, libtorch=self.runtime != "slim")

    @property
    def described(self) -> str:
        """The choices in one line, for emitted files."""
        parts = [f"backend {self.backend}", f"target {self.target}"]
        if self.runtime != "libtorch":
            parts.append(f"runtime {self.runtime}")
        if self.entries != ("forward",):
            parts.append(f"entries {', '.join(self.entries)}")
        if self.max_sizes:
            parts.append("largest sizes " + ", ".join(f"{k}={v}" for k, v in self.max_sizes.items()))
        if self.threads is not None:
            parts.append(f"{self.threads} thread{'s' if self.threads > 1 else ''}")
        if self.pin:
            parts.append("pinned " + ", ".join(f"{k}={v!r}" for k, v in self.pin.items()))
        if self.free_rounding:
            parts.append("free rounding")
        if self.profile:
            parts.append("with clocks in branches")
        if self.passes != ALL:
            parts.append("without passes " + ", ".join(sorted(ALL - self.passes)))
        return ", ".join(parts)
