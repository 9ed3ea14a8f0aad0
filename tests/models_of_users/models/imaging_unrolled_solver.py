"""Learned reconstruction: unrolled proximal network with momentum restarts, learned step sizes, discrepancy stopping, plug-in denoiser per iteration, Radon-like operator."""
from functools import cached_property, reduce
import math
import torch
from torch import nn
import torch.nn.functional as F


class LinearOperator:
    """A forward model with its adjoint; composes with @."""

    def forward(self, x):
        raise NotImplementedError

    def adjoint(self, y):
        raise NotImplementedError

    def __call__(self, x):
        return self.forward(x)

    def __matmul__(self, other):
        return Composed(self, other)

    def norm(self, shape, iters=6):
        x = torch.ones(shape) / math.prod(shape) ** 0.5
        value = torch.tensor(1.0)
        for _ in range(iters):
            x = self.adjoint(self(x))
            value = x.norm()
            if value < 1e-12:
                return torch.tensor(1.0)
            x = x / value
        return value.sqrt()


class Composed(LinearOperator):
    def __init__(self, outer, inner):
        self.outer, self.inner = outer, inner

    def forward(self, x):
        return self.outer(self.inner(x))

    def adjoint(self, y):
        return self.inner.adjoint(self.outer.adjoint(y))


class Blur(LinearOperator):
    def __init__(self, kernel):
        self.kernel = kernel

    def forward(self, x):
        return F.conv2d(x[None, None], self.kernel[None, None], padding="same")[0, 0]

    def adjoint(self, y):
        return F.conv2d(y[None, None], self.kernel.flip(0, 1)[None, None], padding="same")[0, 0]


class Mask(LinearOperator):
    def __init__(self, mask):
        self.mask = mask

    def forward(self, x):
        return x * self.mask

    adjoint = forward


class Denoiser(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x, sigma):
        level = torch.full_like(x, float(sigma))
        return x - 0.1 * self.body(torch.stack([x, level])[None])[0, 0]


class Unrolled(nn.Module):
    def __init__(self, iterations=8, shared=2):
        super().__init__()
        self.iterations = iterations
        self.log_steps = nn.Parameter(torch.full((iterations,), -0.2))
        self.denoisers = nn.ModuleList(Denoiser() for _ in range(shared))
        k = torch.tensor([[0.0, 0.1, 0.0], [0.1, 0.5, 0.2], [0.0, 0.1, 0.0]])
        self.register_buffer("kernel", k)

    @cached_property
    def blur(self):
        return Blur(self.kernel)

    def objective(self, A, x, y, weight):
        tv = (x[1:] - x[:-1]).abs().sum() + (x[:, 1:] - x[:, :-1]).abs().sum()
        return 0.5 * (A(x) - y).square().sum() + weight * tv

    def backtrack(self, A, x, grad, y, step, weight):
        f0 = self.objective(A, x, y, weight)
        for halving in range(5):
            new = x - step * grad
            f = self.objective(A, new, y, weight)
            if f <= f0 - 0.25 * step * grad.square().sum():
                return new, f, step, halving
            step = step / 2
        return x, f0, torch.zeros(()), 5

    @torch.no_grad()
    def forward(self, y, mask=None, noise: float = 0.05, weight: float = 0.01, solver: str = "fista"):
        ops = [self.blur]
        if mask is not None:
            if mask.shape != y.shape:
                raise ValueError(f"mask {tuple(mask.shape)} does not fit the data {tuple(y.shape)}")
            ops.insert(0, Mask(mask))
        A = reduce(lambda a, b: a @ b, ops)
        L = A.norm(y.shape)
        x = A.adjoint(y)
        z, t, best = x, 1.0, None
        residuals, restarts, status = [], 0, "limit"
        for k in range(self.iterations):
            r = A(z) - y
            grad = A.adjoint(r)
            step = self.log_steps[k].exp() / L ** 2
            if solver == "armijo":
                new, value, step, tries = self.backtrack(A, z, grad, y, step, weight)
                if tries == 5:
                    status = "stuck"
                    break
            else:
                new = z - step * grad
                value = self.objective(A, new, y, weight)
            sigma = noise * (1 - k / self.iterations)
            new = self.denoisers[k % len(self.denoisers)](new, sigma)
            if best is None or value < best[0]:
                best = (value, new)
            t_new = (1 + math.sqrt(1 + 4 * t * t)) / 2
            if solver == "fista":
                momentum = new - x
                if (momentum * grad).sum() > 0:
                    restarts += 1
                    t, z = 1.0, new
                else:
                    z = new + (t - 1) / t_new * momentum
                    t = t_new
            elif solver in ("ista", "armijo"):
                z = new
            else:
                raise ValueError(f"no solver {solver}")
            x = new
            rms = (A(x) - y).pow(2).mean().sqrt()
            residuals.append(rms)
            if rms <= 1.1 * noise:
                status = "discrepancy"
                break
            if k >= 2 and abs(residuals[-1] - residuals[-2]) < 1e-4 * residuals[0]:
                status = "stalled"
                break
        image = x if best is None or status == "discrepancy" else best[1]
        return image.clamp(0, 1), torch.stack(residuals) if residuals else None, restarts, status


def make_model():
    torch.manual_seed(1)
    return Unrolled().eval()


def make_inputs():
    g = torch.Generator().manual_seed(8)
    r = lambda h, w: torch.rand(h, w, generator=g)
    m = (r(8, 8) > 0.4).float()
    return [(r(6, 7),), (r(8, 8), m, 0.3), (r(8, 8), m, 0.01, 0.5, "armijo"), (r(5, 5), None, 0.02, 0.0, "ista"), (r(4, 4), m), (torch.zeros(6, 6), None, 0.0, 0.1), (r(3, 3), None, 0.1, 0.1, "adam"), (r(8, 8) * 50, None, 0.05, 5.0, "armijo")]
