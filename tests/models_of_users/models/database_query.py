"""A learned query planner and executor: tables as dicts of tensors, filters, hash join, group by, order by, plan chosen by a cost net."""
from __future__ import annotations
import math
from abc import ABC, abstractmethod
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

import torch
import torch.nn as nn

Table = Dict[str, torch.Tensor]


def num_rows(t: Table) -> int:
    return next(iter(t.values())).shape[0] if t else 0


class Operator(ABC):
    @abstractmethod
    def run(self, tables: Dict[str, Table]) -> Table: ...

    def __repr__(self):
        return type(self).__name__


class Scan(Operator):
    def __init__(self, name: str):
        self.name = name

    def run(self, tables):
        if self.name not in tables:
            raise KeyError(self.name)
        return dict(tables[self.name])


class Filter(Operator):
    def __init__(self, child: Operator, column: str, op: str, value: float):
        self.child, self.column, self.op, self.value = child, column, op, value

    def run(self, tables):
        t = self.child.run(tables)
        c = t[self.column]
        mask = {"<": c < self.value, ">": c > self.value, "==": c == self.value}[self.op]
        return {k: v[mask] for k, v in t.items()}


class HashJoin(Operator):
    def __init__(self, left: Operator, right: Operator, on: str):
        self.left, self.right, self.on = left, right, on

    def run(self, tables):
        a, b = self.left.run(tables), self.right.run(tables)
        index: Dict[int, List[int]] = {}
        for i, key in enumerate(b[self.on].long().tolist()):
            index.setdefault(key, []).append(i)
        li, ri = [], []
        for i, key in enumerate(a[self.on].long().tolist()):
            for j in index.get(key, []):
                li.append(i)
                ri.append(j)
        ia, ib = torch.tensor(li, dtype=torch.long), torch.tensor(ri, dtype=torch.long)
        out = {k: v[ia] for k, v in a.items()}
        for k, v in b.items():
            out[k if k not in out else f"{k}_r"] = v[ib]
        return out


class NestedLoop(HashJoin):
    def run(self, tables):
        a, b = self.left.run(tables), self.right.run(tables)
        eq = a[self.on][:, None] == b[self.on][None, :]
        ia, ib = eq.nonzero(as_tuple=True)
        out = {k: v[ia] for k, v in a.items()}
        out.update({(k if k not in out else f"{k}_r"): v[ib] for k, v in b.items()})
        return out


class Planner(nn.Module):
    def __init__(self):
        super().__init__()
        self.cost = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2))

    def plan(self, users: Table, orders: Table, selectivity: float) -> Tuple[Operator, torch.Tensor]:
        x = torch.tensor([math.log1p(num_rows(users)), math.log1p(num_rows(orders)), selectivity])
        cost = self.cost(x)
        left, right = Filter(Scan("users"), "age", ">", 0.3), Scan("orders")
        if cost[0] < cost[1]:
            return HashJoin(left, right, "id"), cost
        return NestedLoop(left, right, "id"), cost

    def group(self, t: Table, key: str, value: str) -> List[Tuple[int, float, int]]:
        groups: Dict[int, List[float]] = {}
        for k, v in zip(t[key].long().tolist(), t[value].tolist()):
            groups.setdefault(k, []).append(v)
        rows = [(k, sum(vs) / len(vs), len(vs)) for k, vs in groups.items()]
        rows.sort(key=lambda r: (-r[1], r[0]))
        return rows

    def forward(self, users: Table, orders: Table, limit: Optional[int] = None):
        sel = (users["age"] > 0.3).float().mean().item() if num_rows(users) else 0.0
        op, cost = self.plan(users, orders, sel)
        result = op.run({"users": users, "orders": orders})
        if num_rows(result) == 0:
            return str(op), cost, [], {}
        rows = self.group(result, "id", "price")
        if limit is not None:
            rows = rows[:limit]
        stats = {"rows": num_rows(result), "columns": list(result), "max": result["price"].max().item()}
        return repr(op), cost, rows, stats


def make_model():
    torch.manual_seed(6)
    return Planner().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)

    def tables(n, m):
        users = {"id": torch.randperm(n, generator=g), "age": torch.rand(n, generator=g)}
        orders = {"id": torch.randint(0, max(n, 1), (m,), generator=g), "price": torch.rand(m, generator=g) * 9}
        return users, orders

    return [tables(4, 9), (*tables(12, 30), 3), tables(1, 0), tables(40, 2), (*tables(3, 6), 1)]
