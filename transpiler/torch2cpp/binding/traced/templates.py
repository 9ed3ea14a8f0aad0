"""Objects of libraries taken apart: what is the same in all of them, and the tensors and numbers inside.

A KV cache, the output of a model, a distribution: graphs of Python objects with tensors somewhere in
them. A *template* is such a graph with holes for the tensors and run-time numbers; it can be compared
with others and filled again, which makes a Python object that the library's code can work on.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, final

import torch

from torch2cpp.binding.traced.stand_ins import TracedFloat, TracedInt, TracedTensor, Untraceable

Node = Any


@final
@dataclass(frozen=True, slots=True)
class Hole:
    """A place for a tensor, a number, or another object that is kept apart."""

    name: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A Python object that is no part of the graph's own state."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fixed):
            return False
        a, b = self.value, other.value
        return a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and repr(a) == repr(b))

    def __hash__(self) -> int:
        return hash(type(self.value))


@final
@dataclass(frozen=True, slots=True)
class Whole:
    """One object of the graph: `kind` says how it is made; `number` is its place in order of visiting."""

    kind: str
    cls: type
    #: Items of a container: nodes, or pairs of nodes.
    items: tuple[Node, ...]
    #: Attributes: pairs of a name and a node.
    attributes: tuple[tuple[str, Node], ...]
    number: int


@final
@dataclass(frozen=True, slots=True)
class Again:
    """An object that occurs once more in its own graph."""

    number: int


_PLAIN = (str, bytes, bool, int, float, complex, type(None), torch.dtype, torch.device, torch.layout)
_SHARED = (type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, torch.nn.Module)


@final
class Taken:
    """A graph taken apart: its template and what fills the holes."""

    def __init__(self, apart: Callable[[Any], bool], ints_vary: Callable[[str], bool], static: Set[int]) -> None:
        """`apart` says of an object inside that it stands for itself; `ints_vary` that a plain int has a hole.

        `static` are ids of objects that belong to the model.
        """
        self.holes: dict[str, Any] = {}
        #: Every object of the graph, to know it again.
        self.parts: list[Any] = []
        self._apart, self._ints_vary, self._static = apart, ints_vary, static
        self._numbers: dict[int, int] = {}

    def node(self, x: Any, path: str) -> Node:
        """The template of an object. Raises Untraceable for what cannot be made again."""
        if isinstance(x, TracedTensor | TracedInt | TracedFloat) or self._apart(x):
            return self._hole(path, x)
        if type(x) is int and self._ints_vary(path):
            return self._hole(path, x)
        if isinstance(x, (*_PLAIN, *_SHARED, torch.Tensor)) or id(x) in self._static:
            return Fixed(x)
        if id(x) in self._numbers:
            return Again(self._numbers[id(x)])
        if isinstance(x, tuple):
            return self._whole("tuple", x, tuple(self.node(e, f"{path}_{i}") for i, e in enumerate(x)), (), -1)
        number = self._numbers[id(x)] = len(self.parts)
        self.parts.append(x)
        if isinstance(x, list | collections.deque):
            items = tuple(self.node(e, f"{path}_{i}") for i, e in enumerate(list(x)))
            return self._whole("list", x, items, self._attributes(x, path), number)
        if isinstance(x, dict):
            pairs = tuple((Fixed(k), self.node(v, f"{path}_{k}")) for k, v in dict.items(x))
            return self._whole("dict", x, pairs, self._attributes(x, path), number)
        if isinstance(x, set | frozenset):
            if not all(isinstance(e, _PLAIN) for e in x):
                raise Untraceable("a set of objects is kept in a library's object")
            return self._whole("set", x, tuple(Fixed(e) for e in sorted(x, key=repr)), (), number)
        if not hasattr(x, "__dict__") or type(x).__module__ == "builtins":
            raise Untraceable(f"a {type(x).__name__} is kept in a library's object")
        return self._whole("object", x, (), self._attributes(x, path), number)

    def _attributes(self, x: Any, path: str) -> tuple[tuple[str, Node], ...]:
        found = dict(getattr(x, "__dict__", {}))
        for cls in type(x).__mro__:
            slots = cls.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(x, name):
                    found[name] = getattr(x, name)
        return tuple((k, self.node(v, f"{path}_{k}" if path else k)) for k, v in found.items())

    def _whole(self, kind: str, x: Any, items: tuple[Node, ...], attributes: Any, number: int) -> Node:
        return Whole(kind, type(x), items, attributes, number)

    def _hole(self, path: str, x: Any) -> Hole:
        base = "".join(c if c.isalnum() else "_" for c in path).strip("_") or "value"
        base = f"n{base}" if base[0].isdigit() else base
        name = base
        while name in self.holes:
            name += "_"
        self.holes[name] = x
        return Hole(name)


def fill(node: Node, holes: Callable[[str], Any], made: dict[int, Any]) -> Any:
    """The object of a template, anew; `made` collects its parts by number."""
    match node:
        case Hole(name):
            return holes(name)
        case Fixed(value):
            return value
        case Again(number):
            return made[number]
    assert isinstance(node, Whole)
    if node.kind == "tuple":
        items = [fill(i, holes, made) for i in node.items]
        return node.cls(*items) if hasattr(node.cls, "_fields") else node.cls(items)
    new: Any = node.cls.__new__(node.cls)  # type: ignore[call-overload]
    made[node.number] = new
    match node.kind:
        case "list":
            if isinstance(new, list):
                list.extend(new, [fill(i, holes, made) for i in node.items])
            else:
                new.extend(fill(i, holes, made) for i in node.items)
        case "dict":
            put = collections.OrderedDict.__setitem__ if isinstance(new, collections.OrderedDict) else dict.__setitem__
            for k, v in node.items:
                put(new, k.value, fill(v, holes, made))
        case "set":
            new.update(i.value for i in node.items)
    for name, value in node.attributes:
        object.__setattr__(new, name, fill(value, holes, made))
    return new


def ints_that_differ(a: Node, b: Node, path: str = "") -> list[str] | None:
    """Where two templates hold different plain ints; None if anything else differs."""
    if isinstance(a, Fixed) and isinstance(b, Fixed):
        if a == b:
            return []
        return [path] if type(a.value) is int and type(b.value) is int else None
    if not (isinstance(a, Whole) and isinstance(b, Whole)):
        return [] if a == b else None
    if (a.kind, a.cls, a.number, len(a.items)) != (b.kind, b.cls, b.number, len(b.items)):
        return None
    if [k for k, _ in a.attributes] != [k for k, _ in b.attributes]:
        return None
    pairs: list[tuple[Node, Node, str]] = []
    for i, (x, y) in enumerate(zip(a.items, b.items)):
        if a.kind == "dict":
            if x[0] != y[0]:
                return None
            pairs.append((x[1], y[1], f"{path}_{x[0].value}"))
        else:
            pairs.append((x, y, f"{path}_{i}"))
    pairs += [(x, y, f"{path}_{k}" if path else k) for (k, x), (_, y) in zip(a.attributes, b.attributes)]
    out: list[str] = []
    for x, y, where in pairs:
        found = ints_that_differ(x, y, where)
        if found is None:
            return None
        out += found
    return out
