"""Writes tests/data/tensors.tsv: what eager PyTorch gives for each host-level tensor operation.

A line is `operation`, the sizes of an int64 arange, the dimensions it is permuted by, integer operands, and the
outcome, separated by tabs. The outcome is `sizes strides offset values` per tensor, or `Error: IndexError: message`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

OUTPUT = Path(__file__).parent / "data" / "tensors.tsv"
Tensor = torch.Tensor
Operation = Callable[..., Any]


def describe(t: Tensor) -> str:
    """One tensor as text; strides and offset say whether a view aliases as it should."""
    return f"{list(t.shape)} {list(t.stride())} {t.storage_offset()} {t.tolist()}"


def outcome(run: Callable[[], Any]) -> str:
    """All tensors of the result, or the error's first line."""
    try:
        result = run()
    except Exception as error:
        return f"Error: {type(error).__name__}: " + str(error).split("\n")[0]
    return describe(result) if isinstance(result, Tensor) else " | ".join(map(describe, result))


def cut(t: Tensor, dim: int, start: int | None, stop: int | None, step: int) -> Tensor:
    """t[..., start:stop:step] in one dimension."""
    return t[(slice(None),) * (dim % t.dim()) + (slice(start, stop, step),)]


def item_at(t: Tensor, dim: int, index: int) -> Tensor:
    """t[..., index]."""
    return t[index] if dim == 0 else t[(slice(None),) * dim + (index,)]


OPERATIONS: dict[str, Operation] = {
    "select": lambda t, dim, i: t.select(dim, i),
    "subscript": item_at,
    "slice": cut,
    "narrow": lambda t, dim, start, length: t.narrow(dim, start, length),
    "unsqueeze": lambda t, dim: t.unsqueeze(dim),
    "squeeze": lambda t, *dim: t.squeeze(*dim),
    "transpose": lambda t, a, b: t.transpose(a, b),
    "t": lambda t: t.t(),
    "permute": lambda t, *dims: t.permute(*dims) if dims else torch.permute(t, ()),
    "expand": lambda t, *sizes: t.expand(*sizes) if sizes else t.expand(()),
    "view": lambda t, *sizes: t.view(sizes),
    "reshape": lambda t, *sizes: t.reshape(sizes),
    "clone": lambda t: t.clone(),
    "contiguous": lambda t: t.contiguous(),
    "unbind": lambda t, dim: t.unbind(dim),
    "split": lambda t, size, dim: t.split(size, dim),
    "split_with_sizes": lambda t, dim, *sizes: t.split_with_sizes(sizes, dim),
    "chunk": lambda t, chunks, dim: t.chunk(chunks, dim),
    "stack": lambda t, dim: torch.stack([t, t + 1], dim),
    "cat": lambda t, dim: torch.cat([t, t + 1, t], dim),
    "iterate": lambda t: list(t),
}


def operands(rng: random.Random, name: str, sizes: Sequence[int]) -> Iterator[tuple[int | None, ...]]:
    """Integer operands to try on a tensor of these sizes, wrong ones among them."""
    rank = len(sizes)
    dims = range(-rank - 1, rank + 1)
    near = [-4, -3, -1, 0, 1, 2, 3, 5]
    match name:
        case "select":
            yield from itertools.product(dims, near)
        case "subscript":
            yield from itertools.product(range(max(rank, 1)), near)
        case "slice":
            every = list(itertools.product(range(rank), [None, *near], [None, *near], [1, 2, 3, 0, -1]))
            yield from rng.sample(every, min(len(every), 60))
        case "narrow":
            yield from rng.sample(list(itertools.product(dims, near, [-1, 0, 1, 2, 4])), 25)
        case "unsqueeze":
            yield from ((d,) for d in range(-rank - 2, rank + 2))
        case "squeeze":
            yield from [(), *((d,) for d in dims)]
        case "transpose":
            yield from itertools.product(dims, dims)
        case "permute":
            yield from itertools.permutations(range(rank))
            yield from [(0,), (0, 0), (-1, 0), (0, 3)]
        case "expand":
            yield from itertools.product([-1, 1, 3], repeat=rank)
            yield from itertools.product([-1, 0, 2], *[[-1, 4, s] for s in sizes])
        case "view" | "reshape":
            yield from [(-1,), (2, -1), (-1, 2), (3, 2), (1, -1, 1), (6,), (0,)]
        case "unbind" | "stack" | "cat":
            yield from ((d,) for d in dims)
        case "split" | "chunk":
            yield from itertools.product([-1, 0, 1, 2, 3, 7], dims)
        case "split_with_sizes":
            yield from [(0, 1, 1), (0, 2), (0, 3), (0, 1, 2), (-1, 1, 1), (0, 3, -1), (0, 0, 2, 0)]
        case _:
            yield ()


def lines() -> Iterator[str]:
    """All rows."""
    rng = random.Random(5)
    shapes = [[], [1], [3], [0], [2, 3], [3, 1], [0, 2], [2, 1, 3], [1, 2, 2]]
    for sizes in shapes:
        count = torch.Size(sizes).numel()
        reverse = list(range(len(sizes)))[::-1]
        for order in [reverse[::-1], reverse] if len(sizes) > 1 else [reverse]:
            base = torch.arange(count).reshape(sizes).permute(order)
            for name, run in OPERATIONS.items():
                for chosen in operands(rng, name, base.shape):
                    expected = outcome(lambda run=run, base=base, chosen=chosen: run(base, *chosen))
                    cells = [
                        name,
                        *(",".join("n" if x is None else str(x) for x in xs) for xs in (sizes, order, chosen)),
                    ]
                    yield "\t".join([*cells, expected]) + "\n"


def main() -> None:
    # expand() of too few sizes names the tensor's C++ class, the runtime does not; a 0-d one takes -1 for a huge size.
    other_texts = ("torch.LongTensor", "integer multiplication overflow")
    kept = [line for line in lines() if not any(text in line for text in other_texts)]
    OUTPUT.write_text("".join(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
