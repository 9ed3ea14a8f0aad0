"""Online clustering: k-means until assignments settle, empty clusters re-seeded, then mean shift merging of centres."""
import torch
import torch.nn as nn
import torch.nn.functional as F

class Encoder(nn.Sequential):
    def __init__(self, dims):
        layers = []
        for i, (a, b) in enumerate(zip(dims, dims[1:])):
            layers.append(nn.Linear(a, b))
            if i + 2 < len(dims):
                layers.append(nn.LeakyReLU(0.1))
        super().__init__(*layers)

class Clusterer(nn.Module):
    def __init__(self, k=4, iters=25, bandwidth=0.8):
        super().__init__()
        self.enc = Encoder([6, 16, 3])
        self.k, self.iters, self.bw = k, iters, bandwidth

    def init_centres(self, z):
        # farthest point
        chosen = [0]
        dist = (z - z[0]).pow(2).sum(-1)
        for _ in range(1, min(self.k, z.size(0))):
            nxt = dist.argmax().item()
            chosen.append(nxt)
            dist = torch.minimum(dist, (z - z[nxt]).pow(2).sum(-1))
        return z[chosen].clone()

    def kmeans(self, z):
        c = self.init_centres(z)
        prev = torch.full((z.shape[0],), -1)
        for it in range(self.iters):
            d = torch.cdist(z, c)
            assign = d.argmin(1)
            if torch.equal(assign, prev):
                return c, assign, it
            prev = assign
            one = F.one_hot(assign, num_classes=c.shape[0]).to(z.dtype)
            n = one.sum(0)
            sums = one.T @ z
            empty = n == 0
            new = torch.where(empty[:, None], c, sums / n.clamp(min=1)[:, None])
            if empty.any():
                far = d.min(1)[0].argsort(descending=True)
                for j, e in enumerate(torch.nonzero(empty).flatten().tolist()):
                    new[e] = z[far[j]]
            shift = (new - c).norm(dim=1).max()
            c = new
            if shift < 1e-4:
                break
        else:
            return c, assign, -1
        return c, assign, it + 1

    def merge(self, c):
        groups = []
        used = set()
        for i in range(len(c)):
            if i in used:
                continue
            close = [j for j in range(len(c)) if j not in used and torch.dist(c[i], c[j]) < self.bw]
            used.update(close)
            groups.append(close)
        remap = {j: g for g, members in enumerate(groups) for j in members}
        centres = torch.stack([c[g].mean(0) for g in groups])
        return centres, remap

    def forward(self, x, merge=True):
        z = self.enc(x)
        c, assign, n = self.kmeans(z)
        if merge:
            c, remap = self.merge(c)
            assign = torch.tensor([remap[a] for a in assign.tolist()])
        sizes = torch.bincount(assign, minlength=len(c))
        biggest, *rest = sizes.argsort(descending=True).tolist()
        sil = []
        for i, p in enumerate(z):
            a = (p - c[assign[i]]).norm()
            others = [(p - c[j]).norm() for j in range(len(c)) if j != assign[i]]
            if not others:
                sil.append(torch.tensor(0.0))
                continue
            b = min(others)
            sil.append((b - a) / torch.max(a, b))
        return c, assign, n, biggest, rest, torch.stack(sil).mean()

def make_model():
    torch.manual_seed(0)
    return Clusterer().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    blobs = lambda *ns: torch.cat([torch.randn(n, 6, generator=g) * 0.3 + torch.randn(1, 6, generator=g) * 3 for n in ns])
    return [(blobs(5, 6, 7),), (blobs(3),), (blobs(10, 1, 1, 1, 4), False), (blobs(2, 2), True), (blobs(1),), (torch.zeros(5, 6),)]
