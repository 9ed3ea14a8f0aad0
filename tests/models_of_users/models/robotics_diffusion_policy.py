"""Diffusion policy with receding horizon: action queue across calls, warm-started denoising, collision guidance by analytic gradients, safety filter, skill switching with hysteresis."""
import collections
import dataclasses
import math
from typing import Deque, Dict, List, Optional, Sequence
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

STATEFUL = True
ENTRY = "act"


def cosine_schedule(steps: int, s: float = 0.008) -> np.ndarray:
    t = np.linspace(0, steps, steps + 1)
    f = np.cos((t / steps + s) / (1 + s) * np.pi / 2) ** 2
    return np.clip(1 - f[1:] / f[:-1], 0, 0.999)


@dataclasses.dataclass
class Obstacle:
    center: torch.Tensor
    radius: float

    def penetration(self, p):
        return F.relu(self.radius - (p - self.center).norm(dim=-1))

    def push(self, p):
        d = p - self.center
        n = d / d.norm(dim=-1, keepdim=True).clamp(min=1e-6)
        return self.penetration(p).unsqueeze(-1) * n


class FiLM(nn.Module):
    def __init__(self, c, cond):
        super().__init__()
        self.conv = nn.Conv1d(c, c, 3, padding=1)
        self.scale = nn.Linear(cond, 2 * c)

    def forward(self, x, cond):
        a, b = self.scale(cond).chunk(2)
        return x + F.mish(self.conv(x)) * (1 + a[:, None]) + b[:, None]


class Denoiser(nn.Module):
    def __init__(self, act, obs, width=16):
        super().__init__()
        self.inp, self.out = nn.Conv1d(act, width, 1), nn.Conv1d(width, act, 1)
        self.blocks = nn.ModuleList(FiLM(width, obs + 8) for _ in range(2))

    @staticmethod
    def time(k: int, dim: int = 8):
        freqs = torch.exp(-math.log(100.0) * torch.arange(dim // 2) / (dim // 2))
        return torch.cat([torch.sin(k * freqs), torch.cos(k * freqs)])

    def forward(self, actions, k, obs):
        h = self.inp(actions.t()[None])
        cond = torch.cat([obs, self.time(k)])
        for b in self.blocks:
            h = b(h, cond)
        return self.out(h)[0].t()


class Policy(nn.Module):
    def __init__(self, obs=6, act=2, horizon=8, execute=3, steps=6):
        super().__init__()
        betas = torch.from_numpy(cosine_schedule(steps)).float()
        self.register_buffer("alpha_bar", torch.cumprod(1 - betas, 0))
        self.skills = nn.ModuleDict({name: Denoiser(act, obs) for name in ("reach", "avoid")})
        self.gate = nn.Linear(obs, 2)
        self.horizon, self.execute, self.steps, self.act_dim = horizon, execute, steps, act
        self.queue: Deque[torch.Tensor] = collections.deque(maxlen=execute)
        self.plan: Optional[torch.Tensor] = None
        self.skill = "reach"
        self.switches: Dict[str, int] = collections.Counter()

    def choose(self, obs, margin=0.2) -> bool:
        p = self.gate(obs).softmax(-1)
        names = list(self.skills)
        best = names[int(p.argmax())]
        if best != self.skill and p.max() - p[names.index(self.skill)] > margin:
            self.switches[f"{self.skill}->{best}"] += 1
            self.skill = best
            return True
        return False

    def guide(self, actions, position, obstacles: Sequence[Obstacle], weight):
        path = position + torch.cumsum(actions, 0) * 0.2
        push = torch.zeros_like(path)
        for ob in obstacles:
            push = push + ob.push(path)
        grad = torch.flip(torch.cumsum(torch.flip(push, [0]), 0), [0])
        return actions + weight * grad, push.abs().sum()

    def replan(self, obs, noise, obstacles):
        start, actions = self.steps - 1, noise
        if self.plan is not None:
            start = self.steps // 2
            shifted = torch.cat([self.plan[self.execute:], self.plan[-1:].expand(self.execute, -1)])
            a = self.alpha_bar[start]
            actions = a.sqrt() * shifted + (1 - a).sqrt() * noise
        net, used = self.skills[self.skill], 0
        for k in range(start, -1, -1):
            eps = net(actions, k, obs)
            a = self.alpha_bar[k]
            clean = ((actions - (1 - a).sqrt() * eps) / a.sqrt().clamp(min=1e-2)).clamp(-1, 1)
            if obstacles:
                clean, hit = self.guide(clean, obs[:2], obstacles, weight=0.5 * (k + 1) / self.steps)
                if hit == 0 and k <= 1:
                    actions, used = clean, used + 1
                    break
            prev = self.alpha_bar[k - 1] if k > 0 else torch.ones(())
            actions = prev.sqrt() * clean + (1 - prev).sqrt() * eps
            used += 1
        self.plan = actions.clamp(-1.5, 1.5)
        return used

    def safe(self, action, position, obstacles):
        for scale in (1.0, 0.5, 0.25):
            p = position + 0.2 * scale * action
            if all(ob.penetration(p) < 0.05 for ob in obstacles):
                return action * scale, scale
        return torch.zeros_like(action), 0.0

    @torch.no_grad()
    def act(self, obs: torch.Tensor, noise: torch.Tensor, obstacles: Optional[List[List[float]]] = None, reset: bool = False):
        if reset:
            self.queue.clear()
            self.plan = None
            self.switches = collections.Counter()
        obs_list = [Obstacle(torch.tensor(o[:2]), o[2]) for o in obstacles or []]
        if not torch.isfinite(obs).all():
            raise ValueError(f"observation has {int((~torch.isfinite(obs)).sum())} bad entries")
        denoised = 0
        if self.choose(obs):
            self.queue.clear()
            self.plan = None
        if not self.queue:
            denoised = self.replan(obs, noise, obs_list)
            self.queue.extend(self.plan[: self.execute])
        action = self.queue.popleft()
        action, scale = self.safe(action, obs[:2], obs_list)
        if scale < 1:
            self.queue.clear()
        return {"action": action, "skill": self.skill, "denoised": denoised, "scale": scale, "left": len(self.queue), "switches": dict(self.switches)}


def make_model():
    torch.manual_seed(8)
    m = Policy()
    m.gate.weight.data.mul_(4)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    o = lambda s=1.0: torch.randn(6, generator=g) * s
    z = lambda: torch.randn(8, 2, generator=g)
    x = o()
    near = [[x[0].item() + 0.1, x[1].item(), 0.6], [5.0, 5.0, 0.3]]
    return [(x, z()), (x, z()), (x * 1.01, z()), (x, z()), (x, z(), near), (x, z(), near), (-x, z(), [[9.0, 9.0, 0.1]]), (o(3.0), z()), (o() * float("nan"), z()), (o(2.0), z(), None, True), (x, z(), near, True), (-x * 2, z())]
