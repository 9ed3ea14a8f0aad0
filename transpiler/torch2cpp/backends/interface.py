"""The C++ class of a distinct region: the same for every backend (see `backends.protocol`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from torch2cpp.emit.environment import render
from torch2cpp.emit.names import Scope
from torch2cpp.hostir.ops import Operand, Value, WeightRef
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import ListType, ScalarType, TensorType, TupleType, Type
from torch2cpp.regions.share import DistinctRegion

_SCALARS = {"bool": "bool", "int": "int64_t", "float": "double", "str": "std::string"}


@final
@dataclass(frozen=True, slots=True)
class CppValue:
    """A parameter or result in C++, with its IR type in words."""

    type: str
    name: str
    comment: str


@final
@dataclass(frozen=True, slots=True)
class Interface:
    """What the header and the definitions of one region class agree on."""

    namespace: str
    class_name: str
    folder: str
    #: `model.py:18-32`
    place: str
    params: tuple[CppValue, ...]
    results: tuple[CppValue, ...]
    #: C++ return type.
    returns: str
    #: (variable name, name in weights.safetensors, type in words) by slot.
    weights: tuple[tuple[str, str, str], ...]

    @property
    def parameters(self) -> str:
        """The parameter list."""
        return ", ".join(f"{p.type} {p.name}" for p in self.params)

    @property
    def header(self) -> str:
        """Path below src/."""
        return f"regions/{self.folder}/{self.folder}.h"


def supported(region: Region) -> Type | None:
    """The first parameter or result type that a region class cannot have; None when all are fine."""
    borders: tuple[Operand, ...] = (*region.params, *region.results)
    return next((v.type for v in borders if isinstance(v, Value) and cpp_type(v.type) is None), None)


#: What the templates of regions call or declare in the call operator.
RESERVED = frozenset(
    {"impl_", "place", "no_grad", "in", "out", "eagerly", "Ints", "OptionalTensors", "Tensors", "Tensor", "List"}
    | {"Number", "ScalarType"}
    | {"number", "borrow", "own", "element", "subscript", "writable", "rethrow", "NoGrad", "Place"}
)


def cpp_type(t: Type) -> str | None:
    """The C++ type of a region's parameter or result, None for types that regions do not carry."""
    match t:
        case TensorType():
            return "Tensor"
        case ScalarType():
            return _SCALARS.get(t.kind)
        case ListType():
            elem = cpp_type(t.elem)
            return f"List<{elem}>" if elem else None
        case TupleType():
            elems = [cpp_type(e) for e in t.elems]
            return f"std::tuple<{', '.join(e for e in elems if e)}>" if all(elems) else None
        case _:
            return None


def interface(distinct: DistinctRegion, namespace: str) -> tuple[Interface, Scope]:
    """The interface, and the scope of names in which the call operator's body goes on."""
    region = distinct.region
    scope = Scope({*RESERVED, distinct.class_name})
    params = tuple(CppValue(_parameter(p.type), scope.fresh(p.name), str(p.type)) for p in region.params)
    # A result may also be a weight or a constant handed on.
    results = tuple(_result(r) for r in region.results)
    names = [r.type for r in results]
    returns = "void" if not names else names[0] if len(names) == 1 else f"std::tuple<{', '.join(names)}>"
    weights = tuple((scope.fresh(_weight_name(w.name)), w.name, str(w.type)) for w in distinct.slots)
    out = Interface(
        namespace,
        distinct.class_name,
        distinct.name,
        f"{region.span}" if region.span.line == region.span.end_line else f"{region.span}-{region.span.end_line}",
        params,
        results,
        returns,
        weights,
    )
    return out, scope


def header_text(view: Interface) -> str:
    """`src/regions/<name>/<name>.h`"""
    return render("regions/region.h.j2", region=view)


def _parameter(t: Type) -> str:
    text = cpp_type(t) or ""
    return text if isinstance(t, ScalarType) and t.kind != "str" else f"const {text}&"


def _result(operand: Operand) -> CppValue:
    t: Type = operand.type if isinstance(operand, Value | WeightRef) else _constant_type(operand)
    return CppValue(cpp_type(t) or "", operand.name if isinstance(operand, Value) else "", str(t))


def _constant_type(constant: object) -> Type:
    match constant:
        case bool():
            return ScalarType("bool")
        case int():
            return ScalarType("int")
        case _:
            return ScalarType("float")


def _weight_name(name: str) -> str:
    """`blocks.0.fc1.weight` -> `fc1_weight`: the last two parts are what the reader needs."""
    return "_".join(name.split(".")[-2:])
