"""Whether a condition on sizes is settled by what a path decided before.

The same question is asked again and again in library code (`if length > 1`, in every layer). The
path so far is run on meta tensors for many sizes, drawn independently of each other, small ones and
those around the constants that the code compares with; only sizes that lead along this path count.
Where all of them answer alike, so does every size.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import torch

from torch2cpp.binding.traced.record import Step
from torch2cpp.binding.values import Host, Sym, Tensor
from torch2cpp.hostir.interpret import evaluate_host
from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, leaves, map_leaves

#: Draws of sizes at most, and how many of them must lead along the path for an answer.
DRAWS = 2000
MORE = 400
#: Draws from which sizes are sought that answer otherwise.
SOUGHT = 4
ENOUGH = 12
#: Host operations that need no more of a tensor than its sizes.
_OF_SIZES = ("tensor.size", "tensor.numel")
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 33, 64)


#: A drawn value for each size or number that varies.
Sizes = dict[int, int]


class NoSizes(Exception):
    """No sizes lead along the path."""


class _Unknown(Exception):
    """A value that does not follow from sizes."""


@final
class Samples:
    """Draws of sizes that lead along one path, each run as far as the path goes."""

    def __init__(self, inputs: Sequence[Tensor | Host], alike: Mapping[int, int]) -> None:
        """`alike` gives varying sizes (by id) that are known to be equal one number."""
        self._inputs = list(inputs)
        self._alike = alike
        self._rng = random.Random(0)
        self._constants: set[int] = set()
        self._drawn = 0
        self._tried: set[frozenset[tuple[int, int]]] = set()
        #: Sizes with the values that follow from them.
        self._live: list[tuple[Sizes, dict[Value, Any]]] = []
        self._done = 0

    def settled(self, steps: Sequence[Step], condition: Value) -> bool | None:
        """What the condition is for all draws; None where that differs or is unknown.

        Few draws are enough where many were tried: a path that says `n == 1` leaves little to vary. Raises
        NoSizes where none of very many leads along the path.
        """
        fresh = steps[self._done :]
        self._live = [(sizes, env) for sizes, env in self._live if _advance(env, fresh)]
        self._done = len(steps)
        found = {n for s in fresh for op in s.ops if isinstance(op, HostOp) for n in leaves(op.args) if type(n) is int}
        if found - self._constants:
            self._constants |= {n for n in found if abs(n) < 1 << 20}
            self._drawn = 0  # sizes around the new constants are needed too
        want = ENOUGH + 4 * len(self._constants)
        new = 0
        if len(self._live) < ENOUGH:
            self._drawn = min(self._drawn, DRAWS - MORE)
        while self._drawn < DRAWS and new < want:
            self._drawn += 1
            new += self._try(self._draw(), steps)
        if len(self._live) >= ENOUGH:
            self._drawn = DRAWS
        if not self._live and any(s.condition is not None for s in steps):
            raise NoSizes
        if self._answers(condition) == 1:
            self._seek(steps, condition)
        answer = self._live[0][1].get(condition) if self._live else None
        return answer if isinstance(answer, bool) and self._answers(condition) == 1 else None

    def _answers(self, condition: Value) -> int:
        return len({env.get(condition) for _, env in self._live})

    def _try(self, sizes: Sizes, steps: Sequence[Step]) -> bool:
        """Keeps sizes that lead along the path; whether they are new and do."""
        key = frozenset(sizes.items())
        if key in self._tried:
            return False
        self._tried.add(key)
        env = self._values(sizes)
        follows = _advance(env, steps)
        if follows:
            self._live.append((sizes, env))
        return follows

    def _seek(self, steps: Sequence[Step], condition: Value) -> None:
        """Tries sizes under which the two sides of a comparison meet: chance rarely makes two sizes equal."""
        op = next((op for s in steps for op in s.ops if isinstance(op, HostOp) and op.result is condition), None)
        if op is None or len(op.args) != 2:
            return
        for sizes, env in self._live[:SOUGHT]:
            a, b = (env.get(x) if isinstance(x, Value) else x for x in op.args)
            if type(a) is not int or type(b) is not int:
                return
            for chosen, old in sizes.items():
                for n in {old + d + by for d in (b - a, a - b) for by in (-1, 0, 1)}:
                    if 0 <= n < 1 << 20:
                        self._try({**sizes, chosen: n}, steps)
                        self._try({k: n if m == old else m for k, m in sizes.items()}, steps)

    def _size(self) -> int:
        """A size: one of the usual ones, or one around a constant that the code compares with."""
        around = [m for n in sorted(self._constants) for m in (n - 1, n, n + 1) if m >= 0]
        return self._rng.choice(around if around and self._rng.random() < 0.5 else SIZES)

    def _draw(self) -> Sizes:
        """Sizes drawn anew, or those of a draw that leads along the path with some of them changed."""
        if self._live and self._rng.random() < 0.7:
            sizes = dict(self._rng.choice(self._live)[0])
            if sizes:
                chosen = self._rng.choice(list(sizes))
                old, size, all_equal = sizes[chosen], self._size(), self._rng.random() < 0.5
                sizes.update({k: size for k, n in sizes.items() if k == chosen or (all_equal and n == old)})
            return sizes
        by_hints: dict[Any, int] = {}
        together = self._rng.random() < 0.5
        sizes = {}
        for key, hints in self._varying():
            if key not in sizes:
                sizes[key] = by_hints.setdefault(hints, self._size()) if together else self._size()
        return sizes

    def _varying(self) -> Iterator[tuple[int, Any]]:
        """Every size and number that varies, with its values in the sample worlds."""
        for x in self._inputs:
            if isinstance(x, Host):
                if x.type.kind == "int":
                    yield id(x), None
                continue
            yield from ((self._alike.get(id(d), id(d)), d.hints) for d in x.meta.dims if isinstance(d, Sym))

    def _values(self, sizes: Sizes) -> dict[Value, Any]:
        env: dict[Value, Any] = {}
        for x in self._inputs:
            if isinstance(x, Host):
                if x.type.kind == "int":
                    env[x.operand] = sizes[id(x)]
            elif isinstance(x.operand, Value):
                shape = [d if isinstance(d, int) else sizes[self._alike.get(id(d), id(d))] for d in x.meta.dims]
                env[x.operand] = torch.empty(shape, dtype=x.meta.dtype, device="meta")
        return env


def _advance(env: dict[Value, Any], steps: Sequence[Step]) -> bool:
    """Runs the steps on one draw; whether its sizes belong together and take this path."""
    for step in steps:
        for op in step.ops:
            if isinstance(op, HostOp | TensorOp):
                try:
                    _run(op, env)
                except _Unknown:
                    continue
                except Exception:  # these sizes do not belong together
                    return False
        if step.condition is not None and env.get(step.condition, step.result) != step.result:
            return False
    return True


def _run(op: HostOp | TensorOp, env: dict[Value, Any]) -> None:
    def value(leaf: Any) -> Any:
        if isinstance(leaf, Value):
            if leaf not in env:
                raise _Unknown
            return env[leaf]
        if isinstance(leaf, WeightRef):
            sizes = [d for d in leaf.type.dims if d is not None]
            if len(sizes) < len(leaf.type.dims):
                raise _Unknown
            return torch.empty(sizes, dtype=leaf.type.dtype, device="meta")
        return torch.device("meta") if isinstance(leaf, torch.device) else leaf

    if isinstance(op, HostOp):
        if op.result is not None:
            if any(isinstance(x, torch.Tensor) for x in map(value, leaves(op.args))) and op.name not in _OF_SIZES:
                raise _Unknown
            env[op.result] = evaluate_host(op.name, [map_leaves(a, value) for a in op.args])
        return
    args, kwargs = map_leaves((op.args, op.kwargs), value)
    if op.results:
        env.update(zip(op.results, _meta(op.overload, args, kwargs)))


#: (operator, arguments with sizes for tensors) -> sizes of the results; None where they are refused.
_seen: dict[Any, Any] = {}


def _meta(overload: torch._ops.OpOverload, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """The results of an operator on meta tensors, new ones each time."""
    key = (overload, _frozen(args), _frozen(kwargs))
    if key not in _seen:
        try:
            with torch.no_grad():
                out = overload(*args, **kwargs)
            outs = out if isinstance(out, tuple) else (out,)
            _seen[key] = tuple(_sizes(x) for x in outs)
        except NotImplementedError:
            _seen[key] = _Unknown()
        except Exception as error:
            _seen[key] = error
    known = _seen[key]
    if isinstance(known, Exception):
        raise known
    return tuple(_empty(x) for x in known)


def _sizes(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return (x.dtype, tuple(x.shape))
    return [_sizes(i) for i in x] if isinstance(x, list) else x


def _empty(x: Any) -> Any:
    if isinstance(x, list):
        return [_empty(i) for i in x]
    return torch.empty(x[1], dtype=x[0], device="meta") if isinstance(x, tuple) else x


def _frozen(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return _sizes(x)
    if isinstance(x, tuple | list):
        return tuple(map(_frozen, x))
    if isinstance(x, dict):
        return tuple((k, _frozen(v)) for k, v in x.items())
    return (type(x).__name__, repr(x))
