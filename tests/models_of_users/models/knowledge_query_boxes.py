"""Complex logical queries over a knowledge graph: queries as nested tuples/dicts, recursive evaluation to boxes, intersection attention, negation by cone, answers ranked and filtered."""
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple
import torch
import torch.nn as nn
import torch.nn.functional as F


class Box(NamedTuple):
    center: torch.Tensor
    offset: torch.Tensor

    def contains(self, p):
        return ((p - self.center).abs() <= self.offset).all(-1)

    def distance(self, p, alpha: float = 0.2):
        delta = (p - self.center).abs()
        outside = F.relu(delta - self.offset).sum(-1)
        inside = torch.minimum(delta, self.offset).sum(-1)
        return outside + alpha * inside


class Query(NamedTuple):
    op: str
    args: Tuple[int, ...]


class BoxReasoner(nn.Module):
    def __init__(self, entities=14, relations=4, dim=6, triples=()):
        super().__init__()
        self.entity = nn.Embedding(entities, dim)
        self.rel_center, self.rel_offset = nn.Embedding(relations, dim), nn.Embedding(relations, dim)
        self.att = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.gate = nn.Linear(dim, dim)
        self.facts: Dict[Tuple[int, int], Set[int]] = {}
        for h, r, t in triples:
            self.facts.setdefault((h, r), set()).add(t)

    def anchor(self, e: int) -> Box:
        c = self.entity.weight[e]
        return Box(c, torch.zeros_like(c))

    def project(self, box: Box, r: int) -> Box:
        return Box(box.center + self.rel_center.weight[r], box.offset + F.softplus(self.rel_offset.weight[r]))

    def intersect(self, boxes: List[Box]) -> Box:
        centers = torch.stack([b.center for b in boxes])
        offsets = torch.stack([b.offset for b in boxes])
        w = self.att(centers).softmax(0)
        shrink = torch.sigmoid(self.gate(offsets).mean(0))
        return Box((w * centers).sum(0), offsets.min(0).values * shrink)

    def evaluate(self, program: List[Tuple[str, int]]) -> List[Box]:
        """Postfix program: e pushes an anchor, p projects, i intersects the top n, u keeps alternatives."""
        stack: List[List[Box]] = []
        for op, arg in program:
            if op == "e":
                stack.append([self.anchor(arg)])
            elif op == "p":
                stack.append([self.project(b, arg) for b in stack.pop()])
            elif op in ("i", "u"):
                if arg > len(stack):
                    raise IndexError(f"'{op}' wants {arg} operands, the stack has {len(stack)}")
                operands = [stack.pop() for _ in range(arg)][::-1]
                if op == "u":
                    stack.append([b for boxes in operands for b in boxes])
                else:
                    combos: List[List[Box]] = [[]]
                    for boxes in operands:
                        combos = [c + [b] for c in combos for b in boxes]
                    stack.append([self.intersect(c) for c in combos])
            else:
                raise ValueError(f"unknown operator {op!r}")
        if len(stack) != 1:
            raise ValueError(f"{len(stack)} results are left")
        return stack[0]

    def symbolic(self, program) -> Set[int]:
        stack: List[Set[int]] = []
        for op, arg in program:
            if op == "e":
                stack.append({arg})
            elif op == "p":
                reached: Set[int] = set()
                for h in stack.pop():
                    reached |= self.facts.get((h, arg), set())
                stack.append(reached)
            else:
                operands = [stack.pop() for _ in range(arg)]
                out = operands[0]
                for o in operands[1:]:
                    out = out & o if op == "i" else out | o
                stack.append(out)
        return stack.pop()

    @torch.no_grad()
    def forward(self, program: List[Tuple[str, int]], k: int = 3, exclude_known: bool = False, exclude: Optional[torch.Tensor] = None):
        boxes = self.evaluate(program)
        distance = torch.stack([b.distance(self.entity.weight) for b in boxes]).amin(0)
        inside = torch.stack([b.contains(self.entity.weight) for b in boxes]).any(0)
        known = self.symbolic(program)
        banned = torch.zeros(len(distance), dtype=torch.bool)
        if exclude_known and known:
            banned[sorted(known)] = True
        if exclude is not None:
            banned |= exclude
        if banned.all():
            return [], inside, 0.0
        scores = (-distance).masked_fill(banned, float("-inf"))
        top = scores.topk(min(k, int((~banned).sum())))
        answers = [(i, s) for i, s in zip(top.indices.tolist(), top.values.tolist())]
        ranks = scores.argsort(descending=True).argsort() + 1
        mrr = sum(1.0 / ranks[t].item() for t in known) / len(known) if known and not exclude_known else 0.0
        return answers, inside, mrr


def make_model():
    torch.manual_seed(6)
    facts = [(0, 0, 1), (0, 0, 2), (1, 1, 3), (2, 1, 3), (2, 1, 4), (4, 2, 0), (5, 0, 2), (3, 3, 6), (3, 3, 7)]
    return BoxReasoner(triples=facts).eval()


def make_inputs():
    return [
        ([("e", 0), ("p", 0)],),
        ([("e", 0), ("p", 0), ("p", 1), ("e", 5), ("p", 0), ("p", 1), ("i", 2)], 5),
        ([("e", 1), ("p", 1), ("e", 4), ("p", 2), ("u", 2), ("p", 3)], 4, True),
        ([("e", 2), ("e", 3), ("u", 2), ("e", 3), ("i", 2)], 2, False, torch.arange(14) < 5),
        ([("e", 1), ("i", 2)],),
        ([("e", 1), ("e", 2)],),
        ([("e", 1), ("n", 0)],),
        ([("e", 9), ("p", 3)], 3, True, torch.ones(14, dtype=torch.bool)),
    ]
