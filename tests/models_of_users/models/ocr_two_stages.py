"""Two-stage OCR: region heatmap -> connected components by union find -> rotated boxes -> crops by width buckets -> CRNN + CTC -> reading order -> text."""
import math
from collections import defaultdict, namedtuple
from typing import Dict, List, Optional, Tuple
import torch
import torch.nn as nn
import torch.nn.functional as F

Box = namedtuple("Box", ["x0", "y0", "x1", "y1", "score"])


class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n

    def find(self, a):
        while self.parent[a] != a:
            self.parent[a] = self.parent[self.parent[a]]
            a = self.parent[a]
        return a

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return True


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 6, 3, 1, 1), nn.BatchNorm2d(6), nn.ReLU(True), nn.MaxPool2d(2))
        self.head = nn.Conv2d(6, 2, 3, 1, 1)

    def forward(self, x):
        region, affinity = self.head(self.down(x)).sigmoid()[0]
        return region, affinity

    def components(self, region, affinity, low=0.4, link=0.45, min_size=2) -> List[Box]:
        on = ((region > low) | (affinity > link)).nonzero().tolist()
        index: Dict[Tuple[int, int], int] = {(y, x): i for i, (y, x) in enumerate(on)}
        uf = UnionFind(len(on))
        for (y, x), i in index.items():
            for dy, dx in ((0, 1), (1, 0)):
                j = index.get((y + dy, x + dx))
                if j is not None:
                    uf.union(i, j)
        groups = defaultdict(list)
        for i, (y, x) in enumerate(on):
            groups[uf.find(i)].append((y, x))
        boxes = []
        for members in groups.values():
            if len(members) < min_size:
                continue
            ys, xs = zip(*members)
            score = max(region[y, x].item() for y, x in members)
            boxes.append(Box(min(xs), min(ys), max(xs) + 1, max(ys) + 1, score))
        return boxes


class CRNN(nn.Module):
    def __init__(self, charset: str, height=8):
        super().__init__()
        self.charset, self.height = charset, height
        self.conv = nn.Conv2d(1, 6, 3, padding=1)
        self.rnn = nn.LSTM(6 * height // 2, 10, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(20, len(charset) + 1)

    def forward(self, crops):
        x = F.max_pool2d(F.relu(self.conv(crops)), (2, 1))
        x = x.flatten(1, 2).transpose(1, 2)
        return self.fc(self.rnn(x)[0]).log_softmax(-1)

    def decode(self, logp) -> Tuple[str, float]:
        best, ids = logp.max(-1)
        text, prev, conf = "", 0, []
        for p, i in zip(best.exp().tolist(), ids.tolist()):
            if i not in (0, prev):
                text += self.charset[i - 1]
                conf.append(p)
            prev = i
        return text, math.prod(conf) if conf else 0.0


class OCR(nn.Module):
    def __init__(self, charset="abcdefgh 123"):
        super().__init__()
        self.detector = Detector()
        self.recognizer = CRNN(charset)
        self.buckets = (8, 16, 32)

    def bucket(self, w: int) -> int:
        for b in self.buckets:
            if w <= b:
                return b
        return self.buckets[-1]

    def crop(self, image, box: Box):
        c = image[..., 2 * box.y0: 2 * box.y1, 2 * box.x0: 2 * box.x1]
        if c.shape[-2] > 1.5 * c.shape[-1]:
            c = torch.rot90(c, 1, (-2, -1))
        h = self.recognizer.height
        w = max(1, round(c.shape[-1] * h / c.shape[-2]))
        b = self.bucket(w)
        c = F.interpolate(c, size=(h, min(w, b)), mode="bilinear", align_corners=False)
        return F.pad(c, (0, b - c.shape[-1])), b

    @staticmethod
    def reading_order(boxes: List[Box]) -> List[List[int]]:
        lines: List[List[int]] = []
        for i in sorted(range(len(boxes)), key=lambda i: (boxes[i].y0 + boxes[i].y1) / 2):
            mid = (boxes[i].y0 + boxes[i].y1) / 2
            for line in lines:
                ref = boxes[line[-1]]
                if ref.y0 <= mid <= ref.y1:
                    line.append(i)
                    break
            else:
                lines.append([i])
        return [sorted(line, key=lambda i: boxes[i].x0) for line in lines]

    @torch.no_grad()
    def forward(self, image: torch.Tensor, min_conf: float = 0.0, lexicon: Optional[List[str]] = None):
        region, affinity = self.detector(image[None, None])
        boxes = self.detector.components(region, affinity)
        if not boxes:
            return "", [], region.max()
        by_width: Dict[int, List[int]] = defaultdict(list)
        crops = {}
        for i, box in enumerate(boxes):
            crops[i], b = self.crop(image[None, None], box)
            by_width[b].append(i)
        texts: Dict[int, Tuple[str, float]] = {}
        for b, members in sorted(by_width.items()):
            out = self.recognizer(torch.cat([crops[i] for i in members]))
            for i, logp in zip(members, out):
                texts[i] = self.recognizer.decode(logp)
        words = []
        for line in self.reading_order(boxes):
            kept = [texts[i][0].strip() for i in line if texts[i][1] >= min_conf and texts[i][0]]
            if lexicon:
                kept = [w if w in lexicon else next((l for l in lexicon if l.startswith(w[:1])), w.upper()) for w in kept]
            if kept:
                words.append(" ".join(kept))
        return "\n".join(words), [b._replace(score=round(b.score, 3)) for b in boxes], region.mean()


def make_model():
    torch.manual_seed(20)
    m = OCR()
    m.detector.head.weight.data.mul_(3)
    m.recognizer.fc.weight.data.mul_(8)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    r = lambda h, w, s=1.0: torch.randn(h, w, generator=g) * s
    return [(r(12, 16),), (r(16, 30, 2.0), 0.05), (torch.full((8, 8), -30.0),), (r(20, 8, 4.0), 0.0, ["abc", "dee", "h1"]), (torch.zeros(8, 40) + 9,), (r(10, 10, 0.1),)]
