"""Actor-critic rollout in a small grid world written in tensors, with torch.distributions."""
import torch
import torch.nn as nn
from torch.distributions import Categorical, Normal
from abc import ABC, abstractmethod
from typing import Tuple, Dict, Any

class Env(ABC):
    @abstractmethod
    def step(self, action: int) -> Tuple[torch.Tensor, float, bool]: ...
    @abstractmethod
    def reset(self) -> torch.Tensor: ...

class Grid(Env):
    MOVES = {0: (0, 1), 1: (1, 0), 2: (0, -1), 3: (-1, 0)}
    def __init__(self, size, walls):
        self.size, self.walls = size, walls
        self.pos = (0, 0)
    def reset(self):
        self.pos = (0, 0)
        return self.obs()
    def obs(self):
        r, c = self.pos
        o = torch.zeros(self.size, self.size)
        o[r, c] = 1.0
        return torch.cat([o.flatten(), self.walls.float().flatten()])
    def step(self, action):
        dr, dc = self.MOVES[action]
        r, c = self.pos[0] + dr, self.pos[1] + dc
        if not (0 <= r < self.size and 0 <= c < self.size) or self.walls[r, c]:
            return self.obs(), -0.5, False
        self.pos = r, c
        done = self.pos == (self.size - 1, self.size - 1)
        return self.obs(), 10.0 if done else -0.1, done

class ActorCritic(nn.Module):
    def __init__(self, size=3):
        super().__init__()
        self.size = size
        self.body = nn.Sequential(nn.Linear(2 * size * size, 24), nn.Tanh())
        self.actor, self.critic = nn.Linear(24, 4), nn.Linear(24, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def act(self, obs, deterministic):
        h = self.body(obs)
        dist = Categorical(logits=self.actor(h))
        a = dist.probs.argmax() if deterministic else dist.sample()
        return a, dist.log_prob(a), dist.entropy(), self.critic(h).squeeze(-1)

    def forward(self, walls, deterministic: bool = True, horizon: int = 15, gamma: float = 0.95):
        env = Grid(self.size, walls)
        obs = env.reset()
        rewards, logps, ents, values = [], [], [], []
        seen: Dict[Tuple[int, int], int] = {}
        status = "timeout"
        for t in range(horizon):
            a, lp, ent, v = self.act(obs, deterministic)
            obs, r, done = env.step(int(a))
            seen[env.pos] = seen.get(env.pos, 0) + 1
            rewards.append(r)
            logps.append(lp); ents.append(ent); values.append(v)
            if done:
                status = "goal"
                break
            if max(seen.values()) > 4:
                status = f"loop at {env.pos[0]},{env.pos[1]}"
                break
        R, returns = 0.0, []
        for r in reversed(rewards):
            R = r + gamma * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        adv = returns - torch.stack(values)
        if len(adv) > 1:
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        speed = Normal(adv.mean(), self.log_std.exp())
        loss = -(torch.stack(logps) * adv).mean() - 0.01 * torch.stack(ents).mean()
        return {"status": status, "steps": len(rewards), "return": sum(rewards), "loss": loss, "visits": sorted(seen.items()), "speed": speed.log_prob(torch.tensor(0.3)), "bound": speed.cdf(torch.tensor(0.1))}

def make_model():
    torch.manual_seed(3)
    m = ActorCritic().eval()
    with torch.no_grad():
        m.actor.weight.mul_(4)
    return m

def make_inputs():
    w = [torch.zeros(3, 3, dtype=torch.bool) for _ in range(4)]
    w[1][0, 1] = True
    w[2][1, 0] = w[2][1, 1] = True
    w[3][0, 1] = w[3][1, 0] = True
    return [(x,) for x in w] + [(w[0], False), (w[1], False, 30), (w[2], True, 1)]
