"""Keypoints and matching: score map peaks by NMS, descriptors sampled at run-time points, Sinkhorn with dustbins, mutual check."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import Dict

def simple_nms(scores, r: int):
    def max_pool(x):
        return F.max_pool2d(x, kernel_size=r * 2 + 1, stride=1, padding=r)
    zeros = torch.zeros_like(scores)
    max_mask = scores == max_pool(scores)
    for _ in range(2):
        supp_mask = max_pool(max_mask.float()) > 0
        supp = torch.where(supp_mask, zeros, scores)
        new_max = supp == max_pool(supp)
        max_mask = max_mask | (new_max & (~supp_mask))
    return torch.where(max_mask, scores, zeros)

class Extractor(nn.Module):
    def __init__(self, c=8, cap=12):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1))
        self.det, self.desc = nn.Conv2d(c, 1, 1), nn.Conv2d(c, c, 1)
        self.cap = cap
    def forward(self, img) -> Dict[str, torch.Tensor]:
        f = self.conv(img)
        s = simple_nms(torch.sigmoid(self.det(f))[0, 0][None, None], 1)[0, 0]
        kp = torch.nonzero(s > 0.505)
        sc = s[tuple(kp.t())]
        border = 1
        m = (kp[:, 0] >= border) & (kp[:, 0] < s.shape[0] - border) & (kp[:, 1] >= border) & (kp[:, 1] < s.shape[1] - border)
        kp, sc = kp[m], sc[m]
        if len(kp) > self.cap:
            sc, i = torch.topk(sc, self.cap, dim=0)
            kp = kp[i]
        kp = torch.flip(kp, [1]).float()
        d = self.desc(f)
        if kp.numel():
            g = (kp + 0.5) / torch.tensor([s.shape[1], s.shape[0]]) * 2 - 1
            d = F.grid_sample(d, g.view(1, 1, -1, 2), mode="bilinear", align_corners=False)[0, :, 0]
        else:
            d = d.new_zeros(d.shape[1], 0)
        return {"keypoints": kp, "scores": sc, "descriptors": F.normalize(d, dim=0)}

class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.ex = Extractor()
        self.bin = nn.Parameter(torch.tensor(0.3))
        self.mix = nn.Linear(16, 8)
    def sinkhorn(self, scores, iters=50, tol=1e-4):
        m, n = scores.shape
        c = torch.cat([torch.cat([scores, self.bin.expand(m, 1)], -1), torch.cat([self.bin.expand(1, n), self.bin.expand(1, 1)], -1)], 0)
        norm = -torch.log(torch.tensor(float(m + n)))
        mu = torch.cat([norm.expand(m), torch.log(torch.tensor(float(n)))[None] + norm])
        nu = torch.cat([norm.expand(n), torch.log(torch.tensor(float(m)))[None] + norm])
        u, v = torch.zeros_like(mu), torch.zeros_like(nu)
        used = 0
        for used in range(1, iters + 1):
            u_new = mu - torch.logsumexp(c + v[None], 1)
            v = nu - torch.logsumexp(c + u_new[:, None], 0)
            done = (u_new - u).abs().max() < tol
            u = u_new
            if done:
                break
        return c + u[:, None] + v[None] - norm, used
    def forward(self, a, b, threshold: float = 0.1):
        fa, fb = self.ex(a), self.ex(b)
        na, nb = fa["keypoints"].shape[0], fb["keypoints"].shape[0]
        if na == 0 or nb == 0:
            return {"matches": torch.full((na,), -1), "scores": torch.zeros(na), "n": (na, nb), "iters": None}
        da, db = fa["descriptors"].t(), fb["descriptors"].t()
        for _ in range(2):
            att = torch.softmax(da @ db.t() / 0.5, -1)
            da, db = da + self.mix(torch.cat([da, att @ db], 1)), db + self.mix(torch.cat([db, att.t() @ da], 1))
        z, iters = self.sinkhorn(da @ db.t())
        m0, m1 = z[:-1, :-1].max(1), z[:-1, :-1].max(0)
        i0, i1 = m0.indices, m1.indices
        mutual = torch.arange(na) == i1.gather(0, i0)
        s = torch.where(mutual, m0.values.exp(), torch.zeros(()))
        valid = mutual & (s > threshold)
        matches = torch.where(valid, i0, torch.tensor(-1))
        if valid.sum() >= 3:
            pa, pb = fa["keypoints"][valid], fb["keypoints"][matches[valid]]
            shift = (pb - pa).median(0).values
            inl = ((pb - pa - shift).norm(dim=1) < 2).float().mean()
            return {"matches": matches, "scores": s, "n": (na, nb), "iters": iters, "shift": shift, "inliers": inl.item()}
        return {"matches": matches, "scores": s, "n": (na, nb), "iters": iters}

def make_model():
    torch.manual_seed(0)
    return Matcher().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    i = lambda h, w: torch.rand(1, 1, h, w, generator=g)
    x = i(10, 12)
    return [(x, torch.roll(x, 1, 3)), (i(8, 8), i(10, 9)), (torch.zeros(1, 1, 4, 4), i(8, 8)), (x, x, 0.3), (i(3, 3), i(3, 3))]
