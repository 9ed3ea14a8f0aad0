"""Tabular: an ordered rule list with learned thresholds, rules as objects with operators from a table, first match wins, counterfactuals by greedy changes, explanations as text."""
import operator as op
from collections import OrderedDict
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

OPS: Mapping[str, Callable] = MappingProxyType({"<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge})
NAMES = ("age", "income", "debt", "tenure")


class Clause(NamedTuple):
    feature: int
    sign: str
    threshold: float

    def holds(self, row: List[float]) -> bool:
        return OPS[self.sign](row[self.feature], self.threshold)

    def text(self) -> str:
        return f"{NAMES[self.feature]} {self.sign} {self.threshold:.2f}"

    def fix(self, row: List[float]) -> List[float]:
        delta = 0.01 if self.sign[0] == ">" else -0.01
        return [self.threshold + delta if i == self.feature else v for i, v in enumerate(row)]


@dataclass(frozen=True)
class Rule:
    clauses: Tuple[Clause, ...]
    label: int
    weight: float = 1.0

    def matches(self, row: List[float]) -> bool:
        return all(c.holds(row) for c in self.clauses)

    def missing(self, row: List[float]) -> List[Clause]:
        return [c for c in self.clauses if not c.holds(row)]

    def __str__(self) -> str:
        return " and ".join(c.text() for c in self.clauses) + f" -> {self.label}"


class RuleList(nn.Module):
    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(3)
        t = torch.randn(6, generator=g).mul(0.7).tolist()
        self.rules = [
            Rule((Clause(0, "<", t[0]), Clause(2, ">", t[1])), 0, 0.9),
            Rule((Clause(1, ">=", t[2]),), 1, 0.8),
            Rule((Clause(3, "<=", t[3]), Clause(0, ">", t[4]), Clause(2, "<", t[5])), 2, 0.7),
        ]
        self.fallback = nn.Linear(len(NAMES), 3)
        self.register_buffer("hits", torch.zeros(len(self.rules) + 1, dtype=torch.long))

    def first(self, row: List[float]) -> Tuple[int, Optional[Rule]]:
        for i, r in enumerate(self.rules):
            if r.matches(row):
                return i, r
        return len(self.rules), None

    def counterfactual(self, row: List[float], target: int) -> Optional[Tuple[int, List[float]]]:
        options = sorted((len(r.missing(row)), i) for i, r in enumerate(self.rules) if r.label == target)
        for n, i in options:
            new = reduce(lambda acc, c: c.fix(acc), self.rules[i].missing(row), row)
            j, hit = self.first(new)
            if hit is not None and hit.label == target:
                return n, new
        return None

    def forward(self, x: Tensor, target: int = 1):
        labels, texts, changes = [], [], []
        cost = 0
        for values in x:
            row = values.tolist()
            i, rule = self.first(row)
            self.hits[i] += 1
            if rule is None:
                logits = self.fallback(values)
                label = int(logits.argmax())
                texts.append(f"fallback {logits.softmax(-1)[label].item():.3f}")
            else:
                label = rule.label
                texts.append(str(rule))
            labels.append(label)
            if label != target:
                found = self.counterfactual(row, target)
                if found is not None:
                    cost += found[0]
                    changes.append(torch.tensor(found[1]) - values)
        counts = OrderedDict((str(k), labels.count(k)) for k in range(3))
        merged = {"n": len(labels), **counts}
        delta = torch.stack(changes).abs().sum(0) if changes else None
        return labels, texts, cost, delta, dict(merged), self.hits.clone()


STATEFUL = True


def make_model():
    torch.manual_seed(23)
    return RuleList().eval()


def make_inputs():
    g = torch.Generator().manual_seed(4)
    return [(torch.randn(5, 4, generator=g),), (torch.randn(3, 4, generator=g) * 2, 0), (torch.zeros(1, 4), 2), (torch.zeros(0, 4),), (torch.full((2, 4), -3.0), 2)]
