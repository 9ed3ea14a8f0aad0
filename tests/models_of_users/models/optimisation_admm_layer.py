"""An OSQP-like ADMM layer: scaled, rho adapted, infeasibility certificates, status as an enum."""

import enum
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn, Tensor


class Status(enum.Enum):
    SOLVED = "solved"
    MAX_ITER = "maximum iterations reached"
    PRIMAL_INFEASIBLE = "primal infeasible"

    @property
    def ok(self):
        return self is not Status.PRIMAL_INFEASIBLE


@dataclass(frozen=True)
class Settings:
    rho: float = 0.1
    sigma: float = 1e-6
    alpha: float = 1.6
    eps: float = 1e-4
    max_iter: int = 400
    check_every: int = 10
    adapt_ratio: float = 5.0


@dataclass
class Result:
    x: Tensor
    y: Tensor
    status: Status
    iterations: int
    rho_updates: int = 0

    def summary(self) -> str:
        return f"{self.status.value} in {self.iterations} iterations ({self.rho_updates} updates of rho)"


inf_norm = partial(torch.linalg.vector_norm, ord=float("inf"))


class QPLayer(nn.Module):
    def __init__(self, n_features=5, n=4, m=3, settings: Settings = None):
        super().__init__()
        self.settings = settings or Settings()
        self.q_net = nn.Linear(n_features, n)
        self.L = nn.Parameter(torch.randn(n, n) * 0.3)
        self.A = nn.Parameter(torch.randn(m, n))

    @property
    def P(self):
        return self.L @ self.L.mT + 0.1 * torch.eye(self.L.shape[0])

    def factor(self, P, A, rho: float):
        s = self.settings
        K = P + s.sigma * torch.eye(P.shape[0]) + rho * A.mT @ A
        return torch.linalg.lu_factor(K)

    def solve(self, P, q, A, l, u) -> Result:
        s = self.settings
        rho, updates = s.rho, 0
        lu, piv = self.factor(P, A, rho)
        x, z, y = q.new_zeros(q.shape), l.new_zeros(l.shape), l.new_zeros(l.shape)
        status = Status.MAX_ITER
        for k in range(1, s.max_iter + 1):
            x_prev, y_prev = x, y
            rhs = s.sigma * x - q + A.mT @ (rho * z - y)
            x_tilde = torch.linalg.lu_solve(lu, piv, rhs.unsqueeze(-1)).squeeze(-1)
            z_tilde = A @ x_tilde
            x = s.alpha * x_tilde + (1 - s.alpha) * x_prev
            z_relaxed = s.alpha * z_tilde + (1 - s.alpha) * z
            z = torch.clamp(z_relaxed + y / rho, min=l, max=u)
            y = y + rho * (z_relaxed - z)
            if k % s.check_every:
                continue
            prim = inf_norm(A @ x - z)
            dual = inf_norm(P @ x + q + A.mT @ y)
            eps_prim = s.eps + s.eps * max(inf_norm(A @ x), inf_norm(z))
            eps_dual = s.eps + s.eps * max(inf_norm(P @ x), inf_norm(A.mT @ y), inf_norm(q))
            if prim <= eps_prim and dual <= eps_dual:
                status = Status.SOLVED
                break
            dy = y - y_prev
            norm_dy = inf_norm(dy)
            if norm_dy > s.eps:
                support = (u * dy.clamp(min=0) + l * dy.clamp(max=0)).sum()
                if inf_norm(A.mT @ dy) <= s.eps * norm_dy and support <= -s.eps * norm_dy:
                    status = Status.PRIMAL_INFEASIBLE
                    break
            ratio = torch.sqrt((prim / eps_prim) / (dual / eps_dual).clamp_min(1e-10)).item()
            if ratio > s.adapt_ratio or ratio < 1 / s.adapt_ratio:
                rho = min(max(rho * ratio, 1e-6), 1e6)
                lu, piv = self.factor(P, A, rho)
                updates += 1
        return Result(x=x, y=y, status=status, iterations=k, rho_updates=updates)

    def forward(self, features: Tensor, l: Tensor, u: Tensor):
        if (l > u).any():
            bad = (l > u).nonzero().flatten().tolist()
            raise ValueError(f"lower bound above upper bound in rows {bad}")
        q = self.q_net(features)
        res = self.solve(self.P, q, self.A, l, u)
        if not res.status.ok:
            return torch.full_like(q, float("nan")), res.summary(), res.status.name
        cost = 0.5 * res.x @ self.P @ res.x + q @ res.x
        return res.x, res.summary(), cost.item()


def make_model():
    torch.manual_seed(0)
    model = QPLayer()
    with torch.no_grad():
        model.A[2] = model.A[0]
    return model.eval()


def make_inputs():
    torch.manual_seed(1)
    f = torch.randn(5)
    one = torch.ones(3)
    return [
        (f, -one, one),
        (f * 5, -0.1 * one, 0.1 * one),
        (f, torch.tensor([1.0, -1.0, -3.0]), torch.tensor([2.0, 1.0, -1.0])),
        (torch.randn(5) * 30, torch.tensor([0.5, 0.5, -10.0]), torch.tensor([0.5, 0.9, 10.0])),
        (f, one, -one),
    ]
