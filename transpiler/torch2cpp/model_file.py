"""Model files: Python files with `make_model()` and `make_inputs()`, see README."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, final

from torch import nn


class ModelFileError(ValueError):
    """The file is not a model file; the message says what it lacks."""


@final
@dataclass(frozen=True, slots=True)
class ModelFile:
    """A loaded model file."""

    path: Path
    module: ModuleType
    #: Name of the function that makes the model.
    factory: str = "make_model"

    @property
    def name(self) -> str:
        """The project's name: the file's, as an identifier."""
        text = "".join(c if c.isalnum() else "_" for c in self.path.stem).strip("_").lower()
        name = f"model_{text}" if text[:1].isdigit() or not text else text
        return name if self.factory == "make_model" else f"{name}_{self.factory.removeprefix('make_')}"

    @property
    def entry(self) -> str:
        """The method to deploy: `ENTRY`, else `forward`."""
        return str(getattr(self.module, "ENTRY", "forward"))

    @property
    def entries(self) -> tuple[str, ...]:
        """All methods to deploy: `ENTRIES` where the file names several."""
        return tuple(getattr(self.module, "ENTRIES", (self.entry,)))

    @property
    def stateful(self) -> bool:
        """Whether the inputs are successive calls on one instance."""
        return bool(getattr(self.module, "STATEFUL", False))

    @property
    def dynamic_shapes(self) -> Any:
        """`DYNAMIC_SHAPES`, in the form of torch.export, or None."""
        return getattr(self.module, "DYNAMIC_SHAPES", None)

    @property
    def pin(self) -> dict[str, Any]:
        """`PIN`: parameters to fix while transpiling, with their values."""
        return dict(getattr(self.module, "PIN", {}))

    def make_model(self) -> nn.Module | Callable[..., Any]:
        """A fresh model: a module, or a plain function."""
        made: nn.Module | Callable[..., Any] = getattr(self.module, self.factory)()
        return made

    def make_inputs(self) -> Any:
        """The argument tuples. A single value that is not a tuple is one argument.

        With several entries: whatever `pipeline.calls_of` takes.
        """
        made = self.module.make_inputs()
        if len(self.entries) > 1:
            return made
        return [args if isinstance(args, tuple) else (args,) for args in made]


def load_model_file(spec: str) -> ModelFile:
    """Loads `FILE.py` or `FILE.py:factory`. Raises ModelFileError where it is not a model file.

    Whatever the file itself raises while it is imported comes through.
    """
    text, _, factory = spec.rpartition(":") if ":" in spec and not Path(spec).exists() else (spec, "", "")
    path = Path(text or spec).resolve()
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist")
    if path.suffix != ".py":
        raise ModelFileError(f"{path} is not a Python file")
    # Modules beside the file can be imported, as when it is run.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = f"torch2cpp_model_{path.stem}_{abs(hash(str(path))) % 10**8}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    out = ModelFile(path, module, factory or "make_model")
    for wanted, what in ((out.factory, "returns the model"), ("make_inputs", "returns a list of argument tuples")):
        if not callable(getattr(module, wanted, None)):
            raise ModelFileError(f"{path.name} defines no function {wanted}(); it {what}")
    return out
