"""DETR-style decoder: queries are dropped between layers when hopeless, boxes refined, matched against a previous frame."""
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Verdict(Enum):
    KEEP = "keep"
    MAYBE = "maybe"
    DROP = "drop"


class LayerOutput(NamedTuple):
    logits: Tensor
    boxes: Tensor
    index: Tensor


@dataclass
class Detections:
    boxes: Tensor
    scores: Tensor
    labels: List[str]
    verdicts: Dict[str, int] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return len(self.labels) == 0


def inverse_sigmoid(x: Tensor, eps: float = 1e-5) -> Tensor:
    x = x.clamp(min=0, max=1)
    return torch.log(x.clamp(min=eps) / (1 - x).clamp(min=eps))


def box_cxcywh_to_xyxy(x: Tensor) -> Tensor:
    cx, cy, w, h = x.unbind(-1)
    b = [cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h]
    return torch.stack(b, dim=-1)


class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, nhead: int):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d_model, nhead, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))

    def with_pos_embed(self, tensor: Tensor, pos: Optional[Tensor]) -> Tensor:
        return tensor if pos is None else tensor + pos

    def forward(self, tgt: Tensor, memory: Tensor, query_pos: Optional[Tensor] = None, pos: Optional[Tensor] = None) -> Tensor:
        q = k = self.with_pos_embed(tgt, query_pos)
        tgt = self.norms[0](tgt + self.self_attn(q, k, value=tgt)[0])
        tgt2, _ = self.cross_attn(self.with_pos_embed(tgt, query_pos), self.with_pos_embed(memory, pos), value=memory)
        tgt = self.norms[1](tgt + tgt2)
        return self.norms[2](tgt + self.ffn(tgt))


class PrunedDETR(nn.Module):
    CLASSES = ("car", "person", "bike")

    def __init__(self, d_model=16, nhead=2, num_queries=8, layers=3, hopeless=0.25, keep=0.45):
        super().__init__()
        self.num_queries = num_queries
        self.hopeless, self.keep = hopeless, keep
        self.backbone = nn.Conv2d(3, d_model, 4, stride=4)
        self.layers = nn.ModuleList([DecoderLayer(d_model, nhead) for _ in range(layers)])
        self.query_embed = nn.Embedding(num_queries, d_model)
        self.ref = nn.Embedding(num_queries, 4)
        self.class_embed = nn.ModuleList(nn.Linear(d_model, len(self.CLASSES) + 1) for _ in range(layers))
        self.bbox_embed = nn.ModuleList(nn.Linear(d_model, 4) for _ in range(layers))
        self.pos = nn.Linear(2, d_model)

    def positions(self, h: int, w: int) -> Tensor:
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([x.flatten() / max(w - 1, 1), y.flatten() / max(h - 1, 1)], -1)
        return self.pos(grid)

    def decide(self, score: float) -> Verdict:
        if score >= self.keep:
            return Verdict.KEEP
        return Verdict.MAYBE if score > self.hopeless else Verdict.DROP

    def forward(self, image: Tensor, previous: Optional[Tensor] = None) -> Tuple[Detections, List[Dict[str, Tensor]]]:
        feat = self.backbone(image.unsqueeze(0))
        h, w = feat.shape[-2:]
        memory = feat.flatten(2).transpose(1, 2)
        pos = self.positions(h, w).unsqueeze(0)
        index = torch.arange(self.num_queries)
        tgt = torch.zeros(1, self.num_queries, memory.shape[-1])
        query_pos = self.query_embed.weight.unsqueeze(0)
        reference = self.ref.weight.sigmoid()
        outputs: List[LayerOutput] = []
        for lid, layer in enumerate(self.layers):
            tgt = layer(tgt, memory, query_pos, pos)
            boxes = (self.bbox_embed[lid](tgt[0]) + inverse_sigmoid(reference)).sigmoid()
            logits = self.class_embed[lid](tgt[0])
            outputs.append(LayerOutput(logits, boxes, index))
            reference = boxes.detach()
            if lid == len(self.layers) - 1:
                break
            alive = logits.softmax(-1)[:, :-1].amax(-1) > self.hopeless
            if not alive.any():
                break
            if alive.all():
                continue
            tgt, query_pos = tgt[:, alive], query_pos[:, alive]
            reference, index = reference[alive], index[alive]
        last = outputs[-1]
        aux = [{"pred_logits": a.logits, "pred_boxes": a.boxes} for a in outputs[:-1]]
        return self.postprocess(last, previous), aux

    def postprocess(self, out: LayerOutput, previous: Optional[Tensor]) -> Detections:
        prob = F.softmax(out.logits, -1)
        scores, labels = prob[..., :-1].max(-1)
        boxes = box_cxcywh_to_xyxy(out.boxes)
        verdicts = {v.value: 0 for v in Verdict}
        chosen = []
        for i, s in enumerate(scores.tolist()):
            verdict = self.decide(s)
            verdicts[verdict.value] += 1
            if verdict is Verdict.KEEP:
                chosen.append(i)
            elif verdict is Verdict.MAYBE and previous is not None and len(previous):
                distance = (previous - boxes[i]).abs().sum(-1).min()
                if distance < 0.8:
                    chosen.append(i)
        sel = torch.as_tensor(chosen, dtype=torch.long)
        det = Detections(boxes[sel], scores[sel], [self.CLASSES[l] for l in labels[sel].tolist()], verdicts)
        if det.empty:
            det.verdicts["none"] = 1
        return det


def make_model():
    torch.manual_seed(3)
    m = PrunedDETR().eval()
    for c in m.class_embed:
        nn.init.normal_(c.weight, std=0.9)
    return m


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda h, w, s=1.0: torch.randn(3, h, w, generator=g) * s
    prev = torch.tensor([[0.2, 0.2, 0.6, 0.6], [0.5, 0.1, 0.9, 0.8]])
    return [(r(16, 16),), (r(24, 12, 5.0), prev), (r(8, 8, 20.0), prev), (r(4, 4, 0.1), torch.zeros(0, 4)), (r(32, 16, 60.0),)]
