"""The largest inputs of a program: what the user declares of them, and the recorded inputs brought to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import torch

#: The tensors of one call's inputs by name, as golden files have them.
Flat = Mapping[str, torch.Tensor]
#: A dimension of an input: the tensor's name, and which it is.
Place = tuple[str, int]
_ITEM = re.compile(r"\s*(?P<name>[^=]+?)\s*=\s*(?P<size>\d+)\s*")
_PLACE = re.compile(r"(?P<name>.+)\[(?P<dim>\d+)\]")


class SizesError(ValueError):
    """The sizes declared are not ones that the program's inputs can have."""


def parse_sizes(text: str) -> dict[str, int]:
    """Sizes by the name of a dimension. Raises SizesError.

    >>> parse_sizes("batch=8, tokens[1]=512")
    {'batch': 8, 'tokens[1]': 512}
    """
    out: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise SizesError(f"{item.strip()!r} is no size: write NAME=SIZE, such as batch=8 or tokens[1]=512")
        out[match["name"]] = int(match["size"])
    return out


def largest(wanted: Mapping[str, int], cases: Sequence[Flat], declared: Mapping[Place, str]) -> dict[Place, int]:
    """The size of each dimension that `wanted` speaks of; `declared` are names of dimensions in `dynamic_shapes`.

    Dimensions that are equal in every one of the cases go together. Raises SizesError for a name that is none of a
    dimension that varies.
    """
    places = _varying(cases, declared)
    out: dict[Place, int] = {}
    for name, size in wanted.items():
        match = _PLACE.fullmatch(name)
        chosen = [(match["name"], int(match["dim"]))] if match else [p for p in places if declared.get(p) == name]
        if not chosen or not set(chosen) <= set(places):
            known = [*dict.fromkeys(filter(None, declared.values())), *(f"{n}[{d}]" for n, d in places)]
            there = f"there are {', '.join(known)}" if known else "every input has one size"
            raise SizesError(f"no dimension {name} of an input varies: {there}")
        out |= dict.fromkeys(chosen, size)
    for place in places:
        twin = next((p for p in out if place not in out and _equal(p, place, cases)), None)
        if twin is not None:
            out[place] = out[twin]
    return out


def stretched(case: Flat, sizes: Mapping[Place, int]) -> dict[str, torch.Tensor]:
    """The inputs with these sizes: their values repeated or cut off."""
    out = dict(case)
    for (name, dim), size in sizes.items():
        tensor = out.get(name)
        if tensor is None or dim >= tensor.dim() or tensor.shape[dim] == size:
            continue
        have = tensor.shape[dim]
        if have == 0:
            out[name] = tensor.new_zeros([size if d == dim else n for d, n in enumerate(tensor.shape)])
        else:
            out[name] = tensor.index_select(dim, torch.arange(size) % have)
    return out


def _varying(cases: Sequence[Flat], declared: Mapping[Place, str]) -> list[Place]:
    """In order of names; texts, whose names have a colon, are no tensors of the user's."""
    seen: dict[tuple[str, int], list[torch.Size]] = {}
    for case in cases:
        for name, tensor in case.items():
            if ":" not in name:
                seen.setdefault((name, tensor.dim()), []).append(tensor.shape)
    found = {
        (name, dim)
        for (name, rank), shapes in seen.items()
        for dim in range(rank)
        if (name, dim) in declared or len({shape[dim] for shape in shapes}) > 1
    }
    return sorted(found)


def _equal(a: Place, b: Place, cases: Sequence[Flat]) -> bool:
    """Whether both have one size in every case that has both, and there is such a case."""
    sizes = [(_size(a, case), _size(b, case)) for case in cases]
    both = [(x, y) for x, y in sizes if x is not None and y is not None]
    return bool(both) and all(x == y for x, y in both)


def _size(place: Place, case: Flat) -> int | None:
    tensor = case.get(place[0])
    return tensor.shape[place[1]] if tensor is not None and place[1] < tensor.dim() else None
