"""Models as they are written, without what `torch.compile` put around them."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch


def eager(model: Any) -> Any:
    """The module inside of `torch.compile(module)`; anything else as it is."""
    if isinstance(model, torch.nn.Module) and "torch._dynamo.eval_frame" in sys.modules:
        from torch._dynamo.eval_frame import OptimizedModule

        if isinstance(model, OptimizedModule):
            return model._orig_mod
    return model


def without_compiling() -> AbstractContextManager[Any]:
    """Lets everything that was given to `torch.compile` run eagerly: the results to be equal to."""
    # Nothing can have been compiled before the module is there, and importing it takes seconds.
    return torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
