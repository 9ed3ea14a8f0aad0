"""The functions of the C ABI that slim's runtime has, read from its sources."""

from __future__ import annotations

import re
from functools import lru_cache

from torch2cpp.backends.slim.operators import slim_folder

_DEFINITION = re.compile(r"^(?:AOTITorchError|bool|void) ((?:aoti_)?torch_\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\b(aoti_torch_(?:cpu_)?\w+)\(")
#: Families that need no list: macros define each of theirs.
_FAMILIES = ("aoti_torch_dtype_", "aoti_torch_layout_", "aoti_torch_memory_format_", "aoti_torch_device_type_")
_KNOWN = frozenset({"aoti_torch_abi_version"})


@lru_cache(maxsize=1)
def functions() -> frozenset[str]:
    """The names defined."""
    texts = (p.read_text(encoding="utf-8") for p in (slim_folder() / "src").glob("*.cpp"))
    return frozenset(name for text in texts for name in _DEFINITION.findall(text)) | _KNOWN


def missing(code: str) -> tuple[str, ...]:
    """The C functions that generated code calls and the runtime lacks, in order.

    >>> missing("aoti_torch_cpu_mm_out(a, b, c); aoti_torch_cpu_geqrf(a, &b, &c);")
    ('aoti_torch_cpu_geqrf',)
    """
    called = dict.fromkeys(_CALL.findall(code))
    return tuple(n for n in called if n not in functions() and not n.startswith(_FAMILIES))


def operators_of(name: str) -> tuple[str, ...]:
    """The ATen operators that a C function may stand for.

    >>> operators_of("aoti_torch_cpu_index_Tensor")
    ('aten.index_Tensor', 'aten.index')
    """
    stem = name.removeprefix("aoti_torch_").removeprefix("cpu_").removesuffix("_out")
    shorter, _, overload = stem.rpartition("_")
    return (f"aten.{stem}", f"aten.{shorter}") if shorter and overload else (f"aten.{stem}",)
