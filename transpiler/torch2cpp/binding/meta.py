"""Metadata of tensor operations: dtype, rank, and which sizes vary.

Every varying size carries its value in a few *sample worlds*. An operation is evaluated on meta
tensors once per world; a result's size is constant when it is the same in all worlds, and varies
otherwise. World 0 has the sizes of a real example, so relations between inputs hold there; the
others differ in every varying size. Sizes decided by data (how many elements a mask selects) are
made up; when an operation cannot take the made-up size, better ones are tried and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.size_search import key_of, search
from torch2cpp.binding.values import WORLDS, Dim, Host, Meta, Static, Sym, Tensor
from torch2cpp.hostir.ops import leaves, map_leaves

#: Made-up sizes: different from each other and from most real ones, small enough to slice with.
DEFAULT_HINTS = (4, 3, 5)


class OpFails(Exception):
    """The operation raises for every sample size."""

    #: What it raises where sizes have nothing to do with it.
    anyhow: Exception | None = None


def fresh_sym(cx: Context, site: Any, hints: tuple[int, ...] = DEFAULT_HINTS, free: bool = True) -> Sym:
    """A varying size; one decided by data is `free`."""
    if free:
        hints = cx.facts.hints.get(cx.seen(site), hints)
    # a size that is the same in all worlds would pass for a constant
    return Sym(distinct(hints) if len(set(hints)) == 1 else hints, free, site)


def distinct(hints: Iterable[int]) -> tuple[int, ...]:
    """Hints of a run-time int, made to differ between worlds so that it is never taken for a constant."""
    out = list(hints)
    for w in range(1, WORLDS):
        while out[w] in out[:w]:
            out[w] += w
    return tuple(out)


def hints_of(v: Any) -> tuple[Any, ...] | None:
    """A number's value in the sample worlds, where it is known."""
    if isinstance(v, Host):
        return v.hints
    if isinstance(v, Static) and isinstance(v.value, int | float):
        return (v.value,) * WORLDS
    return None


def size_in(dim: Dim, world: int) -> int:
    """A size in one world."""
    return dim if isinstance(dim, int) else dim.hints[world]


def _concrete(leaf: Any, world: int) -> Any:
    if isinstance(leaf, Tensor):
        shape = [size_in(d, world) for d in leaf.meta.dims]
        return torch.empty(shape, dtype=leaf.meta.dtype, device="meta")
    if isinstance(leaf, Host):
        if leaf.type.kind == "int":
            return distinct(leaf.hints)[world] if leaf.hints else DEFAULT_HINTS[world]
        if leaf.type.kind == "float" and leaf.hints:
            return leaf.hints[world]
        return {"float": 0.5, "bool": True, "str": "", "complex": 1j}[leaf.type.kind]
    if isinstance(leaf, torch.device):
        return torch.device("meta")
    return leaf


def _syms(tree: Any) -> list[Sym]:
    found: dict[int, Sym] = {}
    for leaf in leaves(tree):
        if isinstance(leaf, Tensor):
            for d in leaf.meta.dims:
                if isinstance(d, Sym):
                    found[id(d)] = d
    return list(found.values())


def _has_host_int(tree: Any) -> bool:
    return any(isinstance(x, Host) and x.type.kind == "int" for x in leaves(tree))


_cache: dict[Any, Any] = {}


def evaluate(cx: Context, call: Callable[..., Any], args: Any, kwargs: Any, key: Any) -> Any:
    """Runs `call` on meta tensors in every world; gives its output tree with `Meta` for tensors.

    Raises OpFails when no sizes are found that it takes.
    """
    varying = bool(_syms((args, kwargs))) or _has_host_int((args, kwargs))
    outs: dict[int, Any] = {}
    draws: dict[int, dict[int, int]] = {}
    error: Exception | None = None
    for w in range(WORLDS) if varying else range(1):
        try:
            outs[w] = _run(call, args, kwargs, lambda leaf, w=w: _concrete(leaf, w), key)  # type: ignore[misc]
        except Exception as e:  # any operator error means: not with these sizes
            error = error or e
    if 0 not in outs and varying:
        _repair(cx, call, args, kwargs)
        if not outs:
            found = search(
                list(leaves((args, kwargs))),
                lambda concrete: _run(call, args, kwargs, concrete, key),
                lambda leaf: _concrete(leaf, 0),
            )
            outs = {i: out for i, (out, _) in enumerate(found)}
            draws = {i: sizes for i, (_, sizes) in enumerate(found)}
    if not outs:
        failure = OpFails(str(error).split("\n")[0])
        if isinstance(error, RuntimeError | TypeError) and not any(c.isdigit() for c in str(error)):
            failure.anyhow = error
        raise failure from error
    if varying and not draws:
        _probe(call, args, kwargs, key, outs)
    ints = [x for x in leaves((args, kwargs)) if isinstance(x, Host) and x.type.kind == "int"]
    return _combine(cx, outs, [*_syms((args, kwargs)), *ints], varying, draws, _constants((args, kwargs)))


def _constants(tree: Any) -> set[int]:
    """The ints and the known sizes among operands."""
    found = list(leaves(tree))
    sizes = {d for x in found if isinstance(x, Tensor) for d in x.meta.dims if isinstance(d, int)}
    return sizes | {x for x in found if type(x) is int}


def _probe(call: Callable[..., Any], args: Any, kwargs: Any, key: Any, outs: dict[int, Any]) -> None:
    """Changes one size or int at a time: a result's size that then changes is no constant.

    The sample worlds may agree by chance (`min(n, 8)` with every sample above 8).
    """
    found = list(leaves((args, kwargs)))
    syms = _syms((args, kwargs))
    # an int that is the size of a tensor here cannot change without it
    free = [x for x in found if isinstance(x, Host) and x.type.kind == "int" and not any(x.dim is d for d in syms)]
    movable: list[Any] = [*syms, *free]
    for moved in movable:
        for by in (1, 3, -1, 8):

            def concrete(leaf: Any, moved: Any = moved, by: int = by) -> Any:
                if isinstance(leaf, Tensor):
                    shape = [max(0, size_in(d, 0) + (by if d is moved else 0)) for d in leaf.meta.dims]
                    return torch.empty(shape, dtype=leaf.meta.dtype, device="meta")
                if isinstance(leaf, Host) and isinstance(moved, Sym) and leaf.dim is moved:
                    return max(0, size_in(moved, 0) + by)
                if isinstance(leaf, Host) and isinstance(moved, Host) and leaf.operand is moved.operand:
                    return _concrete(leaf, 0) + by
                return _concrete(leaf, 0)

            try:
                out = _run(call, args, kwargs, concrete, key)
            except Exception:  # the operation does not take that size
                continue
            outs[WORLDS + len(outs)] = out


def _run(call: Callable[..., Any], args: Any, kwargs: Any, concrete: Callable[[Any], Any], key: Any) -> Any:
    a, k = map_leaves((args, kwargs), concrete)
    ckey = (key, _freeze((a, k)))
    hit = _cache.get(ckey)
    if hit is None:
        with torch.no_grad():
            try:
                out = call(*a, **k)
            except NotImplementedError:
                out = _for_real(call, a, k)
        hit = _Out(_plain(out))
        _cache[ckey] = hit
    return hit.tree


#: Operators whose results take sizes that data decides, without saying so.
_BY_DATA = ("aten::linalg_lstsq",)


def _for_real(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Operators that meta tensors do not know run on random data; where data decides the sizes, other rules hold."""
    schema = getattr(call, "_schema", None)
    by_data = torch.Tag.dynamic_output_shape in getattr(call, "tags", ())
    if schema is None or by_data or schema.name in _BY_DATA:
        raise NotImplementedError("its sizes depend on data")

    def real(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return torch.rand(leaf.shape).to(leaf.dtype)
        return torch.device("cpu") if isinstance(leaf, torch.device) else leaf

    state = torch.random.get_rng_state()
    try:
        return call(*map_leaves(args, real), **map_leaves(kwargs, real))
    finally:
        torch.random.set_rng_state(state)


class _Out:
    __slots__ = ("tree",)

    def __init__(self, tree: Any) -> None:
        self.tree = tree


def _plain(out: Any) -> Any:
    if isinstance(out, torch.Tensor):
        return _TensorLeaf(out.dtype, tuple(out.shape))
    if isinstance(out, tuple | list):
        return type(out)(map(_plain, out)) if type(out) in (tuple, list) else tuple(map(_plain, out))
    return out


class _TensorLeaf:
    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape


def _freeze(tree: Any) -> Any:
    if isinstance(tree, torch.Tensor):
        return (tree.dtype, tuple(tree.shape))
    if isinstance(tree, tuple | list):
        return tuple(map(_freeze, tree))
    if isinstance(tree, dict):
        return tuple((k, _freeze(v)) for k, v in tree.items())
    if isinstance(tree, float | int | bool):
        return (type(tree).__name__, repr(tree))
    return repr(tree)


def _combine(
    cx: Context,
    outs: dict[int, Any],
    inputs: list[Sym | Host],
    varying: bool,
    draws: dict[int, dict[int, int]],
    constants: set[int],
) -> Any:
    first = next(iter(outs.values()))

    def merge(path: tuple[int, ...], node: Any) -> Any:
        if isinstance(node, tuple | list):
            return [merge((*path, i), x) for i, x in enumerate(node)]
        if not isinstance(node, _TensorLeaf):
            return node
        # Some operators give something else for nothing at all, such as a result without dimensions.
        every = {w: _follow(tree, path) for w, tree in outs.items()}
        others = {w: x for w, x in every.items() if isinstance(x, _TensorLeaf) and len(x.shape) == len(node.shape)}
        dims: list[Dim] = []
        for i in range(len(node.shape)):
            sizes = {w: leaf.shape[i] for w, leaf in others.items()}
            dims.append(_dim(sizes, inputs, varying, draws, constants))
        return Meta(node.dtype, tuple(dims))

    return merge((), first)


def _follow(tree: Any, path: tuple[int, ...]) -> Any:
    for i in path:
        tree = tree[i]
    return tree


def _dim(
    sizes: dict[int, int],
    inputs: list[Sym | Host],
    varying: bool,
    draws: dict[int, dict[int, int]],
    constants: set[int],
) -> Dim:
    """One size of a result from its values in the worlds that worked (and, beyond them, in the probes)."""
    worlds = [(w, n) for w, n in sizes.items() if w < WORLDS]
    same = len(set(sizes.values())) == 1
    if draws:
        for x in inputs:  # whose size it is in all assignments that were found
            if len(sizes) > 1 and not same and all(draws[w].get(key_of(x)) == n for w, n in sizes.items()):
                return x if isinstance(x, Sym) else x.dim if isinstance(x.dim, Sym) else Sym(_hints(sizes))
        if not same or len(sizes) < 2:
            return Sym(_hints(sizes))
        # What was the same in all assignments may be what the size follows from.
        still = [found for x in inputs if len(found := {each.get(key_of(x)) for each in draws.values()}) == 1]
        n = next(iter(sizes.values()))
        return n if not still or (n in constants and {n} not in still) else Sym(_hints(sizes))
    # One world alone proves little: there, a size that an input has too is that input's.
    if same and (len(worlds) > 1 or not varying):
        return next(iter(sizes.values()))
    if 0 in sizes:
        for x in inputs:
            hints = x.hints if isinstance(x, Sym) else distinct(x.hints or DEFAULT_HINTS)
            if all(hints[w] == n for w, n in worlds):
                return x if isinstance(x, Sym) else x.dim if isinstance(x.dim, Sym) else Sym(hints)
    if same and len(sizes) > 1:
        return next(iter(sizes.values()))
    return Sym(_hints(sizes))


def _hints(sizes: dict[int, int]) -> tuple[int, ...]:
    base = sizes.get(0, next(iter(sizes.values())))
    return distinct(sizes.get(w, base + 2 * w) for w in range(WORLDS))


def _repair(cx: Context, call: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Looks for sizes of the free dimensions with which the operation works, and starts again with them."""
    syms = _syms((args, kwargs))
    free = [s for s in syms if s.free and s.site is not None and s.site not in cx.facts.hints]
    sizes = {size_in(d, 0) for leaf in leaves((args, kwargs)) if isinstance(leaf, Tensor) for d in leaf.meta.dims}
    sizes |= {1}
    for group in [*([f] for f in free), free] if len(free) > 1 else [free]:
        for candidate in sorted(sizes, reverse=True):
            if group and _works(call, args, kwargs, group, candidate):
                donor = next((s for s in syms if s not in group and s.hints[0] == candidate), None)
                hints = donor.hints if donor else (candidate, candidate + 1, candidate + 2)
                cx.facts.hints.update({s.site: hints for s in group})
                raise Restart(*(s.site for s in group))


def _works(call: Callable[..., Any], args: Any, kwargs: Any, group: list[Sym], candidate: int) -> bool:
    def concrete(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            shape = [candidate if d in group else size_in(d, 0) for d in leaf.meta.dims]
            return torch.empty(shape, dtype=leaf.meta.dtype, device="meta")
        return _concrete(leaf, 0)

    a, k = map_leaves((args, kwargs), concrete)
    try:
        with torch.no_grad():
            call(*a, **k)
    except Exception:  # not this one either
        return False
    return True


def merge_dims(a: Dim, b: Dim) -> Dim:
    """The dimension that two paths leave; its hints are those of the first."""
    if a is b or (isinstance(a, int) and a == b):
        return a
    hints = a.hints if isinstance(a, Sym) else distinct((a, *(b.hints[1:] if isinstance(b, Sym) else (b, b + 2))))
    free = (isinstance(a, Sym) and a.free) or (isinstance(b, Sym) and b.free)
    site = next((d.site for d in (a, b) if isinstance(d, Sym) and d.free), None)
    return Sym(hints, free, site)


def merge_meta(a: Meta, b: Meta) -> Meta | None:
    """What is known of a tensor that is either; None when dtype or rank differ."""
    if a.dtype != b.dtype or len(a.dims) != len(b.dims):
        return None
    return Meta(a.dtype, tuple(merge_dims(x, y) for x, y in zip(a.dims, b.dims)))
