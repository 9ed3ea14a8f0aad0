"""Multimodal encoder with adaptive image tiling, token merging by similarity until a budget, LRU cache of encoded images keyed by content hash, interleaved sequence building."""
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise, product
from typing import Dict, List, Literal, Optional, Tuple, TypedDict, Union
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

STATEFUL = True


class Item(TypedDict):
    kind: str
    start: int
    length: int


@dataclass
class CacheStats:
    hits: int = 0
    misses: int = 0
    evicted: List[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        total = self.hits + self.misses
        return self.hits / total if total else math.nan


class LRU:
    def __init__(self, capacity: int):
        self.capacity = capacity
        self.data: "OrderedDict[int, torch.Tensor]" = OrderedDict()
        self.stats = CacheStats()

    def get_or(self, key: int, make):
        if key in self.data:
            self.data.move_to_end(key)
            self.stats.hits += 1
            return self.data[key]
        self.stats.misses += 1
        value = make()
        self.data[key] = value
        while len(self.data) > self.capacity:
            old, _ = self.data.popitem(last=False)
            self.stats.evicted.append(old)
        return value


def best_grid(h: int, w: int, tile: int, max_tiles: int) -> Tuple[int, int]:
    options = sorted(((r, c) for r, c in product(range(1, max_tiles + 1), repeat=2) if r * c <= max_tiles), key=lambda rc: rc[0] * rc[1])
    target = h / w
    best, score = (1, 1), math.inf
    for r, c in options:
        s = abs(math.log(target) - math.log(r / c))
        if s < score - 1e-9 or (abs(s - score) <= 1e-9 and h * w > 0.5 * tile * tile * r * c):
            best, score = (r, c), s
    return best


def merge_tokens(x: torch.Tensor, sizes: torch.Tensor, budget: int, threshold: float = 0.6):
    rounds = 0
    while x.shape[0] > budget:
        a, b = x[::2], x[1::2]
        if b.shape[0] == 0:
            break
        sim = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T
        value, partner = sim.max(-1)
        r = min(x.shape[0] - budget, int((value > threshold).sum()))
        if r == 0:
            threshold -= 0.3
            if threshold < -1:
                break
            continue
        order = value.argsort(descending=True)
        gone, stay = order[:r], order[r:].sort().values
        sa, sb = sizes[::2], sizes[1::2]
        weighted = b * sb[:, None]
        weighted = weighted.index_add(0, partner[gone], a[gone] * sa[gone, None])
        total = sb.index_add(0, partner[gone], sa[gone])
        x = torch.cat([a[stay], weighted / total[:, None]])
        sizes = torch.cat([sa[stay], total])
        rounds += 1
    return x, sizes, rounds


class Encoder(nn.Module):
    def __init__(self, dim=12, tile=8, patch=4, vocab=30):
        super().__init__()
        self.tile, self.dim = tile, dim
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.tile_pos = nn.Embedding(16, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 24, batch_first=True, norm_first=True, dropout=0.0)
        self.text = nn.Embedding(vocab, dim)
        self.sep = nn.Parameter(torch.randn(1, dim))
        self.pool = nn.Linear(dim, 1)
        self.cache = LRU(2)

    def fingerprint(self, image: torch.Tensor) -> int:
        q = (image.mean(0)[::2, ::2] * 8).round().to(torch.int64).flatten()
        h = image.shape[1] * 131 + image.shape[2]
        for v in q.tolist():
            h = (h * 31 + v) % (1 << 31)
        return h

    def encode_image(self, image: torch.Tensor, budget: int):
        r, c = best_grid(*image.shape[-2:], self.tile, 4)
        resized = F.interpolate(image[None], size=(r * self.tile, c * self.tile), mode="bilinear", align_corners=False)[0]
        tiles = [t for row in resized.split(self.tile, dim=1) for t in row.split(self.tile, dim=2)]
        if len(tiles) > 1:
            tiles.append(F.adaptive_avg_pool2d(image[None], self.tile)[0])
        feats = self.patch(torch.stack(tiles)).flatten(2).transpose(1, 2) + self.tile_pos.weight[: len(tiles), None]
        x = self.block(feats).flatten(0, 1)
        x, sizes, rounds = merge_tokens(x, torch.ones(len(x)), budget)
        return x

    def forward(self, text: List[int], images: List[torch.Tensor], budget: int = 6):
        """text: token ids, -1 stands for the next image."""
        want = text.count(-1)
        if want != len(images):
            raise ValueError(f"{want} placeholders but {len(images)} image{'s' * (len(images) != 1)}")
        parts: List[torch.Tensor] = []
        items: List[Item] = []
        queue = iter(images)
        run: List[int] = []
        position = 0
        for tok in chain(text, [-2]):
            if tok >= 0:
                run.append(tok)
                continue
            if run:
                parts.append(self.text(torch.tensor(run)))
                items.append({"kind": "text", "start": position, "length": len(run)})
                position += len(run)
                run = []
            if tok == -1:
                image = next(queue)
                x = self.cache.get_or(self.fingerprint(image), lambda: self.encode_image(image, budget))
                parts += [self.sep, x]
                items.append(Item(kind="image", start=position, length=len(x) + 1))
                position += len(x) + 1
        if not parts:
            return None, items, self.cache.stats.misses
        seq = self.block(torch.cat(parts)[None])[0]
        w = self.pool(seq).softmax(0)
        bounds = [0, *accumulate(i["length"] for i in items)]
        shares = [(items[k]["kind"], round(w[a:b].sum().item(), 4)) for k, (a, b) in enumerate(pairwise(bounds))]
        return (w * seq).sum(0), shares, self.cache.stats.misses, self.cache.stats.rate, len(self.cache.stats.evicted)


def make_model():
    torch.manual_seed(16)
    return Encoder().eval()


def make_inputs():
    g = torch.Generator().manual_seed(11)
    im = lambda h, w: torch.rand(3, h, w, generator=g)
    a, b, c = im(8, 8), im(8, 16), im(20, 7)
    return [([1, 2, -1, 3], [a]), ([-1, -1], [a, b]), ([5, -1], [c], 3), ([4, 4, 4], []), ([-1, 7], [a], 9), ([], []), ([-1], []), ([2, -1, -1, 9, -1], [b, c, b])]
