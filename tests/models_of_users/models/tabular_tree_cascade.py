"""Tabular: mixed columns with missing values, quantile bins, per-row tree routing, cascade of experts until confident, calibrated output."""
import bisect
from collections import defaultdict
from enum import Flag, auto
from typing import Dict, List, Optional, Tuple
import numpy as np
import torch
import torch.nn as nn


class Warn(Flag):
    NONE = 0
    MISSING = auto()
    OUTLIER = auto()
    UNSURE = auto()


class QuantileEncoder(nn.Module):
    def __init__(self, edges: Dict[str, List[float]]):
        super().__init__()
        self.names = list(edges)
        for name, e in edges.items():
            self.register_buffer(f"edges_{name}", torch.tensor(e))

    def forward(self, columns: Dict[str, torch.Tensor]):
        out, warn = [], Warn.NONE
        for name in self.names:
            e = getattr(self, f"edges_{name}")
            x = columns[name]
            missing = torch.isnan(x)
            if missing.any():
                warn |= Warn.MISSING
                x = torch.where(missing, e.median(), x)
            if ((x < e[0]) | (x > e[-1])).any():
                warn |= Warn.OUTLIER
                x = x.clamp(e[0].item(), e[-1].item())
            b = torch.bucketize(x, e[1:-1])
            frac = (x - e[b]) / (e[b + 1] - e[b])
            out.append(torch.stack([b.float(), frac, missing.float()], dim=1))
        return torch.cat(out, dim=1), warn


class ObliviousTree(nn.Module):
    def __init__(self, inp, depth, out):
        super().__init__()
        self.select = nn.Parameter(torch.randn(depth, inp))
        self.threshold = nn.Parameter(torch.randn(depth) * 0.5)
        self.leaf = nn.Embedding(2 ** depth, out)
        self.register_buffer("powers", 2 ** torch.arange(depth))

    def forward(self, x):
        f = x @ torch.softmax(self.select * 3, -1).T
        bits = (f > self.threshold).long()
        index = (bits * self.powers).sum(-1)
        return self.leaf(index), index


class Cascade(nn.Module):
    def __init__(self, edges, classes=3, stages=3, trees=2):
        super().__init__()
        self.encoder = QuantileEncoder(edges)
        inp = 3 * len(edges)
        self.stages = nn.ModuleList()
        for s in range(stages):
            extra = classes * s
            self.stages.append(nn.ModuleList(ObliviousTree(inp + extra, 3, classes) for _ in range(trees)))
        self.classes = classes
        self.calibration: List[Tuple[float, float]] = [(0.0, 0.2), (0.4, 0.35), (0.6, 0.7), (1.0, 0.97)]
        self.usage: Dict[int, int] = defaultdict(int)

    def calibrate(self, p: float) -> float:
        xs = [a for a, _ in self.calibration]
        i = min(max(bisect.bisect_right(xs, p) - 1, 0), len(xs) - 2)
        (x0, y0), (x1, y1) = self.calibration[i:i + 2]
        return y0 + (y1 - y0) * (p - x0) / (x1 - x0)

    def explain(self, leaves: torch.Tensor, row: int) -> List[str]:
        return [f"tree{t}:{leaf:03b}" for t, leaf in enumerate(leaves[row].tolist())]

    @torch.no_grad()
    def forward(self, columns: Dict[str, torch.Tensor], confident: float = 0.55, explain: Optional[int] = None):
        sizes = {k: v.shape[0] for k, v in columns.items()}
        n = next(iter(sizes.values()))
        if any(s != n for s in sizes.values()):
            raise ValueError(f"columns differ in length: {sizes}")
        x, warn = self.encoder(columns)
        logits = torch.zeros(n, self.classes)
        active = torch.arange(n)
        history: List[torch.Tensor] = []
        stage_of = torch.full((n,), -1)
        leaves = torch.zeros(n, 0, dtype=torch.long)
        for s, trees in enumerate(self.stages):
            if active.numel() == 0:
                break
            feats = torch.cat([x, *history], dim=1)[active]
            outs, idx = zip(*(tree(feats) for tree in trees))
            update = torch.stack(outs).mean(0)
            logits[active] = logits[active] + update
            full = torch.full((n, len(trees)), -1)
            full[active] = torch.stack(idx, dim=1)
            leaves = torch.cat([leaves, full], dim=1)
            history.append(logits.softmax(-1))
            done = logits[active].softmax(-1).amax(-1) >= confident
            stage_of[active[done]] = s
            active = active[~done]
        if active.numel():
            warn |= Warn.UNSURE
        prob = logits.softmax(-1)
        top, label = prob.max(-1) if n else (torch.zeros(0), torch.zeros(0, dtype=torch.long))
        calibrated = [round(self.calibrate(p), 4) for p in top.tolist()]
        used = {f"stage{k}": int((stage_of == k).sum()) for k in sorted(set(stage_of.tolist()))}
        result = {"label": label, "p": np.asarray(calibrated, dtype=np.float64).mean().item() if calibrated else 0.0, "used": used,
                  "warnings": [w.name for w in Warn if w in warn and w.value]}
        if explain is not None and explain < n:
            result["why"] = self.explain(leaves.clamp(min=0), explain)
        return result


def make_model():
    torch.manual_seed(5)
    return Cascade({"age": [0.0, 18.0, 40.0, 65.0, 100.0], "income": [0.0, 1.0, 3.0, 10.0], "score": [-1.0, 0.0, 1.0]}).eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)

    def cols(n, nan=False, wild=False):
        c = {"age": torch.rand(n, generator=g) * 100, "income": torch.rand(n, generator=g) * 10, "score": torch.rand(n, generator=g) * 2 - 1}
        if nan:
            c["income"][0] = float("nan")
        if wild:
            c["age"] = c["age"] * 3
        return c
    bad = cols(3)
    bad["age"] = bad["age"][:2]
    return [(cols(5),), (cols(4, nan=True), 0.8, 1), (cols(1, wild=True), 0.34), (bad,), (cols(0),), (cols(6, True, True), 0.99, 5), (cols(2), 0.5, 9)]
