"""Classical control: iterative LQR on a learned pendulum model, with a line search and saturation."""
from dataclasses import dataclass, field
from typing import List

import torch
from torch import nn


@dataclass
class Plan:
    controls: torch.Tensor
    cost: float
    iterations: int = 0
    costs: List[float] = field(default_factory=list)
    status: str = "running"


class ILQR(nn.Module):
    def __init__(self, horizon=8, u_max=2.0, tol=1e-3, max_iter=6):
        super().__init__()
        self.residual = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
        self.register_buffer("Q", torch.diag(torch.tensor([4.0, 0.5])))
        self.horizon, self.u_max, self.tol, self.max_iter = horizon, u_max, tol, max_iter

    def step(self, x, u, dt=0.1):
        acc = 4.9 * torch.sin(x[0]) - 0.1 * x[1] + u
        return x + dt * torch.stack([x[1], acc]) + 0.01 * self.residual(torch.cat([x, u.view(1)]))

    def rollout(self, x, us):
        xs, cost = [x], 0.0
        for u in us:
            cost += float(x @ self.Q @ x + 0.1 * u * u)
            x = self.step(x, u)
            xs.append(x)
        return torch.stack(xs), cost + 5 * float(x @ self.Q @ x)

    def forward(self, x0, warm=None):
        us = warm.clone() if warm is not None else torch.zeros(self.horizon)
        xs, cost = self.rollout(x0, us)
        plan = Plan(us, cost)
        B = torch.tensor([0.0, 0.1])
        for plan.iterations in range(1, self.max_iter + 1):
            P, k = 5 * self.Q, torch.zeros(len(us))
            K = torch.zeros(len(us), 2)
            for t in reversed(range(len(us))):
                A = torch.eye(2) + 0.1 * torch.tensor([[0.0, 1.0], [4.9 * float(torch.cos(xs[t, 0])), -0.1]])
                H = 0.1 + B @ P @ B
                K[t] = (B @ P @ A) / H
                k[t] = -us[t] - K[t] @ xs[t]
                P = self.Q + A.T @ P @ (A - torch.outer(B, K[t]))
            alpha = 1.0
            while alpha > 0.05:
                new = torch.clamp(us + alpha * k, -self.u_max, self.u_max)
                new_xs, new_cost = self.rollout(x0, new)
                if new_cost < plan.cost:
                    break
                alpha /= 2
            else:
                plan.status = "stuck"
                break
            gain = (plan.cost - new_cost) / max(plan.cost, 1e-6)
            us, xs, plan.controls, plan.cost = new, new_xs, new, new_cost
            plan.costs.append(new_cost)
            if gain < self.tol:
                plan.status = "converged"
                break
        if plan.status == "running":
            plan.status = "limit"
        return plan


def make_model():
    torch.manual_seed(0)
    return ILQR().eval()


def make_inputs():
    states = [[0.1, 0.0], [1.0, 0.5], [3.0, -1.0], [0.0, 0.0], [-0.7, 0.2], [2.2, 2.0]]
    ins = [(torch.tensor(s),) for s in states]
    ins.append((torch.tensor([0.4, 0.1]), torch.full((8,), -0.3)))
    ins.append((torch.tensor([0.4, 0.1]), torch.linspace(-2, 2, 5)))
    return ins
