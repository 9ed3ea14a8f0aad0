"""An NLU pipeline whose stages add keys to one shared dict, as spaCy/HF-like pipelines do: intent, slots, optional coreference, clarification."""
from typing import Any, Dict, List, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


class Stage(nn.Module):
    requires = ()
    provides = ()

    def check(self, doc: Dict[str, Any]):
        missing = [k for k in self.requires if k not in doc]
        if missing:
            raise KeyError(f"{type(self).__name__} needs {missing}")


class Encode(Stage):
    provides = ("hidden",)

    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, dim // 2, bidirectional=True, batch_first=True)

    def forward(self, doc):
        doc["hidden"] = self.rnn(self.emb(doc["ids"])[None])[0][0]
        return doc


class Intent(Stage):
    requires = ("hidden",)

    def __init__(self, dim=8, n=4, threshold=0.3):
        super().__init__()
        self.out = nn.Linear(dim, n)
        self.threshold = threshold

    def forward(self, doc):
        self.check(doc)
        p = F.softmax(self.out(doc["hidden"].mean(0)), -1)
        conf, i = p.max(-1)
        if conf < self.threshold:
            doc["clarify"] = p.topk(2).indices.tolist()
        else:
            doc["intent"] = i.item()
            doc["confidence"] = conf.item()
        return doc


class Slots(Stage):
    requires = ("hidden",)

    def __init__(self, dim=8, n=5):
        super().__init__()
        self.out = nn.Linear(dim, n)
        self.gate = nn.Embedding(4, n)

    def forward(self, doc):
        self.check(doc)
        logits = self.out(doc["hidden"])
        if "intent" in doc:
            logits = logits + self.gate.weight[doc["intent"]]
        tags = logits.argmax(-1).tolist()
        spans, start = [], None
        for i, t in enumerate(tags + [0]):
            if t and start is None:
                start = i
            elif start is not None and (t == 0 or t != tags[start]):
                spans.append((start, i, tags[start]))
                start = i if t else None
        if spans:
            doc["slots"] = spans
        return doc


class Coref(Stage):
    requires = ("slots",)

    def __init__(self, dim=8):
        super().__init__()
        self.score = nn.Bilinear(dim, dim, 1)

    def forward(self, doc):
        if "slots" not in doc or len(doc["slots"]) < 2:
            return doc
        reps = torch.stack([doc["hidden"][s:e].mean(0) for s, e, _ in doc["slots"]])
        links = {}
        for j in range(1, len(reps)):
            s = self.score(reps[:j], reps[j].expand(j, -1)).squeeze(-1)
            best = int(s.argmax())
            if s[best] > 0:
                links[j] = best
        if links:
            doc["coref"] = links
            doc["reps"] = reps
        return doc


class Pipeline(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([Encode(), Intent(), Slots(), Coref()])

    def forward(self, ids: torch.Tensor, debug: bool = False):
        doc: Dict[str, Any] = {"ids": ids}
        for stage in self.stages:
            doc = stage(doc)
        result = {k: v for k, v in doc.items() if k not in ("hidden", "reps", "ids")}
        if debug:
            result["keys"] = list(doc)
            result["norm"] = doc["hidden"].norm()
        confidence = doc.get("confidence", 0.0)
        if "reps" in doc:
            result["spread"] = doc["reps"].std(0).mean().item()
        return result, confidence, len(doc)


def make_model():
    torch.manual_seed(12)
    m = Pipeline().eval()
    with torch.no_grad():
        m.stages[1].out.weight.mul_(3)
        m.stages[2].out.weight.mul_(3)
    return m


def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda n: torch.randint(1, 20, (n,), generator=g)
    return [(r(6),), (r(3), True), (r(9), True), (r(1),), (r(12),), (r(5),)]
