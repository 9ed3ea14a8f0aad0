"""World model rollouts: RSSM state as a dataclass, options that terminate, discount that stops imagination, symlog returns."""
import math
from collections import namedtuple
from dataclasses import dataclass, replace
from typing import List, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

Step = namedtuple("Step", "option action reward cont value")


@dataclass(frozen=True)
class State:
    deter: torch.Tensor
    stoch: torch.Tensor
    t: int = 0

    @property
    def feature(self):
        return torch.cat([self.deter, self.stoch], dim=-1)

    def detach(self):
        return replace(self, deter=self.deter.detach(), stoch=self.stoch.detach())


def symlog(x):
    return torch.sign(x) * torch.log1p(x.abs())


def symexp(x):
    return torch.sign(x) * (torch.exp(x.abs()) - 1)


class MLP(nn.Module):
    def __init__(self, inp, out, hidden=24, layers=2, dist=None):
        super().__init__()
        dims = [inp] + [hidden] * (layers - 1) + [out]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.dist = dist

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i + 1 < len(self.layers):
                x = F.silu(x)
        if self.dist == "symlog":
            return symexp(x).squeeze(-1)
        elif self.dist == "binary":
            return torch.sigmoid(x).squeeze(-1)
        elif self.dist is None:
            return x
        raise NotImplementedError(self.dist)


class RSSM(nn.Module):
    def __init__(self, action, deter=16, groups=3, classes=4, embed=10):
        super().__init__()
        self.groups, self.classes = groups, classes
        self.cell = nn.GRUCell(groups * classes + action, deter)
        self.prior = MLP(deter, groups * classes)
        self.post = MLP(deter + embed, groups * classes)
        self.register_buffer("start", torch.zeros(deter))

    def initial(self):
        return State(self.start.tanh(), torch.zeros(self.groups * self.classes))

    def mode(self, logits):
        logits = logits.view(self.groups, self.classes)
        probs = 0.99 * logits.softmax(-1) + 0.01 / self.classes
        return F.one_hot(probs.argmax(-1), self.classes).float().flatten()

    def step(self, prev: State, action, embed: Optional[torch.Tensor] = None) -> State:
        deter = self.cell(torch.cat([prev.stoch, action])[None], prev.deter[None])[0]
        if embed is None:
            logits = self.prior(deter)
        else:
            logits = self.post(torch.cat([deter, embed]))
        return State(deter, self.mode(logits), prev.t + 1)


class Agent(nn.Module):
    def __init__(self, obs=6, actions=3, options=2, horizon=8):
        super().__init__()
        self.actions, self.options, self.horizon = actions, options, horizon
        self.encoder = MLP(obs, 10)
        self.rssm = RSSM(actions)
        feat = 16 + 12
        self.option_policy = MLP(feat, options)
        self.policies = nn.ModuleList([MLP(feat, actions) for _ in range(options)])
        self.termination = MLP(feat, options)
        self.heads = nn.ModuleDict({
            "reward": MLP(feat, 1, dist="symlog"),
            "cont": MLP(feat, 1, dist="binary"),
            "value": MLP(feat, 1, dist="symlog"),
        })
        self.gamma, self.lam = 0.97, 0.9

    def observe(self, observations, resets):
        state = self.rssm.initial()
        action = torch.zeros(self.actions)
        for obs, first in zip(observations, resets):
            if first:
                state = self.rssm.initial()
                action = torch.zeros_like(action)
            state = self.rssm.step(state, action, self.encoder(symlog(obs)))
            action = F.one_hot(self.policies[0](state.feature).argmax(), self.actions).float()
        return state

    def imagine(self, state: State, min_discount: float) -> List[Step]:
        steps, option, discount = [], None, 1.0
        for _ in range(self.horizon):
            feat = state.feature
            if option is None or torch.sigmoid(self.termination(feat))[option] > 0.5:
                option = self.option_policy(feat).argmax().item()
            a = self.policies[option](feat).argmax()
            state = self.rssm.step(state, F.one_hot(a, self.actions).float())
            preds = {name: head(state.feature) for name, head in self.heads.items()}
            steps.append(Step(option, a.item(), **preds))
            discount *= self.gamma * preds["cont"].item()
            if discount < min_discount:
                break
        return steps

    def lambda_return(self, steps: List[Step]):
        ret = steps[-1].value
        returns = []
        for s in reversed(steps):
            disc = self.gamma * s.cont
            ret = s.reward + disc * ((1 - self.lam) * s.value + self.lam * ret)
            returns.insert(0, ret)
        return torch.stack(returns)

    def forward(self, observations, resets: List[bool], min_discount: float = 0.2):
        assert len(observations) == len(resets), "one reset flag per observation"
        state = self.observe(observations, resets).detach()
        steps = self.imagine(state, min_discount)
        returns = self.lambda_return(steps)
        switches = sum(1 for a, b in zip(steps, steps[1:]) if a.option != b.option)
        scale = max(1.0, float(torch.quantile(returns, 0.95) - torch.quantile(returns, 0.05)))
        if not math.isfinite(scale):
            raise FloatingPointError("returns blew up")
        return {"returns": returns / scale, "actions": [s.action for s in steps], "switches": switches, "t": state.t, "last": steps[-1]._asdict()}


def make_model():
    torch.manual_seed(11)
    m = Agent()
    for p in m.parameters():
        if p.dim() > 1:
            p.data.mul_(2.0)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(4)
    o = lambda n, s=1.0: torch.randn(n, 6, generator=g) * s
    return [
        (o(3), [True, False, False]),
        (o(4, 5.0), [True, False, True, False], 0.5),
        (o(1, 50.0), [False], 0.01),
        (torch.zeros(0, 6), []),
        (o(2), [True]),
        (o(6, 0.2), [False] * 6, 0.9),
    ]
