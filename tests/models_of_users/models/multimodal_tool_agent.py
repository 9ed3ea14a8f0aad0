"""Multimodal: an agent loop that scores tools by a policy, calls them through a registry filled by a decorator, keeps a scratchpad of typed observations, retries, and stops on a budget."""
from __future__ import annotations

import functools
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Optional, TypedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

Observation = namedtuple("Observation", ["tool", "vector", "score"])
REGISTRY: dict[str, Callable[["Agent", Tensor, "Scratch"], Observation]] = {}


class Summary(TypedDict):
    answer: int
    confidence: float
    trace: list[str]


def tool(name: str, cost: int = 1):
    def register(fn):
        @functools.wraps(fn)
        def wrapped(agent: "Agent", query: Tensor, scratch: "Scratch"):
            scratch.spent += cost
            return fn(agent, query, scratch)

        REGISTRY[name] = wrapped
        return wrapped

    return register


class ToolError(Exception):
    def __init__(self, tool: str, reason: str):
        super().__init__(f"{tool}: {reason}")


@dataclass
class Scratch:
    budget: int
    spent: int = 0
    observations: list[Observation] = field(default_factory=list)
    failures: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    trace: list[str] = field(default_factory=list)

    @property
    def exhausted(self) -> bool:
        return self.spent >= self.budget

    def summary(self) -> Optional[Tensor]:
        if not self.observations:
            return None
        w = torch.tensor([o.score for o in self.observations]).softmax(0)
        return (w[:, None] * torch.stack([o.vector for o in self.observations])).sum(0)


@tool("image", cost=2)
def look(agent: Agent, query: Tensor, scratch: Scratch) -> Observation:
    sims = F.cosine_similarity(agent.images, query[None], dim=-1)
    best = int(sims.argmax())
    if sims[best] < 0:
        raise ToolError("image", f"nothing like it ({sims[best].item():.2f})")
    return Observation("image", agent.images[best], sims[best].item())


@tool("text")
def read(agent: Agent, query: Tensor, scratch: Scratch) -> Observation:
    seen = {o.tool for o in scratch.observations}
    bonus = 0.1 if "image" in seen else 0.0
    h = torch.relu(agent.reader(query))
    return Observation("text", h, h.mean().item() + bonus)


@tool("math", cost=3)
def calculate(agent: Agent, query: Tensor, scratch: Scratch) -> Observation:
    if len(scratch.observations) < 1:
        raise ToolError("math", "needs an observation")
    *_, last = scratch.observations
    v = last.vector / last.vector.norm().clamp(min=1e-6)
    return Observation("math", v * query.norm(), float(v @ query))


class Agent(nn.Module):
    def __init__(self, dim: int = 6, images: int = 5, classes: int = 3, max_steps: int = 6):
        super().__init__()
        self.policy = nn.Linear(2 * dim, len(REGISTRY) + 1)
        self.reader = nn.Linear(dim, dim)
        self.answer = nn.Linear(dim, classes)
        self.register_buffer("images", torch.randn(images, dim))
        self.names = [*REGISTRY, "stop"]
        self.max_steps = max_steps

    def choose(self, query: Tensor, scratch: Scratch) -> str:
        context = scratch.summary()
        state = torch.cat([query, context if context is not None else torch.zeros_like(query)])
        logits = self.policy(state)
        for i, name in enumerate(self.names):
            if scratch.failures.get(name, 0) >= 2:
                logits[i] = float("-inf")
            elif name == "stop" and not scratch.observations:
                logits[i] -= 2.0
        return self.names[int(logits.argmax())]

    @torch.no_grad()
    def forward(self, query: Tensor, budget: int = 8, mode: Literal["full", "short"] = "full") -> Summary | dict[str, Any]:
        scratch = Scratch(budget if mode == "full" else min(budget, 3))
        for step in range(self.max_steps):
            name = self.choose(query, scratch)
            if name == "stop":
                scratch.trace.append("stop")
                break
            try:
                obs = REGISTRY[name](self, query, scratch)
            except ToolError as e:
                scratch.failures[name] += 1
                scratch.trace.append(f"failed {e}")
                continue
            scratch.observations.append(obs)
            scratch.trace.append(f"{name} {obs.score:.2f}")
            query = 0.7 * query + 0.3 * obs.vector
            if scratch.exhausted:
                scratch.trace.append("budget")
                break
        else:
            scratch.trace.append("steps")
        final = scratch.summary()
        if final is None:
            return {"answer": -1, "confidence": 0.0, "trace": scratch.trace}
        p = self.answer(final).softmax(-1)
        return Summary(answer=int(p.argmax()), confidence=round(p.max().item(), 5), trace=scratch.trace)


def make_model():
    torch.manual_seed(4)
    return Agent().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    q = lambda s=1.0: s * torch.randn(6, generator=g)
    return [(q(),), (q(3.0), 3), (-q(2.0),), (torch.zeros(6), 5), (q(), 20, "short"), (q(5.0), 12), (-5 * torch.ones(6), 1)]
