"""Seeds, states and generators of random numbers.

A `torch.Generator` is an object of a class of our own (in_python/generators.py) that keeps its state in a
tensor. To draw from it, the default generator takes that state for the time of the draw.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from torch2cpp.binding.context import Context, tensor_type
from torch2cpp.binding.convert import describe, resolve
from torch2cpp.binding.in_python import generators
from torch2cpp.binding.stand_ins import stand_in
from torch2cpp.binding.values import NONE, UNBOUND, AbsVal, Array, Host, Meta, Rt, Static, Tensor
from torch2cpp.hostir.types import OptionalType

Handler = Callable[[Context, list[AbsVal], dict[str, AbsVal]], AbsVal]

#: Bytes of a generator's state.
_STATE = 5056
_SEED_MIN, _SEED_MAX = -(2**63), 2**64 - 1


def handlers() -> dict[Any, Handler]:
    """What the functions of `torch.random` mean, by `unwrapped` functions."""
    table: dict[Any, Handler] = {
        torch.random.manual_seed: _manual_seed,
        torch.random.get_rng_state: _get_state,
        torch.random.set_rng_state: _set_state,
        torch.random.initial_seed: _initial_seed,
        torch.random.seed: _unseeded,
        torch.random.fork_rng: _fork,
        torch.cuda.manual_seed: _nothing,
        torch.cuda.manual_seed_all: _nothing,
    }
    return {unwrapped(f): handler for f, handler in table.items()} | {torch.Generator: _generator}


def unwrapped(f: Any) -> Any:
    """A function of torch's random numbers itself: torch wraps them, some of them only when it compiles."""
    from_there = getattr(f, "__module__", None) in ("torch.random", "torch.cuda.random")
    return inspect.unwrap(f) if from_there and callable(f) else f


def _manual_seed(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.builtin_table import TABLE

    given = args[0] if args else kwargs["seed"]
    seed = TABLE[int](cx, [given], {})
    if isinstance(seed, Static):
        if not _SEED_MIN <= seed.value <= _SEED_MAX:
            cx.raise_(ValueError, "Overflow when unpacking long long")
        cx.effect("random.seed", seed.value - 2**64 if seed.value >= 2**63 else seed.value)
    else:
        assert isinstance(seed, Host)
        cx.effect("random.seed", seed.operand)
    return Static(torch.default_generator)


def _get_state(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    meta = Meta(torch.uint8, (_STATE,))
    return Tensor(cx.host("random.state", type_=tensor_type(meta), label="state"), meta)


def _set_state(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.operators import tensor_of

    given = args[0] if args else kwargs["new_state"]
    state = tensor_of(cx, resolve(cx, given))
    if state is None:
        cx.refuse("T2C199", f"torch.set_rng_state({describe(cx, given)})", "pass a tensor of torch.get_rng_state()")
    cx.effect("random.set_state", state.operand)
    return NONE


def _initial_seed(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return _in_python(cx, generators.seed_in, [_get_state(cx, [], {})])


def _unseeded(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    cx.refuse("T2C199", "torch.seed(), which differs from run to run", "choose a seed for torch.manual_seed")


def _fork(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.with_statements import context_of

    return context_of(cx, Static(generators.fork_rng), args, kwargs)


def _nothing(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    return NONE


def _generator(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    from torch2cpp.binding.objects import instantiate

    device = args[0] if args else kwargs.get("device", Static("cpu"))
    if not isinstance(device, Static) or torch.device(device.value).type != "cpu":
        cx.refuse("T2C198", f"torch.Generator({describe(cx, device)})", "make generators on the CPU")
    return instantiate(cx, generators.Generator, [], {})


def _in_python(cx: Context, body: Any, args: list[AbsVal]) -> AbsVal:
    from torch2cpp.binding.calls import call_python

    return call_python(cx, body, args, {})


def draw(cx: Context, generator: AbsVal, numbers: Callable[[], AbsVal]) -> AbsVal:
    """What `numbers` gives, drawn from the generator; None is the default one."""
    from torch2cpp.binding.control import branch
    from torch2cpp.binding.objects import python_class
    from torch2cpp.binding.optional import held, is_none

    o = resolve(cx, generator)
    if isinstance(o, Static) and (o.value is None or o.value is torch.default_generator):
        return numbers()
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        missing = is_none(cx, o)
        if isinstance(missing, Static):
            return numbers() if missing.value else draw(cx, held(cx, o), numbers)
        return branch(cx, missing.operand, numbers, lambda: draw(cx, held(cx, o), numbers), "generator", cx.span)
    if isinstance(o, Static) and isinstance(o.value, torch.Generator):
        generator = stand_in(cx, o.value)
    if isinstance(generator, Array | Tensor) or not _draws(python_class(cx, generator)):
        cx.refuse("T2C199", f"generator={describe(cx, generator)}", "pass a torch.Generator or None")
    return _drawn(cx, generator, numbers)


def _draws(cls: type | None) -> bool:
    return cls is not None and issubclass(cls, generators.Generator)


def _drawn(cx: Context, generator: AbsVal, numbers: Callable[[], AbsVal]) -> AbsVal:
    from torch2cpp.binding.generators import GeneratorCall
    from torch2cpp.binding.values import Iter, ScopeObj
    from torch2cpp.binding.variables import set_name, use
    from torch2cpp.binding.with_generators import run_context

    scope = cx.new_scope({"drawn": UNBOUND}, None)
    made = _in_python(cx, generators.drawing, [generator])
    assert isinstance(made, Iter) and isinstance(made.extra, GeneratorCall)
    run_context(cx, made.extra, lambda _: set_name(cx, scope, "drawn", numbers()), trusted=True)
    names = cx.state.heap[scope]
    assert isinstance(names, ScopeObj)
    return use(cx, names.names["drawn"])
