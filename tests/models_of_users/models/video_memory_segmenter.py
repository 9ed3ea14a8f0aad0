"""SAM2-like video segmentation: memory bank of past frames and prompts, occlusion score, object pointers, corrections per frame."""
from __future__ import annotations
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

STATEFUL = True
ENTRY = "track"


@dataclass
class FrameOut:
    mask: torch.Tensor
    pointer: torch.Tensor
    memory: torch.Tensor
    score: float
    prompted: bool = False

    @property
    def visible(self) -> bool:
        return self.score > 0


@dataclass
class ObjectState:
    cond: dict[int, FrameOut] = field(default_factory=OrderedDict)
    recent: deque = field(default_factory=lambda: deque(maxlen=3))

    def frames(self, now: int, limit: int = 2) -> list[tuple[int, FrameOut]]:
        near = sorted(self.cond, key=lambda t: abs(t - now))[:limit]
        out = [(0, self.cond[t]) for t in near]
        for age, (t, frame) in enumerate(reversed(self.recent), start=1):
            if t not in near and frame.visible:
                out.append((age, frame))
        return out


@lru_cache(maxsize=None)
def sine_1d(dim: int, temperature: int = 100):
    i = torch.arange(dim // 2).float()
    return temperature ** (2 * i / dim)


def point_embedding(xy: torch.Tensor, dim: int) -> torch.Tensor:
    a = xy.unsqueeze(-1) * 2 * math.pi / sine_1d(dim // 2)
    return torch.cat([a.sin(), a.cos()], dim=-1).flatten(-2)


class MaskDecoder(nn.Module):
    def __init__(self, dim, masks=3):
        super().__init__()
        self.tokens = nn.Embedding(masks + 2, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.hyper = nn.ModuleList([nn.Linear(dim, dim) for _ in range(masks)])
        self.iou, self.obj = nn.Linear(dim, masks), nn.Linear(dim, 1)
        nn.init.constant_(self.obj.bias, 1.2)
        self.masks = masks

    def forward(self, feats, prompts, multimask: bool):
        d, h, w = feats.shape
        q = torch.cat([self.tokens.weight, prompts])[None]
        kv = feats.flatten(1).t()[None]
        out = (q + self.attn(q, kv, kv)[0])[0]
        iou = self.iou(out[0])
        obj = self.obj(out[1])[0]
        logits = torch.stack([h_(out[2 + i]) @ feats.flatten(1) for i, h_ in enumerate(self.hyper)]).view(-1, h, w)
        if multimask:
            best = iou[1:].argmax() + 1
        else:
            area = (logits[0] > 0).float().mean()
            best = torch.where(area < 0.05, iou.argmax(), torch.zeros((), dtype=torch.long))
        return logits[best], iou[best], obj, out[2 + best]


class VideoSegmenter(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.dim = dim
        self.image = nn.Sequential(nn.Conv2d(3, dim, 4, 4), nn.GELU(), nn.Conv2d(dim, dim, 3, padding=1))
        self.label = nn.Embedding(3, dim)
        self.no_prompt, self.no_memory = nn.Parameter(torch.randn(1, dim) * 0.1), nn.Parameter(torch.randn(dim) * 0.1)
        self.mem_attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.age = nn.Embedding(4, dim)
        self.mem_enc = nn.Conv2d(dim + 1, dim, 1)
        self.decoder = MaskDecoder(dim)
        self.objects: dict[int, ObjectState] = {}
        self.frame_idx = -1

    def condition(self, feats, state: ObjectState):
        memories = state.frames(self.frame_idx)
        if not memories:
            return feats + self.no_memory[:, None, None]
        banks = []
        for age, f in memories:
            banks.append(f.memory.flatten(1).t() + self.age.weight[age])
            banks.append(f.pointer[None])
        kv = torch.cat(banks)[None]
        q = feats.flatten(1).t()[None]
        return (q + self.mem_attn(q, kv, kv, need_weights=False)[0])[0].t().reshape_as(feats)

    def prompts(self, clicks):
        if clicks is None or len(clicks) == 0:
            return self.no_prompt
        return point_embedding(clicks[:, :2], self.dim) + self.label(clicks[:, 2].long())

    def remember(self, feats, logits, score, pointer, prompted):
        mask = torch.sigmoid(logits) if prompted else (logits > 0).float()
        mem = self.mem_enc(torch.cat([feats, mask[None] * 20 - 10])[None])[0]
        if score <= 0:
            mem, pointer = mem * 0.5, torch.zeros_like(pointer)
        return FrameOut(logits, pointer, mem, score, prompted)

    @torch.inference_mode()
    def track(self, image, clicks: dict[int, torch.Tensor] | None = None, drop: list[int] | None = None):
        self.frame_idx += 1
        for obj_id in drop or []:
            if self.objects.pop(obj_id, None) is None:
                raise KeyError(f"object {obj_id} is not tracked")
        for obj_id in clicks or {}:
            self.objects.setdefault(obj_id, ObjectState())
        if not self.objects:
            return {}
        feats = self.image(image[None])[0]
        upscale = partial(F.interpolate, size=image.shape[-2:], mode="bilinear", align_corners=False)
        results: dict[str, Any] = {}
        taken = None
        for obj_id in sorted(self.objects):
            state = self.objects[obj_id]
            pts = clicks.get(obj_id) if clicks is not None else None
            prompted = pts is not None
            x = feats if prompted and not state.cond else self.condition(feats, state)
            logits, iou, obj, pointer = self.decoder(x, self.prompts(pts), multimask=prompted and len(pts) == 1)
            frame = self.remember(feats, logits, obj.item(), pointer, prompted)
            if prompted:
                state.cond[self.frame_idx] = frame
                if len(state.cond) > 2:
                    state.cond.pop(next(iter(state.cond)))
            else:
                state.recent.append((self.frame_idx, frame))
            full = upscale(logits[None, None])[0, 0] if frame.visible else torch.full(image.shape[-2:], -10.0)
            if taken is None:
                taken = full > 0
            else:
                full = full.masked_fill(taken, -10.0)
                taken = taken | (full > 0)
            results[f"obj_{obj_id}"] = (full > 0, round(iou.item(), 4), frame.visible)
        return results


def make_model():
    torch.manual_seed(21)
    return VideoSegmenter().eval()


def make_inputs():
    g = torch.Generator().manual_seed(4)
    img = lambda s=1.0: torch.randn(3, 16, 24, generator=g) * s
    pt = lambda *rows: torch.tensor(rows, dtype=torch.float)
    return [(img(),), (img(), {1: pt((0.3, 0.4, 1))}), (img(3.0),), (img(0.2), {4: pt((0.8, 0.1, 1), (0.5, 0.5, 0))}), (img(9.0),), (img(), {1: pt((0.2, 0.2, 0))}),
            (img(), {1: pt((0.9, 0.9, 1)), 4: pt((0.1, 0.6, 1))}), (img(), None, [1]), (img(), None, [7]), (img(2.0), {}, [4]), (img(5.0), {2: pt((0.0, 0.0, 1))})]
