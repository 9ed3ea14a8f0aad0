"""Tabular: rows as dicts with missing values go through typed feature encoders into a mixture of small experts."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Protocol, Sequence, Tuple, Union

import torch
from torch import Tensor, nn

Value = Union[float, str, None]


class Encoder(Protocol):
    dim: int

    def encode(self, value: Value) -> List[float]: ...


class Numeric:
    def __init__(self, mean: float, std: float, log: bool = False, clip: Optional[Tuple[float, float]] = None):
        self.mean, self.std, self.log, self.clip = mean, std, log, clip
        self.dim = 2

    def encode(self, value: Value) -> List[float]:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return [0.0, 1.0]
        x = float(value)
        if self.log:
            x = math.log1p(max(x, 0.0))
        if self.clip is not None:
            lo, hi = self.clip
            x = min(max(x, lo), hi)
        return [(x - self.mean) / self.std, 0.0]


class Categorical:
    def __init__(self, vocabulary: Sequence[str], lower: bool = True):
        self.index = {w: i for i, w in enumerate(vocabulary)}
        self.lower = lower
        self.dim = len(vocabulary) + 1

    def encode(self, value: Value) -> List[float]:
        out = [0.0] * self.dim
        key = "" if value is None else str(value)
        if self.lower:
            key = key.lower().strip()
        out[self.index.get(key, self.dim - 1)] = 1.0
        return out


class Date:
    """`YYYY-MM-DD` as parts of a cycle."""

    dim = 3

    def encode(self, value: Value) -> List[float]:
        try:
            year, month, day = (int(p) for p in value.split("-"))
        except (ValueError, AttributeError):
            return [0.0, 0.0, 0.0]
        angle = 2 * math.pi * ((month - 1) * 30.4 + day) / 365.0
        return [(year - 2020) / 10, math.sin(angle), math.cos(angle)]


class GatedExperts(nn.Module):
    def __init__(self, dim: int, n: int = 3, top: int = 2, hidden: int = 8):
        super().__init__()
        self.gate = nn.Linear(dim, n)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 1)) for _ in range(n))
        self.top = top

    def forward(self, x: Tensor) -> Tuple[Tensor, List[int]]:
        weights, chosen = torch.topk(self.gate(x).softmax(-1), self.top, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out, load = torch.zeros(x.size(0)), []
        for e, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == e)
            load.append(len(rows))
            if len(rows):
                out[rows] += weights[rows, slot] * expert(x[rows]).squeeze(-1)
        return out, load


class TabularModel(nn.Module):
    calibrations: Dict[str, Callable[[float], float]] = {
        "none": lambda p: p,
        "floor": lambda p: max(p, 0.05),
        "logit": lambda p: math.log(p / (1 - p)) if 0 < p < 1 else 0.0,
    }

    def __init__(self, columns: Mapping[str, Encoder]):
        super().__init__()
        self.columns = dict(columns)
        self.total = sum(c.dim for c in self.columns.values())
        self.norm = nn.LayerNorm(self.total)
        self.moe = GatedExperts(self.total)

    def featurize(self, row: Dict[str, Value]) -> List[float]:
        features: List[float] = []
        for name, enc in self.columns.items():
            features += enc.encode(row.get(name))
        return features

    def explain(self, rows: Tensor, base: Tensor) -> List[Tuple[str, float]]:
        effects: List[Tuple[str, float]] = []
        offset = 0
        for name, enc in self.columns.items():
            blanked = rows.clone()
            blanked[:, offset:offset + enc.dim] = 0
            effects.append((name, (base - self.moe(self.norm(blanked))[0]).abs().mean().item()))
            offset += enc.dim
        return sorted(effects, key=lambda e: (-round(e[1], 6), e[0]))

    def forward(self, rows: List[Dict[str, Value]], mode: Literal["none", "floor", "logit"] = "none", explain: bool = False) -> Dict[str, Any]:
        if not rows:
            return {"scores": [], "load": None, "effects": None}
        x = torch.tensor([self.featurize(r) for r in rows])
        logits, load = self.moe(self.norm(x))
        calibrate = self.calibrations[mode]
        scores = [round(calibrate(p), 5) for p in torch.sigmoid(logits).tolist()]
        return {"scores": scores, "load": load, "effects": self.explain(x, logits) if explain else None}


def make_model():
    torch.manual_seed(0)
    return TabularModel({
        "age": Numeric(40.0, 12.0, clip=(18.0, 90.0)),
        "income": Numeric(10.0, 1.5, log=True),
        "city": Categorical(["paris", "oslo", "lima"]),
        "since": Date(),
    }).eval()


def make_inputs():
    row = lambda age, income, city, since: {"age": age, "income": income, "city": city, "since": since}
    return [
        ([row(30.0, 52000.0, "Paris", "2021-03-14")],),
        ([row(None, 0.0, "rome", None), row(99.0, None, None, "2020-13")], "floor", True),
        ([row(float("nan"), -5.0, " OSLO ", "yesterday"), row(12.0, 1e6, "lima", "2019-12-31"), row(45.0, 30000.0, "", "2022-01-01")], "logit"),
        ([], "none"),
    ]
