"""RL: act by a small tree search over a learned model (as in MuZero), with a dict of nodes."""
import math

import torch
from torch import nn


class SearchAgent(nn.Module):
    def __init__(self, obs=6, dim=16, actions=3, c=1.25, discount=0.9):
        super().__init__()
        self.actions, self.c, self.discount = actions, c, discount
        self.represent = nn.Sequential(nn.Linear(obs, dim), nn.Tanh())
        self.dynamics = nn.GRUCell(actions, dim)
        self.reward = nn.Linear(dim, 1)
        self.policy = nn.Linear(dim, actions)
        self.value = nn.Linear(dim, 1)

    def select(self, stats, path):
        visits, total, prior = stats[path]
        scale = math.sqrt(sum(visits) + 1)
        best, best_score = 0, -float("inf")
        for a in range(self.actions):
            q = total[a] / visits[a] if visits[a] else 0.0
            score = q + self.c * prior[a] * scale / (1 + visits[a])
            if score > best_score:
                best, best_score = a, score
        return best

    def expand(self, stats, states, path, state):
        prior = torch.softmax(self.policy(state), dim=-1)[0].tolist()
        stats[path] = ([0] * self.actions, [0.0] * self.actions, prior)
        states[path] = state
        return self.value(state).item()

    def forward(self, observation, simulations=8, max_depth=4):
        stats, states, rewards = {}, {}, {}
        self.expand(stats, states, (), self.represent(observation))
        for _ in range(simulations):
            path = ()
            while path in stats and len(path) < max_depth:
                path = path + (self.select(stats, path),)
            if path in stats:
                value = self.value(states[path]).item()
            else:
                one_hot = torch.zeros(1, self.actions)
                one_hot[0, path[-1]] = 1.0
                state = self.dynamics(one_hot, states[path[:-1]])
                rewards[path] = self.reward(state).item()
                value = self.expand(stats, states, path, state)
            for depth in range(len(path) - 1, -1, -1):
                value = rewards[path[: depth + 1]] + self.discount * value
                visits, total, _ = stats[path[:depth]]
                visits[path[depth]] += 1
                total[path[depth]] += value
        visits = stats[()][0]
        return visits.index(max(visits)), torch.tensor(visits) / sum(visits), len(stats)


def make_model():
    torch.manual_seed(0)
    m = SearchAgent()
    with torch.no_grad():
        m.policy.weight.mul_(3); m.value.weight.mul_(2); m.reward.weight.mul_(2)
    return m.eval()


def make_inputs():
    ins = []
    for seed, args in [(0, ()), (1, (20,)), (2, (12, 1)), (3, (1,)), (4, (30, 2))]:
        ins.append((torch.randn(1, 6, generator=torch.Generator().manual_seed(seed)) * 2, *args))
    return ins
