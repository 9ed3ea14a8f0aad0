"""Online Gaussian process: Cholesky with growing jitter, inducing points added by novelty, dropped when full."""

import math
import warnings
from typing import Optional, Tuple

import torch
import torch.nn as nn


class NotPSDError(RuntimeError):
    def __init__(self, message, jitter):
        super().__init__(message)
        self.jitter = jitter


def psd_safe_cholesky(A: torch.Tensor, jitter: Optional[float] = None, max_tries: int = 4) -> torch.Tensor:
    L, info = torch.linalg.cholesky_ex(A)
    if not torch.any(info):
        return L
    if torch.isnan(A).any():
        raise ValueError(f"cholesky: {torch.isnan(A).sum().item()} of {A.numel()} elements of the matrix are NaN.")
    jitter = 1e-6 if jitter is None else jitter
    Aprime = A.clone()
    jitter_prev = 0
    for i in range(max_tries):
        jitter_new = jitter * (10 ** i)
        Aprime.diagonal().add_(jitter_new - jitter_prev)
        jitter_prev = jitter_new
        L, info = torch.linalg.cholesky_ex(Aprime)
        if not torch.any(info):
            return L
    raise NotPSDError(f"Matrix not positive definite after repeatedly adding jitter up to {jitter_new:.1e}.", jitter_new)


class ScaledRBF(nn.Module):
    def __init__(self, dim, ard=True):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.zeros(dim if ard else 1))
        self.raw_outputscale = nn.Parameter(torch.tensor(0.5))

    @property
    def lengthscale(self):
        return nn.functional.softplus(self.raw_lengthscale)

    @property
    def outputscale(self):
        return nn.functional.softplus(self.raw_outputscale)

    def forward(self, a, b=None):
        b = a if b is None else b
        d = torch.cdist(a / self.lengthscale, b / self.lengthscale)
        return self.outputscale * torch.exp(-0.5 * d ** 2)


class OnlineGP(nn.Module):
    def __init__(self, dim=2, capacity=6, novelty=0.05, noise=1e-2):
        super().__init__()
        self.kernel = ScaledRBF(dim)
        self.capacity, self.novelty = capacity, novelty
        self.log_noise = nn.Parameter(torch.tensor(math.log(noise)))
        self.register_buffer("inducing", torch.zeros(0, dim))
        self.register_buffer("targets", torch.zeros(0))
        self._cache: Optional[Tuple[torch.Tensor, torch.Tensor]] = None
        self.skipped = 0

    @property
    def num_points(self) -> int:
        return self.inducing.size(0)

    def _factor(self):
        if self._cache is None:
            K = self.kernel(self.inducing)
            K = K + torch.eye(self.num_points) * self.log_noise.exp()
            L = psd_safe_cholesky(K)
            alpha = torch.cholesky_solve(self.targets.unsqueeze(-1), L).squeeze(-1)
            self._cache = (L, alpha)
        return self._cache

    def posterior(self, x):
        if self.num_points == 0:
            return x.new_zeros(x.shape[0]), self.kernel.outputscale.expand(x.shape[0])
        L, alpha = self._factor()
        k = self.kernel(self.inducing, x)
        mean = k.t() @ alpha
        v = torch.linalg.solve_triangular(L, k, upper=False)
        var = self.kernel.outputscale - v.square().sum(0)
        return mean, var.clamp_min(1e-8)

    def _insert(self, x, y):
        self.inducing = torch.cat([self.inducing, x[None]])
        self.targets = torch.cat([self.targets, y.reshape(1)])
        if self.num_points > self.capacity:
            K = self.kernel(self.inducing)
            redundancy = K.sum(dim=1) - K.diagonal()
            drop = int(redundancy.argmax())
            keep = torch.arange(self.num_points) != drop
            self.inducing, self.targets = self.inducing[keep], self.targets[keep]
        self._cache = None

    def forward(self, xs, ys: Optional[torch.Tensor] = None):
        if ys is not None:
            if xs.shape[0] != ys.shape[0]:
                raise ValueError(f"got {xs.shape[0]} inputs but {ys.shape[0]} targets")
            for x, y in zip(xs, ys):
                _, var = self.posterior(x.unsqueeze(0))
                if var.item() > self.novelty:
                    self._insert(x, y)
                else:
                    self.skipped += 1
        mean, var = self.posterior(xs)
        return mean, var.sqrt(), self.num_points, self.skipped


STATEFUL = True


def make_model():
    torch.manual_seed(0)
    return OnlineGP().eval()


def make_inputs():
    torch.manual_seed(5)
    x = torch.rand(5, 2) * 2
    return [
        (torch.rand(3, 2),),
        (x, torch.sin(x.sum(1))),
        (x, torch.sin(x.sum(1))),
        (torch.rand(9, 2) * 8, torch.randn(9)),
        (torch.rand(4, 2) * 8,),
    ]
