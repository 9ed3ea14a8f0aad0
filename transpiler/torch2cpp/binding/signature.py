"""The signature of an entry, from its example inputs: types, varying sizes, optionals, defaults."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from torch2cpp.binding.convert import SCALARS
from torch2cpp.binding.meta import distinct
from torch2cpp.binding.values import WORLDS, Dim, Sym
from torch2cpp.diagnostics import SignatureError
from torch2cpp.hostir.program import REQUIRED
from torch2cpp.hostir.types import (
    NEVER,
    DictType,
    ListType,
    OptionalType,
    RecordType,
    TensorType,
    TupleType,
    Type,
    join,
)
from torch2cpp.hostir.types import NONE as NONE_TYPE


@dataclass
class InputSpec:
    """What the examples show of one input, or of one part of a nested input."""

    type: Type
    #: For a tensor: its sizes.
    dims: tuple[Dim, ...] = ()
    #: For containers: their parts, in order; for an optional: the part that may be missing.
    parts: list[InputSpec] = field(default_factory=list)
    #: The one value of an input that is always None or pinned.
    static: Any = None
    is_static: bool = False
    #: For small tensors of ints or bools: their values in the sample worlds.
    shadow: tuple[torch.Tensor, ...] | None = None
    #: For a list of run-time length: its lengths in the sample worlds.
    lengths: tuple[int, ...] | None = None


@dataclass
class ParamSpec:
    """One parameter of the entry."""

    name: str
    spec: InputSpec
    default: Any
    #: The `*args` or `**kwargs` of the entry that it is a part of.
    part_of: str = ""


class Sizes:
    """Gives dimensions that always have equal sizes one symbol."""

    def __init__(self, worlds: list[int], dynamic: set[tuple[str, int]]) -> None:
        self.worlds, self.dynamic = worlds, dynamic
        self.known: dict[Any, Sym] = {}

    def dim(self, path: str, index: int, sizes: list[int | None]) -> Dim:
        """The dimension with these sizes in the examples (None where the tensor is missing)."""
        present = [s for s in sizes if s is not None]
        if len(set(present)) == 1 and (path, index) not in self.dynamic:
            return present[0]
        key = tuple(sizes) if len(set(present)) > 1 else (*sizes, path if present[0] < 2 else None)
        if key not in self.known:
            base = [sizes[w] if sizes[w] is not None else present[0] for w in self.worlds]
            while len(base) < WORLDS:
                base.append((base[0] or 0) + 3 * len(base))
            self.known[key] = Sym(distinct(int(b or 0) for b in base))
        return self.known[key]


def own_signature(function: Any) -> inspect.Signature:
    """The parameters of a function as it is: of a decorator's wrapper, not of the function that it wraps."""
    return inspect.signature(function, follow_wrapped=False)


def bound_examples(
    function: Any, examples: list[Any], skip_self: bool
) -> tuple[inspect.Signature, list[dict[str, Any]]]:
    """Each example as parameter name -> value, defaults filled in. Raises SignatureError."""
    signature = own_signature(function)
    params = list(signature.parameters.values())
    if skip_self and params and params[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        signature = signature.replace(parameters=params[1:])
    out = []
    for i, example in enumerate(examples):
        args = example if isinstance(example, tuple) else () if isinstance(example, dict) else (example,)
        kwargs = example if isinstance(example, dict) else {}
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise SignatureError(f"example {i} does not fit the entry's parameters: {error}") from error
        bound.apply_defaults()
        out.append(dict(bound.arguments))
    return signature, out


def choose_worlds(bound: list[dict[str, Any]]) -> list[int]:
    """Which examples serve as sample worlds: first the one with the fewest sizes of 0 and 1."""

    def shapes(value: Any) -> list[tuple[int, ...]]:
        if isinstance(value, torch.Tensor):
            return [tuple(value.shape)]
        if isinstance(value, list | tuple):
            return [s for v in value for s in shapes(v)] or [(0,)]
        if isinstance(value, dict):
            return [s for v in value.values() for s in shapes(v)]
        return []

    def score(example: dict[str, Any]) -> tuple[int, int]:
        sizes = [n for v in example.values() for s in shapes(v) for n in s]
        return (sum(n == 0 for n in sizes) * 100 + sum(n == 1 for n in sizes), -len(sizes))

    order = sorted(range(len(bound)), key=lambda i: score(bound[i]))
    chosen: list[int] = []
    seen: set[Any] = set()
    for i in order:
        key = repr([shapes(v) for v in bound[i].values()])
        if key not in seen:
            seen.add(key)
            chosen.append(i)
        if len(chosen) == WORLDS:
            break
    return chosen


def infer(path: str, values: list[Any], sizes: Sizes) -> InputSpec:
    """The type of one input from its values in all examples. Raises SignatureError when they do not fit."""
    present = [v for v in values if v is not None]
    if not present:
        return InputSpec(NONE_TYPE, static=None, is_static=True)
    if len(present) < len(values):
        inner = infer(path, present, _subset(sizes, values))
        return InputSpec(OptionalType(inner.type), parts=[inner])
    first = values[0]
    if all(isinstance(v, torch.Tensor) for v in values):
        return _tensor(path, values, sizes)
    if all(type(v) in SCALARS for v in values):
        return _scalar(path, values)
    if all(isinstance(v, dict) for v in values):
        return _dict(path, values, sizes)
    if all(isinstance(v, tuple) and hasattr(v, "_fields") for v in values):
        parts = [infer(f"{path}.{n}", [v[i] for v in values], sizes) for i, n in enumerate(first._fields)]
        fields = tuple((n, p.type) for n, p in zip(first._fields, parts))
        return InputSpec(RecordType("namedtuple", type(first).__name__, fields), parts=parts)
    if all(isinstance(v, list) for v in values) or all(isinstance(v, tuple) for v in values):
        return _sequence(path, values, sizes)
    if all(v is first or (type(v) is type(first) and not isinstance(v, torch.Tensor | dict | list | tuple)
                          and v == first) for v in values):  # fmt: skip
        return InputSpec(NONE_TYPE, static=first, is_static=True)
    kinds = ", ".join(sorted({type(v).__name__ for v in values}))
    raise SignatureError(f"input {path!r} is {kinds} in different examples")


def _subset(sizes: Sizes, values: list[Any]) -> Sizes:
    kept = [i for i, v in enumerate(values) if v is not None]
    worlds = [kept.index(w) if w in kept else 0 for w in sizes.worlds]
    inner = Sizes(worlds, sizes.dynamic)
    inner.known = {}
    return inner


def _tensor(path: str, values: list[torch.Tensor], sizes: Sizes) -> InputSpec:
    dtypes, ranks = {v.dtype for v in values}, {v.dim() for v in values}
    if len(dtypes) > 1 or len(ranks) > 1:
        kinds = ", ".join(sorted({f"{v.dtype} of rank {v.dim()}" for v in values}))
        raise SignatureError(f"input {path!r} is {kinds} in different examples")
    dims = tuple(sizes.dim(path, i, [v.shape[i] for v in values]) for i in range(values[0].dim()))
    t = TensorType(values[0].dtype, tuple(d if isinstance(d, int) else None for d in dims))
    return InputSpec(t, dims, shadow=_shadow(values, sizes, dims))


def _shadow(values: list[torch.Tensor], sizes: Sizes, dims: tuple[Dim, ...]) -> tuple[torch.Tensor, ...] | None:
    """Example values, repeated where there are fewer examples than sample worlds."""
    if values[0].is_floating_point() or values[0].is_complex() or any(v.numel() > 4096 for v in values):
        return None
    chosen = [values[w] for w in sizes.worlds if w < len(values)] or [values[0]]
    return tuple(chosen[min(w, len(chosen) - 1)].clone() for w in range(WORLDS))


def _scalar(path: str, values: list[Any]) -> InputSpec:
    kinds = {type(v) for v in values}
    if len(kinds) > 1:
        raise SignatureError(
            f"input {path!r} is {' and '.join(sorted(k.__name__ for k in kinds))} in different examples"
        )
    return InputSpec(SCALARS[kinds.pop()])


def _dict(path: str, values: list[dict[Any, Any]], sizes: Sizes) -> InputSpec:
    keys = list(dict.fromkeys(k for v in values for k in v))
    if not all(isinstance(k, str) for k in keys) or any(len(v) != len(keys) for v in values):
        return _table(path, values, keys, sizes)
    parts = [infer(f"{path}.{k}", [v[k] for v in values], sizes) for k in keys]
    fields = tuple((k, p.type) for k, p in zip(keys, parts))
    return InputSpec(RecordType("dict", "", fields), parts=parts)


def _table(path: str, values: list[dict[Any, Any]], keys: list[Any], sizes: Sizes) -> InputSpec:
    """A dict whose keys are data: of one type, and so are its values."""
    kinds = {type(k) for k in keys}
    if len(kinds) != 1 or not kinds <= set(SCALARS):
        raise SignatureError(f"input {path!r} is a dict with keys of several types, or neither numbers nor strings")
    try:
        part = infer(f"{path}{{}}", [x for v in values for x in v.values()], Sizes([0], sizes.dynamic))
    except SignatureError as error:
        only = next((k for k in keys if any(k not in v for v in values)), keys[0])
        raise SignatureError(
            f"input {path!r} has the key {only!r} in some examples only, and values of several types: {error}"
        ) from error
    return InputSpec(DictType(SCALARS[kinds.pop()], part.type), parts=[part])


def _sequence(path: str, values: list[Any], sizes: Sizes) -> InputSpec:
    lengths = {len(v) for v in values}
    scalars = all(type(x) in SCALARS or isinstance(x, list) for v in values for x in v)
    is_list = isinstance(values[0], list)
    if len(lengths) == 1 and not (is_list and scalars):
        n = lengths.pop()
        parts = [infer(f"{path}.{i}", [v[i] for v in values], sizes) for i in range(n)]
        return InputSpec(TupleType(tuple(p.type for p in parts), "list" if is_list else "tuple"), parts=parts)
    elem: Type | None = NEVER
    flat = [x for v in values for x in v]
    kind: Literal["list", "tuple"] = "list" if is_list else "tuple"
    if not flat:
        return InputSpec(ListType(NEVER, kind))
    inner_sizes = Sizes([0], sizes.dynamic)
    part = infer(f"{path}[]", flat, inner_sizes)
    elem = join(NEVER, part.type)
    assert elem is not None
    return InputSpec(ListType(elem, kind), parts=[part], lengths=distinct(_in_worlds([len(v) for v in values], sizes)))


def _in_worlds(values: list[int], sizes: Sizes) -> list[int]:
    chosen = [values[w] for w in sizes.worlds if w < len(values)] or values[:1]
    while len(chosen) < WORLDS:
        chosen.append(chosen[0] + len(chosen))
    return chosen


def dynamic_dims(dynamic_shapes: Any, names: list[str]) -> set[tuple[str, int]]:
    """(input path, dimension) pairs declared to vary, from the form that `torch.export` takes."""
    return set(declared_dims(dynamic_shapes, names))


def declared_dims(dynamic_shapes: Any, names: list[str]) -> dict[tuple[str, int], Any]:
    """The same with what they are declared as: a `torch.export.Dim` of a name, or a hint without one."""
    out: dict[tuple[str, int], Any] = {}

    def visit(path: str, node: Any) -> None:
        if isinstance(node, dict) and all(isinstance(k, int) for k in node):
            out.update({(path, i): d for i, d in node.items() if d is not None and not isinstance(d, int)})
        elif isinstance(node, dict):
            for k, x in node.items():
                visit(f"{path}.{k}" if path else str(k), x)
        elif isinstance(node, list | tuple):
            whole = all(not isinstance(x, dict | list | tuple) for x in node)
            for i, x in enumerate(node):
                if not whole:
                    visit(f"{path}.{i}" if path else names[i], x)
                elif x is not None and not isinstance(x, int):
                    out[path, i] = x

    if isinstance(dynamic_shapes, dict):
        for k, x in dynamic_shapes.items():
            visit(k, x)
    elif isinstance(dynamic_shapes, list | tuple):
        for n, x in zip(names, dynamic_shapes):
            visit(n, x)
    return out


def varying_dims(bound: list[dict[str, Any]]) -> set[tuple[str, int]]:
    """(input path, dimension) pairs whose size differs between examples of equal rank."""
    seen: dict[tuple[str, int], list[torch.Size]] = {}

    def visit(path: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            seen.setdefault((path, value.dim()), []).append(value.shape)
        elif isinstance(value, dict):
            for k, x in value.items():
                visit(f"{path}.{k}", x)
        elif isinstance(value, list | tuple):
            for i, x in enumerate(value):
                visit(f"{path}.{i}", x)

    for example in bound:
        for name, value in example.items():
            visit(name, value)
    return {(path, i) for (path, rank), shapes in seen.items() for i in range(rank) if len({s[i] for s in shapes}) > 1}


def kinds_of(
    function: Any, examples: list[Any], skip_self: bool, dynamic_shapes: Any, pin: dict[str, Any]
) -> list[list[ParamSpec]]:
    """The parameters of an entry, once per kind of input that one function can carry.

    An example joins the first kind it fits (same ranks, dtypes and structure). Raises SignatureError.
    """
    if not examples:
        raise SignatureError("at least one example is needed")
    signature, bound = bound_examples(function, examples, skip_self)
    dynamic = dynamic_dims(dynamic_shapes, list(signature.parameters)) | varying_dims(bound)
    wrapped = _wrapped_names(function, signature, skip_self)
    groups: list[list[dict[str, Any]]] = []
    for example in bound:
        for group in groups:
            try:
                _params(signature, [*group, example], dynamic, pin, wrapped)
            except SignatureError:
                continue
            group.append(example)
            break
        else:
            _params(signature, [example], dynamic, pin, wrapped)
            groups.append([example])
    return [_params(signature, group, dynamic, pin, wrapped) for group in groups]


def _params(
    signature: inspect.Signature,
    bound: list[dict[str, Any]],
    dynamic: set[tuple[str, int]],
    pin: dict[str, Any],
    wrapped: list[str],
) -> list[ParamSpec]:
    sizes = Sizes(choose_worlds(bound), dynamic)
    out = []
    for name, p in signature.parameters.items():
        default = REQUIRED if p.default is inspect.Parameter.empty else p.default
        if p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            out += _spread(name, [b.get(name, ()) for b in bound], sizes, wrapped)
            continue
        if name in pin:
            out.append(ParamSpec(name, InputSpec(NONE_TYPE, static=pin[name], is_static=True), pin[name]))
            continue
        spec = infer(name, [b.get(name) for b in bound], sizes)
        if spec.is_static and default is REQUIRED:
            default = spec.static if spec.static is not None else REQUIRED
        out.append(ParamSpec(name, spec, default))
    return out


def _wrapped_names(function: Any, signature: inspect.Signature, skip_self: bool) -> list[str]:
    """What the function inside of a decorator's wrapper calls the items of the wrapper's `*args`."""
    try:
        inner = list(inspect.signature(function).parameters.values())[skip_self:]
    except ValueError:
        return []
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    first = next((i for i, p in enumerate(own) if p.kind is inspect.Parameter.VAR_POSITIONAL), len(own))
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in inner if p.kind in positional][first:]
    return [] if set(names) & {p.name for p in own} else names


def _spread(name: str, values: list[Any], sizes: Sizes, wrapped: list[str]) -> list[ParamSpec]:
    """`*args` and `**kwargs` as the arguments that the examples give; other numbers and names are another kind."""

    def named(given: Any) -> dict[str, Any]:
        if isinstance(given, dict):
            return given
        return {wrapped[i] if i < len(wrapped) else f"{name}_{i}": x for i, x in enumerate(given)}

    all_named = [named(v) for v in values]
    keys = list(all_named[0])
    if any(list(v) != keys for v in all_named):
        raise SignatureError(f"{name!r} has other arguments in different examples")
    return [ParamSpec(k, infer(k, [v[k] for v in all_named], sizes), REQUIRED, name) for k in keys]
