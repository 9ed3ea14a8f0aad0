"""Neural ODE with an adaptive Dormand-Prince solver, dense output at requested times and an event that stops it."""

from collections import namedtuple
from typing import Callable, Tuple

import torch
from torch import nn

Tableau = namedtuple("Tableau", ["alpha", "beta", "c_sol", "c_err"])

DOPRI5 = Tableau(
    alpha=[1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0],
    beta=[
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ],
    c_sol=[35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
    c_err=[
        35 / 384 - 1951 / 21600, 0, 500 / 1113 - 22642 / 50085, 125 / 192 - 451 / 720,
        -2187 / 6784 - -12231 / 42400, 11 / 84 - 649 / 6300, -1.0 / 60.0,
    ],
)


class StepSizeUnderflow(ArithmeticError):
    pass


class ODEFunc(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 24), nn.Tanh(), nn.Linear(24, dim))
        self.register_buffer("nfe", torch.zeros((), dtype=torch.long))

    def forward(self, t: float, y):
        self.nfe += 1
        tt = torch.full_like(y[:, :1], t)
        return self.net(torch.cat([tt, y], dim=1)) - 0.1 * y


def rms_norm(x: torch.Tensor) -> float:
    return x.pow(2).mean().sqrt().item()


def rk_step(func: Callable, y0, f0, t0: float, dt: float, tableau: Tableau = DOPRI5) -> Tuple:
    k = [f0]
    for alpha_i, beta_i in zip(tableau.alpha, tableau.beta):
        yi = y0 + dt * sum(b * kj for b, kj in zip(beta_i, k) if b != 0)
        k.append(func(t0 + alpha_i * dt, yi))
    ks = torch.stack(k, dim=-1)
    y1 = y0 + dt * ks @ ks.new_tensor(tableau.c_sol)
    y1_error = dt * ks @ ks.new_tensor(tableau.c_err)
    return y1, k[-1], y1_error


class AdaptiveODE(nn.Module):
    order = 5

    def __init__(self, dim=4, rtol=1e-4, atol=1e-5, max_steps=200, min_dt=1e-4):
        super().__init__()
        self.func = ODEFunc(dim)
        self.rtol, self.atol = rtol, atol
        self.max_steps = max_steps
        self.min_dt = min_dt
        self.safety, self.ifactor, self.dfactor = 0.9, 10.0, 0.2

    def error_ratio(self, err, y0, y1):
        tol = self.atol + self.rtol * torch.max(y0.abs(), y1.abs())
        return rms_norm(err / tol)

    def optimal_step(self, last: float, ratio: float) -> float:
        if ratio == 0:
            return last * self.ifactor
        dfactor = 1.0 if ratio < 1 else self.dfactor
        factor = min(self.ifactor, max(self.safety / ratio ** (1 / self.order), dfactor))
        return last * factor

    def initial_step(self, t0, y0, f0):
        scale = self.atol + y0.abs() * self.rtol
        d0, d1 = rms_norm(y0 / scale), rms_norm(f0 / scale)
        if d0 < 1e-5 or d1 < 1e-5:
            h0 = 1e-6
        else:
            h0 = 0.01 * d0 / d1
        y1 = y0 + h0 * f0
        f1 = self.func(t0 + h0, y1)
        d2 = rms_norm((f1 - f0) / scale) / h0
        if d1 <= 1e-15 and d2 <= 1e-15:
            h1 = max(1e-6, h0 * 1e-3)
        else:
            h1 = (0.01 / max(d1, d2)) ** (1.0 / (self.order + 1))
        return min(100 * h0, h1)

    def forward(self, y0, times, limit: float = 1e9):
        solution = [y0]
        t, y = times[0].item(), y0
        f = self.func(t, y)
        dt = self.initial_step(t, y, f)
        steps = rejected = 0
        event = None
        for target in times[1:].tolist():
            while t < target:
                if steps >= self.max_steps:
                    raise RuntimeError(f"max_steps exceeded ({steps}>={self.max_steps}) at t={t:.3f}")
                if dt < self.min_dt:
                    raise StepSizeUnderflow(f"underflow in dt {dt:.2e}")
                step = min(dt, target - t)
                y1, f1, err = rk_step(self.func, y, f, t, step)
                ratio = self.error_ratio(err, y, y1)
                steps += 1
                if ratio <= 1:
                    t, y, f = t + step, y1, f1
                    if y.norm(dim=1).max() > limit:
                        event = t
                        break
                else:
                    rejected += 1
                dt = self.optimal_step(step, ratio)
            else:
                solution.append(y)
                continue
            break
        return torch.stack(solution), {"steps": steps, "rejected": rejected, "event": event, "nfe": self.func.nfe.clone()}


STATEFUL = True


def make_model():
    torch.manual_seed(3)
    model = AdaptiveODE()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(2.0)
    return model.eval()


def make_inputs():
    torch.manual_seed(4)
    return [
        (torch.randn(3, 4), torch.linspace(0, 2, 5)),
        (torch.randn(1, 4) * 3, torch.linspace(0, 4, 3), 3.5),
        (torch.randn(2, 4), torch.tensor([0.0, 0.0001, 5.0])),
        (torch.zeros(2, 4), torch.tensor([1.0])),
    ]
