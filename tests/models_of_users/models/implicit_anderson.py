"""Deep equilibrium model with Anderson acceleration, fallback to damped iteration, per-sample convergence, adaptive stopping."""

from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Solver = Callable[..., Tuple[torch.Tensor, Dict[str, Any]]]
SOLVERS: Dict[str, Solver] = {}


def register(name: str):
    def deco(fn: Solver) -> Solver:
        if name in SOLVERS:
            raise KeyError(f"solver {name} registered twice")
        SOLVERS[name] = fn
        return fn

    return deco


def rel_diff(a, b):
    return ((a - b).flatten(1).norm(dim=1) / (1e-5 + a.flatten(1).norm(dim=1)))


@register("anderson")
def anderson(f, x0, m=4, lam=1e-4, max_iter=20, tol=1e-3, beta=1.0):
    bsz, d = x0.shape
    X = torch.zeros(bsz, m, d, dtype=x0.dtype)
    Fx = torch.zeros(bsz, m, d, dtype=x0.dtype)
    X[:, 0], Fx[:, 0] = x0, f(x0)
    X[:, 1], Fx[:, 1] = Fx[:, 0], f(Fx[:, 0])
    H = torch.zeros(bsz, m + 1, m + 1)
    H[:, 0, 1:] = H[:, 1:, 0] = 1
    y = torch.zeros(bsz, m + 1, 1)
    y[:, 0] = 1
    res: List[float] = []
    best, best_x = float("inf"), x0
    k = 1
    for k in range(2, max_iter):
        n = min(k, m)
        G = Fx[:, :n] - X[:, :n]
        H[:, 1:n + 1, 1:n + 1] = torch.bmm(G, G.transpose(1, 2)) + lam * torch.eye(n)[None]
        try:
            alpha = torch.linalg.solve(H[:, :n + 1, :n + 1], y[:, :n + 1])[:, 1:n + 1, 0]
        except torch.linalg.LinAlgError:
            res.append(float("nan"))
            break
        X[:, k % m] = beta * (alpha[:, None] @ Fx[:, :n])[:, 0] + (1 - beta) * (alpha[:, None] @ X[:, :n])[:, 0]
        Fx[:, k % m] = f(X[:, k % m])
        r = rel_diff(Fx[:, k % m], X[:, k % m]).max().item()
        res.append(r)
        if r < best:
            best, best_x = r, X[:, k % m].clone()
        if r < tol:
            break
    return best_x, {"residuals": res, "steps": k, "converged": best < tol}


@register("damped")
def damped(f, x0, max_iter=20, tol=1e-3, tau=0.7):
    z = x0
    done = torch.zeros(len(x0), dtype=torch.bool)
    steps = torch.zeros(len(x0), dtype=torch.long)
    res = []
    for _ in range(max_iter):
        active = ~done
        if not active.any():
            break
        new = (1 - tau) * z + tau * f(z)
        diff = rel_diff(new, z)
        z = torch.where(active[:, None], new, z)
        steps += active
        done |= diff < tol
        res.append(diff[active].max().item())
    return z, {"residuals": res, "steps": int(steps.max()) if len(steps) else 0, "converged": bool(done.all())}


class Cell(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(OrderedDict([("lin1", nn.Linear(dim, hidden)), ("norm", nn.LayerNorm(hidden)), ("lin2", nn.Linear(hidden, dim))]))

    def forward(self, z, x):
        return torch.tanh(x + self.net.lin2(F.relu(self.net.norm(self.net.lin1(z)))))


class DEQ(nn.Module):
    def __init__(self, dim=6, hidden=10, classes=3, solver="anderson", fallback: Optional[str] = "damped"):
        super().__init__()
        self.inject = nn.Linear(dim, dim)
        self.cell = Cell(dim, hidden)
        self.head = nn.Linear(dim, classes)
        self.solver, self.fallback = SOLVERS[solver], fallback
        self.history: Dict[str, List[int]] = {k: [] for k in SOLVERS}

    def forward(self, x, z0: Optional[torch.Tensor] = None, **options):
        inj = self.inject(x)
        z0 = torch.zeros_like(x) if z0 is None else z0
        z, info = self.solver(lambda z: self.cell(z, inj), z0, **options)
        self.history["anderson"].append(info["steps"])
        used = "anderson"
        if not info["converged"] and self.fallback is not None:
            z, info = SOLVERS[self.fallback](lambda z: self.cell(z, inj), z, max_iter=40)
            self.history[self.fallback].append(info["steps"])
            used = self.fallback
        last = info["residuals"][-1] if info["residuals"] else None
        return self.head(z), z, used, info["steps"], last, {k: sum(v) for k, v in self.history.items()}


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    m = DEQ()
    with torch.no_grad():
        m.cell.net.lin2.weight.mul_(0.8)
    return m.eval()


def make_inputs():
    torch.manual_seed(1)
    return [(torch.randn(3, 6),), (torch.randn(1, 6) * 4, torch.randn(1, 6)), (torch.randn(5, 6) * 2,)]
