"""Backtest of a policy network over bars: positions, orders, stops, fees, drawdown kill switch, trade log and metrics."""
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import reduce
from typing import Any, Dict, List, Optional
import math
import torch
import torch.nn as nn

Bar = namedtuple("Bar", "open high low close")


class Side(Enum):
    LONG = auto()
    SHORT = auto()

    @property
    def sign(self):
        return 1 if self is Side.LONG else -1

    def opposite(self) -> "Side":
        return Side.SHORT if self is Side.LONG else Side.LONG


class InsufficientFunds(Exception):
    """Raised when an order costs more than the account holds."""


@dataclass
class Position:
    side: Side
    size: float
    entry: float
    stop: float
    opened: int
    best: float = field(init=False)

    def __post_init__(self):
        self.best = self.entry

    def pnl(self, price: float) -> float:
        return self.side.sign * self.size * (price - self.entry)

    def trail(self, bar: Bar, width: float):
        if self.side is Side.LONG and bar.high > self.best:
            self.best = bar.high
            self.stop = max(self.stop, self.best * (1 - width))
        elif self.side is Side.SHORT and bar.low < self.best:
            self.best = bar.low
            self.stop = min(self.stop, self.best * (1 + width))

    def hit(self, bar: Bar) -> bool:
        return bar.low <= self.stop if self.side is Side.LONG else bar.high >= self.stop


@dataclass
class Account:
    cash: float
    fee: float = 0.001
    position: Optional[Position] = None
    trades: List[Dict[str, Any]] = field(default_factory=list)
    curve: List[float] = field(default_factory=list)

    def open(self, side, price, size, stop, t):
        cost = price * size * (1 + self.fee)
        if cost > self.cash:
            raise InsufficientFunds(f"need {cost:.2f}, have {self.cash:.2f}")
        self.cash -= price * size * self.fee
        self.position = Position(side, size, price, stop, t)

    def close(self, price: float, t: int, reason: str):
        p = self.position
        pnl = p.pnl(price) - price * p.size * self.fee
        self.cash += pnl
        self.trades.append({"side": p.side.name, "pnl": pnl, "bars": t - p.opened, "reason": reason})
        self.position = None

    def equity(self, price):
        return self.cash + (self.position.pnl(price) if self.position is not None else 0.0)


class Policy(nn.Module):
    def __init__(self, feat=5, hidden=10):
        super().__init__()
        self.rnn = nn.GRUCell(feat, hidden)
        self.act = nn.Linear(hidden, 3)
        self.size = nn.Linear(hidden, 1)
        self.hidden = hidden

    def features(self, bar: Bar, prev: Optional[Bar], equity_ratio: float):
        ret = math.log(bar.close / prev.close) if prev else 0.0
        rng = (bar.high - bar.low) / bar.close
        body = (bar.close - bar.open) / (bar.high - bar.low + 1e-9)
        return torch.tensor([[ret * 20, rng * 20, body, equity_ratio - 1, float(prev is None)]])

    def forward(self, bars: torch.Tensor, cash: float = 1000.0, max_drawdown: float = 0.2):
        acc = Account(cash)
        h = bars.new_zeros(1, self.hidden)
        prev: Optional[Bar] = None
        peak, status, rejected = cash, "finished", []
        for t, row in enumerate(bars.tolist()):
            bar = Bar(*row)
            pos = acc.position
            if pos is not None:
                if pos.hit(bar):
                    acc.close(pos.stop, t, "stop")
                else:
                    pos.trail(bar, 0.03)
            eq = acc.equity(bar.close)
            acc.curve.append(eq)
            peak = max(peak, eq)
            if (peak - eq) / peak > max_drawdown:
                if acc.position:
                    acc.close(bar.close, t, "kill")
                status = "killed"
                break
            h = self.rnn(self.features(bar, prev, eq / cash), h)
            action = self.act(h).argmax(-1).item()
            want = {0: None, 1: Side.LONG, 2: Side.SHORT}[action]
            if want is not None:
                if acc.position is not None and acc.position.side == want.opposite():
                    acc.close(bar.close, t, "flip")
                if acc.position is None:
                    frac = torch.sigmoid(self.size(h)).item() * 1.3
                    try:
                        acc.open(want, bar.close, frac * acc.cash / bar.close, bar.close * (1 - 0.02 * want.sign), t)
                    except InsufficientFunds as e:
                        rejected.append(str(e))
            prev = bar
        else:
            if acc.position is not None and prev is not None:
                acc.close(prev.close, len(bars), "end")
        wins = [tr for tr in acc.trades if tr["pnl"] > 0]
        by_reason: Dict[str, int] = {}
        for tr in acc.trades:
            by_reason[tr["reason"]] = by_reason.get(tr["reason"], 0) + 1
        growth = reduce(lambda a, b: a * b, (1 + tr["pnl"] / cash for tr in acc.trades), 1.0)
        metrics = {
            "final": acc.cash, "trades": len(acc.trades), "win_rate": len(wins) / len(acc.trades) if acc.trades else None,
            "avg_bars": sum(tr["bars"] for tr in acc.trades) / len(acc.trades) if acc.trades else 0, "growth": growth,
        }
        return status, metrics, by_reason, rejected[:2], torch.tensor(acc.curve)


def make_model():
    torch.manual_seed(4)
    m = Policy().eval()
    with torch.no_grad():
        m.act.weight.mul_(4)
        m.size.weight.mul_(6)
    return m


def make_inputs():
    def path(n, drift, vol, seed):
        g = torch.Generator().manual_seed(seed)
        close = 100 * torch.exp(torch.cumsum(torch.randn(n, generator=g) * vol + drift, 0))
        open_ = torch.cat([close.new_tensor([100.0]), close[:-1]]) if n else close
        hi = torch.maximum(open_, close) * 1.01
        lo = torch.minimum(open_, close) * 0.99
        return torch.stack([open_, hi, lo, close], 1)

    return [(path(30, 0.002, 0.02, 0),), (path(40, -0.01, 0.05, 1), 500.0, 0.05), (path(0, 0, 0.1, 2),), (path(25, 0.01, 0.01, 3),), (path(60, 0.0, 0.08, 5), 1000.0, 0.5)]
