"""A Python model's state set back in place: the object stays the one that was compiled."""

from __future__ import annotations

import copy
from typing import Any, final

from torch import nn

#: Attributes that every module has for its own working.
_INTERNAL = frozenset(vars(nn.Module()))


@final
class Snapshot:
    """What the attributes and buffers of a model's modules are now; other models have no state."""

    def __init__(self, model: Any) -> None:
        self._modules = list(model.modules()) if isinstance(model, nn.Module) else []
        # Modules and parameters are not state, wherever they are referred to.
        self._same = [*self._modules, *(model.parameters() if self._modules else ())]
        self._kept = [self._copy((_attributes(m), dict(m._buffers))) for m in self._modules]

    def restore(self) -> None:
        """Sets everything back."""
        for module, kept in zip(self._modules, self._kept):
            attributes, buffers = self._copy(kept)
            for name in set(_attributes(module)) - set(attributes):
                delattr(module, name)
            module.__dict__.update(attributes)
            module._buffers.clear()
            module._buffers.update(buffers)

    def _copy(self, value: Any) -> Any:
        return copy.deepcopy(value, {id(x): x for x in self._same})


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {k: v for k, v in vars(module).items() if k not in _INTERNAL}
