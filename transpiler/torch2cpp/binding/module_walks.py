"""`modules()`, `children()`, `parameters()` and their like: what a model consists of is known while transpiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from torch2cpp.binding.attributes import get_attribute
from torch2cpp.binding.builtin_functions import builtin_handler
from torch2cpp.binding.calls import call_python
from torch2cpp.binding.context import Context
from torch2cpp.binding.values import AbsVal, Static, Tup
from torch2cpp.frontend.eager import eager

Handler = Callable[[Context, list[AbsVal], dict[str, AbsVal]], AbsVal]

#: A name, where it is held, and the name it has there.
Member = tuple[str, nn.Module, str]


def module_walks() -> dict[Any, Handler]:
    """Handlers of the methods of `nn.Module` that go over its parts; a class's own are interpreted as any method."""
    return {
        nn.Module.children: _submodules(nn.Module.children, named=False),
        nn.Module.named_children: _submodules(nn.Module.named_children, named=True),
        nn.Module.modules: _submodules(nn.Module.modules, named=False),
        nn.Module.named_modules: _submodules(nn.Module.named_modules, named=True),
        nn.Module.parameters: _tensors("_parameters", named=False),
        nn.Module.named_parameters: _tensors("_parameters", named=True),
        nn.Module.buffers: _tensors("_buffers", named=False),
        nn.Module.named_buffers: _tensors("_buffers", named=True),
    }


def _submodules(method: Any, named: bool) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        given = _known(args, kwargs)
        if given is None:
            return call_python(cx, method, args, kwargs)
        module, values, names = given
        found = _called(cx, lambda: list(method(module, *values, **names)))
        for each in module.modules():
            _refuse_changing(cx, each, each._modules)
        if named:
            return _iterator(cx, [Tup((Static(n), Static(m))) for n, m in found])
        return _iterator(cx, [Static(m) for m in found])

    return run


def _tensors(table: str, named: bool) -> Handler:
    def run(cx: Context, args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
        given = _known(args, kwargs)
        if given is None:
            method = getattr(nn.Module, f"named{table}" if named else table.removeprefix("_"))
            return call_python(cx, method, args, kwargs)
        module, values, names = given
        options = _called(cx, lambda: (_named_options if named else _plain_options)(*values, **names))
        out: list[AbsVal] = []
        for name, owner, own_name in _members(module, table, **options):
            # As the attribute is read: a buffer that the model writes is state.
            value = get_attribute(cx, Static(owner), own_name)
            out.append(Tup((Static(name), value)) if named else value)
        return _iterator(cx, out)

    return run


def _plain_options(recurse: bool = True) -> dict[str, Any]:
    return {"prefix": "", "recurse": recurse, "remove_duplicate": True}


def _named_options(prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> dict[str, Any]:
    return {"prefix": prefix, "recurse": recurse, "remove_duplicate": remove_duplicate}


def _members(module: nn.Module, table: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[Member]:
    """Those that `named_parameters` and `named_buffers` give, and who holds each."""
    owners = module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, module)]
    seen: set[int] = set()
    for path, owner in owners:
        held: dict[str, torch.Tensor | None] = getattr(owner, table)
        for name, tensor in held.items():
            if tensor is None or id(tensor) in seen:
                continue
            if remove_duplicate:
                seen.add(id(tensor))
            yield f"{path}.{name}" if path else name, owner, name


def _called(cx: Context, f: Callable[[], Any]) -> Any:
    """The result of a call whose arguments are known; what Python raises is raised at run time."""
    try:
        return f()
    except TypeError as error:
        cx.raise_(TypeError, str(error))


def _known(args: list[AbsVal], kwargs: dict[str, AbsVal]) -> tuple[nn.Module, list[Any], dict[str, Any]] | None:
    """Module, arguments and named arguments, where all are known while transpiling."""
    module, *rest = args
    if not isinstance(module, Static) or not isinstance(module.value, nn.Module):
        return None
    if not all(isinstance(a, Static) for a in [*rest, *kwargs.values()]):
        return None
    values = [a.value for a in rest if isinstance(a, Static)]
    return eager(module.value), values, {k: a.value for k, a in kwargs.items() if isinstance(a, Static)}


def _refuse_changing(cx: Context, module: nn.Module, names: Any) -> None:
    for name in names:
        if (str(id(module)), name) in cx.facts.state:
            cx.refuse(
                "T2C113",
                f"{type(module).__name__}.{name} changes in the call, and the modules are listed",
                "keep the model's modules the same, and choose among them with if or an index",
            )


def _iterator(cx: Context, items: list[AbsVal]) -> AbsVal:
    handler = builtin_handler(iter)
    assert handler is not None
    return handler(cx, [Tup(tuple(items))], {})
