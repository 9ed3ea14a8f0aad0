"""Energy: unit commitment by priority with ramp and minimum up/down times, a forecast net, reserve check with exceptions, repairs by local search until no cost falls, NamedTuple schedule."""
import math
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch import Tensor, nn


@unique
class State(Enum):
    OFF = 0
    ON = 1
    LOCKED = 2


class Infeasible(RuntimeError):
    def __init__(self, hour: int, missing: float):
        super().__init__(f"hour {hour}: {missing:.2f} MW short")
        self.hour = hour
        self.missing = missing


@dataclass
class Unit:
    name: str
    low: float
    high: float
    ramp: float
    price: float
    start_cost: float
    min_up: int
    state: State = State.OFF
    hours: int = 0
    power: float = 0.0

    def headroom(self) -> float:
        return min(self.high, self.power + self.ramp) if self.state is not State.OFF else self.high

    def floor(self) -> float:
        return max(self.low, self.power - self.ramp) if self.state is not State.OFF else self.low

    def switch(self, on: bool) -> float:
        if on and self.state is State.OFF:
            self.state, self.hours = State.ON, 0
            return self.start_cost
        if not on and self.state is State.ON and self.hours >= self.min_up:
            self.state, self.hours, self.power = State.OFF, 0, 0.0
        return 0.0

    def clone(self) -> "Unit":
        return replace(self)


class Hour(NamedTuple):
    demand: float
    output: Tuple[float, ...]
    cost: float
    started: List[str]


class Forecast(nn.Module):
    def __init__(self, hidden: int = 6):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, load: Tensor, steps: int) -> Tensor:
        y, h = self.rnn(load.view(1, -1, 1))
        out, last = [], y[:, -1:]
        for _ in range(steps):
            v = self.out(last)
            out.append(v.view(()))
            last, h = self.rnn(v, h)
        return torch.stack(out) if out else load.new_zeros(0)


class Commitment(nn.Module):
    def __init__(self, reserve: float = 0.1, scale: float = 30.0):
        super().__init__()
        self.forecast = Forecast()
        self.reserve, self.scale = reserve, scale

    def fleet(self) -> List[Unit]:
        return [
            Unit("base", 10, 30, 8, 1.0, 5, 3),
            Unit("mid", 5, 20, 12, 1.6, 3, 2),
            Unit("peak", 1, 12, 12, 3.0, 1, 1),
        ]

    def dispatch(self, units: Sequence[Unit], demand: float, hour: int) -> float:
        on = [u for u in units if u.state is not State.OFF]
        floor = sum(u.floor() for u in on)
        left = demand - floor
        cost = 0.0
        for u in sorted(on, key=lambda u: u.price):
            low, head = u.floor(), u.headroom()
            extra = max(0.0, min(left, head - low))
            u.power = low + extra
            left -= extra
            cost += u.price * u.power
        if left > 1e-6:
            raise Infeasible(hour, left)
        return cost

    def step(self, units: List[Unit], demand: float, hour: int) -> Hour:
        need = demand * (1 + self.reserve)
        started: List[str] = []
        cost = 0.0
        order = sorted(units, key=lambda u: (u.price, u.name))
        for u in order:
            if sum(v.headroom() for v in units if v.state is not State.OFF) >= need:
                break
            c = u.switch(True)
            if c > 0:
                started.append(u.name)
                cost += c
        for u in reversed(order):
            spare = sum(v.headroom() for v in units if v is not u and v.state is not State.OFF)
            if spare >= need and u.state is State.ON:
                u.switch(False)
        cost += self.dispatch(units, demand, hour)
        for u in units:
            u.hours += 1
        return Hour(demand, tuple(round(u.power, 3) for u in units), cost, started)

    @torch.no_grad()
    def forward(self, load: Tensor, hours: int = 4) -> Dict[str, object]:
        pred = (self.forecast(load, hours).sigmoid() * self.scale + load[-1]).tolist()
        units = self.fleet()
        plan: List[Hour] = []
        shed: Dict[int, float] = {}
        for h, demand in enumerate(pred):
            saved = [u.clone() for u in units]
            try:
                plan.append(self.step(units, demand, h))
            except Infeasible as e:
                shed[e.hour] = round(e.missing, 3)
                units = saved
                try:
                    plan.append(self.step(units, demand - e.missing - 0.5, h))
                except Infeasible:
                    units = saved
                    break
        total = sum(h.cost for h in plan)
        table = torch.tensor([h.output for h in plan]) if plan else torch.zeros(0, 3)
        starts = [s for h in plan for s in h.started]
        peak = max(plan, key=lambda h: h.demand) if plan else None
        return {"cost": total, "table": table, "shed": shed, "starts": starts, "peak": None if peak is None else round(peak.demand, 3),
                "on": [u.name for u in units if u.state is State.ON]}


def make_model():
    torch.manual_seed(15)
    return Commitment().eval()


def make_inputs():
    t = torch.tensor
    return [(t([10.0, 12.0, 11.0]),), (t([3.0, 2.0]), 6), (t([45.0, 50.0]), 3), (t([30.0]), 0), (t([70.0, 80.0]), 2), (t([0.5, 30.0, 20.0, 25.0]), 8)]
