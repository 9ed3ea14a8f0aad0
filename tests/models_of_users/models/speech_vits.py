"""VITS-like synthesis: stochastic durations with noise given, monotonic alignment search for training pairs, chunked vocoder, speaker table."""
import math
from dataclasses import dataclass
from typing import Iterable, Mapping, Optional, Union
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import weight_norm, remove_weight_norm


@dataclass
class SynthConfig:
    noise_scale: float = 0.667
    length_scale: float = 1.0
    max_frames: int = 60
    chunk: Optional[int] = 8
    overlap: int = 2

    def __post_init__(self):
        if self.chunk is not None and self.chunk <= self.overlap:
            raise ValueError(f"chunk ({self.chunk}) must be larger than overlap ({self.overlap})")


def sequence_mask(length, max_length=None):
    if max_length is None:
        max_length = length.max()
    x = torch.arange(max_length, dtype=length.dtype, device=length.device)
    return x.unsqueeze(0) < length.unsqueeze(1)


def generate_path(duration, mask):
    """duration: [b, t_x], mask: [b, t_y, t_x]"""
    b, t_y, t_x = mask.shape
    cum_duration = torch.cumsum(duration, -1)
    path = sequence_mask(cum_duration.view(b * t_x), t_y).to(mask.dtype)
    path = path.view(b, t_x, t_y)
    path = path - F.pad(path, [0, 0, 1, 0, 0, 0])[:, :-1]
    return path.transpose(1, 2) * mask


def maximum_path(value):
    """value: [t_x, t_y] log-likelihoods; returns the best monotonic path as 0/1."""
    t_x, t_y = value.shape
    if t_y < t_x:
        raise ValueError("more tokens than frames")
    v = value.clone()
    for y in range(t_y):
        for x in range(max(0, t_x + y - t_y), min(t_x, y + 1)):
            v_cur = v[x, y - 1] if x != y else torch.tensor(-1e9)
            if x == 0:
                v_prev = torch.tensor(0.0) if y == 0 else torch.tensor(-1e9)
            else:
                v_prev = v[x - 1, y - 1]
            v[x, y] += torch.maximum(v_cur, v_prev)
    path = torch.zeros_like(value, dtype=torch.int32)
    index = t_x - 1
    for y in reversed(range(t_y)):
        path[index, y] = 1
        if index != 0 and (index == y or v[index, y - 1] < v[index - 1, y - 1]):
            index -= 1
    return path


class TextEncoder(nn.Module):
    def __init__(self, n_vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, hidden)
        nn.init.normal_(self.emb.weight, 0.0, hidden ** -0.5)
        self.convs = nn.ModuleList([weight_norm(nn.Conv1d(hidden, hidden, 3, padding=1)) for _ in range(2)])
        self.proj = nn.Conv1d(hidden, hidden * 2, 1)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2) * math.sqrt(self.emb.embedding_dim)
        for conv in self.convs:
            x = x + F.leaky_relu(conv(x), 0.1)
        m, logs = self.proj(x).chunk(2, 1)
        return x, m, logs

    def strip(self):
        for conv in self.convs:
            remove_weight_norm(conv)


class DurationPredictor(nn.Module):
    def __init__(self, hidden, gin):
        super().__init__()
        self.conv, self.cond, self.out = nn.Conv1d(hidden, hidden, 3, padding=1), nn.Conv1d(gin, hidden, 1), nn.Conv1d(hidden, 1, 1)

    def forward(self, x, g=None):
        x = x.detach()
        if g is not None:
            x = x + self.cond(g)
        return self.out(torch.relu(self.conv(x)))


class Vocoder(nn.Module):
    def __init__(self, hidden, up=(2, 2)):
        super().__init__()
        self.ups = nn.ModuleList(nn.ConvTranspose1d(hidden // 2 ** i, hidden // 2 ** (i + 1), u * 2, u, u // 2) for i, u in enumerate(up))
        self.post = nn.Conv1d(hidden // 2 ** len(up), 1, 3, padding=1)
        self.rate = int(np.prod(up))

    def forward(self, z):
        for up in self.ups:
            z = up(F.leaky_relu(z, 0.1))
        return torch.tanh(self.post(z))[:, 0]


class Synthesizer(nn.Module):
    def __init__(self, n_vocab=20, hidden=16, gin=4, speakers: Mapping[str, int] = {"anna": 0, "ben": 1}):
        super().__init__()
        self.enc_p = TextEncoder(n_vocab, hidden)
        self.dp = DurationPredictor(hidden, gin)
        self.dec = Vocoder(hidden)
        self.speakers = dict(speakers)
        self.emb_g = nn.Embedding(len(speakers), gin)
        self.flow = nn.ModuleList(nn.Conv1d(hidden, hidden, 1) for _ in range(2))

    def speaker(self, who: Union[str, int, None]):
        if who is None:
            return None
        if isinstance(who, str):
            if who not in self.speakers:
                raise KeyError(f"no speaker {who}; there are {', '.join(sorted(self.speakers))}")
            who = self.speakers[who]
        return self.emb_g(torch.tensor([who])).unsqueeze(-1)

    def vocode(self, z, cfg):
        total = z.shape[-1]
        if cfg.chunk is None or total <= cfg.chunk:
            return self.dec(z)
        pieces, start = [], 0
        while start < total:
            lo, hi = max(0, start - cfg.overlap), min(total, start + cfg.chunk + cfg.overlap)
            wav = self.dec(z[..., lo:hi])
            keep_from = (start - lo) * self.dec.rate
            keep = min(cfg.chunk, total - start) * self.dec.rate
            pieces.append(wav[:, keep_from:keep_from + keep])
            start += cfg.chunk
        return torch.cat(pieces, dim=-1)

    @torch.no_grad()
    def forward(self, ids, noise, who: Optional[str] = None, length_scale: float = 1.0, target: Optional[torch.Tensor] = None):
        cfg = SynthConfig(length_scale=length_scale, chunk=8 if length_scale < 1.5 else None)
        g = self.speaker(who)
        x, m_p, logs_p = self.enc_p(ids[None])
        if target is not None:
            value = -0.5 * (m_p[0].t()[:, None] - target[None]).pow(2).mean(-1)
            attn = maximum_path(value)
            durations = attn.sum(1)
            return {"durations": durations.tolist(), "score": (value * attn).sum()}
        w = torch.exp(self.dp(x, g)) * cfg.length_scale
        w_ceil = torch.ceil(w)[:, 0]
        y_length = torch.clamp_min(torch.sum(w_ceil, [1]), 1).long()
        truncated = False
        if y_length.item() > cfg.max_frames:
            truncated = True
            y_length = torch.full_like(y_length, cfg.max_frames)
        mask = sequence_mask(y_length).unsqueeze(-1).float() * torch.ones(1, 1, ids.numel())
        attn = generate_path(w_ceil, mask)
        m = torch.matmul(attn, m_p.transpose(1, 2)).transpose(1, 2)
        logs = torch.matmul(attn, logs_p.transpose(1, 2)).transpose(1, 2)
        z = m + noise[..., : m.shape[-1]] * torch.exp(logs.clamp(max=2)) * cfg.noise_scale
        for f in self.flow[::-1]:
            z = z + torch.tanh(f(z))
        return {"audio": self.vocode(z, cfg), "frames": y_length.item(), "truncated": truncated, "durations": w_ceil[0].int().tolist()}


def make_model():
    torch.manual_seed(3)
    m = Synthesizer().eval()
    m.enc_p.strip()
    m.dp.out.bias.data.fill_(0.8)
    return m


def make_inputs():
    g = torch.Generator().manual_seed(1)
    ids = lambda n: torch.randint(0, 20, (n,), generator=g)
    noise = torch.randn(1, 16, 64, generator=g)
    return [(ids(3), noise), (ids(6), noise, "anna"), (ids(9), noise, "ben", 2.5), (ids(14), noise, None, 3.0), (ids(4), noise, "carl"),
            (ids(4), noise, None, 1.0, torch.randn(7, 16, generator=g)), (ids(5), noise, None, 1.0, torch.randn(3, 16, generator=g)), (ids(1), noise, "ben", 0.1)]
