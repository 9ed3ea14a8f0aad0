"""Hybrid-system simulation: bouncing and sticking modes, Brent root finding of events, implicit stepping by Newton, a log of transitions."""

import enum
import math
import operator
from dataclasses import dataclass
from functools import reduce
from typing import Callable, Dict, Final, List, Optional, Tuple, Union

import torch
import torch.nn as nn

EPS: Final = 1e-6


class Mode(enum.Enum):
    FREE = "free"
    CONTACT = "contact"
    STUCK = "stuck"

    def __str__(self):
        return self.value


@dataclass(frozen=True)
class Transition:
    time: float
    source: Mode
    target: Mode

    def describe(self) -> str:
        return f"{self.time:.4f}: {self.source} -> {self.target}"


class NewtonDiverged(RuntimeError):
    def __init__(self, iterations: int, residual: float):
        super().__init__(f"Newton diverged after {iterations} iterations, residual {residual:.2e}")
        self.iterations, self.residual = iterations, residual


def brent(f: Callable[[float], float], a: float, b: float, tol: float = 1e-6, max_iter: int = 50) -> float:
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        raise ValueError(f"no sign change on [{a:.3f}, {b:.3f}]")
    if abs(fa) < abs(fb):
        a, b, fa, fb = b, a, fb, fa
    c, fc, mflag, d = a, fa, True, 0.0
    for _ in range(max_iter):
        if fb == 0 or abs(b - a) < tol:
            break
        if fa != fc and fb != fc:
            s = (a * fb * fc / ((fa - fb) * (fa - fc)) + b * fa * fc / ((fb - fa) * (fb - fc))
                 + c * fa * fb / ((fc - fa) * (fc - fb)))
        else:
            s = b - fb * (b - a) / (fb - fa)
        lo, hi = sorted(((3 * a + b) / 4, b))
        if not lo < s < hi or (mflag and abs(s - b) >= abs(b - c) / 2) or (not mflag and abs(s - b) >= abs(c - d) / 2):
            s, mflag = (a + b) / 2, True
        else:
            mflag = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b, fa, fb = b, a, fb, fa
    return b


class Actuator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, state: torch.Tensor, t: float) -> torch.Tensor:
        return self.net(torch.cat([state, torch.tensor([math.sin(t)])]))[0]


class HybridSystem(nn.Module):
    def __init__(self, restitution=0.6, stiffness=40.0, damping=0.5, stick_speed=0.15):
        super().__init__()
        self.actuator = Actuator()
        self.restitution, self.stiffness, self.damping, self.stick_speed = restitution, stiffness, damping, stick_speed
        self.handlers: Dict[Mode, Callable] = {Mode.FREE: self.step_free, Mode.CONTACT: self.step_contact}

    def acceleration(self, s: torch.Tensor, t: float, mode: Mode) -> torch.Tensor:
        a = -9.81 + self.actuator(s, t)
        if mode is Mode.CONTACT:
            a = a - self.stiffness * s[0] - self.damping * s[1]
        return a

    def step_free(self, s, t, h):
        a = self.acceleration(s, t, Mode.FREE)
        return torch.stack([s[0] + h * s[1] + 0.5 * h * h * a, s[1] + h * a])

    def step_contact(self, s, t, h, tol=1e-5, max_newton=12):
        """Implicit Euler; the Jacobian is written out."""
        x, v = s[0], s[1]
        nx, nv = x.clone(), v.clone()
        res = math.inf
        for k in range(1, max_newton + 1):
            a = self.acceleration(torch.stack([nx, nv]), t + h, Mode.CONTACT)
            rx, rv = nx - x - h * nv, nv - v - h * a
            res = torch.hypot(rx, rv).item()
            if res < tol:
                return torch.stack([nx, nv])
            if not math.isfinite(res):
                raise NewtonDiverged(k, res)
            j = 1 + h * self.damping + h * h * self.stiffness
            dv = -(rv + -h * -self.stiffness * -rx) / j
            nv = nv + dv
            nx = x + h * nv
        if res > 1e-2:
            raise NewtonDiverged(max_newton, res)
        return torch.stack([nx, nv])

    def locate(self, s, t, h) -> float:
        return brent(lambda tau: self.step_free(s, t, tau)[0].item(), 0.0, h)

    def forward(self, state: torch.Tensor, horizon: float, dt: float = 0.05, soft: bool = False):
        t, mode = 0.0, Mode.FREE
        log: List[Transition] = []
        bounces, rejected = 0, 0
        trace = [state]

        def switch(to: Mode) -> Mode:
            log.append(Transition(t, mode, to))
            return to

        while horizon - t > EPS and mode is not Mode.STUCK:
            h = min(dt, horizon - t)
            try:
                new = self.handlers[mode](state, t, h)
            except NewtonDiverged as e:
                rejected += 1
                dt /= 2
                if rejected > 3:
                    return {"error": str(e), "residual": e.residual, "time": t}
                continue
            if mode == Mode.FREE and new[0] < 0 <= state[0]:
                tau = max(self.locate(state, t, h), EPS) if state[0] > EPS else EPS
                state = self.step_free(state, t, tau)
                t += tau
                if soft:
                    mode = switch(Mode.CONTACT)
                    continue
                speed = -state[1] * self.restitution
                state = torch.stack([state[0].clamp(min=0.0), speed])
                bounces += 1
                if abs(speed) < self.stick_speed:
                    mode = switch(Mode.STUCK)
            elif mode == Mode.CONTACT and new[0] > 0 and new[1] > 0:
                state, t = new, t + h
                mode = switch(Mode.FREE)
            else:
                state, t = new, t + h
            trace.append(state)
        energy = reduce(operator.add, (0.5 * s[1] ** 2 + 9.81 * s[0].clamp(min=0) for s in trace)) / len(trace)
        return {"final": state, "mode": str(mode), "bounces": bounces, "energy": energy, "log": [e.describe() for e in log]}


def make_model():
    torch.manual_seed(0)
    return HybridSystem().eval()


def make_inputs():
    return [
        (torch.tensor([1.0, 0.0]), 1.5),
        (torch.tensor([0.02, -0.05]), 0.6, 0.02),
        (torch.tensor([0.5, 0.0]), 1.2, 0.05, True),
        (torch.tensor([0.5, float("nan")]), 0.5),
        (torch.tensor([0.2, 1.0]), 0.0),
    ]
