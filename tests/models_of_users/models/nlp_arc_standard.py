"""Arc-standard dependency parser: legal action masks, stack of node objects, composed representations, tree validation."""
import torch
import torch.nn as nn
from enum import IntEnum
from typing import List, Optional

class Action(IntEnum):
    SHIFT = 0
    LEFT = 1
    RIGHT = 2

class Node:
    __slots__ = ("index", "vec", "head", "children")
    def __init__(self, index, vec):
        self.index, self.vec = index, vec
        self.head: Optional[int] = None
        self.children: List[int] = []
    def attach(self, child, vec):
        child.head = self.index
        self.children.append(child.index)
        self.vec = vec

class Parser(nn.Module):
    def __init__(self, vocab=30, d=10, labels=("subj", "obj", "mod")):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.enc = nn.LSTM(d, d // 2, bidirectional=True, batch_first=True)
        self.root = nn.Parameter(torch.randn(d))
        self.empty = nn.Parameter(torch.zeros(d))
        self.act = nn.Sequential(nn.Linear(3 * d, 16), nn.ReLU(), nn.Linear(16, len(Action)))
        self.label = nn.Bilinear(d, d, len(labels))
        self.comp = nn.Linear(2 * d, d)
        self.labels = labels

    def legal(self, stack, buffer):
        ok = [False] * 3
        if buffer:
            ok[Action.SHIFT] = True
        if len(stack) >= 2:
            ok[Action.RIGHT] = stack[-2].index != 0 or not buffer
            ok[Action.LEFT] = stack[-2].index != 0
        return ok

    def features(self, stack, buffer):
        s0 = stack[-1].vec if stack else self.empty
        s1 = stack[-2].vec if len(stack) > 1 else self.empty
        b0 = buffer[0].vec if buffer else self.empty
        return torch.cat([s0, s1, b0])

    def forward(self, tokens: torch.Tensor):
        n = tokens.numel()
        if n == 0:
            return [], [], "", 0.0
        h, _ = self.enc(self.emb(tokens)[None])
        nodes = [Node(0, self.root)] + [Node(i + 1, v) for i, v in enumerate(h[0])]
        stack, buffer = [nodes[0]], nodes[1:]
        arcs, history, score = [], "", 0.0
        while buffer or len(stack) > 1:
            ok = torch.tensor(self.legal(stack, buffer))
            logits = self.act(self.features(stack, buffer)).masked_fill(~ok, float("-inf"))
            lp = logits.log_softmax(0)
            a = Action(int(lp.argmax()))
            score += lp[a].item()
            history += a.name[0]
            if a == Action.SHIFT:
                stack.append(buffer.pop(0))
                continue
            if a is Action.LEFT:
                child = stack.pop(-2)
                head = stack[-1]
            else:
                child = stack.pop()
                head = stack[-1]
            lab = int(self.label(head.vec[None], child.vec[None]).argmax())
            head.attach(child, torch.tanh(self.comp(torch.cat([head.vec, child.vec]))))
            arcs.append((head.index, child.index, self.labels[lab]))
        heads = [node.head for node in nodes[1:]]
        depth = {0: 0}
        def level(i):
            if i not in depth:
                depth[i] = level(heads[i - 1]) + 1
            return depth[i]
        deepest = max(level(i) for i in range(1, n + 1))
        return sorted(arcs, key=lambda arc: arc[1]), heads, history, score, deepest, [len(x.children) for x in nodes]

def make_model():
    torch.manual_seed(6)
    return Parser().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    return [(torch.randint(0, 30, (n,), generator=g),) for n in (4, 1, 7, 2, 10)]
