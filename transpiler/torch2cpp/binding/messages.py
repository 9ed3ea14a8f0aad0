"""Messages to the developer: calls of `logging` and `warnings`. Deployed code does not send them.

Their arguments are evaluated as in Python, so that what these raise or change is kept.
"""

from __future__ import annotations

import logging
import warnings

from torch2cpp.binding.builtin_table import TABLE
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import NONE, AbsVal


def _silent(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return NONE


for _name in ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"):
    for _owner in (logging, logging.Logger, logging.LoggerAdapter):
        if hasattr(_owner, _name):
            TABLE[getattr(_owner, _name)] = _silent
TABLE[warnings.warn] = _silent
