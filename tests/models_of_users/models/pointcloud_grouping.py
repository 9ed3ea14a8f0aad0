"""Point cloud instance segmentation: voxel hashing with unique, kNN transformer, offset clustering by BFS, scores per cluster."""
import collections
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


def knn(x, y, k):
    dist = torch.cdist(y, x)
    return dist.topk(min(k, x.size(0)), dim=-1, largest=False)


def scatter_mean(src, index, dim_size):
    out = src.new_zeros((dim_size,) + src.shape[1:])
    count = torch.bincount(index, minlength=dim_size).clamp_(min=1)
    out.index_add_(0, index, src)
    return out / count.view(-1, *([1] * (src.dim() - 1)))


def voxelize(coords, feats, size):
    grid = torch.div(coords - coords.min(dim=0).values, size, rounding_mode="floor").long()
    dims = grid.max(dim=0)[0] + 1
    key = (grid[:, 0] * dims[1] + grid[:, 1]) * dims[2] + grid[:, 2]
    uniq, inverse, counts = torch.unique(key, sorted=True, return_inverse=True, return_counts=True)
    n = uniq.numel()
    return scatter_mean(coords, inverse, n), scatter_mean(feats, inverse, n), inverse, counts


class VectorAttention(nn.Module):
    def __init__(self, dim, k):
        super().__init__()
        self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.pos = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.weight = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.k = k

    def forward(self, p, x):
        _, idx = knn(p, p, self.k)
        k, v = self.kv(x)[idx].chunk(2, -1)
        rel = self.pos(p[:, None] - p[idx])
        w = self.weight(self.q(x)[:, None] - k + rel).softmax(dim=1)
        return x + torch.einsum("nkc,nkc->nc", w, v + rel)


def bfs_cluster(coords, radius, min_size, labels=None):
    n = coords.shape[0]
    adj = torch.cdist(coords, coords) < radius
    if labels is not None:
        adj &= labels[:, None] == labels[None, :]
    visited = [False] * n
    clusters = []
    for seed in range(n):
        if visited[seed]:
            continue
        queue = collections.deque([seed])
        visited[seed] = True
        members = []
        while queue:
            i = queue.popleft()
            members.append(i)
            for j in adj[i].nonzero().flatten().tolist():
                if not visited[j]:
                    visited[j] = True
                    queue.append(j)
        if len(members) >= min_size:
            clusters.append(torch.tensor(members))
    return clusters


class PointGroup(nn.Module):
    def __init__(self, feat=3, dim=16, classes=3, depth=2):
        super().__init__()
        self.stem = nn.Linear(feat + 3, dim)
        self.blocks = nn.ModuleList(VectorAttention(dim, k=4) for _ in range(depth))
        self.semantic, self.offset = nn.Linear(dim, classes), nn.Linear(dim, 3)
        self.score_rnn = nn.GRU(dim, dim, batch_first=True)
        self.score = nn.Linear(dim, 1)
        self.voxel, self.radius, self.min_size = 0.4, 0.6, 2

    def score_clusters(self, x, clusters):
        padded = pad_sequence([x[c] for c in clusters], batch_first=True)
        lengths = torch.tensor([len(c) for c in clusters])
        out, _ = self.score_rnn(padded)
        mask = torch.arange(padded.size(1))[None] < lengths[:, None]
        pooled = out.masked_fill(~mask.unsqueeze(-1), -1e4).amax(dim=1)
        return self.score(pooled).sigmoid().flatten()

    def nms(self, masks, scores, threshold=0.3):
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            i = order[0]
            keep.append(i.item())
            if order.numel() == 1:
                break
            inter = (masks[i] & masks[order[1:]]).sum(-1).float()
            union = (masks[i] | masks[order[1:]]).sum(-1).float()
            order = order[1:][inter / union <= threshold]
        return keep

    @torch.no_grad()
    def forward(self, coords, feats):
        p, f, inverse, counts = voxelize(coords, feats, self.voxel)
        x = F.relu(self.stem(torch.cat([p, f], dim=1)))
        for block in self.blocks:
            x = block(p, x)
        sem = self.semantic(x).argmax(1)
        shifted = p + 0.3 * torch.tanh(self.offset(x))
        foreground = (sem != 0).nonzero()[:, 0]
        result = {"semantic": sem[inverse], "voxels": len(counts)}
        if foreground.numel() == 0:
            return result | {"instances": []}
        proposals = []
        for space in (p, shifted):
            proposals += [foreground[c] for c in bfs_cluster(space[foreground], self.radius, self.min_size, sem[foreground])]
        if len(proposals) == 0:
            result["instances"] = []
            return result
        scores = self.score_clusters(x, proposals)
        masks = torch.zeros(len(proposals), len(p), dtype=torch.bool)
        for m, c in zip(masks, proposals):
            m[c] = True
        result["instances"] = [
            {"mask": masks[k][inverse], "score": scores[k].item(), "label": int(torch.mode(sem[proposals[k]]).values)}
            for k in self.nms(masks, scores)
        ]
        return result


def make_model():
    torch.manual_seed(12)
    return PointGroup().eval()


def make_inputs():
    g = torch.Generator().manual_seed(8)
    r = lambda n, s: (torch.rand(n, 3, generator=g) * s, torch.randn(n, 3, generator=g) * 2)
    return [r(20, 1.0), r(12, 8.0), r(40, 2.0), r(1, 1.0), r(30, 1.5), (torch.rand(6, 3, generator=g), torch.zeros(6, 3))]
