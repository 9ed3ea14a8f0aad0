"""Calls: what is called, binding of arguments, interpretation of Python functions in place."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import libcst as cst
import torch

from torch2cpp.binding import recursion
from torch2cpp.binding.arguments import bind_arguments
from torch2cpp.binding.choices import distributes
from torch2cpp.binding.context import CallSite, Context, Frame, Label
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.generators import generator, is_generator
from torch2cpp.binding.impure import reason_not_to_call
from torch2cpp.binding.kept_objects import holds_state
from torch2cpp.binding.option_iterators import call_with_open
from torch2cpp.binding.values import (
    NONE,
    AbsVal,
    Bound,
    Func,
    Host,
    InstanceObj,
    Iter,
    Native,
    Rt,
    Static,
    Tup,
)
from torch2cpp.binding.variables import local_names
from torch2cpp.diagnostics import Refused
from torch2cpp.frontend.eager import eager
from torch2cpp.frontend.source import NoSource, parse_function
from torch2cpp.hostir.types import StructType


def call(cx: Context, callee: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Calls any abstract callable."""
    out = call_with_open(cx, callee, args, kwargs, call)
    return out if out is not None else _call(cx, callee, args, kwargs)


@distributes
def _call(cx: Context, callee: AbsVal, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    match callee:
        case Native():
            return callee.call(cx, args, kwargs)
        case Func():
            return _call_func(cx, callee, args, kwargs)
        case Bound():
            return call(cx, callee.callee, [callee.self, *args], kwargs)
        case Iter() if callee.kind == "choice":
            return _call_choice(cx, callee, args, kwargs)
        case Static(value):
            return call_static(cx, value, args, kwargs)
    out = call_method_if_any(cx, callee, "__call__", args, kwargs)
    if out is not None:
        return out
    if isinstance(callee, Rt):
        from torch2cpp.binding.optional import held_or_raise
        from torch2cpp.hostir.types import OptionalType

        if isinstance(callee.type, OptionalType):
            inner = held_or_raise(cx, callee, TypeError, "'NoneType' object is not callable")
            return call(cx, inner, args, kwargs)
    cx.refuse("T2C171", f"{describe(cx, callee)} is called", "call functions, modules or methods")


def _call_choice(cx: Context, choice: Iter, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """One of several modules or functions, picked by a number in range: a branch for each."""
    index: Host = choice.extra

    def step(i: int) -> AbsVal:
        if i == len(choice.parts) - 1:
            return call(cx, choice.parts[i], args, kwargs)
        here = cx.host("eq", index.operand, i, label="chosen")
        return branch(cx, here, lambda: call(cx, choice.parts[i], args, kwargs), lambda: step(i + 1), "choice", cx.span)

    return step(0)


def call_static(cx: Context, value: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Calls a Python object known while transpiling."""
    from torch2cpp.binding.builtin_functions import builtin_handler
    from torch2cpp.binding.torch_api import torch_handler
    from torch2cpp.binding.traced.library import is_library

    origin = getattr(value, "__origin__", None)
    if isinstance(origin, type) and type(value).__module__ in ("types", "typing"):
        return call_static(cx, origin, args, kwargs)  # list[int](), typing.Counter()
    handler = torch_handler(value) or builtin_handler(value)
    if handler is not None:
        return handler(cx, args, kwargs)
    wrong = reason_not_to_call(value)
    if wrong is not None:
        cx.refuse("T2C207", *wrong)
    if is_library(value) and not isinstance(value, functools.partial):
        return _call_library(cx, value, args, kwargs)
    return _call_object(cx, value, args, kwargs)


def _call_library(cx: Context, value: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Library code counts as tensor operations; it is interpreted line by line only where that is not possible."""
    from torch2cpp.binding.traced.library import call_if_library

    whole, why_not = call_if_library(cx, value, args, kwargs)
    if why_not is None:
        return whole
    try:
        return _call_object(cx, value, args, kwargs)
    except Refused as refused:
        name = getattr(value, "__qualname__", type(value).__name__)
        first, *rest = refused.diagnostics
        if "as a whole" in first.message:
            raise
        message = f"{first.message}; {name} cannot be taken as a whole either: {why_not}"
        raise Refused([dataclasses.replace(first, message=message), *rest]) from refused


def _call_object(cx: Context, value: Any, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    if isinstance(value, functools.partial):
        bound = {k: Static(v) for k, v in value.keywords.items()}
        return call(cx, Static(value.func), [*map(Static, value.args), *args], bound | kwargs)
    if isinstance(value, types.MethodType):
        return call(cx, Static(value.__func__), [Static(value.__self__), *args], kwargs)
    if isinstance(value, torch.nn.Module):
        return _call_module(cx, eager(value), args, kwargs)
    if isinstance(value, type):
        from torch2cpp.binding.objects import instantiate

        return instantiate(cx, value, args, kwargs)
    if isinstance(value, types.FunctionType):
        from torch2cpp.binding.with_statements import context_of, decorated_generator

        generator_function = decorated_generator(value)
        if generator_function is not None:
            return context_of(cx, Static(generator_function), args, kwargs)
        return call_python(cx, value, args, kwargs)
    if isinstance(value, functools._lru_cache_wrapper):
        return call(cx, Static(value.__wrapped__), args, kwargs)
    method = inspect.getattr_static(type(value), "__call__", None)
    if isinstance(method, types.FunctionType):
        return call(cx, Static(method), [Static(value), *args], kwargs)
    if _all_static(cx, args, kwargs):
        return _run_for_real(cx, value, args, kwargs)
    if isinstance(value, types.MethodDescriptorType) and args and value.__objclass__.__module__ == "builtins":
        from torch2cpp.binding.attributes import get_attribute

        return call(cx, get_attribute(cx, args[0], value.__name__), args[1:], kwargs)  # str.lower(s)
    name = getattr(value, "__qualname__", repr(value))
    cx.refuse("T2C172", f"{name} has no Python source and no C++ meaning here", "use tensor operations or plain Python")


def _all_static(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> bool:
    given = [*args, *kwargs.values()]
    known = all(isinstance(a, Static) and not isinstance(a.value, torch.Tensor) for a in given)
    return known and not any(holds_state(cx, a.value) for a in given)


def _run_for_real(cx: Context, f: Callable[..., Any], args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.operators import static_call

    names = list(kwargs)
    return static_call(
        cx,
        lambda *xs: f(*xs[: len(args)], **dict(zip(names, xs[len(args) :]))),
        *(a.value for a in args),
        *(v.value for v in kwargs.values()),
    )


def _call_module(cx: Context, module: torch.nn.Module, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.traced.retry import lines_or_whole

    def lines() -> AbsVal:
        for hooks in ("_forward_hooks", "_forward_pre_hooks"):
            if getattr(module, hooks, None):
                cx.refuse("T2C173", f"{type(module).__name__} has forward hooks", "remove the hooks before transpiling")
        if isinstance(module, torch.jit.ScriptModule):
            cx.refuse("T2C173", "a scripted module has no Python source", "pass the eager module")
        return call(cx, Static(module.forward), args, kwargs)

    return lines_or_whole(cx, module, lines, args, kwargs)


def call_python(cx: Context, fn: types.FunctionType, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Interprets a Python function in place."""
    plain = _unwrapped(fn)
    try:
        parsed = parse_function(plain)
    except NoSource as error:
        if _all_static(cx, args, kwargs):
            return _run_for_real(cx, fn, args, kwargs)
        cx.refuse("T2C172", f"{fn.__qualname__} has no source: {error}", "define it in a file")
    if plain.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        cx.refuse("T2C205", f"{fn.__qualname__} is a coroutine", "write a plain function")
    defaults: dict[str, AbsVal] = {}
    code = plain.__code__
    names = code.co_varnames[: code.co_argcount]
    for name, d in zip(names[len(names) - len(plain.__defaults__ or ()) :], plain.__defaults__ or ()):
        defaults[name] = Static(d)
    for name, d in (plain.__kwdefaults__ or {}).items():
        defaults[name] = Static(d)
    parent: int | None = None
    cells: dict[str, AbsVal] = {}
    if plain.__closure__:
        for name, cell in zip(code.co_freevars, plain.__closure__):
            try:
                cells[name] = Static(cell.cell_contents)
            except ValueError:
                continue
        parent = cx.new_scope(cells, None)
        cx.closures.add(parent)
    owner = _owner(cells)
    f = _Callee(parsed.node, parsed.source, plain.__qualname__, parent, plain.__globals__, defaults, owner)
    return interpret(cx, f, args, kwargs)


#: Files of torch whose decorators change how a function runs, not what it computes.
_WRAPPERS = ("torch/utils/_contextlib.py", "torch/_dynamo/eval_frame.py", "torch/jit/_trace.py")


def _unwrapped(fn: Any) -> types.FunctionType:
    """The function itself, without `@torch.no_grad()`, `@torch.compile` and their like around it."""
    inner: Any = fn
    while hasattr(inner, "__wrapped__") and inner.__code__.co_filename.replace("\\", "/").endswith(_WRAPPERS):
        inner = inner.__wrapped__
    return inner if isinstance(inner, types.FunctionType) else fn


def _owner(cells: dict[str, AbsVal]) -> type | None:
    """The class a method was defined in: Python keeps it for `super()` in the cell `__class__`."""
    cell = cells.get("__class__")
    if isinstance(cell, Static) and isinstance(cell.value, type):
        return cell.value
    return None


@dataclass
class _Callee:
    node: cst.FunctionDef | cst.Lambda
    source: Any
    name: str
    scope: int | None
    globals: dict[str, Any]
    defaults: dict[str, AbsVal]
    owner: type | None = None


def _call_func(cx: Context, f: Func, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    owner = cx.frame.owner if cx.frames else None
    callee = _Callee(f.node, f.source, f.name, f.scope, f.globals, f.defaults, owner)
    return interpret(cx, callee, args, kwargs)


def interpret(cx: Context, f: _Callee, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """Binds the arguments and runs the body; gives the joined value of all its returns."""
    from torch2cpp.binding.variables import use

    names = bind_arguments(cx, f, args, kwargs)
    if is_generator(f.node):
        return generator(cx, f, names, args[0] if args else None)
    if recursion.is_recursive(cx, f):
        return recursion.call_function(cx, f, names, args[0] if args else None)
    span = cx.span

    def body(label: Label) -> AbsVal:
        return run_function(cx, f, names, args[0] if args else None, label)

    with cx.at(CallSite(span, f.name, cx.inner)):
        return use(cx, labelled(cx, f.name.rpartition(".")[2].strip("<>"), body, span))


def run_function(
    cx: Context, f: Any, names: dict[str, AbsVal], first: AbsVal, label: Label, on_yield: Any = None
) -> AbsVal:
    """Runs a function's body with its arguments bound; its returns leave `label`."""
    from torch2cpp.binding.expressions import evaluate
    from torch2cpp.binding.statements import run_body

    frame = Frame(
        f.name,
        cx.new_scope(names, f.scope),
        f.globals,
        f.source,
        label,
        owner=f.owner,
        first=first,
        local_names=local_names(f.node),
        node=f.node,
        on_yield=on_yield,
    )
    cx.frames.append(frame)
    try:
        if isinstance(f.node, cst.Lambda):
            return evaluate(cx, f.node.body)
        run_body(cx, f.node.body)
        return NONE
    finally:
        cx.frames.pop()


# Methods -----------------------------------------------------------------------------------------


def find_method(cx: Context, obj: AbsVal, name: str) -> AbsVal | None:
    """A method defined by the class of an object, bound to it; None if there is none in Python."""
    from torch2cpp.binding.traced.library import library_method
    from torch2cpp.binding.traced.objects import library_class

    o = resolve(cx, obj)
    if library_class(cx, obj) is not None:
        return library_method(cx, obj, name)
    cls: type | None = None
    if isinstance(o, InstanceObj):
        cls = o.cls
    elif isinstance(o, Rt) and isinstance(o.type, StructType):
        key = cx.struct_key(o.type.name)
        cls = key if isinstance(key, type) else None
    elif isinstance(o, Tup) and o.cls is not None:
        cls = o.cls
    elif isinstance(o, Static) and not isinstance(o.value, type | types.ModuleType | torch.Tensor):
        cls = type(o.value)
        if cls.__module__ == "builtins":
            return None
    if cls is None:
        return None
    member = inspect.getattr_static(cls, name, None)
    if isinstance(member, types.FunctionType):
        return Bound(Static(member), obj)
    return None


def call_method_if_any(
    cx: Context, obj: AbsVal, name: str, args: list[AbsVal], kwargs: dict[str, AbsVal] | None = None
) -> AbsVal | None:
    """Calls a (special) method if the object's class defines it in Python."""
    method = find_method(cx, obj, name)
    return None if method is None else call(cx, method, args, kwargs or {})


def zero_argument_super(cx: Context) -> AbsVal:
    """`super()`"""
    frame = cx.frame
    if frame.owner is None or frame.first is None:
        cx.raise_(RuntimeError, "super(): no arguments")
    return Iter("super", (frame.first,), frame.owner)
