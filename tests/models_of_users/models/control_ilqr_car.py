"""Control: iterative LQR for a small car with a learned residual model; regularisation and backtracking line search."""
from __future__ import annotations

import dataclasses
import math
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import nn

Dynamics = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Gains(NamedTuple):
    k: torch.Tensor
    K: torch.Tensor


@dataclasses.dataclass
class SolverInfo:
    converged: bool = False
    iterations: int = 0
    cost_trace: List[float] = dataclasses.field(default_factory=list)
    alphas: List[float] = dataclasses.field(default_factory=list)
    mu: float = 0.0
    reason: str = "budget"


class NotPositiveDefinite(Exception):
    pass


def wrap_angle(x: torch.Tensor) -> torch.Tensor:
    return (x + math.pi) % (2 * math.pi) - math.pi


def jacobian(f: Dynamics, x: torch.Tensor, u: torch.Tensor, eps: float = 1e-3) -> Tuple[torch.Tensor, torch.Tensor]:
    n, m = x.numel(), u.numel()
    A, B = torch.zeros(n, n), torch.zeros(n, m)
    for i in range(n):
        d = torch.zeros(n)
        d[i] = eps
        A[:, i] = (f(x + d, u) - f(x - d, u)) / (2 * eps)
    for j in range(m):
        d = torch.zeros(m)
        d[j] = eps
        B[:, j] = (f(x, u + d) - f(x, u - d)) / (2 * eps)
    return A, B


class QuadraticCost:
    def __init__(self, goal: torch.Tensor, q: Sequence[float], r: float, final: float):
        self.goal = goal
        self.Q = torch.diag(torch.tensor(q))
        self.R = torch.eye(2) * r
        self.final = final

    def error(self, x):
        e = x - self.goal
        return torch.cat([e[:2], wrap_angle(e[2:3]), e[3:]])

    def stage(self, x, u) -> torch.Tensor:
        e = self.error(x)
        return 0.5 * e @ self.Q @ e + 0.5 * u @ self.R @ u

    def terminal(self, x) -> torch.Tensor:
        e = self.error(x)
        return 0.5 * self.final * e @ self.Q @ e

    def __call__(self, xs: List[torch.Tensor], us: List[torch.Tensor]) -> float:
        total = sum((self.stage(x, u) for x, u in zip(xs, us)), torch.tensor(0.0))
        return (total + self.terminal(xs[-1])).item()


class CarModel(nn.Module):
    def __init__(self, dt=0.2, wheelbase=1.0):
        super().__init__()
        self.dt, self.wheelbase = dt, wheelbase
        self.residual = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))

    def forward(self, x, u):
        px, py, th, v = x
        acc, steer = torch.clamp(u[0], -2, 2), torch.clamp(u[1], -0.6, 0.6)
        step = torch.stack([v * torch.cos(th), v * torch.sin(th), v * torch.tan(steer) / self.wheelbase, acc])
        return x + self.dt * (step + 0.05 * self.residual(torch.cat([x, u])))


class ILQR(nn.Module):
    ALPHAS = (1.0, 0.5, 0.25, 0.1)

    def __init__(self, horizon=6, max_iter=6, tol=1e-3):
        super().__init__()
        self.model = CarModel()
        self.horizon, self.max_iter, self.tol = horizon, max_iter, tol

    def rollout(self, x0, us, xs=None, gains: Optional[List[Gains]] = None, alpha: float = 1.0):
        out_x, out_u, x = [x0], [], x0
        for t, u in enumerate(us):
            if gains is not None and xs is not None:
                u = u + alpha * gains[t].k + gains[t].K @ (x - xs[t])
            x = self.model(x, u)
            out_x.append(x)
            out_u.append(u)
        return out_x, out_u

    def backward(self, xs, us, cost: QuadraticCost, mu: float) -> Tuple[List[Gains], float]:
        V = cost.final * cost.Q
        v = V @ cost.error(xs[-1])
        gains: List[Gains] = []
        expected = 0.0
        for t in reversed(range(len(us))):
            A, B = jacobian(self.model, xs[t], us[t])
            Qx = cost.Q @ cost.error(xs[t]) + A.T @ v
            Qu = cost.R @ us[t] + B.T @ v
            Qxx = cost.Q + A.T @ V @ A
            Quu = cost.R + B.T @ V @ B + mu * torch.eye(us[t].numel())
            Qux = B.T @ V @ A
            L, bad = torch.linalg.cholesky_ex(Quu)
            if bad:
                raise NotPositiveDefinite(f"at step {t}")
            k = -torch.cholesky_solve(Qu.unsqueeze(1), L).squeeze(1)
            K = -torch.cholesky_solve(Qux, L)
            expected += float(Qu @ k)
            v = Qx + K.T @ Quu @ k + K.T @ Qu + Qux.T @ k
            V = Qxx + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K
            V = 0.5 * (V + V.T)
            gains.insert(0, Gains(k, K))
        return gains, expected

    def forward(self, x0: torch.Tensor, goal: torch.Tensor, warm: Optional[torch.Tensor] = None, mu: float = 1e-2, r: float = 0.1):
        cost = QuadraticCost(goal, [1.0, 1.0, 0.5, 0.1], r, final=5.0)
        us = [torch.zeros(2) for _ in range(self.horizon)] if warm is None else list(warm)
        xs, us = self.rollout(x0, us)
        best = cost(xs, us)
        info = SolverInfo(cost_trace=[round(best, 4)])
        gains: List[Gains] = []
        for it in range(self.max_iter):
            info.iterations = it + 1
            try:
                gains, expected = self.backward(xs, us, cost, mu)
            except NotPositiveDefinite as e:
                mu *= 10
                info.reason = f"not positive definite {e}"
                if mu > 1e3:
                    break
                continue
            if abs(expected) < self.tol:
                info.converged, info.reason = True, "gradient"
                break
            for alpha in self.ALPHAS:
                new_xs, new_us = self.rollout(x0, us, xs, gains, alpha)
                new_cost = cost(new_xs, new_us)
                if new_cost < best:
                    gain, best, xs, us = best - new_cost, new_cost, new_xs, new_us
                    info.alphas.append(alpha)
                    info.cost_trace.append(round(best, 4))
                    mu = max(mu / 2, 1e-6)
                    break
            else:
                mu *= 4
                info.alphas.append(0.0)
                continue
            if gain < self.tol * max(1.0, best):
                info.converged, info.reason = True, "cost"
                break
        info.mu = mu
        plan = torch.stack(us) if us else torch.zeros(0, 2)
        return plan, torch.stack(xs), dataclasses.asdict(info), (gains[0] if gains else None)


def make_model():
    torch.manual_seed(0)
    return ILQR().eval()


def make_inputs():
    t = torch.tensor
    return [
        (t([0.0, 0.0, 0.0, 0.0]), t([1.0, 0.5, 0.3, 0.0])),
        (t([0.0, 0.0, 3.0, 0.5]), t([-1.0, 0.2, -3.0, 0.0]), torch.full((4, 2), 0.2), 1.0),
        (t([1.0, 1.0, 0.0, 0.0]), t([1.0, 1.0, 0.0, 0.0])),
        (t([0.0, 0.0, 0.0, 1.0]), t([0.5, 0.0, 0.0, 0.5]), None, 1e-2, -40.0),
    ]
