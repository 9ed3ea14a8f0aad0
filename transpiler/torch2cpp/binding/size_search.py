"""Sizes that an operation takes, where those of the sample worlds do not belong together.

That happens where the program's own logic says that two sizes are equal, and nothing in the sizes themselves does:
a mask that comes beside its tensor, the parts of a recursion. One assignment that works is looked for, then it is
varied, one size at a time and those together that are equal in it, so that the result shows which of its sizes is
whose. What is found only tells which sizes vary and which belong together; the run time checks them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, final

import torch

from torch2cpp.binding.values import Host, Sym, Tensor

#: Size or int (see `key_of`) -> its value.
Assignment = dict[int, int]
#: The result of one run with these sizes; raises where the operation does not take them.
Run = Callable[[Callable[[Any], Any]], Any]

#: Values that are tried for all sizes at once, and how often they are drawn.
_USUAL = (4, 2, 1, 6, 3, 8, 12)
_DRAWS = 400
#: No more assignments than this are looked at.
_ENOUGH = 32


def key_of(x: Sym | Host) -> int:
    """What a size, or an int that may be one, is called in an assignment."""
    if isinstance(x, Sym):
        return id(x)
    return id(x.dim) if isinstance(x.dim, Sym) else x.operand.id


def search(leaves: Sequence[Any], run: Run, other: Callable[[Any], Any]) -> list[tuple[Any, Assignment]]:
    """Results with the sizes they are for, unlike ones first; empty where none was found.

    `other` gives the value of a leaf that is no size.
    """
    return _Search(leaves, run, other).found()


@final
class _Search:
    def __init__(self, leaves: Sequence[Any], run: Run, other: Callable[[Any], Any]) -> None:
        self._run, self._other = run, other
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        self._sizes = list(dict.fromkeys(key_of(d) for t in tensors for d in t.meta.dims if isinstance(d, Sym)))
        ints = [key_of(x) for x in leaves if isinstance(x, Host) and x.type.kind == "int"]
        self._ints = [k for k in dict.fromkeys(ints) if k not in self._sizes]
        self._shapes = [[key_of(d) if isinstance(d, Sym) else -d for d in t.meta.dims] for t in tensors]
        constants = {d for t in tensors for d in t.meta.dims if isinstance(d, int) and d > 0}
        hints = {h for t in tensors for d in t.meta.dims if isinstance(d, Sym) for h in d.hints if h > 0}
        self._pool = list(dict.fromkeys([*_USUAL, *sorted(constants), *sorted(hints), 7, 16, 24]))
        self._results: list[tuple[Any, Assignment]] = []
        self._tried: set[tuple[int, ...]] = set()

    def found(self) -> list[tuple[Any, Assignment]]:
        """All that was found."""
        for assignment in itertools.chain(self._alike(), self._drawn()):
            if self._try(assignment):
                self._vary(assignment)
                break
        return _unlike_first(self._results)

    def _try(self, assignment: Assignment) -> bool:
        signature = tuple(assignment.values())
        if signature in self._tried or len(self._results) >= _ENOUGH:
            return False
        self._tried.add(signature)
        try:
            self._results.append((self._run(lambda leaf: self._concrete(leaf, assignment)), assignment))
        except Exception:  # whatever the operation raises: not with these sizes
            return False
        return True

    def _concrete(self, leaf: Any, assignment: Assignment) -> Any:
        if isinstance(leaf, Tensor):
            shape = [d if isinstance(d, int) else assignment[key_of(d)] for d in leaf.meta.dims]
            return torch.empty(shape, dtype=leaf.meta.dtype, device="meta")
        if isinstance(leaf, Host) and leaf.type.kind == "int":
            return assignment[key_of(leaf)]
        return self._other(leaf)

    # -- a first one ------------------------------------------------------------------------------

    def _alike(self) -> Iterator[Assignment]:
        """All sizes the same; the ints that, or a product of sizes as `view` asks for."""
        for n in self._pool:
            sizes = dict.fromkeys(self._sizes, n)
            for ints in itertools.islice(itertools.product([n, *self._products(sizes), 0], repeat=len(self._ints)), 40):
                yield sizes | dict(zip(self._ints, ints, strict=True))

    def _drawn(self) -> Iterator[Assignment]:
        rng = random.Random(0)
        for i in range(_DRAWS):
            # Few different values are likelier to fit than many.
            few = rng.sample(self._pool, 2 if i % 2 else min(3 + i % 5, len(self._pool)))
            sizes = {k: rng.choice(few) for k in self._sizes}
            yield sizes | {k: rng.choice([0, *few, *self._products(sizes)]) for k in self._ints}

    def _products(self, sizes: Mapping[int, int]) -> list[int]:
        """Products of neighbouring sizes of a tensor, the whole of it included."""
        out: dict[int, None] = {}
        for shape in self._shapes:
            concrete = [sizes.get(d, -d) for d in shape]
            for i, j in itertools.combinations(range(len(concrete) + 1), 2):
                product = 1
                for n in concrete[i:j]:
                    product *= n
                out[product] = None
        return list(out)

    # -- others -----------------------------------------------------------------------------------

    def _vary(self, base: Assignment) -> None:
        """One size, pairs and those of one value together, each changed to something else."""
        groups: list[tuple[int, ...]] = [(k,) for k in base]
        by_value: dict[int, list[int]] = {}
        for k, n in base.items():
            by_value.setdefault(n, []).append(k)
        groups += [tuple(ks) for ks in by_value.values() if len(ks) > 1]
        groups += itertools.combinations(base, 2)
        groups += itertools.combinations(base, 3) if len(base) <= 8 else []
        for by in (1, 2, 5):
            for group in groups:
                self._try({k: n + by if k in group else n for k, n in base.items()})
            # An int that is a multiple of a size, as in `x.reshape(4 * h, 4 * w)`, stays that multiple.
            for size, i in itertools.product(self._sizes, self._ints):
                n = base[size]
                if n > 0 and base[i] > n and base[i] % n == 0:
                    alike = {k: n + by for k in (self._sizes if by == 1 else [size]) if base[k] == n}
                    self._try(base | alike | {i: base[i] // n * (n + by)})


def _unlike_first(results: list[tuple[Any, Assignment]]) -> list[tuple[Any, Assignment]]:
    """The first three differ in as many sizes as can be."""
    if len(results) < 3:
        return results
    chosen = [results[0]]
    rest = results[1:]
    while len(chosen) < 3 and rest:
        best = max(rest, key=lambda r: min(_differing(r[1], c[1]) for c in chosen))
        chosen.append(best)
        rest = [r for r in rest if r is not best]
    return chosen + rest


def _differing(a: Assignment, b: Assignment) -> int:
    return sum(a[k] != b[k] for k in a)
