import re
from collections import Counter, defaultdict
from typing import Dict, List, Optional, Tuple, Union

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d)
        self.query = nn.Parameter(torch.randn(d))

    def forward(self, x, lengths):
        s = self.proj(x).tanh() @ self.query
        mask = torch.arange(x.size(1))[None] >= torch.as_tensor(lengths)[:, None]
        a = s.masked_fill(mask, float("-inf")).softmax(1)
        return (a.unsqueeze(-1) * x).sum(1), a


class Encoder(nn.Module):
    def __init__(self, d_in, d):
        super().__init__()
        self.rnn = nn.GRU(d_in, d, bidirectional=True, batch_first=True)
        self.att = Attention(2 * d)

    def forward(self, seqs: List[torch.Tensor]):
        lengths = [len(s) for s in seqs]
        x = pad_sequence(seqs, batch_first=True)
        packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        pooled, a = self.att(out, lengths)
        return pooled, [row[:n] for row, n in zip(a, lengths)]


class Model(nn.Module):
    UNK = 0

    def __init__(self, d=4):
        super().__init__()
        words = "the a cat dog runs sleeps fast never . ! not and good bad movie".split()
        self.vocab: Dict[str, int] = {w: i + 1 for i, w in enumerate(words)}
        self.emb = nn.Embedding(len(words) + 1, d)
        self.word = Encoder(d, d)
        self.sent = Encoder(2 * d, d)
        self.tree = {"root": ["animal", "review"], "animal": ["cat", "dog"], "review": ["good", "bad"]}
        self.heads = nn.ModuleDict({k: nn.Linear(2 * d, len(v)) for k, v in self.tree.items()})
        self.drop = nn.Dropout(0.1)

    def ids(self, sentence: List[str]) -> torch.Tensor:
        return torch.tensor([self.vocab.get(w.lower(), self.UNK) for w in sentence])

    def forward(self, document: Union[str, List[List[str]]], beam: int = 1, least: float = 0.0):
        if isinstance(document, str):
            sentences, current = [], []
            for w in document.split():
                current.append(w)
                if w in (".", "!"):
                    sentences.append(current)
                    current = []
            if current:
                sentences.append(current)
        else:
            sentences = [s for s in document if s]
        if not sentences:
            return [], None, {}
        unknown = Counter(w.lower() for s in sentences for w in s if w.lower() not in self.vocab)
        s, word_att = self.word([self.emb(self.ids(x)) for x in sentences])
        doc, (sent_att,) = self.sent([s])
        doc = self.drop(doc[0])
        open_, done = [("root", 0.0, [])], []
        while open_:
            nxt = []
            for name, score, path in open_:
                if name not in self.tree:
                    done.append((score, path))
                    continue
                lp = self.heads[name](doc).log_softmax(-1)
                for child, v in zip(self.tree[name], lp.tolist()):
                    if score + v >= least or not least:
                        nxt.append((child, score + v, path + [child]))
            nxt.sort(key=lambda t: t[1], reverse=True)
            open_ = nxt[:beam]
        done.sort(reverse=True)
        top = int(sent_att.argmax())
        focus = sentences[top][int(word_att[top].argmax())]
        return done, focus, dict(unknown.most_common(2))


def make_model():
    torch.manual_seed(4)
    return Model().eval()


def make_inputs():
    return [
        ("The cat sleeps . a dog never runs fast !",),
        ([["good", "movie"], [], ["Bad", "bad", "plot", "plot", "acting"]], 2),
        ("",),
        ("not good and not bad zebra", 4, -1.2),
        ([["cat"]], 3),
    ]
