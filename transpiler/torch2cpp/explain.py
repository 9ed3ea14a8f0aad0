"""What `torch2cpp explain` shows: source lines by what they became, the regions, the host IR."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from torch2cpp.emit.cpp_types import describe
from torch2cpp.hostir.ops import HostOp, If, Op, RegionCall, TensorOp, Value, values_in, walk
from torch2cpp.hostir.printer import print_program, print_region
from torch2cpp.hostir.program import Function, Program, Region
from torch2cpp.hostir.types import TensorType
from torch2cpp.spans import source_lines


def explain(program: Program) -> str:
    """The whole text."""
    parts = [_title("Source lines"), *_sources(program)]
    parts += [_title("Regions"), *(_region(r, program) for r in program.regions.values())]
    parts += [_title("Host program"), print_program(_without_regions(program))]
    return "\n".join(parts)


def _title(text: str) -> str:
    return f"== {text} =="


def marks(program: Program) -> dict[str, dict[int, str]]:
    """File -> line -> "host", "tensor" or both, for the lines that left something in the program."""
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for op in _operations(program):
        # A control-flow operation stands for its first line; its body speaks for itself.
        span = op.span
        lines = range(span.line, (span.line if isinstance(op, If) or _has_blocks(op) else span.end_line) + 1)
        for line in lines:
            found[span.file][line].add("tensor" if isinstance(op, TensorOp) else "host")
    return {
        file: {line: "+".join(sorted(kinds)) for line, kinds in lines.items()} for file, lines in found.items()
    }  # fmt: skip


def _has_blocks(op: Op) -> bool:
    from torch2cpp.hostir.ops import blocks

    return bool(blocks(op))


def _operations(program: Program) -> Iterator[Op]:
    for function in _functions(program):
        for op in walk(function.body):
            if not isinstance(op, RegionCall):
                yield op
    for region in program.regions.values():
        yield from region.body


def _functions(program: Program) -> tuple[Function, ...]:
    return (*program.entries.values(), *program.functions.values())


def _sources(program: Program) -> Iterator[str]:
    by_file = marks(program)
    for file in dict.fromkeys((*program.sources, *by_file)):
        lines, known = by_file.get(file, {}), source_lines(file)
        if not known or not lines:
            continue
        yield f"{Path(file).name}"
        first, last = min(lines), max(lines)
        for number in range(first, min(last, len(known)) + 1):
            text = known[number - 1]
            mark = lines.get(number) or ("static" if _is_code(text) else "")
            yield f"  {mark:>11} {number:5} | {text}"
        yield ""


def _is_code(text: str) -> bool:
    return bool(text.strip()) and not text.strip().startswith(("#", '"""', "'''", "def ", "@", "class "))


def _region(region: Region, program: Program) -> str:
    tested = sorted(set(_predicates(region, program)))
    lines = [print_region(region).rstrip()]
    lines += [f"  tested by the host: {', '.join(tested)}"] if tested else []
    return "\n".join(lines) + "\n"


def _predicates(region: Region, program: Program) -> Iterator[str]:
    """Results of the region that a branch or a loop's end depends on, by name."""
    for function in _functions(program):
        made: dict[Value, Op] = {}
        handed: dict[Value, Value] = {}
        for op in walk(function.body):
            if isinstance(op, HostOp) and op.result is not None:
                made[op.result] = op
            elif isinstance(op, RegionCall) and region.name in op.regions:
                handed |= dict(zip(op.results, region.results))
        for op in walk(function.body):
            if isinstance(op, If):
                for value in _sources_of(op.cond, made):
                    if value in handed and _is_small(value):
                        yield f"{handed[value].name}: {describe(value.type)}"


def _sources_of(tree: object, made: dict[Value, Op]) -> Iterator[Value]:
    for value in values_in(tree):
        yield value
        op = made.get(value)
        if isinstance(op, HostOp):
            yield from _sources_of(op.args, made)


def _is_small(value: Value) -> bool:
    return not isinstance(value.type, TensorType) or all(d == 1 for d in value.type.dims)


def _without_regions(program: Program) -> Program:
    from dataclasses import replace

    return replace(program, regions={})
