import math
import torch
import torch.nn as nn


class Node:
    __slots__ = ("prior", "visits", "total", "children", "hidden", "reward")

    def __init__(self, prior):
        self.prior = prior
        self.visits = 0
        self.total = 0.0
        self.children = {}
        self.hidden = None
        self.reward = 0.0

    @property
    def value(self):
        return self.total / self.visits if self.visits else 0.0

    def expanded(self):
        return len(self.children) > 0


class Bounds:
    def __init__(self):
        self.low, self.high = float("inf"), -float("inf")

    def update(self, v):
        self.low, self.high = min(self.low, v), max(self.high, v)

    def scale(self, v):
        return (v - self.low) / (self.high - self.low) if self.high > self.low else v


class Model(nn.Module):
    def __init__(self, d=6, actions=3, discount=0.97):
        super().__init__()
        self.represent = nn.Linear(4, d)
        self.dynamics = nn.Linear(d + actions, d)
        self.reward = nn.Linear(d, 1)
        self.predict = nn.Linear(d, actions + 1)
        self.actions, self.discount = actions, discount

    def _expand(self, node, legal):
        out = self.predict(node.hidden)
        logits, value = out[:-1], out[-1].tanh()
        p = [math.exp(v) for v in logits.tolist()]
        norm = sum(p[a] for a in legal)
        for a in legal:
            node.children[a] = Node(p[a] / norm)
        return value.item()

    def _score(self, parent, child, bounds):
        c = math.log((parent.visits + 20) / 20) + 1.25
        prior = c * math.sqrt(parent.visits) / (child.visits + 1) * child.prior
        if child.visits > 0:
            return prior + bounds.scale(child.reward + self.discount * child.value)
        return prior

    def forward(self, obs, legal=(0, 1, 2), simulations=6, temperature=1.0):
        root = Node(0.0)
        root.hidden = self.represent(obs).tanh()
        bounds = Bounds()
        self._expand(root, legal)
        depths = []
        for _ in range(simulations):
            node, path = root, [root]
            while node.expanded():
                parent = node
                action, node = max(parent.children.items(), key=lambda ac: self._score(parent, ac[1], bounds))
                path.append(node)
            onehot = torch.nn.functional.one_hot(torch.tensor(action), self.actions).float()
            parent = path[-2]
            node.hidden = self.dynamics(torch.cat([parent.hidden, onehot])).tanh()
            node.reward = self.reward(node.hidden).item()
            value = self._expand(node, range(self.actions))
            for n in reversed(path):
                n.total += value
                n.visits += 1
                bounds.update(n.reward + self.discount * n.value)
                value = n.reward + self.discount * value
            depths.append(len(path) - 1)
        counts = torch.zeros(self.actions)
        for a, c in root.children.items():
            counts[a] = c.visits
        if temperature == 0:
            policy = torch.zeros_like(counts)
            policy[counts.argmax()] = 1.0
        else:
            policy = counts ** (1 / temperature)
            policy = policy / policy.sum()
        return policy, root.value, depths


def make_model():
    torch.manual_seed(2)
    return Model().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    r = lambda: torch.randn(4, generator=g)
    return [(r(),), (r(), (1,), 4), (r(), (0, 2), 9, 0), (r(), (2, 0, 1), 12, 0.5)]
