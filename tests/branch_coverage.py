"""Which lines and which ways of each branch of a Python file were taken.

Counted on the bytecode, so that `and`, `or`, conditional expressions and the conditions of
comprehensions count as branches too. Works on CPython 3.11.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

#: Functions of a model file that are not the model's.
NOT_THE_MODEL = ("make_model", "make_inputs")
FUNCTION_FLAG = 0x2  # CO_NEWLOCALS: functions, not class bodies


@dataclass(frozen=True)
class Missed:
    """A line that never ran, or a branch that only ever went one way."""

    line: int
    what: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}: {self.text}"


@dataclass
class Trace:
    """What ran, while `watch` was active."""

    file: str
    #: (code object, offset of an instruction, offset of the one that ran before it in that frame)
    steps: set[tuple[CodeType, int, int]] = field(default_factory=set)
    lines: set[int] = field(default_factory=set)
    _last: dict[FrameType, int] = field(default_factory=dict)

    def watch(self, function: Callable[[], Any]) -> Any:
        """Run `function`, recording each instruction of the file."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return function()
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != self.file:
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.lines.add(frame.f_lineno)
        elif event == "opcode":
            self.steps.add((frame.f_code, frame.f_lasti, self._last.get(frame, -1)))
            self._last[frame] = frame.f_lasti
        elif event == "return":
            self._last.pop(frame, None)
        return self._step


def functions(code: CodeType, outer: str = "") -> Iterator[CodeType]:
    """The code objects of the model's functions, nested ones included."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            name = f"{outer}.{const.co_name}" if outer else const.co_name
            if name.split(".")[0] in NOT_THE_MODEL:
                continue
            if const.co_flags & FUNCTION_FLAG:
                yield const
            yield from functions(const, name)


def truth_of_jump(name: str) -> bool | None:
    """What the tested value was when this instruction jumps; None for no branch of the source.

    >>> truth_of_jump("POP_JUMP_FORWARD_IF_FALSE"), truth_of_jump("FOR_ITER"), truth_of_jump("JUMP_FORWARD")
    (False, False, None)
    """
    if name == "FOR_ITER":
        return False  # jumps when the iterator is exhausted
    if "JUMP" not in name or "_IF_" not in name:
        return None
    if name.endswith("_NOT_NONE"):
        return False
    if name.endswith("_NONE"):
        return True
    return "TRUE" in name


def missed(trace: Trace) -> list[Missed]:
    """Everything of the file's functions that the trace did not reach, in order of lines."""
    text = Path(trace.file).read_text().splitlines()
    # Without dont_inherit this file's own __future__ flags would make every code object unlike the traced one.
    top = compile(Path(trace.file).read_text(), trace.file, "exec", dont_inherit=True)
    found: set[Missed] = set()
    for code in functions(top):
        for _, _, line in code.co_lines():
            if line and line != code.co_firstlineno and line not in trace.lines:
                found.add(Missed(line, "never runs", text[line - 1].strip()))
        for place, seen in branch_ways(code, trace).items():
            if len(seen) == 1:
                (way,) = seen
                found.add(Missed(place[0], f"never {not way}", text[place[0] - 1].strip()))
    return sorted(found, key=lambda m: (m.line, m.what))


def branch_ways(code: CodeType, trace: Trace) -> dict[tuple[int, int], set[bool]]:
    """For each tested place (line, column) the ways it went; copies of one test count together."""
    steps = {(now, before) for other, now, before in trace.steps if other == code}
    ways: dict[tuple[int, int], set[bool]] = {}
    instructions = list(dis.get_instructions(code))
    for instruction, following in pairwise(instructions):
        jumps_when = truth_of_jump(instruction.opname)
        if jumps_when is None or instruction.positions is None or instruction.positions.lineno is None:
            continue
        place = (instruction.positions.lineno, instruction.positions.col_offset or 0)
        seen = ways.setdefault(place, set())
        if (instruction.argval, instruction.offset) in steps:
            seen.add(jumps_when)
        if (following.offset, instruction.offset) in steps:
            seen.add(not jumps_when)
    return ways
