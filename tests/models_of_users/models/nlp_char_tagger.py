"""Character tagger over plain strings: vocabulary, unicode, word spans, user-defined iterators, yield from."""
import torch
import torch.nn as nn
from typing import Iterator, List, Tuple
import string

SPECIAL = {"<pad>": 0, "<unk>": 1}

class Span:
    __slots__ = ("start", "end", "label")
    def __init__(self, start, end, label):
        self.start = start
        self.end = end
        self.label = label
    def __contains__(self, i):
        return self.start <= i < self.end
    def __len__(self):
        return self.end - self.start
    def __eq__(self, other):
        return isinstance(other, Span) and (self.start, self.end, self.label) == (other.start, other.end, other.label)
    def __repr__(self):
        return f"{self.label}[{self.start}:{self.end}]"

def words(text: str) -> Iterator[Tuple[int, int]]:
    start = None
    for i, ch in enumerate(text):
        if ch.isalnum():
            if start is None:
                start = i
        elif start is not None:
            yield start, i
            start = None
    if start is not None:
        yield start, len(text)

def all_spans(texts):
    for t in texts:
        yield from words(t)

class Windows:
    """Iterates over windows of a sequence."""
    def __init__(self, seq, size, stride):
        self.seq, self.size, self.stride = seq, size, stride
        self.i = 0
    def __iter__(self):
        self.i = 0
        return self
    def __next__(self):
        if self.i >= max(1, len(self.seq) - self.size + self.stride):
            raise StopIteration
        w = self.seq[self.i : self.i + self.size]
        self.i += self.stride
        return w

class Tagger(nn.Module):
    LABELS = ("O", "NAME", "NUM")
    def __init__(self, d=12):
        super().__init__()
        self.vocab = {**SPECIAL, **{c: i + len(SPECIAL) for i, c in enumerate(string.ascii_lowercase + string.digits + " ")}}
        self.emb = nn.Embedding(len(self.vocab), d)
        self.cnn = nn.ModuleDict({f"k{k}": nn.Conv1d(d, 6, k, padding=k // 2) for k in (1, 3)})
        self.lstm = nn.LSTM(12, 5, bidirectional=True, batch_first=True)
        self.cls = nn.Linear(10, len(self.LABELS))

    def encode(self, text):
        return [self.vocab.get(c, SPECIAL["<unk>"]) for c in text.lower()]

    def chars(self, ids):
        outs = []
        for w in Windows(ids, 8, 6):
            x = self.emb(torch.tensor(w)).t()[None]
            outs.append(torch.cat([conv(x) for conv in self.cnn.values()], dim=1))
        h = torch.zeros(1, 12, len(ids))
        n = torch.zeros(len(ids))
        for k, o in enumerate(outs):
            s = k * 6
            h[:, :, s : s + o.shape[-1]] += o
            n[s : s + o.shape[-1]] += 1
        return (h / n.clamp(min=1)).transpose(1, 2)

    def forward(self, text: str):
        text = text.strip()
        if not text:
            raise ValueError("empty text")
        h, _ = self.lstm(torch.tanh(self.chars(self.encode(text))))
        logits = self.cls(h[0])
        spans: List[Span] = []
        for s, e in words(text):
            votes = logits[s:e].mean(0)
            label = self.LABELS[int(votes.argmax())]
            if text[s:e].isdigit():
                label = "NUM"
            if spans and spans[-1].label == label and label != "O" and s - spans[-1].end <= 1:
                spans[-1] = Span(spans[-1].start, e, label)
            else:
                spans.append(Span(s, e, label))
        found = {sp.label: text[sp.start : sp.end] for sp in spans if sp.label != "O"}
        inside = [sum(1 for sp in spans if i in sp) for i in range(0, len(text), 5)]
        same = len(spans) > 1 and spans[0] == spans[-1]
        return " ".join(map(repr, spans)), found, inside, same, sum(len(s) for s in spans), logits.shape[0]

def make_model():
    torch.manual_seed(21)
    m = Tagger().eval()
    with torch.no_grad():
        m.cls.weight.mul_(5)
    return m

def make_inputs():
    return [("hello World 42",), ("x",), ("  Ünïcode tests, 12 34!  ",), ("a-b c_d e1",), ("   ",), ("123 456 abc",)]
