"""Many programs as one, with an entry for each, so that one build serves them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

from torch2cpp.hostir.ops import Call, Cell, Load, Op, Operand, RegionCall, Store, WeightRef, map_leaves
from torch2cpp.hostir.program import Program, Region
from torch2cpp.passes.rebuild import Rewriter, with_operands


def merge(programs: Sequence[Program], name: str) -> Program:
    """One program with the entries `f0`, `f1`, ... of the given ones, which have one entry and no structs each."""
    whole = Program(name, "Merged", {}, {}, [], {}, {}, {})
    sources: list[str] = []
    for i, program in enumerate(programs):
        assert len(program.entries) == 1
        assert not program.structs
        renamer = _Renamer(program, i)
        (entry,) = program.entries.values()
        whole.entries[f"f{i}"] = replace(renamer.function(entry), name=f"f{i}")
        for function in program.functions.values():
            new = renamer.called(function.name)
            whole.functions[new] = replace(renamer.function(function), name=new)
        whole.cells += renamer.cells.values()
        whole.weights |= {f"p{i}.{n}": tensor for n, tensor in program.weights.items()}
        for region in program.regions.values():
            whole.regions[renamer.region_name(region.name)] = renamer.region(region)
        sources += program.sources
    return replace(whole, sources=tuple(dict.fromkeys(sources)))


@final
class _Renamer(Rewriter):
    """Gives everything in a program a name with its number."""

    def __init__(self, program: Program, number: int) -> None:
        super().__init__()
        self.number = number
        self.cells: dict[Cell, Cell] = {c: replace(c, name=f"p{number}.{c.name}") for c in program.cells}

    def region_name(self, name: str) -> str:
        return f"{name}_of_{self.number}"

    def called(self, name: str) -> str:
        return f"{name}_of_{self.number}"

    def region(self, region: Region) -> Region:
        body: Any = tuple(with_operands(op, self.operand) for op in region.body)
        return replace(region, name=self.region_name(region.name), body=body)

    def resolved(self, op: Op) -> Op:
        return with_operands(op, self.operand)

    def operand(self, tree: Operand) -> Operand:
        def renamed(leaf: Any) -> Any:
            return replace(leaf, name=f"p{self.number}.{leaf.name}") if isinstance(leaf, WeightRef) else leaf

        return map_leaves(tree, renamed)

    def visit(self, op: Op) -> list[Op]:
        match op:
            case RegionCall():
                instances = tuple(map(self.region_name, op.instances))
                return [replace(op, region=self.region_name(op.region), instances=instances)]
            case Call():
                return [replace(op, function=self.called(op.function))]
            case Load() | Store():
                # Variables that errors carry are no state of the program.
                return [replace(op, cell=self.cells.setdefault(op.cell, op.cell))]
            case _:
                return super().visit(op)


def mergeable(program: Program) -> bool:
    """Whether `merge` takes the program."""
    return len(program.entries) == 1 and not program.structs
