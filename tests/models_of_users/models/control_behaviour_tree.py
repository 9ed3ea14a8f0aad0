"""Robotics: a behaviour tree with composite and decorator nodes ticked by learned conditions; blackboard dict, running children resumed, statuses as an enum, trace of ticks."""
from __future__ import annotations

import enum
from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import nn


class Status(enum.Enum):
    SUCCESS = enum.auto()
    FAILURE = enum.auto()
    RUNNING = enum.auto()


class Blackboard:
    def __init__(self, obs: torch.Tensor):
        self.obs = obs
        self.velocity = torch.zeros(2)
        self.battery = float(obs[4])
        self.log: list[str] = []


class Behaviour(nn.Module):
    name: ClassVar[str] = "behaviour"

    @abstractmethod
    def tick(self, bb: Blackboard) -> Status:
        raise NotImplementedError

    def forward(self, bb: Blackboard) -> Status:
        status = self.tick(bb)
        bb.log.append(f"{self.name}:{status.name[0]}")
        return status


class Condition(Behaviour):
    def __init__(self, name: str, net: nn.Module, threshold: float = 0.5):
        super().__init__()
        self.name, self.net, self.threshold = name, net, threshold

    def tick(self, bb):
        return Status.SUCCESS if torch.sigmoid(self.net(bb.obs)) > self.threshold else Status.FAILURE


class BatteryOk(Behaviour):
    name = "battery"

    def __init__(self, minimum: float):
        super().__init__()
        self.minimum = minimum

    def tick(self, bb):
        return Status.SUCCESS if bb.battery > self.minimum else Status.FAILURE


class Move(Behaviour):
    def __init__(self, name: str, net: nn.Module, cost: float):
        super().__init__()
        self.name, self.net, self.cost = name, net, cost

    def tick(self, bb):
        v = self.net(bb.obs)
        speed = v.norm()
        if speed > 1:
            v = v / speed
        bb.velocity = bb.velocity + v
        bb.battery -= self.cost * min(float(speed), 1.0)
        if bb.battery <= 0:
            return Status.FAILURE
        return Status.RUNNING if speed < 0.25 else Status.SUCCESS


class Sequence(Behaviour):
    def __init__(self, name: str, *children: Behaviour):
        super().__init__()
        self.name = name
        self.children_ = nn.ModuleList(children)
        self.at = 0

    def tick(self, bb):
        for i, child in enumerate(self.children_):
            if i < self.at:
                continue
            status = child(bb)
            if status is Status.RUNNING:
                self.at = i
                return status
            if status is Status.FAILURE:
                self.at = 0
                return status
        self.at = 0
        return Status.SUCCESS


class Fallback(Behaviour):
    def __init__(self, name: str, *children: Behaviour):
        super().__init__()
        self.name = name
        self.children_ = nn.ModuleList(children)

    def tick(self, bb):
        for child in self.children_:
            status = child(bb)
            if status != Status.FAILURE:
                return status
        return Status.FAILURE


class Inverter(Behaviour):
    def __init__(self, child: Behaviour):
        super().__init__()
        self.child = child
        self.name = f"not {child.name}"

    _FLIP = {Status.SUCCESS: Status.FAILURE, Status.FAILURE: Status.SUCCESS}

    def tick(self, bb):
        s = self.child(bb)
        return self._FLIP.get(s, s)


class Retry(Behaviour):
    def __init__(self, child: Behaviour, times: int):
        super().__init__()
        self.child, self.times = child, times
        self.name = f"retry {times}"

    def tick(self, bb):
        for attempt in range(self.times):
            if (status := self.child(bb)) is not Status.FAILURE:
                return status
            bb.obs = bb.obs * 0.5
        return Status.FAILURE


def mlp(out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, out))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.root = Fallback(
            "root",
            Sequence("charge", Inverter(BatteryOk(0.2)), Retry(Move("dock", mlp(2), 0.05), 2)),
            Sequence("avoid", Condition("obstacle", mlp(1), 0.55), Move("turn", mlp(2), 0.1)),
            Sequence("work", Condition("target", mlp(1), 0.45), Move("approach", mlp(2), 0.2), Move("grasp", mlp(2), 0.3)),
            Move("wander", mlp(2), 0.1),
        )

    @torch.no_grad()
    def forward(self, obs: torch.Tensor) -> tuple[str, torch.Tensor, dict[str, Any]]:
        bb = Blackboard(obs)
        status = self.root(bb)
        info = {"battery": round(bb.battery, 4), "ticks": len(bb.log), "trace": " ".join(bb.log)}
        if status is Status.RUNNING:
            info["resume"] = bb.log[-1].split(":")[0]
        return status.name, bb.velocity, info


STATEFUL = True


def make_model():
    torch.manual_seed(14)
    return Agent().eval()


def make_inputs():
    g = torch.Generator().manual_seed(4)
    obs = [torch.randn(5, generator=g) * s for s in (1.0, 2.0, 0.2, 3.0, 0.5, 1.5, 2.5)]
    for o, b in zip(obs, (0.9, 0.15, 0.6, 0.05, 0.8, 0.3, 0.01)):
        o[4] = b
    return [(o,) for o in obs]
