"""Instance segmentation by region growing on predicted affinities: deque BFS, labels in a dict, boxes per instance."""
from collections import deque, namedtuple
import torch
from torch import nn

Instance = namedtuple("Instance", "label area box score")
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))

class Seg(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.GroupNorm(2, ch), nn.Hardswish(), nn.Conv2d(ch, 5, 1))
        self.min_area = 2

    def grow(self, seed, fg, aff, labels, k):
        h, w = fg.shape
        q = deque([seed])
        labels[seed] = k
        pixels = []
        while q:
            r, c = q.popleft()
            pixels.append((r, c))
            for d, (dr, dc) in enumerate(OFFSETS):
                rr, cc = r + dr, c + dc
                if rr < 0 or cc < 0 or rr >= h or cc >= w:
                    continue
                if labels[rr, cc] != 0 or not fg[rr, cc]:
                    continue
                if aff[d, r, c] > 0.4:
                    labels[rr, cc] = k
                    q.append((rr, cc))
        return pixels

    def forward(self, img, max_instances: int = 5):
        out = self.net(img[None, None])[0]
        prob = out[0].sigmoid()
        fg = prob > prob.mean()
        aff = out[1:].sigmoid()
        labels = torch.zeros(img.shape, dtype=torch.int64)
        found = []
        k = 0
        for r, c in zip(*torch.where(fg)):
            r, c = r.item(), c.item()
            if labels[r, c]:
                continue
            k += 1
            px = self.grow((r, c), fg, aff, labels, k)
            if len(px) < self.min_area:
                for p in px:
                    labels[p] = 0
                k -= 1
                continue
            rows, cols = [p[0] for p in px], [p[1] for p in px]
            score = prob[rows, cols].mean().item()
            found.append(Instance(k, len(px), (min(rows), min(cols), max(rows), max(cols)), score))
            if k == max_instances:
                break
        found.sort(key=lambda i: (-i.area, i.label))
        top = found[0]._asdict() if found else None
        mean = sum(i.score for i in found) / len(found) if found else float("nan")
        return labels, [tuple(i) for i in found], top["box"] if top is not None else (), mean

def make_model():
    torch.manual_seed(1)
    return Seg().eval()

def make_inputs():
    g = torch.Generator().manual_seed(2)
    return [(torch.randn(6, 7, generator=g),), (torch.randn(4, 4, generator=g) * 3, 2), (torch.zeros(3, 3),), (torch.randn(8, 5, generator=g), 1)]
