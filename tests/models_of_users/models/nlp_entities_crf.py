"""NLP: named entities; a CRF whose transitions are limited by the scheme, then spans as typed dicts."""
import re
from collections import defaultdict
from typing import Dict, List, Optional, Tuple, TypedDict

import torch
from torch import nn

LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
IMPOSSIBLE = -1e4


class Entity(TypedDict):
    text: str
    label: str
    start: int
    end: int
    score: float


def is_transition_allowed(from_tag: Optional[str], to_tag: str) -> bool:
    if to_tag[0] != "I":
        return True
    if from_tag is None or from_tag == "O":
        return False
    return from_tag[2:] == to_tag[2:]


class WordPieces:
    """A hash tokenizer: words, their character trigrams as features."""

    pattern = re.compile(r"\w+|[^\w\s]")

    def __init__(self, buckets: int = 50):
        self.buckets = buckets

    def words(self, text: str) -> List[Tuple[str, int]]:
        out, at = [], 0
        for word in text.split(" "):
            if word:
                out.append((word, at))
            at += len(word) + 1
        return out

    def ids(self, word: str) -> List[int]:
        padded = f"<{word.lower()}>"
        grams = [padded[i:i + 3] for i in range(max(1, len(padded) - 2))]
        return [sum(ord(c) * 31 ** k for k, c in enumerate(g)) % self.buckets for g in grams]


class CRF(nn.Module):
    def __init__(self, labels):
        super().__init__()
        n = len(labels)
        self.trans = nn.Parameter(torch.randn(n, n) * 0.2)
        start = torch.tensor([0.0 if is_transition_allowed(None, t) else IMPOSSIBLE for t in labels])
        allowed = torch.zeros(n, n)
        for i, a in enumerate(labels):
            for j, b in enumerate(labels):
                if not is_transition_allowed(a, b):
                    allowed[i, j] = IMPOSSIBLE
        self.register_buffer("start", start)
        self.register_buffer("allowed", allowed)

    def decode(self, emissions: torch.Tensor) -> Tuple[List[int], float]:
        score = self.start + emissions[0]
        history = []
        table = self.trans + self.allowed
        for t in range(1, emissions.shape[0]):
            best, back = (score[:, None] + table).max(dim=0)
            score = best + emissions[t]
            history.append(back)
        total, last = score.max(0)
        path = [last.item()]
        for back in history[::-1]:
            path.insert(0, back[path[0]].item())
        return path, total.item()


class NerTagger(nn.Module):
    def __init__(self, dim=12, buckets=50):
        super().__init__()
        self.tokenizer = WordPieces(buckets)
        self.bag = nn.EmbeddingBag(buckets, dim, mode="mean")
        self.shape_features = nn.Linear(3, dim)
        self.lstm = nn.LSTM(dim, dim, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * dim, len(LABELS))
        self.crf = CRF(LABELS)

    def embed(self, words):
        ids, offsets = [], []
        for w in words:
            offsets.append(len(ids))
            ids.extend(self.tokenizer.ids(w))
        shape = torch.tensor([[float(w[0].isupper()), float(w.isdigit()), float(w.isupper())] for w in words])
        return self.bag(torch.tensor(ids), torch.tensor(offsets)) + self.shape_features(shape)

    def spans(self, words, tags, probs) -> List[Entity]:
        entities: List[Entity] = []
        current: Optional[Entity] = None
        scores: List[float] = []
        for (word, at), tag, p in zip(words, tags, probs):
            prefix, _, kind = tag.partition("-")
            if prefix == "B" or (prefix == "I" and current is None):
                if current is not None:
                    current["score"] = sum(scores) / len(scores)
                    entities.append(current)
                current = {"text": word, "label": kind, "start": at, "end": at + len(word), "score": 0.0}
                scores = [p]
            elif prefix == "I":
                current["text"] += " " + word
                current["end"] = at + len(word)
                scores.append(p)
            elif current is not None:
                current["score"] = sum(scores) / len(scores)
                entities.append(current)
                current = None
        if current is not None:
            current["score"] = sum(scores) / len(scores)
            entities.append(current)
        return entities

    def forward(self, texts: List[str], threshold: float = 0.0):
        by_label: Dict[str, List[str]] = defaultdict(list)
        results = []
        for text in texts:
            words = self.tokenizer.words(text)
            if not words:
                results.append([])
                continue
            hidden, _ = self.lstm(self.embed([w for w, _ in words])[None])
            logits = self.out(hidden)[0]
            path, _ = self.crf.decode(logits)
            probs = logits.softmax(-1)[torch.arange(len(path)), path]
            found = [e for e in self.spans(words, [LABELS[i] for i in path], probs.tolist()) if e["score"] >= threshold]
            for e in found:
                by_label[e["label"]].append(e["text"])
            results.append(found)
        return results, dict(by_label)


def make_model():
    torch.manual_seed(1)
    m = NerTagger()
    with torch.no_grad():
        m.out.weight.mul_(5)
        m.out.bias[0] += 0.3
        m.crf.trans.mul_(3)
    return m.eval()


def make_inputs():
    return [
        (["Angela Merkel visited Paris in 2019"],),
        (["the quick brown fox", "IBM and Bank of America hired Bob"],),
        ([""],),
        ([],),
        (["  New York  City, 42 a B"], 0.3),
        (["x", "London", "42"], 0.2),
    ]
