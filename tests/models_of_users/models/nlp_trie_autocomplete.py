"""Language: an autocomplete over a trie of objects built per request, edit-distance walk with pruning by rows, beam by score with heapq, a char LM re-scores; best spelling or none."""
import heapq
import string
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Tuple

import torch
from torch import Tensor, nn

ALPHABET = string.ascii_lowercase + " "


@dataclass
class Node:
    children: Dict[str, "Node"] = field(default_factory=dict)
    count: int = 0
    word: Optional[str] = None

    def insert(self, word: str, count: int) -> None:
        at = self
        for ch in word:
            if ch not in at.children:
                at.children[ch] = Node()
            at = at.children[ch]
        at.count += count
        at.word = word

    def find(self, prefix: str) -> Optional["Node"]:
        at: Optional[Node] = self
        for ch in prefix:
            at = at.children.get(ch)
            if at is None:
                return None
        return at

    def best(self) -> int:
        return max([self.count] + [c.best() for c in self.children.values()])


class CharLM(nn.Module):
    def __init__(self, dim: int = 8):
        super().__init__()
        self.emb = nn.Embedding(len(ALPHABET), dim)
        self.cell = nn.LSTMCell(dim, dim)
        self.out = nn.Linear(dim, len(ALPHABET))

    def forward(self, word: str) -> float:
        h = c = torch.zeros(1, self.cell.hidden_size)
        total = 0.0
        logp = self.out(h).log_softmax(-1)[0]
        for ch in word:
            i = ALPHABET.find(ch)
            if i < 0:
                return float("-inf")
            total += logp[i].item()
            h, c = self.cell(self.emb(torch.tensor([i])), (h, c))
            logp = self.out(h).log_softmax(-1)[0]
        return total / max(len(word), 1)


class Autocomplete(nn.Module):
    def __init__(self, beam: int = 3, max_edits: int = 2):
        super().__init__()
        self.lm = CharLM()
        self.beam, self.max_edits = beam, max_edits

    def build(self, corpus: List[str]) -> Node:
        root = Node()
        counts: Dict[str, int] = {}
        for line in corpus:
            for w in line.lower().split():
                w = w.strip(string.punctuation)
                if w:
                    counts[w] = counts.get(w, 0) + 1
        for w, n in counts.items():
            root.insert(w, n)
        return root

    def completions(self, node: Node, k: int) -> List[Tuple[int, str]]:
        heap: List[Tuple[int, str]] = []
        stack = [node]
        while stack:
            n = stack.pop()
            if n.word is not None:
                item = (n.count, n.word)
                if len(heap) < k:
                    heapq.heappush(heap, item)
                elif item > heap[0]:
                    heapq.heapreplace(heap, item)
            for ch in sorted(n.children, reverse=True):
                stack.append(n.children[ch])
        return sorted(heap, reverse=True)

    def fuzzy(self, node: Node, query: str, row: List[int], found: Dict[str, int]) -> None:
        if node.word is not None and row[-1] <= self.max_edits:
            found[node.word] = row[-1]
        if min(row) > self.max_edits:
            return
        for ch, child in node.children.items():
            new = [row[0] + 1]
            for j, q in enumerate(query, 1):
                new.append(min(new[j - 1] + 1, row[j] + 1, row[j - 1] + (q != ch)))
            self.fuzzy(child, query, new, found)

    @torch.no_grad()
    def forward(self, corpus: List[str], query: str) -> Dict[str, object]:
        root = self.build(corpus)
        q = query.lower().strip()
        node = root.find(q)
        if node is not None:
            options = self.completions(node, self.beam)
            scored = [(round(self.lm(w) + 0.1 * n, 5), w) for n, w in options]
            mode = "prefix"
        else:
            found: Dict[str, int] = {}
            self.fuzzy(root, q, list(range(len(q) + 1)), found)
            scored = [(round(self.lm(w) - d, 5), w) for w, d in found.items()]
            mode = "fuzzy" if scored else "none"
        scored.sort(key=lambda sw: (-sw[0], sw[1]))
        return {"mode": mode, "words": [w for _, w in scored[: self.beam]], "scores": torch.tensor([s for s, _ in scored]),
                "best": root.best(), "title": scored[0][1].title() if scored else query.upper()}


def make_model():
    torch.manual_seed(19)
    return Autocomplete().eval()


def make_inputs():
    corpus = ["The cat, the car and the cart.", "A card for the care of cats!", "the quick brown fox"]
    return [(corpus, "ca"), (corpus, "THE"), (corpus, "kat"), (corpus, "zzzzzz"), (corpus, ""), (["a"], "b"), (corpus[:1], "cartt")]
