"""Constrained JSON decoding: a pushdown automaton masks the logits, tool calls are parsed and executed, results are fed back."""
from __future__ import annotations
import enum
import functools
import json
import string
from typing import Callable, NamedTuple, Optional
import torch
import torch.nn as nn
import torch.nn.functional as F


class S(enum.Enum):
    START = enum.auto()
    KEY = enum.auto()
    COLON = enum.auto()
    VALUE = enum.auto()
    NUMBER = enum.auto()
    AFTER = enum.auto()
    DONE = enum.auto()


class Call(NamedTuple):
    name: str
    args: dict[str, int]


class ParseError(ValueError):
    def __init__(self, message: str, position: int):
        super().__init__(f"{message} at {position}")
        self.position = position


class Automaton:
    """{"a":1,"b":{"a":2}} with one-letter keys and integers; depth is limited."""

    def __init__(self, keys="abc", max_depth=2):
        self.keys, self.max_depth = keys, max_depth
        self.state = S.START
        self.stack: list[set[str]] = []
        self.digits = 0

    def allowed(self) -> str:
        if self.state is S.START:
            return "{"
        if self.state is S.KEY:
            return "".join(k for k in self.keys if k not in self.stack[-1]) or "}"
        if self.state is S.COLON:
            return ":"
        if self.state is S.VALUE:
            return string.digits[1:] + ("{" if len(self.stack) < self.max_depth else "")
        if self.state is S.NUMBER:
            return (string.digits if self.digits < 2 else "") + "},"
        if self.state is S.AFTER:
            return "},"
        return ""

    def feed(self, c: str) -> None:
        if c not in self.allowed():
            raise ParseError(f"unexpected {c!r}", len(self.stack))
        if c == "{":
            self.stack.append(set())
            self.state = S.KEY
        elif c == "}":
            self.stack.pop()
            self.state = S.AFTER if self.stack else S.DONE
        elif c == ",":
            self.state = S.KEY
        elif c == ":":
            self.state = S.VALUE
        elif c.isdigit():
            self.digits = self.digits + 1 if self.state is S.NUMBER else 1
            self.state = S.NUMBER
        else:
            self.stack[-1].add(c)
            self.state = S.COLON


class CharLM(nn.Module):
    def __init__(self, chars, dim=16):
        super().__init__()
        self.chars = chars
        self.index = {c: i for i, c in enumerate(chars)}
        self.emb = nn.Embedding(len(chars), dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, len(chars))

    def step(self, c: str, h: Optional[torch.Tensor]):
        return self.cell(self.emb(torch.tensor([self.index[c]])), h)


def parse_flat(text: str) -> dict[str, int]:
    out: dict[str, int] = {}
    key, number = "", ""
    for i, c in enumerate(text):
        if c.isalpha():
            key += c
        elif c.isdigit():
            number += c
        elif c in ",}" and number:
            if key[-1:] in out:
                raise ParseError("duplicate", i)
            out[key[-1]] = int(number)
            number = ""
    return out


class Agent(nn.Module):
    def __init__(self, max_chars=24):
        super().__init__()
        self.lm = CharLM('{}:,' + string.digits + "abc>=")
        self.max_chars = max_chars
        self.tools: dict[str, Callable[[dict[str, int]], int]] = {
            "sum": lambda d: sum(d.values()),
            "max": lambda d: max(d.values(), default=0),
            "weighted": functools.partial(self._weighted, base=10),
        }
        self.pick = nn.Linear(16, len(self.tools))

    @staticmethod
    def _weighted(d: dict[str, int], base: int) -> int:
        return sum(base ** i * v for i, (_, v) in enumerate(sorted(d.items())))

    def mask(self, allowed: str) -> torch.Tensor:
        m = torch.full((len(self.lm.chars),), float("-inf"))
        for c in allowed:
            m[self.lm.index[c]] = 0.0
        return m

    def decode(self, h, auto: Automaton):
        text, logp = "", 0.0
        while auto.state is not S.DONE:
            allowed = auto.allowed()
            if len(text) >= self.max_chars and "}" in allowed:
                c = "}"
            else:
                logits = self.lm.out(h)[0] + self.mask(allowed)
                lp = F.log_softmax(logits, -1)
                k = lp.argmax().item()
                c, logp = self.lm.chars[k], logp + lp[k].item()
            auto.feed(c)
            text += c
            h = self.lm.step(c, h)
        return text, h, logp

    @torch.no_grad()
    def forward(self, prompt: str, turns: int = 2, keys: str = "abc", max_depth: int = 2, goal: int = 1000):
        h = None
        for c in prompt:
            if c not in self.lm.index:
                raise ParseError(f"no token for {c!r}", prompt.index(c))
            h = self.lm.step(c, h)
        if h is None:
            h = torch.zeros(1, 16)
        transcript, total = [], 0
        for turn in range(turns):
            text, h, logp = self.decode(h, Automaton(keys, max_depth))
            name = list(self.tools)[self.pick(h)[0].argmax()]
            try:
                call = Call(name, parse_flat(text))
            except ParseError as e:
                transcript.append((text, f"error: {e}", e.position))
                h = self.lm.step("=", h)
                continue
            result = self.tools[call.name](call.args)
            total += result
            transcript.append((text, f"{call.name}({', '.join(f'{k}={v}' for k, v in call.args.items())})", result))
            if total >= goal:
                break
            for c in f">{result % 100}":
                h = self.lm.step(c, h)
        return transcript, total, round(logp, 4) if turns else None, h


def make_model():
    torch.manual_seed(12)
    m = Agent()
    m.lm.out.weight.data.mul_(4)
    m.pick.weight.data.mul_(5)
    return m.eval()


def make_inputs():
    return [("a=1",), ("b>7c", 3, "ab", 1), ("", 2, "abc", 3), ("hello",), ("c:9", 4, "a", 2, 5), ("{", 0), (">>", 2, "cab", 2, 1)]
