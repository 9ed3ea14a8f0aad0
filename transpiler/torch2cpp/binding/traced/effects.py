"""Whether running library code changed the objects it was given, and putting them back."""

from __future__ import annotations

import collections
import sys
import types
from typing import Any, final

import torch

_LEAVES = (str, bytes, bool, int, float, complex, type(None), torch.dtype, torch.device, torch.Tensor, type,
           types.FunctionType, types.BuiltinFunctionType, types.ModuleType)  # fmt: skip
#: Modules whose globals are not the code's own.
_SYSTEM = ("torch", "builtins", "numpy", "collections", "typing", "functools", "enum", "types", "abc", "_abc")
#: More objects than this are not looked through.
_MOST = 200_000


@final
class Snapshot:
    """The state of all Python objects that can be reached from some, tensors aside."""

    def __init__(self, roots: list[Any]) -> None:
        self._saved: list[tuple[Any, Any]] = []
        self._keep: list[Any] = []
        #: Ids of all objects found.
        self.ids: set[int] = set()
        seen = self.ids
        todo = list(roots)
        while todo and len(seen) < _MOST:
            x = todo.pop()
            if isinstance(x, _LEAVES) or id(x) in seen:
                continue
            seen.add(id(x))
            self._keep.append(x)
            if isinstance(x, dict):
                self._saved.append((x, list(dict.items(x))))
                todo += dict.values(x)
            elif isinstance(x, list | set | collections.deque):
                self._saved.append((x, list(x)))
                todo += list(x)
            elif isinstance(x, tuple | frozenset):
                todo += list(x)
            elif isinstance(x, types.MethodType):
                todo.append(x.__self__)
            attributes = getattr(x, "__dict__", None)
            if isinstance(attributes, dict):
                todo.append(attributes)
        self._save_globals({type(x).__module__ for x in self._keep})

    def _save_globals(self, modules: set[str]) -> None:
        """The global variables beside the classes of the objects, and the containers that these are."""
        for name in modules:
            variables = getattr(sys.modules.get(name), "__dict__", None)
            if name.partition(".")[0] in _SYSTEM or variables is None:
                continue
            self._saved.append((variables, list(variables.items())))
            for x in variables.values():
                if type(x) in (dict, list, set):
                    self._saved.append((x, list(x.items()) if isinstance(x, dict) else list(x)))

    def restore(self) -> str | None:
        """Undoes every change; says what one of them was."""
        changed: str | None = None
        for x, before in self._saved:
            now = list(dict.items(x)) if isinstance(x, dict) else list(x)
            if _same(before, now):
                continue
            changed = changed or _difference(before, now)
            _put_back(x, before)
        return changed


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(
        x is y or (isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y) == 2 and x[0] == y[0]
                   and x[1] is y[1]) for x, y in zip(a, b))  # fmt: skip


def _difference(before: list[Any], now: list[Any]) -> str:
    had = {x[0]: x[1] for x in before if isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str)}
    for x in now:
        if isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str) and had.get(x[0], had) is not x[1]:
            return x[0]
    return "a container"


def _put_back(x: Any, before: list[Any]) -> None:
    if isinstance(x, collections.OrderedDict):
        collections.OrderedDict.clear(x)
        for k, v in before:
            collections.OrderedDict.__setitem__(x, k, v)
    elif isinstance(x, dict):
        dict.clear(x)
        dict.update(x, before)
    elif isinstance(x, set):
        x.clear()
        x.update(before)
    else:
        x.clear()
        x.extend(before)
