"""Particle filter with a learned observation model: systematic resampling when the effective size is low, lost and found."""
import torch
import torch.nn as nn

class ParticleFilter(nn.Module):
    def __init__(self, n=32, threshold=0.5):
        super().__init__()
        self.n, self.threshold = n, threshold
        self.obs = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        self.noise = nn.Parameter(torch.tensor([0.05, 0.05]), requires_grad=False)
        self.particles = None
        self.w = None
        self.lost_for = 0

    def init_particles(self, around=None):
        grid = torch.linspace(-1, 1, self.n)
        base = torch.stack([grid, grid.flip(0) * 0.5], 1)
        self.particles = base if around is None else around + 0.1 * base
        self.w = torch.full((self.n,), 1.0 / self.n)

    def resample(self, offset: float):
        positions = (torch.arange(self.n) + offset) / self.n
        cum = self.w.cumsum(0)
        cum[-1] = 1.0
        idx = torch.searchsorted(cum, positions)
        self.particles = self.particles[idx]
        self.w.fill_(1.0 / self.n)
        return idx.unique().numel()

    def forward(self, control, measurement, offset: float = 0.5):
        if self.particles is None:
            self.init_particles()
        spread = self.noise * torch.stack([torch.sin(torch.arange(self.n) * 1.7), torch.cos(torch.arange(self.n) * 2.3)], 1)
        self.particles = self.particles + control + spread
        kept = self.n
        if measurement is not None:
            x = torch.cat([self.particles, measurement.expand(self.n, 2) - self.particles], 1)
            loglik = self.obs(x).squeeze(1) - 8 * (measurement - self.particles).pow(2).sum(1)
            w = self.w * torch.exp(loglik - loglik.max())
            total = w.sum()
            if loglik.max() < -6 or total < 1e-12:
                self.lost_for += 1
                if self.lost_for >= 2:
                    self.init_particles(measurement)
                    self.lost_for = 0
                    return self.particles.mean(0), "relocalised", self.n
            else:
                self.lost_for = 0
                self.w = w / total
        else:
            self.lost_for += 1
        ess = 1.0 / self.w.pow(2).sum()
        if ess < self.threshold * self.n:
            kept = self.resample(offset)
        estimate = (self.w[:, None] * self.particles).sum(0)
        state = "lost" if self.lost_for > 0 else ("sharp" if ess < self.n / 4 else "ok")
        return estimate, state, kept

    def reset(self):
        self.particles = self.w = None
        self.lost_for = 0

STATEFUL = True
def make_model():
    torch.manual_seed(3)
    return ParticleFilter().eval()

def make_inputs():
    t = torch.tensor
    c = t([0.05, 0.0])
    return [(c, t([0.1, 0.0])), (c, t([0.15, 0.02]), 0.1), (c, None), (c, t([0.3, 0.0])), (c, t([5.0, 5.0])), (c, t([5.1, 5.0])), (c, t([5.15, 5.0])), (c * 0, None), (c, None)]
