"""Recommender: a session becomes a small graph (as in SR-GNN); cold sessions fall back on popularity."""
import math
from collections import Counter, OrderedDict, defaultdict
from typing import Dict, List, Optional, Set, Tuple, Union

import torch
import torch.nn.functional as F
from torch.nn import Module, Parameter
from torch import nn

PAD = 0


class GNN(Module):
    def __init__(self, hidden_size, step=1):
        super(GNN, self).__init__()
        self.step = step
        self.hidden_size = hidden_size
        self.gate_size = 3 * hidden_size
        self.w_ih = Parameter(torch.Tensor(self.gate_size, hidden_size * 2))
        self.w_hh = Parameter(torch.Tensor(self.gate_size, hidden_size))
        self.b_ih = Parameter(torch.Tensor(self.gate_size))
        self.b_hh = Parameter(torch.Tensor(self.gate_size))
        self.linear_edge_in = nn.Linear(hidden_size, hidden_size, bias=True)
        self.linear_edge_out = nn.Linear(hidden_size, hidden_size, bias=True)

    def GNNCell(self, A, hidden):
        n = A.shape[0]
        input_in = torch.matmul(A[:, :n], self.linear_edge_in(hidden))
        input_out = torch.matmul(A[:, n: 2 * n], self.linear_edge_out(hidden))
        inputs = torch.cat([input_in, input_out], -1)
        gi = F.linear(inputs, self.w_ih, self.b_ih)
        gh = F.linear(hidden, self.w_hh, self.b_hh)
        i_r, i_i, i_n = gi.chunk(3, -1)
        h_r, h_i, h_n = gh.chunk(3, -1)
        resetgate = torch.sigmoid(i_r + h_r)
        inputgate = torch.sigmoid(i_i + h_i)
        newgate = torch.tanh(i_n + resetgate * h_n)
        return newgate + inputgate * (hidden - newgate)

    def forward(self, A, hidden):
        for i in range(self.step):
            hidden = self.GNNCell(A, hidden)
        return hidden


class SessionGraph(Module):
    def __init__(self, n_node=20, hidden_size=8, step=2, top_k=4, nonhybrid=False):
        super(SessionGraph, self).__init__()
        self.n_node = n_node
        self.top_k = top_k
        self.nonhybrid = nonhybrid
        self.embedding = nn.Embedding(n_node, hidden_size)
        self.gnn = GNN(hidden_size, step=step)
        self.linear_one = nn.Linear(hidden_size, hidden_size)
        self.linear_two = nn.Linear(hidden_size, hidden_size)
        self.linear_three = nn.Linear(hidden_size, 1, bias=False)
        self.linear_transform = nn.Linear(hidden_size * 2, hidden_size)
        self.register_buffer("popularity", torch.zeros(n_node))
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.gnn.hidden_size)
        for weight in self.parameters():
            weight.data.uniform_(-stdv, stdv)

    @staticmethod
    def build_graph(session: List[int]) -> Tuple[List[int], torch.Tensor, List[int]]:
        nodes = list(OrderedDict.fromkeys(session))
        index = {item: i for i, item in enumerate(nodes)}
        n = len(nodes)
        u_A = torch.zeros(n, n)
        for a, b in zip(session[:-1], session[1:]):
            u_A[index[a]][index[b]] = 1
        u_sum_in = u_A.sum(0)
        u_sum_in[u_sum_in == 0] = 1
        u_A_in = u_A / u_sum_in
        u_sum_out = u_A.sum(1)
        u_sum_out[u_sum_out == 0] = 1
        u_A_out = u_A.t() / u_sum_out
        return nodes, torch.cat([u_A_in, u_A_out]).t(), [index[i] for i in session]

    def compute_scores(self, hidden, alias):
        seq = hidden[alias]
        ht = seq[-1]
        q1 = self.linear_one(ht).view(1, -1)
        q2 = self.linear_two(seq)
        alpha = self.linear_three(torch.sigmoid(q1 + q2))
        a = torch.sum(alpha * seq, 0)
        if not self.nonhybrid:
            a = self.linear_transform(torch.cat([a, ht], -1))
        return a @ self.embedding.weight[1:].t()

    def recommend(self, scores: torch.Tensor, exclude: Set[int], k: int) -> List[Tuple[int, float]]:
        picked: List[Tuple[int, float]] = []
        order = torch.argsort(scores, descending=True)
        for idx in order:
            item = idx.item() + 1
            if item in exclude:
                continue
            picked.append((item, scores[idx].item()))
            if len(picked) >= k:
                break
        return picked

    def forward(self, sessions: List[List[int]], history: Optional[Dict[str, List[int]]] = None, k: Optional[int] = None):
        k = k or self.top_k
        known = Counter(i for s in sessions for i in s if i != PAD)
        reasons: Dict[str, int] = defaultdict(int)
        out = []
        for uid, raw in enumerate(sessions):
            session = [i for i in raw if 0 < i < self.n_node]
            if not session and history is not None and f"user_{uid}" in history:
                session = history[f"user_{uid}"][-3:]
                reasons["history"] += 1
            if len(session) == 0:
                reasons["popular"] += 1
                popular = sorted(known.items(), key=lambda kv: (-kv[1], kv[0]))[:k]
                out.append([(item, float(count)) for item, count in popular])
                continue
            if len(set(session)) == 1:
                reasons["single"] += 1
                scores = self.embedding.weight[1:] @ self.embedding(torch.tensor(session[0]))
            else:
                nodes, A, alias = self.build_graph(session)
                hidden = self.gnn(A, self.embedding(torch.LongTensor(nodes)))
                scores = self.compute_scores(hidden, torch.tensor(alias))
                reasons["graph"] += 1
            out.append(self.recommend(scores, set(session), k))
        coverage = len({item for row in out for item, _ in row}) / (self.n_node - 1)
        return out, dict(reasons), coverage


def make_model():
    torch.manual_seed(0)
    return SessionGraph().eval()


def make_inputs():
    return [
        ([[1, 2, 3, 2, 4]],),
        ([[5, 5], [7, 8, 7, 9, 25], []],),
        ([[], [3, 4]], {"user_0": [1, 2, 6, 7]}, 2),
        ([[0, 0], [19]], {"user_1": [4]}, 3),
        ([],),
    ]
