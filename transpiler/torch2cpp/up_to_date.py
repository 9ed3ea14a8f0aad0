"""Whether a project on disk is what transpiling would write once more.

The fingerprint covers all that decides: this package, torch, the options, the Python files of the user's that are
loaded and their globals, the model with its weights, the inputs. Where it cannot be taken (a model that does not
pickle), the answer is no, and everything is done again; what was compiled before is still found by its content.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, final

import torch

from torch2cpp.emit.environment import shipped
from torch2cpp.emit.manifest import checksum_of
from torch2cpp.options import Options

_PACKAGE = Path(__file__).resolve().parent


def fingerprint(model: Any, inputs: Any, options: Options) -> str | None:
    """Hexadecimal digits; None where the model or its inputs cannot be looked through."""
    digest = hashlib.sha256()
    chosen = replace(options, out=Path(), dump_dir=None, passes=frozenset(), fingerprint="")
    digest.update(repr((torch.__version__, sys.version, torch.get_num_threads(), chosen)).encode())
    digest.update(repr(sorted(options.passes)).encode())
    try:
        for path in _own_files():
            digest.update(path.read_bytes())
        for module in _loaded():
            digest.update(_of_module(module))
        digest.update(_pickled((model, inputs)))
    except Exception:  # whatever pickling or a file that went away raises
        return None
    return digest.hexdigest()


def is_up_to_date(folder: Path, mark: str | None) -> bool:
    """Whether `folder` has the project of this fingerprint, as it was written."""
    try:
        manifest = json.loads((folder / "model.json").read_text())
        if mark is None or manifest.get("fingerprint") != mark or manifest.get("memory", "") is None:
            return False
        return all(
            checksum_of((folder / path).read_bytes()) == checksum for path, checksum in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError):
        return False


def name_of(folder: Path) -> str:
    """The name of the project in a folder."""
    return str(json.loads((folder / "model.json").read_text())["name"])


def _own_files() -> Iterator[Path]:
    for folder in (_PACKAGE, shipped("templates"), shipped("runtime_cpp")):
        yield from sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _loaded() -> Iterator[ModuleType]:
    """The modules that are not Python's own or this package's, by name."""
    standard = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    installed = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    files = {name: str(getattr(module, "__file__", None) or "") for name, module in sys.modules.items()}
    # Model files are loaded under new names each time.
    for name, file in sorted(files.items(), key=lambda item: item[1]):
        # Some of torch's modules are not in the file they name.
        if file.startswith(str(_PACKAGE)) or not Path(file).is_absolute():
            continue
        if file.startswith(standard) and not file.startswith(installed):
            continue
        if sys.modules[name] is not sys.modules["__main__"]:
            yield sys.modules[name]


def _of_module(module: ModuleType) -> bytes:
    path = Path(str(module.__file__))
    if str(path).startswith((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
        # Installed packages are many and change as a whole.
        return f"{path}{path.stat().st_mtime_ns}".encode()
    parts = [path.read_bytes()]
    for name, value in sorted(vars(module).items()):
        if name.startswith("__") or isinstance(value, type | ModuleType | FunctionType | BuiltinFunctionType):
            continue
        try:
            parts.append(name.encode() + _pickled(value))
        except Exception:  # such as a lock or a lambda in a list: its source is in the file
            parts.append(f"{name} {type(value)}".encode())
    return b"".join(parts)


def _pickled(value: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out).dump(value)
    return out.getvalue()


@final
class _Pickler(pickle.Pickler):
    """Tensors count by layout and content, whatever their storage holds beside them."""

    def reducer_override(self, value: Any) -> Any:
        """A tensor as a plain tuple; a class or function by its file, since modules of model files have new names."""
        if isinstance(value, type | FunctionType) and "<" not in value.__qualname__:
            file = getattr(sys.modules.get(value.__module__), "__file__", None)
            return NotImplemented if file is None else (str, (f"{file}:{value.__qualname__}",))
        if not isinstance(value, torch.Tensor):
            return NotImplemented
        data = value.detach().contiguous().reshape(-1).view(torch.uint8) if value.numel() else value.detach()
        content = hashlib.sha256(data.numpy().data if value.numel() else b"").hexdigest()
        kept = (str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad, str(value.device), content)
        return tuple, (kept,)
