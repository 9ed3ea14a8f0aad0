"""What one run of library code left: its result, and the objects of libraries that it was given."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, final

import torch

from torch2cpp.binding.context import Context
from torch2cpp.binding.traced.effects import Snapshot
from torch2cpp.binding.traced.objects import class_for, library_class, make, update
from torch2cpp.binding.traced.stand_ins import TracedFloat, TracedInt, TracedTensor, Untraceable
from torch2cpp.binding.traced.templates import Fixed, Node, Taken
from torch2cpp.binding.traced.tracer import Tracer
from torch2cpp.binding.values import AbsVal, DictObj, Ref, Static, Tup, fresh_id


@final
@dataclass(frozen=True, slots=True)
class Known:
    """A tensor or number of the program, or a value of Python."""

    value: AbsVal


@final
@dataclass(frozen=True, slots=True)
class Given:
    """An object of a library that was an argument, by heap id."""

    key: int


@final
@dataclass(frozen=True, slots=True)
class Sequence:
    """A new tuple or list."""

    cls: type
    items: tuple[Any, ...]


@final
@dataclass(frozen=True, slots=True)
class Mapping:
    """A new dict."""

    items: tuple[tuple[Any, Any], ...]


@final
@dataclass(frozen=True, slots=True)
class Made:
    """An object of a library, taken apart."""

    cls: type
    template: Node
    holes: dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """The result, and the content of the objects among the arguments, by heap id."""

    result: Any
    objects: dict[int, Made]


def outcome_of(tracer: Tracer, result: Any, given: list[tuple[int, Any]], static: Snapshot) -> Outcome:
    """Takes apart what a run left. Raises Untraceable for what the program could not hold."""
    reader = _Reader(tracer, given, static)
    out = reader.read(result)
    objects: dict[int, Made] = {}
    for key, x in given:
        objects[key] = reader.taken(x, inside_of=key)
    reader.check()
    return Outcome(out, objects)


class _Reader:
    def __init__(self, tracer: Tracer, given: list[tuple[int, Any]], static: Snapshot) -> None:
        self._tracer = tracer
        self._given = {id(x): key for key, x in given}
        self._static = static.ids
        self._owner: dict[int, int] = {}
        self._shared = False
        self._containers = {id(c) for c, _ in tracer.containers}
        self._keep: list[Any] = []

    def read(self, x: Any) -> Any:
        """The description of a value."""
        if isinstance(x, TracedTensor | TracedInt | TracedFloat):
            return Known(x.abstract)
        if id(x) in self._given:
            return Given(self._given[id(x)])
        if id(x) in self._containers:
            raise Untraceable("it gives back a container that it was given")
        if type(x) is tuple or (isinstance(x, tuple) and type(x) is not torch.Size):
            return Sequence(type(x), tuple(map(self.read, x)))
        if type(x) is list:
            return Sequence(list, tuple(map(self.read, x)))
        if isinstance(x, torch.Size):
            return Sequence(torch.Size, tuple(map(self.read, x)))
        if type(x) is dict:
            return Mapping(tuple((k, self.read(v)) for k, v in x.items()))
        if id(x) in self._static or not hasattr(x, "__dict__") or isinstance(x, type | torch.nn.Module | torch.Tensor):
            return Known(Static(x))
        if callable(x) and hasattr(x, "__code__"):
            return Known(Static(x))
        return self.taken(x, inside_of=None)

    def taken(self, x: Any, inside_of: int | None) -> Made:
        """An object, taken apart; objects that outlive it stand for themselves."""
        cls = class_for(self._tracer.cx, type(x))
        apart: set[int] = set(self._given) - {id(x)}
        if isinstance(x, dict) and dataclasses.is_dataclass(x):
            # the output of a model: what is in it is also known under other names
            apart |= {id(v) for v in dict.values(x) if hasattr(v, "__dict__") and not isinstance(v, torch.Tensor)}
        taken = Taken(lambda y: id(y) in apart, lambda path: path in cls.ints, self._static)
        template = taken.node(x, "")
        for part in taken.parts:
            owner = self._owner.setdefault(id(part), id(x))
            self._keep.append(part)
            self._shared |= owner != id(x)
        return Made(type(x), template, {name: self.read(v) for name, v in taken.holes.items()})

    def check(self) -> None:
        """Raises where two objects share a part: each would get its own."""
        if self._shared:
            raise Untraceable("its result shares a part with another object")


def signature(x: Any) -> Any:
    """What must be the same in every run over a path."""
    match x:
        case Outcome():
            return (signature(x.result), tuple((k, signature(v)) for k, v in x.objects.items()))
        case Known(Static(value)):
            return ("static", Fixed(value))
        case Known(value):
            return ("value", id(value))
        case Sequence():
            return (x.cls, tuple(map(signature, x.items)))
        case Mapping():
            return tuple((k, signature(v)) for k, v in x.items)
        case Made():
            return (x.cls, x.template, tuple((k, signature(v)) for k, v in x.holes.items()))
    return x


def commit(cx: Context, outcome: Outcome, given: dict[int, tuple[AbsVal, Node, dict[str, AbsVal]]]) -> AbsVal:
    """Gives the objects among the arguments their new content, and makes the result."""
    values = {key: v for key, (v, _, _) in given.items()}
    classes = [library_class(cx, v) for key, v in values.items() if key < 0]
    for key, made in outcome.objects.items():
        v, template, holes = given[key]
        new = {name: _value(cx, x, values) for name, x in made.holes.items()}
        if made.template != template or any(new[n] is not holes.get(n) for n in new):
            if classes.count(library_class(cx, v)) > 1 or (classes and key >= 0 and library_class(cx, v) in classes):
                raise Untraceable("it changes one of two objects that may be the same")
            update(cx, v, made.template, new)
    return _value(cx, outcome.result, values)


def _value(cx: Context, x: Any, given: dict[int, AbsVal]) -> AbsVal:
    from torch2cpp.binding.containers import new_list

    match x:
        case Known(value):
            return value
        case Given(key):
            return given[key]
        case Sequence(cls, items):
            elems = [_value(cx, i, given) for i in items]
            if cls is list:
                return new_list(cx, elems, ("traced", cx.site(None)))
            named = tuple(getattr(cls, "_fields", ()))
            return Tup(tuple(elems), None if cls is tuple else cls, named)
        case Mapping(items):
            ref = Ref(fresh_id())
            cx.state.heap[ref.id] = DictObj({k: _value(cx, v, given) for k, v in items}, ("traced", cx.site(None)))
            return ref
        case Made(cls, template, holes):
            return make(cx, class_for(cx, cls), template, {n: _value(cx, h, given) for n, h in holes.items()})
    raise AssertionError(x)
