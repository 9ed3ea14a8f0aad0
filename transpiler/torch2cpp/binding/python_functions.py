"""Library functions that are interpreted from Python bodies of our own (see `in_python`)."""

from __future__ import annotations

import bisect
import collections
import heapq
import math
from collections.abc import Callable
from typing import Any

from torch2cpp.binding.builtin_table import TABLE, static_first
from torch2cpp.binding.context import Context
from torch2cpp.binding.in_python import bisect_functions, dict_functions, heapq_functions, math_functions
from torch2cpp.binding.values import AbsVal


def _register(function: Callable[..., Any], body: Any) -> None:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        from torch2cpp.binding.calls import call_python

        return call_python(cx, body, args, kwargs)

    TABLE[function] = static_first(function)(run)


_register(math.prod, math_functions.prod)
_register(math.isclose, math_functions.isclose)
_register(math.modf, math_functions.modf)
for _name in ("heappush", "heappop", "heapify", "heapreplace", "heappushpop"):
    _register(getattr(heapq, _name), getattr(heapq_functions, _name))
for _name in ("bisect_left", "bisect_right", "insort_left", "insort_right"):
    _register(getattr(bisect, _name), getattr(bisect_functions, _name))
_register(dict.fromkeys, dict_functions.fromkeys)
_register(collections.OrderedDict.fromkeys, dict_functions.fromkeys)
