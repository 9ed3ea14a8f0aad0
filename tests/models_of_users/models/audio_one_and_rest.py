"""Recursive speech separation ("one and rest"): STFT masks until the residual is silent; hooks count activations; complex maths."""
import contextlib
import functools
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def db(x, eps=1e-8):
    return 10 * torch.log10(x.pow(2).mean(-1) + eps)


class STFT(nn.Module):
    def __init__(self, n_fft=64, hop=16):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def transform(self, wav):
        return torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True, center=True, pad_mode="reflect")

    def inverse(self, spec, length):
        return torch.istft(spec, self.n_fft, self.hop, window=self.window, length=length)


class MaskNet(nn.Module):
    def __init__(self, bins, hidden=20):
        super().__init__()
        self.rnn = nn.GRU(bins, hidden, batch_first=True, bidirectional=True)
        self.one = nn.Linear(2 * hidden, bins)
        self.presence = nn.Linear(2 * hidden, 1)

    def forward(self, mag):
        h, _ = self.rnn(torch.log1p(mag).transpose(-1, -2))
        mask = torch.sigmoid(self.one(h)).transpose(-1, -2)
        return mask, torch.sigmoid(self.presence(h.mean(dim=1))).squeeze(-1)


def checked(fn):
    @functools.wraps(fn)
    def wrapper(self, mixture, *args, **kwargs):
        if mixture.dim() != 1:
            raise ValueError(f"{fn.__name__}: expected a mono signal, got shape {tuple(mixture.shape)}")
        if mixture.numel() < self.stft.n_fft:
            raise ValueError(f"{fn.__name__}: {mixture.numel()} samples are less than a window of {self.stft.n_fft}")
        return fn(self, mixture, *args, **kwargs)
    return wrapper


class OneAndRest(nn.Module):
    def __init__(self, max_speakers=4, n_fft=64):
        super().__init__()
        self.stft = STFT(n_fft)
        self.net = MaskNet(n_fft // 2 + 1)
        self.max_speakers = max_speakers

    @staticmethod
    def si_sdr(est, ref):
        alpha = torch.dot(est, ref) / (ref.dot(ref) + 1e-8)
        target = alpha * ref
        return 10 * torch.log10((target.square().sum() + 1e-8) / ((est - target).square().sum() + 1e-8))

    def _peel(self, spec):
        mag, phase = spec.abs(), torch.angle(spec)
        mask, presence = self.net(mag[None])
        one = torch.polar(mag * mask[0], phase)
        return one, spec - one, presence[0]

    @torch.no_grad()
    @checked
    def forward(self, mixture, silence_db: float = -40.0, presence_threshold: float = 0.3, refs=None):
        peak = mixture.abs().max()
        scale = 1.0
        if peak > 1:
            scale = peak.item()
            mixture = mixture / scale
        rest = self.stft.transform(mixture)
        reference = db(mixture)
        sources, levels = [], []
        while len(sources) < self.max_speakers:
            one, rest, presence = self._peel(rest)
            if sources and presence < presence_threshold:
                break
            wav = self.stft.inverse(one, mixture.shape[-1])
            level = (db(wav) - reference).item()
            sources.append(wav * scale)
            levels.append(round(level, 2))
            left = self.stft.inverse(rest, mixture.shape[-1])
            if db(left) - reference < silence_db:
                break
        stacked = torch.stack(sources)
        if refs is None:
            return stacked, levels
        n = min(len(refs), len(sources))
        scores = {}
        for i, r in enumerate(refs[:n]):
            with contextlib.suppress(ValueError):
                best = max(range(len(sources)), key=lambda j: self.si_sdr(sources[j], r).item())
                scores[f"ref{i}"] = (best, self.si_sdr(sources[best], r))
        return stacked, levels, scores


def make_model():
    torch.manual_seed(4)
    m = OneAndRest()
    m.net.presence.weight.data.mul_(6)
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda n, s=1.0: torch.randn(n, generator=g) * s
    t = torch.arange(320) / 16
    return [(torch.sin(t) * 0.8,), (r(256, 3.0), -6.0), (r(200, 0.2), -20.0, 0.55, [r(200), r(200)]), (r(40),), (r(2, 1.0)[None],), (torch.cos(t * 3) * 0.3 + r(320, 0.02), -3.0, 0.1, [torch.sin(t)])]
