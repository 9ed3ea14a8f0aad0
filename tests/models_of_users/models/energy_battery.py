"""Home battery: rolling-horizon dispatch by beam search over discrete actions, forecast by a small net, tariffs in a table."""
import heapq
import itertools
from collections import Counter, OrderedDict
from functools import lru_cache, partial

import torch
import torch.nn as nn

TARIFF = OrderedDict([("night", (0, 6, 0.11)), ("day", (6, 17, 0.24)), ("peak", (17, 21, 0.41)), ("late", (21, 24, 0.2))])


@lru_cache(maxsize=None)
def price(hour):
    hour %= 24
    for name, (start, stop, p) in TARIFF.items():
        if start <= hour < stop:
            return name, p
    raise LookupError(hour)


class Plan:
    counter = itertools.count()

    def __init__(self, cost, charge, actions=()):
        self.cost, self.charge, self.actions = cost, charge, tuple(actions)

    def __lt__(self, other):
        return (self.cost, -self.charge) < (other.cost, -other.charge)

    def then(self, action, cost, charge):
        return Plan(self.cost + cost, charge, self.actions + (action,))

    def __repr__(self):
        return f"Plan({self.cost:.3f}, {'/'.join(self.actions) or 'none'})"


class Forecast(nn.Module):
    def __init__(self, inputs=4, hidden=10):
        super().__init__()
        self.rnn = nn.GRU(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 2)

    def forward(self, history, horizon):
        y, h = self.rnn(history.unsqueeze(0))
        outs = []
        x = history[-1:].unsqueeze(0)
        for _ in range(horizon):
            y, h = self.rnn(x, h)
            load, sun = self.out(y[:, -1]).sigmoid().unbind(-1)
            outs.append(torch.stack([load * 3, sun * 4], -1))
            x = torch.cat([x[..., 2:], outs[-1].unsqueeze(1)], dim=-1)
        return torch.cat(outs) if outs else history.new_zeros(0, 2)


class Battery(nn.Module):
    ACTIONS = {"charge": 1.0, "hold": 0.0, "discharge": -1.0}

    def __init__(self, capacity=3.0, beam=4):
        super().__init__()
        self.forecast = Forecast()
        self.capacity, self.beam = capacity, beam
        self.usage = Counter()

    def legal(self, charge, name):
        after = charge + self.ACTIONS[name]
        return -1e-9 <= after <= self.capacity + 1e-9

    def cost_of(self, load, sun, hour, action):
        net = load - sun + self.ACTIONS[action]
        _, p = price(hour)
        return net * p if net > 0 else net * 0.05

    def forward(self, history, hour: int, charge: float = 1.0, horizon: int = 4):
        if not 0 <= charge <= self.capacity:
            raise ValueError(f"charge {charge} outside [0, {self.capacity}]")
        outlook = self.forecast(history, horizon)
        beam = [Plan(0.0, charge)]
        for t, (load, sun) in enumerate(outlook.tolist()):
            step = partial(self.cost_of, load, sun, hour + t)
            options = [
                plan.then(name, step(name), plan.charge + self.ACTIONS[name])
                for plan in beam
                for name in self.ACTIONS
                if self.legal(plan.charge, name)
            ]
            beam = heapq.nsmallest(self.beam, options)
            if all(p.actions[-1] == "hold" for p in beam):
                break
        best = min(beam)
        counts = Counter(best.actions)
        self.usage.update(counts)
        tariffs = [price(hour + t)[0] for t in range(len(best.actions))]
        groups = {k: len(list(v)) for k, v in itertools.groupby(tariffs)}
        common = counts.most_common(1)
        return repr(best), best.cost, groups, common[0] if common else None, dict(self.usage), outlook


STATEFUL = True


def make_model():
    torch.manual_seed(9)
    return Battery().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    return [(torch.randn(n, 4, generator=g), hour, charge, horizon) for n, hour, charge, horizon in ((5, 3, 1.0, 4), (2, 16, 3.0, 6), (7, 22, 0.0, 3), (1, 12, 2.0, 0), (3, 19, 9.0, 2), (4, 20, 0.5, 5))]
