"""Deep hedging: path signature features, recurrent hedger with no-trade bands, barrier options that knock out, bisection for the premium."""
import abc
import functools
import itertools
import math
from typing import Callable, ClassVar, Dict, Type
import torch
import torch.nn as nn


def signature(path: torch.Tensor, depth: int) -> torch.Tensor:
    """Truncated signature of a (time, dim) path."""
    increments = path[1:] - path[:-1]
    d = path.shape[1]
    levels = [torch.zeros(d ** k) for k in range(1, depth + 1)]
    for dx in increments:
        exp = [dx]
        for k in range(2, depth + 1):
            exp.append(torch.kron(exp[-1], dx) / k)
        new = []
        for k in range(depth):
            acc = levels[k] + exp[k]
            for i in range(k):
                acc = acc + torch.kron(levels[i], exp[k - 1 - i])
            new.append(acc)
        levels = new
    return torch.cat(levels)


class Payoff(abc.ABC):
    registry: ClassVar[Dict[str, Type["Payoff"]]] = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Payoff.registry[cls.__name__.lower()] = cls

    def __init__(self, strike: float):
        self.strike = strike

    @abc.abstractmethod
    def __call__(self, path: torch.Tensor) -> torch.Tensor:
        ...

    def alive(self, spot: float) -> bool:
        return True


class Call(Payoff):
    def __call__(self, path):
        return (path[-1] - self.strike).clamp(min=0)


class Asian(Payoff):
    def __call__(self, path):
        return torch.relu(path.mean() - self.strike)


class UpAndOut(Call):
    def __init__(self, strike, barrier=1.3):
        super().__init__(strike)
        self.barrier = barrier

    def alive(self, spot):
        return spot < self.barrier

    def __call__(self, path):
        if (path >= self.barrier).any():
            return path.new_zeros(())
        return super().__call__(path)


class Hedger(nn.Module):
    def __init__(self, depth=2, hidden=12):
        super().__init__()
        n = sum(2 ** k for k in range(1, depth + 1))
        self.depth = depth
        self.net = nn.Sequential(nn.Linear(n + 2, hidden), nn.SELU(), nn.Linear(hidden, hidden), nn.SELU())
        self.band = nn.Linear(hidden, 2)

    def forward(self, sig, position, spot):
        h = self.net(torch.cat([sig, position.view(1), spot.view(1)]))
        centre, width = self.band(h)
        centre, width = torch.sigmoid(centre), 0.1 * nn.functional.softplus(width)
        lo, hi = centre - width, centre + width
        if position < lo:
            return lo, 1
        if position > hi:
            return hi, -1
        return position, 0


class DeepHedge(nn.Module):
    def __init__(self, cost=0.002):
        super().__init__()
        self.hedger = Hedger()
        self.cost = cost

    def make(self, kind: str, strike: float) -> Payoff:
        try:
            cls = Payoff.registry[kind.lower()]
        except KeyError as e:
            raise ValueError(f"unknown payoff {kind!r}: {sorted(Payoff.registry)}") from e
        return cls(strike)

    def hedge(self, path, payoff):
        times = torch.linspace(0, 1, len(path))
        augmented = torch.stack([times, path], dim=1)
        position = torch.zeros(())
        cash, trades = torch.zeros(()), []
        for t in range(len(path) - 1):
            spot = path[t]
            if not payoff.alive(spot.item()):
                cash = cash + position * spot * (1 - self.cost)
                position = torch.zeros(())
                trades.append("X")
                break
            sig = signature(augmented[: t + 1], self.hedger.depth) if t else torch.zeros(6)
            new, direction = self.hedger(sig, position, spot)
            if direction:
                cash = cash - (new - position) * spot - self.cost * (new - position).abs() * spot
            trades.append({1: "B", -1: "S", 0: "."}[direction])
            position = new
        cash = cash + position * path[-1]
        return cash - payoff(path), "".join(trades)

    @staticmethod
    def entropic_risk(pnl: torch.Tensor, a: float = 5.0):
        return torch.logsumexp(-a * pnl, 0) / a - math.log(len(pnl)) / a

    def premium(self, pnl, risk: Callable, lo=-1.0, hi=1.0, tol=1e-3):
        if risk(pnl + hi) > 0:
            raise ArithmeticError("no premium in the bracket")
        for it in itertools.count(1):
            mid = 0.5 * (lo + hi)
            if risk(pnl + mid) > 0:
                lo = mid
            else:
                hi = mid
            if hi - lo < tol:
                return mid, it

    @torch.no_grad()
    def forward(self, paths: torch.Tensor, kind: str = "call", strike: float = 1.0):
        payoff = self.make(kind, strike)
        results = [self.hedge(p, payoff) for p in paths]
        pnl = torch.stack([r[0] for r in results])
        price, iterations = self.premium(pnl, functools.partial(self.entropic_risk, a=5.0))
        runs = ["".join(f"{k}{sum(1 for _ in g)}" for k, g in itertools.groupby(r[1])) for r in results]
        worst = pnl.argmin().item()
        return {"pnl": pnl, "price": price, "iterations": iterations, "trades": runs, "worst": (worst, results[worst][1].count("B"))}


def make_model():
    torch.manual_seed(2)
    return DeepHedge().eval()


def make_inputs():
    g = torch.Generator().manual_seed(5)
    p = lambda n, t, vol=0.1: torch.exp(torch.cumsum(torch.randn(n, t, generator=g) * vol, 1))
    return [(p(3, 6),), (p(2, 8, 0.3), "UpAndOut"), (p(4, 5), "asian", 0.9), (p(1, 1),), (p(2, 4), "digital"), (p(2, 3, 2.5), "call", 0.5), (p(1, 9, 0.25), "upandout", 0.8)]
