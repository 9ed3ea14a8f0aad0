import torch
import torch.nn as nn
import torch.nn.functional as F


def area(b):
    return (b[..., 2] - b[..., 0]).clamp(min=0) * (b[..., 3] - b[..., 1]).clamp(min=0)


def iou(a, b):
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (area(a)[:, None] + area(b) - inter + 1e-6)


class Tracklet:
    _ids = 0

    def __init__(self, box, feat, label):
        self.box, self.feat, self.label = box, feat, label
        self.misses, self.hits = 0, 1
        self.ident = 0

    def update(self, box, feat, momentum=0.8):
        self.box = box
        self.feat = F.normalize(momentum * self.feat + (1 - momentum) * feat, dim=0)
        self.hits += 1
        self.misses = 0

    def __repr__(self):
        return f"T{self.ident}({self.label}, {self.hits})"


class Model(nn.Module):
    CLASSES = ["bg", "car", "bike"]

    def __init__(self, dim=6):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, dim, 3, 2, 1), nn.ReLU(), nn.Conv2d(dim, dim, 3, 2, 1), nn.ReLU())
        self.cls = nn.Linear(dim, 3)
        self.mask = nn.Conv2d(dim, 1, 1)
        self.embed = nn.Linear(dim, 4)
        self.tracks = []
        self.next_id = 1

    def roi(self, feat, box, size=4):
        _, _, h, w = feat.shape
        x0, y0, x1, y1 = (box / 4).tolist()
        gy = torch.linspace(y0, y1, size) / max(h - 1, 1) * 2 - 1
        gx = torch.linspace(x0, x1, size) / max(w - 1, 1) * 2 - 1
        grid = torch.stack(torch.meshgrid(gy, gx, indexing="ij")[::-1], -1)[None]
        return F.grid_sample(feat, grid, align_corners=True)

    def paste(self, m, box, h, w):
        x0, y0, x1, y1 = box.round().int().tolist()
        canvas = torch.zeros(h, w, dtype=torch.uint8)
        bw, bh = max(x1 - x0, 1), max(y1 - y0, 1)
        m = F.interpolate(m, size=(bh, bw), mode="bilinear", align_corners=False)[0, 0] > 0.5
        cx0, cy0, cx1, cy1 = max(x0, 0), max(y0, 0), min(x0 + bw, w), min(y0 + bh, h)
        if cx1 <= cx0 or cy1 <= cy0:
            return canvas
        canvas[cy0:cy1, cx0:cx1] = m[cy0 - y0:cy1 - y0, cx0 - x0:cx1 - x0].to(torch.uint8)
        return canvas

    def forward(self, image, boxes, min_score=0.34):
        h, w = image.shape[-2:]
        feat = self.backbone(image)
        found = []
        for box in boxes:
            crop = self.roi(feat, box)
            score, label = self.cls(crop.mean((2, 3)))[0].softmax(-1)[1:].max(0)
            if score < min_score:
                continue
            found.append(dict(box=box, score=score.item(), label=self.CLASSES[label.item() + 1],
                              feat=F.normalize(self.embed(crop.mean((2, 3)))[0], dim=0),
                              mask=self.paste(self.mask(crop).sigmoid(), box, h, w)))
        found.sort(key=lambda d: d["score"], reverse=True)
        free = set(range(len(self.tracks)))
        for d in found:
            best, best_i = 0.25, None
            for i in sorted(free):
                t = self.tracks[i]
                if t.label != d["label"]:
                    continue
                s = 0.5 * iou(t.box[None], d["box"][None]).item() + 0.5 * float(t.feat @ d["feat"])
                if s > best:
                    best, best_i = s, i
            if best_i is None:
                t = Tracklet(d["box"], d["feat"], d["label"])
                t.ident, self.next_id = self.next_id, self.next_id + 1
                self.tracks.append(t)
            else:
                free.discard(best_i)
                t = self.tracks[best_i]
                t.update(d["box"], d["feat"])
            d["id"] = t.ident
        for i in free:
            self.tracks[i].misses += 1
        self.tracks = [t for t in self.tracks if t.misses < 2]
        masks = torch.stack([d["mask"] for d in found]) if found else torch.zeros(0, h, w, dtype=torch.uint8)
        return [(d["id"], d["label"], round(d["score"], 4)) for d in found], masks, " ".join(map(repr, self.tracks))


def make_model():
    torch.manual_seed(7)
    return Model().eval()


STATEFUL = True


def make_inputs():
    g = torch.Generator().manual_seed(1)
    img = lambda h=24, w=32: torch.randn(1, 3, h, w, generator=g) * 3
    t = torch.tensor
    return [
        (img(), t([[2.0, 3, 14, 15], [10, 4, 30, 22.5]])),
        (img(), t([[3.0, 3, 15, 16], [-5, -6, 6, 9], [40, 40, 50, 60]])),
        (img(), torch.zeros(0, 4)),
        (img(20, 20), t([[0.0, 0, 19, 19], [4, 4, 4, 4]]), 0.2),
        (img(), t([[1.0, 2, 8, 8]]), 0.99),
        (img(), t([[5.0, 2, 18, 18], [1, 1, 9, 9], [12, 3, 28, 20]]), 0.1),
    ]
