"""Runs library code on stand-ins and records one path through it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

import torch
from torch.overrides import TorchFunctionMode

from torch2cpp.binding import operators
from torch2cpp.binding.attributes import get_attribute
from torch2cpp.binding.context import Context, Restart, Terminated
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.meta import DEFAULT_HINTS, distinct, size_in
from torch2cpp.binding.traced.error_texts import PLACEHOLDER, is_for_a_message
from torch2cpp.binding.traced.objects import object_key
from torch2cpp.binding.traced.record import NeverTaken, Split, Step, Stopped
from torch2cpp.binding.traced.sampling import NoSizes, Samples
from torch2cpp.binding.traced.stand_ins import TracedFloat, TracedInt, TracedTensor, Untraceable
from torch2cpp.binding.values import (
    AbsVal,
    DictObj,
    Host,
    ListObj,
    Ref,
    Rt,
    SliceVal,
    Static,
    Tensor,
    Tup,
    fresh_id,
)
from torch2cpp.diagnostics import Refused

#: Functions that only set or tell a mode of torch, and are run for real.
_MODES = ("_set_grad_enabled", "set_grad_enabled", "is_grad_enabled", "get_default_dtype", "is_inference_mode_enabled")
#: Attributes of a weight that are values of Python, not tensors.
_PLAIN = (str, bool, int, torch.dtype, torch.device, torch.layout, torch.Size, type(None))
_REFLECTED = {"__rsub__": "-", "__rdiv__": "/", "__rtruediv__": "/", "__rpow__": "**", "__rfloordiv__": "//",
              "__rmod__": "%", "__rmatmul__": "@", "__radd__": "+", "__rmul__": "*"}  # fmt: skip
_BINARY = {"__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__div__": "/", "__floordiv__": "//",
           "__mod__": "%", "__pow__": "**", "__matmul__": "@", "__and__": "&", "__or__": "|", "__xor__": "^",
           "__lshift__": "<<", "__rshift__": ">>"}  # fmt: skip
_COMPARE = {"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_UNARY = {"__neg__": "-", "__pos__": "+", "__invert__": "~"}


@final
class Tracer:
    """One run. Steps of the record that is given are taken from it; what comes after is added to it."""

    def __init__(self, cx: Context, steps: list[Step], samples: Samples, world: int, recording: bool) -> None:
        self.cx = cx
        self.steps = steps
        self.samples = samples
        self.world = world
        self._recording = recording
        self._position = 0
        #: Objects of libraries among the arguments, by their keys.
        self.objects: dict[int, Any] = {}
        #: Lists and dicts that were made for the code, with what they held.
        self.containers: list[tuple[Any, Any]] = []
        self._stand_ins: dict[int, Any] = {}
        self._keep: list[Any] = []

    def run(self, action: Callable[[], Any]) -> Any:
        """What the code gives. Raises Split at a decision that is not on record, Untraceable, Stopped."""
        with torch.no_grad(), _Mode(self), _watched():
            out = action()
        if self._position != len(self.steps):
            raise Untraceable("it does not do the same in every run")
        return out

    # -- the record -------------------------------------------------------------------------------

    def perform(self, key: Any, action: Callable[[], AbsVal]) -> AbsVal:
        """The abstract result of an operation: from the record, or by letting the binding emit it."""
        if self._position < len(self.steps):
            step = self.steps[self._position]
            if step.condition is not None or step.key != key:
                raise Untraceable("it takes a size or number of run time for a constant, or differs from run to run")
            self._position += 1
            return step.result
        if not self._recording:
            raise Untraceable("it takes a size of run time for a constant")
        block = self.cx.block
        before = len(block.ops)
        try:
            with self.cx.at(("traced", self._position)), _own_work():
                result = action()
        except (Terminated, Restart) as end:
            raise Stopped(end) from end
        except Refused as refused:
            raise Untraceable(refused.diagnostics[0].message) from refused
        ops = tuple(self.cx.block.ops[before:]) if self.cx.block is block else ()
        self.steps.append(Step(key, result, ops))
        self._position += 1
        return result

    def decide(self, cond: AbsVal) -> bool:
        """Which way the code goes here."""
        if isinstance(cond, Static):
            return bool(cond.value)
        assert isinstance(cond, Host)
        if self._position < len(self.steps):
            step = self.steps[self._position]
            if step.condition is not cond.operand:
                raise Untraceable("it takes a size of run time for a constant, or differs from run to run")
            self._position += 1
            return bool(step.result)
        if not self._recording:
            raise Untraceable("it takes a size of run time for a constant")
        with _own_work():
            try:
                known = self.samples.settled(self.steps, cond.operand)
            except NoSizes:
                raise NeverTaken from None
        if known is None:
            raise Split(cond.operand)
        self.steps.append(Step("decision", known, (), cond.operand))
        self._position += 1
        return known

    # -- stand-ins --------------------------------------------------------------------------------

    def stand_in(self, v: AbsVal) -> Any:
        """The Python object that library code sees for an abstract value."""
        if isinstance(v, Ref | Rt) and object_key(v) in self.objects:
            return self.objects[object_key(v)]
        o = resolve(self.cx, v)
        match o:
            case Static(value):
                return value
            case Tensor():
                return self._once(o, lambda: TracedTensor.of(o, [size_in(d, self.world) for d in o.meta.dims]))
            case Host():
                return self._scalar(o)
            case Tup():
                items = [self.stand_in(e) for e in o.elems]
                return tuple(items) if o.cls is None else _rebuilt(o.cls, items)
            case ListObj() if o.kind == "list":
                return self._container([self.stand_in(e) for e in o.elems])
            case DictObj() if o.factory is None:
                return self._container({k: self.stand_in(e) for k, e in o.items.items()})
            case SliceVal():
                return slice(*(self.stand_in(e) for e in (o.start, o.stop, o.step)))
        raise Untraceable(f"it is given {describe(self.cx, v)}")

    def _container(self, made: Any) -> Any:
        self.containers.append((made, made.copy()))
        return made

    def _once(self, v: AbsVal, make: Callable[[], Any]) -> Any:
        if id(v) not in self._stand_ins:
            self._keep.append(v)
            self._stand_ins[id(v)] = make()
        return self._stand_ins[id(v)]

    def _scalar(self, o: Host) -> Any:
        if o.type.kind == "bool":
            return self.decide(o)
        if o.type.kind == "int":
            hints = distinct(o.hints) if o.hints else DEFAULT_HINTS
            return self._once(o, lambda: TracedInt(self, o, hints[self.world]))
        if o.type.kind == "float":
            value = float(o.hints[self.world]) if o.hints else 0.5 + self.world
            return self._once(o, lambda: TracedFloat(self, o, value))
        raise Untraceable(f"it is given a {o.type} of run time")

    def abstract(self, x: Any) -> AbsVal:
        """The abstract value of what library code hands to torch."""
        match x:
            case TracedTensor() | TracedInt() | TracedFloat():
                return x.abstract
            case slice():
                parts = [self.abstract(p) for p in (x.start, x.stop, x.step)]
                return Static(x) if all(isinstance(p, Static) for p in parts) else SliceVal(*parts)
            case tuple() | list():
                items = [self.abstract(e) for e in x]
                if all(isinstance(i, Static) and not isinstance(i.value, torch.Tensor) for i in items):
                    return Static(x if type(x) in (tuple, list, torch.Size) else tuple(x))
                if isinstance(x, tuple):
                    return Tup(tuple(items), torch.Size if isinstance(x, torch.Size) else None)
                ref = Ref(fresh_id())
                self.cx.state.heap[ref.id] = ListObj(tuple(items), ("traced", self.cx.site(None)))
                return ref
        return Static(x)

    def scalar(self, sign: str, *operands: Any) -> Any:
        """Arithmetic of run-time numbers."""
        vals = [self.abstract(x) for x in operands]
        if len(vals) == 1:
            return self._emit("neg", vals, lambda: operators.unary(self.cx, "-", vals[0]))
        return self._emit(sign, vals, lambda: operators.binary(self.cx, sign, *vals))

    def compared(self, sign: str, a: Any, b: Any) -> bool:
        """A comparison of run-time numbers, decided."""
        vals = [self.abstract(a), self.abstract(b)]
        return bool(self._emit(sign, vals, lambda: operators.compare(self.cx, sign, *vals)))

    def truth(self, v: Any) -> bool:
        """The truth of a run-time number or a tensor, decided."""
        vals = [self.abstract(v)]
        return bool(self._emit("truth", vals, lambda: operators.truth(self.cx, vals[0])))

    def _emit(self, what: str, vals: list[AbsVal], action: Callable[[], AbsVal]) -> Any:
        return self.stand_in(self.perform((what, tuple(map(self._key, vals))), action))

    def _key(self, v: AbsVal) -> Any:
        """What tells abstract arguments apart between two runs over one path."""
        match resolve(self.cx, v):
            case Static(value):
                return _static_key(value)
            case Tup() | ListObj() as o:
                return (type(o).__name__, *map(self._key, o.elems))
            case SliceVal() as o:
                return ("slice", self._key(o.start), self._key(o.stop), self._key(o.step))
            case Tensor() | Host() as o:
                return ("value", id(o))
        return type(v).__name__

    # -- functions of torch -----------------------------------------------------------------------

    def torch_function(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function of torch means on stand-ins and weights."""
        name = _OPERATOR_METHODS.get(func) or str(getattr(func, "__name__", None) or repr(func))
        if name in ("__get__", "__set__", "__delete__"):
            if name != "__get__":
                raise Untraceable(f"tensor.{_attribute_name(func)} is assigned")
            return self._attribute(args[0], _attribute_name(func))
        if name in _MODES:
            return func(*args, **kwargs)
        if name in ("__repr__", "__str__", "__format__") and is_for_a_message():
            return PLACEHOLDER
        if torch.is_autocast_enabled("cpu"):
            raise Untraceable("autocast is on")
        vals, keywords = [self.abstract(a) for a in args], {k: self.abstract(v) for k, v in kwargs.items()}
        key = (name, tuple(map(self._key, vals)), tuple((k, self._key(v)) for k, v in keywords.items()))
        result = self.perform(key, lambda: _meaning(self.cx, func, name, vals, keywords))
        in_place = name.endswith("_") and not name.startswith("__")
        if in_place and isinstance(result, Tensor) and isinstance(args[0], TracedTensor):
            args[0].abstract = result  # `resize_` and its like change what is known of their target
            self._stand_ins[id(result)] = args[0]
        return self.stand_in(result)

    def _attribute(self, t: torch.Tensor, name: str) -> Any:
        if not isinstance(t, TracedTensor):
            value = getattr(t, name)
            if isinstance(value, _PLAIN):
                return value
        v = self.abstract(t)
        return self._emit(f".{name}", [v], lambda: get_attribute(self.cx, v, name))


def _attribute_name(func: Any) -> str:
    owner = func.__self__
    return str(getattr(owner, "__name__", None) or owner.fget.__name__)


def _meaning(cx: Context, func: Any, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """The call as the binding takes it from the user's own code."""
    from torch2cpp.binding.calls import call
    from torch2cpp.binding.item_writes import set_item
    from torch2cpp.binding.items import get_item

    if name in _BINARY:
        return operators.binary(cx, _BINARY[name], *args)
    if name in _REFLECTED:
        return operators.binary(cx, _REFLECTED[name], args[1], args[0])
    if name in _COMPARE:
        return operators.compare(cx, _COMPARE[name], *args)
    if name in _UNARY:
        return operators.unary(cx, _UNARY[name], *args)
    match name:
        case "__bool__":
            return operators.truth(cx, args[0])
        case "__getitem__":
            return get_item(cx, *args)
        case "__setitem__":
            set_item(cx, *args)
            return Static(None)
        case "__len__":
            return operators.tensor_of(cx, args[0]) and get_item(cx, get_attribute(cx, args[0], "shape"), Static(0))
        case _ if name.startswith("__"):
            cx.refuse("T2C174", f"tensor.{name} in library code", "call it outside of the deployed code")
    if _is_method(func, name):
        return call(cx, get_attribute(cx, args[0], name), args[1:], kwargs)
    return call(cx, Static(func), args, kwargs)


#: Methods for operators that are written in Python; some keep the name of what they wrap, as `__pow__` does.
_OPERATOR_METHODS = {f: n for n, f in vars(torch.Tensor).items() if n[:2] == "__" and isinstance(f, types.FunctionType)}


def _is_method(func: Any, name: str) -> bool:
    if isinstance(func, types.MethodDescriptorType | types.WrapperDescriptorType):
        return True
    qualified = getattr(func, "__qualname__", "")
    of_tensor = qualified.startswith("Tensor.") or vars(torch.Tensor).get(name) is func
    return isinstance(func, types.FunctionType) and of_tensor


def _static_key(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return (type(x).__name__, *map(_static_key, x))
    if isinstance(x, bool | int | float | complex | str | bytes | type(None) | slice):
        return (type(x).__name__, repr(x))
    return ("object", id(x))


def _rebuilt(cls: Any, items: list[Any]) -> Any:
    if cls is torch.Size:
        return torch.Size(items)
    return cls(*items) if hasattr(cls, "_fields") else cls(items)


@contextmanager
def _watched() -> Iterator[None]:
    """While it lasts, calls of functions that give another result each time, or reach outside, raise."""

    def watch(frame: Any, event: str, arg: Any) -> None:
        if event == "c_call" and frame.f_globals.get("__name__", "").partition(".")[0] not in _LOGGING:
            module = getattr(arg, "__module__", None) or type(getattr(arg, "__self__", None)).__module__
            if module in _OUTSIDE or arg in _OPENING:
                sys.setprofile(None)
                raise Untraceable(f"it calls {module}.{getattr(arg, '__name__', arg)}()")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)


@contextmanager
def _own_work() -> Iterator[None]:
    """While it lasts, functions of torch are torch's own, and nothing is watched."""
    watching = sys.getprofile()
    sys.setprofile(None)
    try:
        with torch._C.DisableTorchFunction():
            yield
    finally:
        sys.setprofile(watching)


#: Modules, written in C, of functions whose results differ from run to run, or that act on the machine.
_OUTSIDE = ("time", "_random", "random", "datetime", "_socket", "_posixsubprocess")
_LOGGING = ("logging", "warnings", "linecache", "tokenize", "importlib", "torch")
_OPENING = frozenset({open, input, breakpoint})


@final
class _Mode(TorchFunctionMode):
    """Sends every function of torch to a tracer."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self._tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._tracer.torch_function(func, args, kwargs or {})
