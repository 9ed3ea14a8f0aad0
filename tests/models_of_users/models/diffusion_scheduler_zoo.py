"""Diffusion: a pipeline over schedulers of one base class; configs are dicts, outputs dataclasses, noise an input."""
import math
from abc import ABC
from dataclasses import dataclass
from types import SimpleNamespace
from typing import List, Optional, Tuple, Union

import numpy as np
import torch
from torch import nn


@dataclass
class SchedulerOutput:
    prev_sample: torch.Tensor
    pred_original_sample: Optional[torch.Tensor] = None


class SchedulerBase(ABC):
    order = 1

    def __init__(self, **config):
        defaults = {"num_train_timesteps": 100, "beta_start": 1e-3, "beta_end": 0.05, "clip_sample": True, "prediction": "epsilon"}
        unknown = set(config) - set(defaults)
        if unknown:
            raise TypeError(f"unknown options {sorted(unknown)}")
        self.config = SimpleNamespace(**{**defaults, **config})
        betas = torch.linspace(self.config.beta_start, self.config.beta_end, self.config.num_train_timesteps)
        self.alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
        self.timesteps: List[int] = []

    def set_timesteps(self, n: int) -> None:
        step = self.config.num_train_timesteps // n
        self.timesteps = list(reversed((np.arange(0, n) * step).astype(np.int64).tolist()))
        self.step_size = step

    def _alpha(self, t: int) -> torch.Tensor:
        return self.alphas_cumprod[t] if t >= 0 else torch.tensor(1.0)

    def _x0(self, out, t, sample):
        a = self._alpha(t)
        if self.config.prediction == "epsilon":
            x0 = (sample - (1 - a) ** 0.5 * out) / a ** 0.5
        elif self.config.prediction == "sample":
            x0 = out
        elif self.config.prediction == "v":
            x0 = a ** 0.5 * sample - (1 - a) ** 0.5 * out
        else:
            raise ValueError(f"prediction {self.config.prediction!r} is none of epsilon, sample, v")
        return x0.clamp(-1, 1) if self.config.clip_sample else x0

    def step(self, model_output, timestep: int, sample, **kwargs) -> SchedulerOutput:
        raise NotImplementedError


class DDIM(SchedulerBase):
    def step(self, model_output, timestep, sample, eta: float = 0.0, noise=None):
        prev = timestep - self.step_size
        a, a_prev = self._alpha(timestep), self._alpha(prev)
        x0 = self._x0(model_output, timestep, sample)
        eps = (sample - a ** 0.5 * x0) / (1 - a) ** 0.5
        sigma = eta * ((1 - a_prev) / (1 - a)) ** 0.5 * (1 - a / a_prev) ** 0.5
        direction = (1 - a_prev - sigma ** 2).clamp(min=0) ** 0.5 * eps
        prev_sample = a_prev ** 0.5 * x0 + direction
        if eta > 0:
            if noise is None:
                raise ValueError("eta > 0 needs noise")
            prev_sample = prev_sample + sigma * noise
        return SchedulerOutput(prev_sample, x0)


class PNDM(SchedulerBase):
    order = 4

    def set_timesteps(self, n):
        super().set_timesteps(n)
        self.ets = []

    def step(self, model_output, timestep, sample):
        self.ets = self.ets[-3:]
        self.ets.append(model_output)
        if len(self.ets) == 1:
            e = self.ets[-1]
        elif len(self.ets) == 2:
            e = (3 * self.ets[-1] - self.ets[-2]) / 2
        elif len(self.ets) == 3:
            e = (23 * self.ets[-1] - 16 * self.ets[-2] + 5 * self.ets[-3]) / 12
        else:
            e = (55 * self.ets[-1] - 59 * self.ets[-2] + 37 * self.ets[-3] - 9 * self.ets[-4]) / 24
        prev = timestep - self.step_size
        a, a_prev = self._alpha(timestep), self._alpha(prev)
        denom = a * (1 - a_prev) ** 0.5 + (a * (1 - a) * a_prev) ** 0.5
        return SchedulerOutput((a_prev / a) ** 0.5 * sample - (a_prev - a) * e / denom)


def timestep_embedding(t: int, dim: int) -> torch.Tensor:
    half = dim // 2
    freqs = torch.exp(-math.log(1000) * torch.arange(half) / half)
    return torch.cat([torch.sin(t * freqs), torch.cos(t * freqs)])


class Denoiser(nn.Module):
    def __init__(self, ch=2, dim=8, classes=3):
        super().__init__()
        self.inp, self.out = nn.Conv2d(ch, dim, 3, padding=1), nn.Conv2d(dim, ch, 3, padding=1)
        self.time = nn.Linear(dim, dim)
        self.label = nn.Embedding(classes + 1, dim)
        self.null, self.dim = classes, dim

    def forward(self, x, t: int, y: Optional[torch.Tensor] = None):
        emb = self.time(timestep_embedding(t, self.dim)).expand(x.shape[0], -1)
        emb = emb + self.label(y if y is not None else torch.full((x.shape[0],), self.null))
        return self.out(torch.nn.functional.silu(self.inp(x) + emb[:, :, None, None]))


class Pipeline(nn.Module):
    def __init__(self):
        super().__init__()
        self.unet = Denoiser()
        self.schedulers = {"ddim": DDIM(), "ddim_v": DDIM(prediction="v", clip_sample=False), "pndm": PNDM()}

    def forward(
        self,
        latents: torch.Tensor,
        scheduler: str = "ddim",
        steps: int = 5,
        labels: Optional[torch.Tensor] = None,
        guidance: float = 1.0,
        eta: float = 0.0,
        noise: Optional[Union[torch.Tensor, List[torch.Tensor]]] = None,
        mask: Optional[Tuple[torch.Tensor, torch.Tensor]] = None,
    ):
        sched = self.schedulers[scheduler]
        sched.set_timesteps(steps)
        history, x = [], latents
        for i, t in enumerate(sched.timesteps):
            if guidance > 1.0 and labels is not None:
                both = self.unet(torch.cat([x] * 2), t, torch.cat([labels, torch.full_like(labels, self.unet.null)]))
                cond, uncond = both.chunk(2)
                out = uncond + guidance * (cond - uncond)
            else:
                out = self.unet(x, t, labels)
            if isinstance(sched, DDIM):
                result = sched.step(out, t, x, eta=eta, noise=None if noise is None else noise[i])
            else:
                result = sched.step(out, t, x)
            x = result.prev_sample
            if mask is not None:
                keep, known = mask
                x = torch.where(keep, known, x)
            if result.pred_original_sample is not None:
                history.append(result.pred_original_sample.abs().mean().item())
        return x, history, len(sched.timesteps) * sched.order


def make_model():
    torch.manual_seed(0)
    return Pipeline().eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randn(*s, generator=g)
    y = torch.tensor([1, 2])
    return [
        (r(2, 2, 4, 4),),
        (r(2, 2, 4, 4), "pndm", 6, y),
        (r(2, 2, 6, 6), "ddim_v", 3, y, 3.0),
        (r(2, 2, 4, 4), "ddim", 4, y, 1.0, 0.5, [r(2, 2, 4, 4) for _ in range(4)]),
        (r(2, 2, 4, 4), "ddim", 2, None, 1.0, 1.0),
        (r(2, 2, 4, 4), "pndm", 2, None, 1.0, 0.0, None, (torch.rand(4, 4, generator=g) > 0.5, torch.zeros(4, 4))),
    ]
