"""Detection: post-processing chosen by config from a registry: NMS, soft-NMS, or weighted box fusion of two heads."""
from collections import defaultdict
from functools import partial
from typing import Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

POSTPROCESS: Dict[str, Callable] = {}


def register_postprocess(name: str):
    def decorator(fn):
        assert name not in POSTPROCESS, f"{name} is registered already"
        POSTPROCESS[name] = fn
        return fn
    return decorator


def box_area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2] - boxes[:, 0]).clamp(min=0) * (boxes[:, 3] - boxes[:, 1]).clamp(min=0)


def pairwise_iou(a: Tensor, b: Tensor) -> Tensor:
    lt = torch.maximum(a[:, None, :2], b[:, :2])
    rb = torch.minimum(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (box_area(a)[:, None] + box_area(b) - inter + 1e-7)


@register_postprocess("nms")
def hard_nms(boxes: Tensor, scores: Tensor, iou_thr: float = 0.5, **unused) -> Tuple[Tensor, Tensor]:
    keep: List[int] = []
    idxs = scores.argsort(descending=True)
    while idxs.numel() > 0:
        i = idxs[0]
        keep.append(i.item())
        if idxs.numel() == 1:
            break
        ious = pairwise_iou(boxes[i].unsqueeze(0), boxes[idxs[1:]])[0]
        idxs = idxs[1:][ious <= iou_thr]
    keep_t = torch.as_tensor(keep, dtype=torch.long)
    return boxes[keep_t], scores[keep_t]


@register_postprocess("soft_nms")
def soft_nms(boxes, scores, sigma=0.5, score_thr=0.05, method="gaussian", iou_thr=0.3, **unused):
    boxes, scores = boxes.clone(), scores.clone()
    n = boxes.shape[0]
    for i in range(n):
        best = i + int(torch.argmax(scores[i:]))
        if best != i:
            boxes[[i, best]] = boxes[[best, i]]
            scores[[i, best]] = scores[[best, i]]
        if i + 1 < n:
            iou = pairwise_iou(boxes[i:i + 1], boxes[i + 1:])[0]
            if method == "linear":
                decay = torch.where(iou > iou_thr, 1 - iou, torch.ones_like(iou))
            elif method == "gaussian":
                decay = torch.exp(-(iou ** 2) / sigma)
            else:
                raise ValueError(f"unknown method {method}")
            scores[i + 1:] *= decay
    ok = scores > score_thr
    return boxes[ok], scores[ok]


@register_postprocess("wbf")
def weighted_fusion(boxes, scores, iou_thr=0.55, conf_type="avg", **unused):
    clusters: List[List[int]] = []
    fused: List[Tensor] = []
    order = scores.argsort(descending=True).tolist()
    for i in order:
        best_iou, best_k = iou_thr, -1
        for k, f in enumerate(fused):
            iou = pairwise_iou(f[None, :4], boxes[i][None]).item()
            if iou > best_iou:
                best_iou, best_k = iou, k
        if best_k >= 0:
            clusters[best_k].append(i)
        else:
            clusters.append([i])
            fused.append(torch.zeros(5))
            best_k = len(fused) - 1
        members = clusters[best_k]
        w = scores[members]
        box = (boxes[members] * w[:, None]).sum(0) / w.sum()
        conf = w.mean() if conf_type == "avg" else w.max()
        fused[best_k] = torch.cat([box, conf[None]])
    if not fused:
        return boxes.new_zeros((0, 4)), scores.new_zeros((0,))
    out = torch.stack(fused)
    return out[:, :4], out[:, 4]


class TwoHeadDetector(nn.Module):
    CLASSES = ("person", "car", "dog")

    def __init__(self, cfg: Dict):
        super().__init__()
        self.cfg = cfg
        c = cfg["channels"]
        self.backbone = nn.Conv2d(3, c, 3, stride=4, padding=1)
        self.heads = nn.ModuleDict({name: nn.Conv2d(c, 4 + len(self.CLASSES), 1) for name in cfg["heads"]})
        self.post = {k: partial(POSTPROCESS[v.pop("type")], **v) for k, v in cfg["post"].items()}

    def decode(self, raw: Tensor, stride: int) -> Tuple[Tensor, Tensor]:
        _, h, w = raw.shape
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        centers = torch.stack([xs, ys], -1).reshape(-1, 2).float() * stride + stride / 2
        flat = raw.permute(1, 2, 0).reshape(-1, raw.shape[0])
        half = torch.exp(flat[:, 2:4].clamp(-2, 2)) * stride
        mid = centers + flat[:, :2] * stride
        return torch.cat([mid - half, mid + half], 1), flat[:, 4:].sigmoid()

    def forward(self, images: Tensor, mode: str = "fast", score_thr: Optional[float] = None):
        if mode not in self.post:
            raise KeyError(mode)
        thr = self.cfg["score_thr"] if score_thr is None else score_thr
        feats = self.backbone(images).relu()
        raws = {name: head(feats) for name, head in self.heads.items()}
        results: List[Dict[str, List]] = []
        for b in range(images.shape[0]):
            per_class = defaultdict(list)
            for name, raw in raws.items():
                boxes, scores = self.decode(raw[b], 4)
                for c, cls in enumerate(self.CLASSES):
                    sel = scores[:, c] > thr
                    if sel.sum() == 0:
                        continue
                    per_class[cls].append((boxes[sel], scores[sel, c]))
            detections = {}
            for cls, parts in per_class.items():
                boxes = torch.cat([p[0] for p in parts])
                scores = torch.cat([p[1] for p in parts])
                detections[cls] = self.post[mode](boxes, scores)
            results.append({"labels": sorted(detections), "count": sum(len(s) for _, s in detections.values()), "dets": detections})
        return results


def make_model():
    torch.manual_seed(0)
    cfg = {
        "channels": 8, "heads": ["main", "aux"], "score_thr": 0.6,
        "post": {"fast": {"type": "nms", "iou_thr": 0.4}, "soft": {"type": "soft_nms", "sigma": 0.4},
                 "linear": {"type": "soft_nms", "method": "linear"}, "fuse": {"type": "wbf", "conf_type": "max"}},
    }
    m = TwoHeadDetector(cfg)
    with torch.no_grad():
        for h in m.heads.values():
            h.weight.mul_(2.5)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(2)
    x = lambda b, s: torch.randn(b, 3, s, s, generator=g)
    return [(x(1, 16),), (x(2, 12), "soft"), (x(1, 16), "fuse"), (x(1, 12), "linear", 0.7), (x(1, 8), "fast", 0.999), (x(1, 8), "slow")]
