"""RL: a policy rolled out in simulated point-mass environments, a buffer with advantages, minibatch statistics."""
from __future__ import annotations

import math
from collections import namedtuple
from typing import Any, Dict, Generator, List, Optional, Tuple

import torch
from torch import nn
from torch.distributions import Normal

Batch = namedtuple("Batch", "obs actions returns advantages")


class PointEnv:
    """A mass that should reach the origin before its time is over."""

    max_steps = 8

    def __init__(self, start: torch.Tensor):
        self.start = start
        self.reset()

    def reset(self) -> torch.Tensor:
        self.pos = self.start.clone()
        self.vel = torch.zeros(2)
        self.t = 0
        return self.obs

    @property
    def obs(self) -> torch.Tensor:
        return torch.cat([self.pos, self.vel])

    def step(self, action: torch.Tensor) -> Tuple[torch.Tensor, float, bool, Dict[str, Any]]:
        self.t += 1
        self.vel = 0.9 * self.vel + 0.3 * action.clamp(-1, 1)
        self.pos = self.pos + self.vel
        distance = self.pos.norm().item()
        reached = distance < 0.3
        done = reached or distance > 4.0 or self.t >= self.max_steps
        info: Dict[str, Any] = {}
        if done:
            info["episode"] = {"length": self.t, "success": reached}
        return self.obs, -distance + (5.0 if reached else 0.0), done, info


class RunningMeanStd:
    def __init__(self, shape: Tuple[int, ...] = ()):
        self.mean, self.var, self.count = torch.zeros(shape), torch.ones(shape), 1e-4

    def update(self, x: torch.Tensor) -> None:
        batch_mean, batch_var, n = x.mean(0), x.var(0, unbiased=False), x.shape[0]
        delta = batch_mean - self.mean
        total = self.count + n
        self.mean = self.mean + delta * n / total
        m2 = self.var * self.count + batch_var * n + delta ** 2 * self.count * n / total
        self.var, self.count = m2 / total, total


class RolloutBuffer:
    def __init__(self, gamma: float, lam: float):
        self.gamma, self.lam = gamma, lam
        self.data: Dict[str, List[torch.Tensor]] = {k: [] for k in ("obs", "actions", "rewards", "values", "dones")}

    def add(self, **items: torch.Tensor) -> None:
        for k, v in items.items():
            self.data[k].append(v)

    def __len__(self) -> int:
        return len(self.data["rewards"])

    def __getitem__(self, key: str) -> torch.Tensor:
        return torch.stack(self.data[key])

    def compute(self, last_value: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        rewards, values, dones = self["rewards"], self["values"], self["dones"]
        adv = torch.zeros_like(rewards)
        gae = torch.zeros_like(last_value)
        for t in reversed(range(len(self))):
            following = last_value if t == len(self) - 1 else values[t + 1]
            alive = 1.0 - dones[t]
            delta = rewards[t] + self.gamma * following * alive - values[t]
            gae = delta + self.gamma * self.lam * alive * gae
            adv[t] = gae
        return adv, adv + values

    def minibatches(self, adv, returns, order: torch.Tensor, size: int) -> Generator[Batch, None, None]:
        obs, actions = self["obs"].flatten(0, 1), self["actions"].flatten(0, 1)
        adv, returns = adv.flatten(), returns.flatten()
        for start in range(0, len(order), size):
            idx = order[start:start + size]
            yield Batch(obs[idx], actions[idx], returns[idx], adv[idx])


class ActorCritic(nn.Module):
    def __init__(self, hidden=12, log_std=-0.5):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(4, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)
        self.log_std = nn.Parameter(torch.full((2,), log_std))
        self.obs_rms: Optional[RunningMeanStd] = None

    def act(self, obs, noise=None):
        h = self.torso(obs)
        mean = self.mu(h)
        action = mean if noise is None else mean + noise * self.log_std.exp()
        return action, self.v(h).squeeze(-1)

    def log_prob(self, obs, actions):
        mean = self.mu(self.torso(obs))
        var = (2 * self.log_std).exp()
        return (-((actions - mean) ** 2) / (2 * var) - self.log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    def forward(self, starts: torch.Tensor, noise: Optional[torch.Tensor] = None, steps: int = 10, batch_size: int = 8, order: Optional[torch.Tensor] = None):
        envs = [PointEnv(s) for s in starts]
        obs = torch.stack([e.reset() for e in envs])
        rms = RunningMeanStd((4,))
        buffer = RolloutBuffer(gamma=0.95, lam=0.9)
        episodes: List[Tuple[int, bool]] = []
        for t in range(steps):
            rms.update(obs)
            normed = ((obs - rms.mean) / (rms.var + 1e-8).sqrt()).clamp(-5, 5)
            action, value = self.act(normed, None if noise is None else noise[t])
            next_obs, rewards, dones = [], [], []
            for i, env in enumerate(envs):
                o, r, d, info = env.step(action[i])
                if "episode" in info:
                    episodes.append((info["episode"]["length"], info["episode"]["success"]))
                    o = env.reset()
                next_obs.append(o)
                rewards.append(r)
                dones.append(float(d))
            buffer.add(obs=normed, actions=action, rewards=torch.tensor(rewards), values=value, dones=torch.tensor(dones))
            obs = torch.stack(next_obs)
        _, last = self.act(((obs - rms.mean) / (rms.var + 1e-8).sqrt()).clamp(-5, 5))
        adv, returns = buffer.compute(last)
        explained = 1 - ((returns - buffer["values"]).var() / (returns.var() + 1e-8)).item()
        order = torch.arange(adv.numel()) if order is None else order
        losses = []
        for batch in buffer.minibatches(adv, returns, order, batch_size):
            a = batch.advantages
            if a.numel() > 1:
                a = (a - a.mean()) / (a.std() + 1e-8)
            losses.append((self.log_prob(batch.obs, batch.actions) * a).mean().item())
        return returns, losses, episodes, round(explained, 4), sum(s for _, s in episodes)


def make_model():
    torch.manual_seed(0)
    m = ActorCritic()
    with torch.no_grad():
        m.mu.weight.mul_(2)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randn(*s, generator=g)
    return [
        (r(2, 2),),
        (r(3, 2) * 2, r(6, 3, 2), 6, 5, torch.randperm(18, generator=g)),
        (r(1, 2) * 0.1, r(4, 1, 2), 4, 3),
    ]
