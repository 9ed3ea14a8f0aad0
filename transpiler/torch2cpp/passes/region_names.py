"""What regions are called: by the modules whose weights they use, else by a variable they assign."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from torch2cpp.hostir.ops import HostOp, TensorOp, Value, WeightRef, leaves, operands, results


def region_labels(ops: Sequence[TensorOp | HostOp], outs: Sequence[Value], function: str) -> Iterator[str]:
    """Identifiers for a region, from the best on: modules, the author's variables, operators, the function."""
    yield from filter(None, (module_label(_weights(ops)),))
    makers = {v: _operator(op) for op in ops for v in results(op)}
    for value in reversed(outs):
        if value.name != makers.get(value) and (label := _identifier(value.name)):
            yield label
    operators = [_operator(op) for op in ops if isinstance(op, TensorOp)]
    yield from filter(None, map(_identifier, (*(v.name for v in reversed(outs)), *operators[-1:], function)))


def module_label(weights: Iterable[str]) -> str:
    """The module that holds all of these weights, or the two that do; empty where there are more, or none.

    >>> module_label(["blocks.3.fc1.weight", "blocks.3.fc2.bias"])
    'blocks_3'
    >>> module_label(["cell.weight_ih", "halt.weight"]), module_label(["a.w", "b.w", "c.w"]), module_label(["w"])
    ('cell_halt', '', '')
    """
    paths = list(dict.fromkeys(tuple(name.split(".")[:-1]) for name in weights))
    if not paths or not all(paths):
        return ""
    common = paths[0]
    for path in paths[1:]:
        common = common[: _agree(common, path)]
    if common:
        # From the last part that is no index on: `encoder.blocks.3` is `blocks_3`.
        start = max((i for i, part in enumerate(common) if not part.isdigit()), default=0)
        return _identifier("_".join(common[start:]))
    tops = list(dict.fromkeys(path[0] for path in paths))
    return _identifier("_".join(tops)) if len(tops) <= 2 else ""


def _agree(a: Sequence[str], b: Sequence[str]) -> int:
    """How many parts two paths begin with in common."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _weights(ops: Sequence[TensorOp | HostOp]) -> Iterator[str]:
    return (leaf.name for op in ops for leaf in leaves(operands(op)) if isinstance(leaf, WeightRef))


def _operator(op: TensorOp | HostOp) -> str:
    return str(op.overload._schema.name).partition("::")[2] if isinstance(op, TensorOp) else op.name


def _identifier(name: str) -> str:
    """A name as a C++ function's name; empty when nothing is left of it.

    >>> _identifier("self.hidden"), _identifier("<t>")
    ('self_hidden', 't')
    """
    return re.sub(r"\W+", "_", name).strip("_").lstrip("0123456789_")
