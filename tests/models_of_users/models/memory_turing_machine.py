"""Memory networks: a neural Turing machine; heads of a class hierarchy, state as a NamedTuple, copy task."""
from abc import abstractmethod
from typing import List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import nn

EPS = 1e-8


class MachineState(NamedTuple):
    reads: List[torch.Tensor]
    weights: List[torch.Tensor]
    controller: Tuple[torch.Tensor, torch.Tensor]
    memory: torch.Tensor


def _split_cols(mat, lengths):
    assert mat.size(1) == sum(lengths), "lengths must add up to the number of columns"
    ends = [0]
    for n in lengths:
        ends += [ends[-1] + n]
    return [mat[:, s:e] for s, e in zip(ends[:-1], ends[1:])]


def _convolve(w, s):
    assert s.size(0) == 3
    t = torch.cat([w[-1:], w, w[:1]])
    return F.conv1d(t.view(1, 1, -1), s.view(1, 1, -1)).view(-1)


class Head(nn.Module):
    def __init__(self, n, m, controller_size):
        super().__init__()
        self.N, self.M = n, m
        self.fc = nn.Linear(controller_size, sum(self.lengths))

    @property
    @abstractmethod
    def lengths(self):
        ...

    def is_read_head(self):
        return isinstance(self, ReadHead)

    def address(self, memory, k, beta, g, s, gamma, w_prev):
        beta, g = F.softplus(beta), torch.sigmoid(g)
        s, gamma = F.softmax(s, dim=1), 1 + F.softplus(gamma)
        wc = F.softmax(beta * F.cosine_similarity(memory + EPS, k.unsqueeze(1) + EPS, dim=-1), dim=1)
        wg = g * wc + (1 - g) * w_prev
        shifted = torch.zeros_like(wg)
        for b in range(wg.size(0)):
            shifted[b] = _convolve(wg[b], s[b])
        w = shifted ** gamma
        return torch.div(w, torch.sum(w, dim=1).view(-1, 1) + EPS)


class ReadHead(Head):
    @property
    def lengths(self):
        return [self.M, 1, 1, 3, 1]

    def forward(self, embeddings, memory, w_prev):
        k, beta, g, s, gamma = _split_cols(self.fc(embeddings), self.lengths)
        w = self.address(memory, k, beta, g, s, gamma, w_prev)
        return torch.matmul(w.unsqueeze(1), memory).squeeze(1), w


class WriteHead(Head):
    @property
    def lengths(self):
        return [self.M, 1, 1, 3, 1, self.M, self.M]

    def forward(self, embeddings, memory, w_prev):
        k, beta, g, s, gamma, e, a = _split_cols(self.fc(embeddings), self.lengths)
        w = self.address(memory, k, beta, g, s, gamma, w_prev)
        erase = torch.matmul(w.unsqueeze(-1), torch.sigmoid(e).unsqueeze(1))
        add = torch.matmul(w.unsqueeze(-1), a.unsqueeze(1))
        return memory * (1 - erase) + add, w


class NTM(nn.Module):
    def __init__(self, num_inputs=5, num_outputs=4, n=6, m=7, controller_size=12, heads="rwr"):
        super().__init__()
        self.num_outputs = num_outputs
        self.controller = nn.LSTMCell(num_inputs + m * heads.count("r"), controller_size)
        kinds = {"r": ReadHead, "w": WriteHead}
        self.heads = nn.ModuleList([kinds[h](n, m, controller_size) for h in heads])
        self.fc = nn.Linear(controller_size + m * heads.count("r"), num_outputs)
        self.register_buffer("mem_bias", torch.Tensor(n, m).uniform_(-0.4, 0.4))
        self.init_r = [torch.randn(1, m) * 0.01 for h in self.heads if h.is_read_head()]

    def create_new_state(self, batch_size: int) -> MachineState:
        hidden = self.controller.hidden_size
        return MachineState(
            reads=[r.clone().repeat(batch_size, 1) for r in self.init_r],
            weights=[torch.zeros(batch_size, h.N) for h in self.heads],
            controller=(torch.zeros(batch_size, hidden), torch.zeros(batch_size, hidden)),
            memory=self.mem_bias.clone().repeat(batch_size, 1, 1),
        )

    def step(self, x, state: MachineState):
        prev_reads, prev_weights, controller, memory = state
        inp = torch.cat([x] + prev_reads, dim=1)
        h, c = self.controller(inp, controller)
        reads, weights = [], []
        for head, w_prev in zip(self.heads, prev_weights):
            if head.is_read_head():
                r, w = head(h, memory, w_prev)
                reads += [r]
            else:
                memory, w = head(h, memory, w_prev)
            weights += [w]
        out = torch.sigmoid(self.fc(torch.cat([h] + reads, dim=1)))
        return out, MachineState(reads, weights, (h, c), memory)

    def forward(self, seq: Union[torch.Tensor, List[torch.Tensor]], out_len: Optional[int] = None, state=None):
        if isinstance(seq, (list, tuple)):
            seq = torch.stack(list(seq))
        if seq.dim() == 2:
            seq = seq.unsqueeze(1)
        steps, batch, width = seq.shape
        if state is None:
            state = self.create_new_state(batch)
        for x in seq:
            _, state = self.step(x, state)
        outs = []
        blank = torch.zeros(batch, width)
        for _ in range(out_len if out_len is not None else steps):
            o, state = self.step(blank, state)
            outs.append(o)
        if not outs:
            return torch.zeros(0, batch, self.num_outputs), state._asdict()
        y = torch.stack(outs)
        bits = (y > 0.5).float()
        return bits, {**state._asdict(), "usage": [round(w.max().item(), 4) for w in state.weights]}


def make_model():
    torch.manual_seed(0)
    m = NTM()
    with torch.no_grad():
        m.fc.weight.mul_(6)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda *s: torch.rand(*s, generator=g).round()
    return [(r(4, 2, 5),), ([r(5), r(5), r(5)],), (r(3, 5), 0), (r(1, 1, 5), 6), ((r(3, 5), r(3, 5)), 1)]
