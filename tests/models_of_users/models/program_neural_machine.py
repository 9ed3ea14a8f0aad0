"""A neural virtual machine: a controller emits opcodes, a small machine with stack, registers and call frames executes them."""
import enum
import functools
from typing import Callable, Dict, List, Optional

import torch
import torch.nn as nn


class Op(enum.Enum):
    HALT = 0
    PUSH = 1
    ADD = 2
    MUL = 3
    DUP = 4
    SWAP = 5
    JNZ = 6
    CALL = 7
    RET = 8
    STORE = 9
    LOAD = 10

    @property
    def binary(self):
        return self in (Op.ADD, Op.MUL)


class MachineError(Exception):
    pass


class StackUnderflow(MachineError):
    def __init__(self, op, depth):
        super().__init__(f"{op.name.lower()} needs more than {depth} values")
        self.op = op


class Machine:
    LIMIT = 16

    def __init__(self, width: int):
        self.width = width
        self.stack: List[torch.Tensor] = []
        self.frames: List[int] = []
        self.registers: Dict[str, torch.Tensor] = {}
        self.steps = 0

    def pop(self, op: Op) -> torch.Tensor:
        if not self.stack:
            raise StackUnderflow(op, len(self.stack))
        return self.stack.pop()

    def push(self, value: torch.Tensor):
        if len(self.stack) >= self.LIMIT:
            raise MachineError("stack overflow")
        self.stack.append(value)

    @property
    def top(self) -> Optional[torch.Tensor]:
        return self.stack[-1] if self.stack else None


def clipped(fn: Callable) -> Callable:
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return torch.clamp(fn(*args, **kwargs), -10.0, 10.0)
    return wrapper


class NeuralVM(nn.Module):
    def __init__(self, width=6, program_len=12, fuel=40):
        super().__init__()
        self.fuel, self.width = fuel, width
        self.controller = nn.LSTM(width, 16)
        self.op_head = nn.Linear(16, len(Op))
        self.arg_head = nn.Linear(16, width)
        self.mix = nn.ModuleDict({"add": nn.Linear(2 * width, width), "mul": nn.Linear(2 * width, width)})
        self.binary: Dict[Op, Callable] = {Op.ADD: self._add, Op.MUL: self._mul}

    @clipped
    def _add(self, a, b):
        return a + b + 0.1 * self.mix["add"](torch.cat([a, b], -1))

    @clipped
    def _mul(self, a, b):
        return a * b + 0.1 * self.mix["mul"](torch.cat([a, b], -1))

    def compile(self, x):
        h, _ = self.controller(x[:, None])
        ops = [Op(i) for i in self.op_head(h[:, 0]).argmax(-1).tolist()]
        return list(zip(ops, self.arg_head(h[:, 0])))

    def run(self, program, machine: Machine):
        pc = 0
        while machine.steps < self.fuel:
            if not 0 <= pc < len(program):
                return "end"
            op, arg = program[pc]
            machine.steps += 1
            pc += 1
            if op is Op.HALT:
                return "halt"
            elif op is Op.PUSH:
                machine.push(arg)
            elif op.binary:
                b, a = machine.pop(op), machine.pop(op)
                machine.push(self.binary[op](a, b))
            elif op is Op.DUP:
                top = machine.top
                if top is None:
                    raise StackUnderflow(op, 0)
                machine.push(top.clone())
            elif op is Op.SWAP:
                if len(machine.stack) >= 2:
                    machine.stack[-1], machine.stack[-2] = machine.stack[-2], machine.stack[-1]
            elif op is Op.JNZ:
                if machine.top is not None and machine.top.mean() > 0.05:
                    pc = max(0, pc - 3)
            elif op is Op.CALL:
                machine.frames.append(pc)
                pc = int(arg.abs().argmax())
            elif op is Op.RET:
                if not machine.frames:
                    return "returned"
                pc = machine.frames.pop()
            elif op is Op.STORE:
                machine.registers[f"r{int(arg.argmax()) % 3}"] = machine.pop(op)
            else:
                name = f"r{int(arg.argmax()) % 3}"
                machine.push(machine.registers.get(name, torch.zeros(self.width)))
        return "fuel"

    def forward(self, x: torch.Tensor, strict: bool = False):
        machine = Machine(self.width)
        program = self.compile(x)
        try:
            status = self.run(program, machine)
        except StackUnderflow as e:
            if strict:
                raise
            status = f"error: {e}" + (" (binary)" if e.op.binary else "")
        except MachineError as e:
            status = "error: " + str(e)
        out = torch.stack(machine.stack).sum(0) if machine.stack else torch.zeros(self.width)
        return out, status, machine.steps, sorted(machine.registers), [op.name for op, _ in program]


def make_model():
    torch.manual_seed(2)
    m = NeuralVM().eval()
    with torch.no_grad():
        m.op_head.weight.mul_(8)
        m.op_head.bias[1] += 1.5
    return m


def make_inputs():
    g = torch.Generator().manual_seed(0)
    sizes = [(4, 2.0), (9, 3.0), (12, 5.0), (7, 8.0), (15, 4.0), (1, 1.0)]
    return [(torch.randn(n, 6, generator=g) * s, i == 2) for i, (n, s) in enumerate(sizes)]
