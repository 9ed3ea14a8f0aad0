"""NLP: a grammar-driven decoder builds a program tree (as in text-to-SQL); then the tree is printed and scored."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Tuple, Union

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Rule:
    head: str
    body: Tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.head} -> {' '.join(self.body) or 'eps'}"


@dataclass
class AstNode:
    symbol: str
    rule: Optional[int] = None
    token: Optional[str] = None
    score: float = 0.0
    children: List[AstNode] = field(default_factory=list)

    @property
    def is_terminal(self) -> bool:
        return self.symbol.islower()

    def size(self) -> int:
        return 1 + sum(c.size() for c in self.children)

    def total(self) -> float:
        return self.score + sum((c.total() for c in self.children), 0.0)

    def to_text(self) -> str:
        if self.token is not None:
            return self.token
        parts = [c.to_text() for c in self.children]
        return " ".join(p for p in parts if p)


class Grammar:
    def __init__(self, lines: List[str]):
        self.rules: List[Rule] = []
        for line in lines:
            head, _, body = line.partition("->")
            for option in body.split("|"):
                self.rules.append(Rule(head.strip(), tuple(option.split())))
        self.by_head: Dict[str, List[int]] = {}
        for i, rule in enumerate(self.rules):
            self.by_head.setdefault(rule.head, []).append(i)

    def options(self, symbol: str) -> List[int]:
        return self.by_head.get(symbol, [])

    def __len__(self):
        return len(self.rules)


GRAMMAR = Grammar([
    "Query -> select Cols from table Where",
    "Cols -> star | Col | Col comma Cols",
    "Col -> column | Agg lparen column rparen",
    "Agg -> max | min | count",
    "Where -> | where Cond",
    "Cond -> column Op value | Cond and Cond",
    "Op -> eq | lt | gt",
])

KEYWORDS = {"star": "*", "comma": ",", "lparen": "(", "rparen": ")", "eq": "=", "lt": "<", "gt": ">"}


class TreeDecoder(nn.Module):
    def __init__(self, grammar: Grammar, vocab: List[str], dim: int = 14, max_depth: int = 6):
        super().__init__()
        self.grammar = grammar
        self.vocab = {w: i for i, w in enumerate(vocab)}
        self.words = vocab
        self.embed = nn.Embedding(len(vocab) + 1, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.rule_embed = nn.Embedding(len(grammar), dim)
        self.cell = nn.LSTMCell(2 * dim, dim)
        self.rule_out = nn.Linear(2 * dim, len(grammar))
        self.copy = nn.Bilinear(dim, dim, 1)
        self.max_depth = max_depth

    def attend(self, h: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        w = F.softmax(memory @ h.squeeze(0), dim=0)
        return (w.unsqueeze(0) @ memory)

    def decode(self, node: AstNode, state, memory: torch.Tensor, words: List[str], parent: torch.Tensor, depth: int):
        h, c = state
        context = self.attend(h, memory)
        h, c = self.cell(torch.cat([parent, context], dim=-1), (h, c))
        if node.is_terminal:
            if node.symbol in ("column", "table", "value"):
                scores = self.copy(h.expand(len(words), -1).contiguous(), memory).squeeze(-1).log_softmax(0)
                best = int(scores.argmax())
                node.token, node.score = words[best], scores[best].item()
            else:
                node.token = KEYWORDS.get(node.symbol, node.symbol.upper())
            return h, c
        options = self.grammar.options(node.symbol)
        if depth >= self.max_depth:
            options = [o for o in options if node.symbol not in self.grammar.rules[o].body] or options
        logits = self.rule_out(torch.cat([h, context], -1))[0]
        scores = logits[options].log_softmax(0)
        pick = scores.argmax().item()
        node.rule, node.score = options[pick], scores[pick].item()
        embedded = self.rule_embed(torch.tensor([node.rule]))
        state = (h, c)
        for symbol in self.grammar.rules[node.rule].body:
            child = AstNode(symbol)
            state = self.decode(child, state, memory, words, embedded, depth + 1)
            node.children.append(child)
        return state

    def walk(self, root: AstNode) -> Iterator[AstNode]:
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def forward(self, question: str, max_depth: Optional[int] = None):
        words = question.lower().split()
        if not words:
            raise ValueError("empty question")
        ids = torch.tensor([self.vocab.get(w, len(self.words)) for w in words])
        memory, last = self.encoder(self.embed(ids)[None])
        if max_depth is not None:
            self.max_depth = max_depth
        root = AstNode("Query")
        self.decode(root, (last[0], torch.zeros_like(last[0])), memory[0], words, torch.zeros(1, last.shape[-1]), 0)
        rules = [n.rule for n in self.walk(root) if n.rule is not None]
        return root.to_text(), root.total(), root.size(), rules


def make_model():
    torch.manual_seed(1)
    m = TreeDecoder(GRAMMAR, ["show", "name", "age", "of", "all", "people", "older", "than", "30"])
    with torch.no_grad():
        m.rule_out.weight.mul_(4)
        m.copy.weight.mul_(4)
    return m.eval()


def make_inputs():
    return [
        ("show name of all people",),
        ("show age of people older than 30", 4),
        ("how many people",),
        ("",),
        ("name", 2),
    ]
