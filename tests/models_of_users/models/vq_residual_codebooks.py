"""Audio codec: residual vector quantisation; codebooks follow the data by moving averages, dead codes are replaced."""
from dataclasses import dataclass
from typing import List, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

STATEFUL = True


@dataclass
class QuantizedResult:
    quantized: torch.Tensor
    codes: torch.Tensor
    bandwidth: float
    penalty: Optional[torch.Tensor] = None
    n_replaced: int = 0


def ema_inplace(moving_avg, new, decay: float):
    moving_avg.data.mul_(decay).add_(new, alpha=(1 - decay))


def laplace_smoothing(x, n_categories: int, epsilon: float = 1e-5):
    return (x + epsilon) / (x.sum() + n_categories * epsilon)


class EuclideanCodebook(nn.Module):
    def __init__(self, dim, codebook_size, decay=0.8, threshold_ema_dead_code=1.0):
        super().__init__()
        self.decay = decay
        self.codebook_size = codebook_size
        self.threshold_ema_dead_code = threshold_ema_dead_code
        embed = torch.randn(codebook_size, dim)
        self.register_buffer("inited", torch.Tensor([0.0]))
        self.register_buffer("cluster_size", torch.zeros(codebook_size))
        self.register_buffer("embed", embed)
        self.register_buffer("embed_avg", embed.clone())

    def init_embed_(self, data):
        if self.inited:
            return
        n = min(data.shape[0], self.codebook_size)
        self.embed[:n].copy_(data[:n])
        self.embed_avg.copy_(self.embed)
        self.cluster_size.fill_(2.0)
        self.inited.data.copy_(torch.Tensor([1.0]))

    def quantize(self, x):
        embed = self.embed.t()
        dist = -(x.pow(2).sum(1, keepdim=True) - 2 * x @ embed + embed.pow(2).sum(0, keepdim=True))
        return dist.max(dim=-1).indices

    def expire_codes_(self, batch_samples) -> int:
        if self.threshold_ema_dead_code == 0:
            return 0
        expired = self.cluster_size < self.threshold_ema_dead_code
        if not torch.any(expired):
            return 0
        candidates = batch_samples[torch.arange(self.codebook_size) % batch_samples.shape[0]]
        self.embed.data.copy_(torch.where(expired[..., None], candidates, self.embed))
        return int(expired.sum())

    def forward(self, x, update=True):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        self.init_embed_(x)
        ind = self.quantize(x)
        onehot = F.one_hot(ind, self.codebook_size).type(x.dtype)
        quantized = F.embedding(ind, self.embed).view(shape)
        replaced = 0
        if update:
            replaced = self.expire_codes_(x)
            ema_inplace(self.cluster_size, onehot.sum(0), self.decay)
            ema_inplace(self.embed_avg, onehot.t() @ x, self.decay)
            cluster_size = laplace_smoothing(self.cluster_size, self.codebook_size) * self.cluster_size.sum()
            self.embed.data.copy_(self.embed_avg / cluster_size.unsqueeze(1))
        return quantized, ind.view(*shape[:-1]), replaced


class ResidualVectorQuantizer(nn.Module):
    def __init__(self, dim=6, n_q=3, bins=8, frame_rate=50):
        super().__init__()
        self.layers = nn.ModuleList([EuclideanCodebook(dim, bins) for _ in range(n_q)])
        self.bins, self.frame_rate = bins, frame_rate
        self.encoder = nn.Conv1d(1, dim, 8, stride=4)
        self.decoder = nn.ConvTranspose1d(dim, 1, 8, stride=4)
        self.n_calls = 0

    def get_num_quantizers_for_bandwidth(self, bandwidth: Optional[float]) -> int:
        import math
        per_q = math.log2(self.bins) * self.frame_rate
        n_q = len(self.layers)
        if bandwidth and bandwidth > 0.0:
            n_q = int(max(1, min(n_q, math.floor(bandwidth * 1000 / per_q))))
        return n_q

    def forward(self, wav, bandwidth: Optional[float] = None, update: bool = True):
        self.n_calls += 1
        x = self.encoder(wav).transpose(1, 2)
        n_q = self.get_num_quantizers_for_bandwidth(bandwidth)
        residual, quantized_out = x, 0.0
        all_codes: List[torch.Tensor] = []
        losses, replaced = [], 0
        for layer in self.layers[:n_q]:
            quantized, codes, dead = layer(residual, update)
            residual = residual - quantized.detach()
            quantized_out = quantized_out + quantized
            all_codes.append(codes)
            losses.append(residual.pow(2).mean())
            replaced += dead
            if losses[-1] < 0.02:
                break
        res = QuantizedResult(quantized_out, torch.stack(all_codes), n_q * 0.15, torch.stack(losses), replaced)
        usage = [len(c.unique()) for c in all_codes]
        return self.decoder(res.quantized.transpose(1, 2)), res, usage, self.n_calls


def make_model():
    torch.manual_seed(0)
    return ResidualVectorQuantizer().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda b, t, k=1.0: torch.randn(b, 1, t, generator=g) * k
    return [(r(1, 40),), (r(2, 24), 0.2), (r(1, 40, 3.0), 0.31, True), (r(1, 40), None, False), (r(1, 16, 0.0),), (r(1, 60), 9.9)]
