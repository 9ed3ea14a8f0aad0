"""Detection in the style of a well-known platform: Instances with dynamic fields, level assignment, ROI features, mask pasting."""
import itertools
import math
from typing import Any, Dict, List, Tuple, Union
import torch
from torch import nn
from torch.nn import functional as F

class Instances:
    def __init__(self, image_size: Tuple[int, int], **kwargs: Any):
        self._image_size = image_size
        self._fields: Dict[str, Any] = {}
        for k, v in kwargs.items():
            self.set(k, v)
    @property
    def image_size(self):
        return self._image_size
    def set(self, name, value):
        n = len(value)
        if len(self._fields):
            assert len(self) == n, "Adding a field of length {} to a Instances of length {}".format(n, len(self))
        self._fields[name] = value
    def has(self, name):
        return name in self._fields
    def get(self, name):
        return self._fields[name]
    def __len__(self):
        for v in self._fields.values():
            return len(v)
        raise NotImplementedError("Empty Instances does not support __len__!")
    def __getitem__(self, item):
        ret = Instances(self._image_size)
        for k, v in self._fields.items():
            ret.set(k, v[item])
        return ret

def assign_levels(boxes, lo, hi, canonical=16, level=1):
    size = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).sqrt()
    lv = torch.floor(level + torch.log2(size / canonical + 1e-8))
    return torch.clamp(lv, min=lo, max=hi).to(torch.int64) - lo

def roi_align(feat, boxes, out: int, scale: float):
    n = boxes.shape[0]
    h, w = feat.shape[-2:]
    b = boxes * scale
    step = (torch.arange(out) + 0.5) / out
    xs = b[:, 0:1] + step[None] * (b[:, 2:3] - b[:, 0:1])
    ys = b[:, 1:2] + step[None] * (b[:, 3:4] - b[:, 1:2])
    gx = xs[:, None, :].expand(n, out, out) / w * 2 - 1
    gy = ys[:, :, None].expand(n, out, out) / h * 2 - 1
    return F.grid_sample(feat.expand(n, -1, -1, -1), torch.stack([gx, gy], -1), align_corners=False)

def nms(boxes, scores, thr):
    order = torch.argsort(scores, descending=True).tolist()
    keep: List[int] = []
    while order:
        i = order.pop(0)
        keep.append(i)
        rest = []
        for j in order:
            x1, y1 = max(float(boxes[i, 0]), float(boxes[j, 0])), max(float(boxes[i, 1]), float(boxes[j, 1]))
            x2, y2 = min(float(boxes[i, 2]), float(boxes[j, 2])), min(float(boxes[i, 3]), float(boxes[j, 3]))
            inter = max(0.0, x2 - x1) * max(0.0, y2 - y1)
            area = lambda k: float((boxes[k, 2] - boxes[k, 0]) * (boxes[k, 3] - boxes[k, 1]))
            if inter / (area(i) + area(j) - inter + 1e-6) <= thr:
                rest.append(j)
        order = rest
    return torch.as_tensor(keep, dtype=torch.long)

class RCNN(nn.Module):
    def __init__(self, c=6, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 3, 2, 1)
        self.stages = nn.ModuleList([nn.Conv2d(c, c, 3, 2, 1) for _ in range(2)])
        for i in range(3):
            self.add_module(f"lateral{i}", nn.Conv2d(c, c, 1))
        self.rpn = nn.Conv2d(c, 5, 1)
        self.box = nn.Sequential(nn.Flatten(), nn.Linear(c * 9, 16), nn.ReLU())
        self.cls, self.reg = nn.Linear(16, classes + 1), nn.Linear(16, 4 * classes)
        self.mask = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, classes, 1))
        self.strides = (2, 4, 8)
    def fpn(self, x):
        feats = [F.relu(self.stem(x))]
        for s in self.stages:
            feats.append(F.relu(s(feats[-1])))
        out, prev = [], None
        for i in reversed(range(len(feats))):
            lat = getattr(self, f"lateral{i}")(feats[i])
            if prev is not None:
                lat = lat + F.interpolate(prev, size=lat.shape[-2:], mode="nearest")
            prev = lat
            out.insert(0, lat)
        return out
    def proposals(self, feats, size, top=6):
        boxes, scores = [], []
        for f, s in zip(feats, self.strides):
            p = self.rpn(f)[0]
            h, w = f.shape[-2:]
            ys, xs = torch.meshgrid(torch.arange(h) * s + s / 2, torch.arange(w) * s + s / 2, indexing="ij")
            ctr = torch.stack([xs, ys], -1).reshape(-1, 2)
            d = p[1:].reshape(4, -1).t()
            wh = torch.exp(d[:, 2:].clamp(max=math.log(4))) * s * 2
            c = ctr + d[:, :2] * s
            b = torch.cat([c - wh / 2, c + wh / 2], 1)
            b[:, 0::2].clamp_(0, size[1])
            b[:, 1::2].clamp_(0, size[0])
            sc = p[0].flatten()
            k = min(top, sc.numel())
            sc, i = sc.topk(k)
            boxes.append(b[i]); scores.append(sc)
        b, s = torch.cat(boxes), torch.cat(scores)
        ok = ((b[:, 2] - b[:, 0]) > 1) & ((b[:, 3] - b[:, 1]) > 1)
        b, s = b[ok], s[ok]
        keep = nms(b, s, 0.7)[:8]
        return Instances(size, proposal_boxes=b[keep], objectness=s[keep])
    def pool(self, feats, boxes, out):
        res = boxes.new_zeros(len(boxes), feats[0].shape[1], out, out)
        lv = assign_levels(boxes, 0, len(feats) - 1)
        for l, (f, s) in enumerate(zip(feats, self.strides)):
            idx = torch.nonzero(lv == l, as_tuple=True)[0]
            if idx.numel() == 0:
                continue
            res[idx] = roi_align(f, boxes[idx], out, 1.0 / s)
        return res
    def forward(self, image, score_thresh: float = 0.3, with_mask: bool = True):
        size = (image.shape[-2], image.shape[-1])
        feats = self.fpn(image)
        inst = self.proposals(feats, size)
        if len(inst) == 0:
            return {"n": 0}
        x = self.box(self.pool(feats, inst.get("proposal_boxes"), 3))
        probs = F.softmax(self.cls(x), -1)[:, :-1]
        deltas = self.reg(x).view(len(x), -1, 4)
        pb = inst.get("proposal_boxes")
        results = Instances(size)
        picked = torch.nonzero(probs > score_thresh)
        if picked.shape[0] == 0:
            return {"n": 0, "proposals": len(inst)}
        r, c = picked.unbind(1)
        results.set("pred_boxes", pb[r] + deltas[r, c])
        results.set("scores", probs[r, c])
        results.set("pred_classes", c)
        keep = []
        for cls in torch.unique(c).tolist():
            ids = torch.where(c == cls)[0]
            keep.append(ids[nms(results.get("pred_boxes")[ids], results.get("scores")[ids], 0.5)])
        keep = torch.cat(keep)
        keep = keep[results.get("scores")[keep].argsort(descending=True)][:5]
        results = results[keep]
        out = {"n": len(results), "proposals": len(inst), "boxes": results.get("pred_boxes"), "classes": results.get("pred_classes").tolist(), "has_mask": results.has("masks")}
        if with_mask:
            m = self.mask(self.pool(feats, results.get("pred_boxes"), 4))
            m = m[torch.arange(len(m)), results.get("pred_classes")].sigmoid()
            canvas = torch.zeros(len(m), *size, dtype=torch.bool)
            for k, (box, mk) in enumerate(zip(results.get("pred_boxes"), m)):
                x0, y0, x1, y1 = (int(v) for v in box.round().tolist())
                x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, size[1]), min(y1, size[0])
                if x1 <= x0 or y1 <= y0:
                    continue
                canvas[k, y0:y1, x0:x1] = F.interpolate(mk[None, None], (y1 - y0, x1 - x0), mode="bilinear", align_corners=False)[0, 0] > 0.5
            results.set("masks", canvas)
            out["areas"] = canvas.flatten(1).sum(1).tolist()
            out["has_mask"] = results.has("masks")
        return out

def make_model():
    torch.manual_seed(0)
    return RCNN().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    i = lambda h, w, s=1.0: torch.randn(1, 3, h, w, generator=g) * s
    return [(i(16, 16),), (i(24, 16, 2.0), 0.26), (i(16, 24), 0.9), (i(16, 16), 0.2, False), (i(8, 8, 5.0), 0.25)]
