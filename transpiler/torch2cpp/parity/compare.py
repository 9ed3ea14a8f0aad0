"""Whether two results are equal: nesting, kinds, dtypes, shapes, values."""

from __future__ import annotations

import dataclasses
import math
import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch

from torch2cpp.hostir.pyvalues import Named

#: Tolerances by dtype for optimising backends: (rtol, atol).
_FLOAT = (1e-4, 1e-5)
_TOLERANCES = {
    torch.float64: (1e-7, 1e-8),
    torch.complex128: (1e-7, 1e-8),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (3e-2, 1e-2),
}


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two results differ."""

    #: Where in the result: `[0].scores`.
    path: str
    #: What differs: "nesting", "type", "dtype", "shape", "value" or "decision".
    what: str
    detail: str

    def __str__(self) -> str:
        return f"result{self.path}: {self.what}: {self.detail}"


@final
@dataclass(slots=True)
class Comparison:
    """The differences of two results, and how far their numbers are apart where they agree in form."""

    differences: list[Difference]
    max_abs_err: float = 0.0
    max_rel_err: float = 0.0

    @property
    def equal(self) -> bool:
        """Whether nothing differs beyond the tolerance."""
        return not self.differences


def compare(want: Any, got: Any, exact: bool) -> Comparison:
    """Compares what Python gave with what C++ gave; bit for bit when `exact` (NaNs are equal).

    >>> compare((1, 2.0), (1, 2.5), exact=True).differences[0].what
    'value'
    >>> [str(d) for d in compare({"a": 1}, {"b": 1}, exact=True).differences]
    ["result: nesting: keys ['a'] against ['b']"]
    """
    out = Comparison([])
    _compare(want, got, "", exact, out)
    return out


def _compare(want: Any, got: Any, path: str, exact: bool, out: Comparison) -> None:
    want, got = _plain(want), _plain(got)
    kind, other = _kind(want), _kind(got)
    if kind != other:
        out.differences.append(Difference(path, "type", f"{kind} {_short(want)} against {other} {_short(got)}"))
    elif isinstance(want, torch.Tensor):
        _compare_tensors(want, got, path, exact, out)
    elif isinstance(want, float | complex):
        _compare_floats(want, got, path, exact, out)
    elif isinstance(want, set | frozenset):
        if want != got:
            out.differences.append(Difference(path, "decision", f"{_short(want)} against {_short(got)}"))
    elif (items := _children(want)) is not None:
        others = _children(got)
        assert others is not None
        if [k for k, _ in items] != [k for k, _ in others]:
            out.differences.append(Difference(path, "nesting", _nesting(items, others)))
            return
        for (key, x), (_, y) in zip(items, others):
            _compare(x, y, path + key, exact, out)
    elif want != got:
        # Ints, bools and strings are what decisions leave behind.
        out.differences.append(Difference(path, "decision", f"{want!r} against {got!r}"))


def _nesting(items: list[tuple[str, Any]], others: list[tuple[str, Any]]) -> str:
    if len(items) != len(others):
        return f"{len(items)} values against {len(others)}"
    return f"keys {[k.strip('[].').strip(chr(39)) for k, _ in items]} against {[k.strip('[].').strip(chr(39)) for k, _ in others]}"  # noqa: E501


def _plain(value: Any) -> Any:
    """A numpy scalar is its Python value, an Enum member the value it stands for."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, torch.Size):
        return tuple(value)
    if hasattr(value, "_value_") and hasattr(value, "_name_"):
        return value.value
    return value


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, dict):
        return "dict"
    if isinstance(value, set | frozenset):
        return "set"
    if isinstance(value, Named):
        return value.class_name
    return type(value).__name__


def _children(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a container with how Python reaches them; None for a leaf."""
    if isinstance(value, dict):
        return [(f"[{_plain(k)!r}]", v) for k, v in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", getattr(value, name)) for name in sorted(value._fields)]
    if type(value).__module__ == "torch.return_types":
        names = [k for k, m in vars(type(value)).items() if isinstance(m, types.MemberDescriptorType)]
        return [(f".{name}", getattr(value, name)) for name in sorted(names)]
    if isinstance(value, list | tuple | deque):
        return [(f"[{i}]", v) for i, v in enumerate(value)]
    # The order of an object's attributes means nothing.
    if isinstance(value, Named):
        return [(f".{name}", value.fields[name]) for name in sorted(value.fields)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{name}", getattr(value, name)) for name in sorted(f.name for f in dataclasses.fields(value))]
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, torch.nn.Module):
        return [(f".{name}", vars(value)[name]) for name in sorted(vars(value))]
    return None


def _compare_tensors(want: torch.Tensor, got: torch.Tensor, path: str, exact: bool, out: Comparison) -> None:
    if want.dtype != got.dtype:
        out.differences.append(Difference(path, "dtype", f"{want.dtype} against {got.dtype}"))
        return
    if want.shape != got.shape:
        out.differences.append(Difference(path, "shape", f"{list(want.shape)} against {list(got.shape)}"))
        return
    want, got = want.detach(), got.detach()
    if not (want.is_floating_point() or want.is_complex()):
        if not torch.equal(want, got):
            count = int((want != got).sum())
            out.differences.append(Difference(path, "decision", f"{count} of {want.numel()} elements differ"))
        return
    abs_err, rel_err, bad = _errors(want, got, exact)
    out.max_abs_err, out.max_rel_err = max(out.max_abs_err, abs_err), max(out.max_rel_err, rel_err)
    if bad:
        detail = f"{bad} of {want.numel()} elements differ, by up to {abs_err:.3g}"
        out.differences.append(Difference(path, "value", detail))


def _errors(want: torch.Tensor, got: torch.Tensor, exact: bool) -> tuple[float, float, int]:
    """Largest absolute and relative error, and how many elements are out of tolerance."""
    wide = torch.complex128 if want.is_complex() else torch.float64
    a, b = want.to(wide), got.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())
    if bool(same.all()):
        return 0.0, 0.0, 0
    err = torch.where(same, 0.0, (a - b).abs().nan_to_num(nan=math.inf, posinf=math.inf))
    scale = a.abs()
    rel = torch.where(err == 0, 0.0, err / scale)
    if exact:
        bad = ~same
    else:
        rtol, atol = _TOLERANCES.get(want.dtype, _FLOAT)
        # Infinity is within no tolerance of a number, although its own share of itself is infinite.
        bad = ~(err <= atol + rtol * scale) | err.isinf()
    return float(err.max()), float(rel.max()), int(bad.sum())


def _compare_floats(want: float | complex, got: float | complex, path: str, exact: bool, out: Comparison) -> None:
    if want == got or (want != want and got != got):
        return
    err = abs(want - got)
    err = math.inf if err != err else err
    rel = err / abs(want) if want else math.inf
    out.max_abs_err, out.max_rel_err = max(out.max_abs_err, err), max(out.max_rel_err, rel)
    if exact or math.isinf(err) or not err <= _FLOAT[1] + _FLOAT[0] * abs(want):
        out.differences.append(Difference(path, "value", f"{want!r} against {got!r}"))


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a nested value, in order."""
    value = _plain(value)
    if isinstance(value, torch.Tensor):
        yield value
    else:
        for _, item in _children(value) or ():
            yield from tensors_in(item)
