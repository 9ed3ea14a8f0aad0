"""Stereo: semi-global matching on learned costs; directions by offsets, path costs in place, left-right check, speckle removal by flood fill with an explicit stack."""
import itertools
from typing import Dict, Final, List, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DIRECTIONS: Final[Sequence[Tuple[int, int]]] = ((0, 1), (1, 0), (0, -1), (-1, 0))


def shift(x: Tensor, d: int) -> Tensor:
    if d == 0:
        return x
    return F.pad(x, (d, 0))[..., : x.shape[-1]]


class Matcher(nn.Module):
    def __init__(self, channels: int = 3, max_disparity: int = 4, p1: float = 0.1, p2: float = 0.6, speckle: int = 3):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1))
        self.D, self.p1, self.p2, self.speckle = max_disparity, p1, p2, speckle

    def cost_volume(self, left: Tensor, right: Tensor) -> Tensor:
        fl, fr = self.features(left[None, None])[0], self.features(right[None, None])[0]
        return torch.stack([(fl - shift(fr, d)).abs().mean(0) for d in range(self.D)], dim=-1)

    def aggregate(self, cost: Tensor, dy: int, dx: int) -> Tensor:
        H, W, D = cost.shape
        out = cost.clone()
        ys = range(H) if dy >= 0 else range(H - 1, -1, -1)
        xs = range(W) if dx >= 0 else range(W - 1, -1, -1)
        for y, x in itertools.product(ys, xs):
            py, px = y - dy, x - dx
            if not (0 <= py < H and 0 <= px < W):
                continue
            prev = out[py, px]
            low = prev.min()
            up = F.pad(prev[1:], (0, 1), value=float("inf")) + self.p1
            down = F.pad(prev[:-1], (1, 0), value=float("inf")) + self.p1
            best = torch.minimum(torch.minimum(prev, up), torch.minimum(down, low + self.p2))
            out[y, x] += best - low
        return out

    def winner(self, volume: Tensor) -> Tensor:
        d = volume.argmin(-1)
        return d

    def check(self, dl: Tensor, dr: Tensor) -> Tensor:
        H, W = dl.shape
        xs = torch.arange(W).expand(H, W)
        at = (xs - dl).clamp(min=0)
        return (dl - dr.gather(1, at)).abs() <= 1

    def remove_speckles(self, d: Tensor, valid: Tensor) -> Tuple[Tensor, int]:
        H, W = d.shape
        seen = torch.zeros_like(valid)
        removed = 0
        valid = valid.clone()
        for y in range(H):
            for x in range(W):
                if seen[y, x] or not valid[y, x]:
                    continue
                stack: List[Tuple[int, int]] = [(y, x)]
                seen[y, x] = True
                region = []
                while stack:
                    cy, cx = stack.pop()
                    region.append((cy, cx))
                    for dy, dx in DIRECTIONS:
                        ny, nx = cy + dy, cx + dx
                        if 0 <= ny < H and 0 <= nx < W and valid[ny, nx] and not seen[ny, nx]:
                            if (d[ny, nx] - d[cy, cx]).abs() <= 1:
                                seen[ny, nx] = True
                                stack.append((ny, nx))
                if len(region) < self.speckle:
                    for cy, cx in region:
                        valid[cy, cx] = False
                    removed += len(region)
        return valid, removed

    def fill(self, d: Tensor, valid: Tensor) -> Tensor:
        out = d.clone().float()
        for y, row in enumerate(valid):
            good = row.nonzero().flatten()
            if len(good) == 0:
                out[y] = -1.0
                continue
            for x in (~row).nonzero().flatten().tolist():
                i = int((good - x).abs().argmin())
                out[y, x] = d[y, good[i]].float()
        return out

    @torch.no_grad()
    def forward(self, left: Tensor, right: Tensor, directions: int = 2) -> Dict[str, object]:
        assert left.shape == right.shape, f"{list(left.shape)} != {list(right.shape)}"
        cost = self.cost_volume(left, right)
        total = torch.zeros_like(cost)
        for dy, dx in DIRECTIONS[:directions]:
            total += self.aggregate(cost, dy, dx)
        dl = self.winner(total)
        back = self.cost_volume(right.flip(-1), left.flip(-1)).flip(1)
        dr = self.winner(back)
        valid = self.check(dl, dr)
        valid, removed = self.remove_speckles(dl, valid)
        coverage = valid.float().mean().item()
        disparity: Optional[Tensor] = None
        if coverage > 0.2:
            disparity = self.fill(dl, valid)
        return {"disparity": disparity, "coverage": coverage, "removed": removed, "histogram": torch.bincount(dl.flatten(), minlength=self.D)}


def make_model():
    torch.manual_seed(1)
    return Matcher().eval()


def make_inputs():
    g = torch.Generator().manual_seed(2)
    base = torch.rand(5, 9, generator=g)
    l = base[:, :7]
    r = base[:, 2:]
    return [(r, l), (l, l, 4), (torch.rand(4, 5, generator=g), torch.rand(4, 5, generator=g), 1), (l, r, 0), (l, base)]
