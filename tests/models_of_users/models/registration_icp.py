"""Point-to-point ICP with SVD, trimmed correspondences and a convergence test; a small net predicts weights."""
import torch
import torch.nn as nn
from dataclasses import dataclass, field
from typing import List, Optional

@dataclass
class ICPResult:
    R: torch.Tensor
    t: torch.Tensor
    errors: List[float] = field(default_factory=list)
    converged: bool = False
    n_iter: int = 0

    @property
    def final_error(self):
        return self.errors[-1] if self.errors else float("inf")

class WeightNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    def forward(self, p, dist):
        return torch.sigmoid(self.mlp(torch.cat([p, dist[:, None]], 1))).squeeze(1)

class ICP(nn.Module):
    def __init__(self, max_iter=20, tol=1e-4, trim=0.8):
        super().__init__()
        self.max_iter = max_iter
        self.tol = tol
        self.trim = trim
        self.weights = WeightNet()

    def best_fit(self, src, dst, w):
        w = w / w.sum()
        mu_s = (w[:, None] * src).sum(0)
        mu_d = (w[:, None] * dst).sum(0)
        H = (src - mu_s).T @ ((dst - mu_d) * w[:, None])
        U, S, Vh = torch.linalg.svd(H)
        R = Vh.T @ U.T
        if torch.det(R) < 0:
            Vh = Vh.clone()
            Vh[-1, :] *= -1
            R = Vh.T @ U.T
        return R, mu_d - R @ mu_s

    def forward(self, src, dst, init=None):
        if init is None:
            R, t = torch.eye(3), torch.zeros(3)
        else:
            R, t = init[:3, :3], init[:3, 3]
        result = ICPResult(R, t)
        prev = None
        for it in range(self.max_iter):
            moved = src @ result.R.T + result.t
            d = torch.cdist(moved[None], dst[None])[0]
            dist, idx = d.min(dim=1)
            k = max(3, int(self.trim * len(src)))
            keep = dist.topk(k, largest=False).indices
            err = dist[keep].mean().item()
            result.errors.append(err)
            result.n_iter = it + 1
            if prev is not None and abs(prev - err) < self.tol:
                result.converged = True
                break
            prev = err
            w = self.weights(moved[keep], dist[keep])
            dR, dt = self.best_fit(moved[keep], dst[idx[keep]], w)
            result.R = dR @ result.R
            result.t = dR @ result.t + dt
        if not result.converged and result.final_error > 0.5:
            raise RuntimeError(f"ICP diverged after {result.n_iter} iterations: {result.final_error:.2f}")
        return result.R, result.t, result.errors, result.converged, result.final_error

def rot(a):
    a = torch.tensor(a)
    c, s = torch.cos(a), torch.sin(a)
    return torch.stack([torch.stack([c, -s, c * 0]), torch.stack([s, c, c * 0]), torch.tensor([0.0, 0.0, 1.0])])

def make_model():
    torch.manual_seed(0)
    return ICP().eval()

def make_inputs():
    g = torch.Generator().manual_seed(3)
    out = []
    for n, m, a, noise in ((20, 25, 0.1, 0.0), (30, 30, 0.4, 0.01), (12, 18, -0.2, 0.05)):
        dst = torch.rand(m, 3, generator=g)
        src = dst[:n] @ rot(a) + 0.05 + noise * torch.randn(min(n, m), 3, generator=g)
        out.append((src, dst))
    init = torch.eye(4); init[:3, 3] = 0.1
    out.append((out[0][0], out[0][1], init))
    out.append((torch.rand(10, 3, generator=g) * 8, torch.rand(10, 3, generator=g) * 0.1 + 20 * torch.eye(3)[torch.arange(10) % 3], None))
    return out
