"""Integer inference with bit tricks, lookup tables, early break on saturation, int8 arithmetic and packing."""
import torch
import torch.nn as nn

def pack4(x):
    x = (x & 0xF).to(torch.uint8)
    return x[..., ::2] | (x[..., 1::2] << 4)

def unpack4(p):
    lo, hi = (p & 0xF).to(torch.int8), (p >> 4).to(torch.int8)
    out = torch.stack([lo, hi], dim=-1).flatten(-2)
    return torch.where(out > 7, out - 16, out)

class QLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        w = torch.randn(o, i)
        s = w.abs().amax(1, keepdim=True) / 7
        self.register_buffer("packed", pack4((w / s).round().clamp(-8, 7).to(torch.int32)))
        self.register_buffer("scale", s.squeeze(1))
        self.register_buffer("bias", torch.randn(o) * 0.1)
    def forward(self, q, s):
        acc = q.to(torch.int32) @ unpack4(self.packed).to(torch.int32).t()
        return acc.float() * self.scale * s + self.bias

class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([QLinear(8, 16), QLinear(16, 16), QLinear(16, 4)])
        self.lut = nn.Parameter(torch.sigmoid(torch.linspace(-6, 6, 256)), requires_grad=False)

    def quantize(self, x):
        m = x.abs().max()
        if m == 0:
            return torch.zeros_like(x, dtype=torch.int8), torch.tensor(1.0), 0
        s = m / 127
        q = torch.round(x / s).clamp(-128, 127).to(torch.int8)
        sat = int((q.abs() == 127).sum())
        return q, s, sat

    def forward(self, x, budget: int = 6):
        used, checksum = 0, 0
        outs = []
        for i, layer in enumerate(self.layers):
            q, s, sat = self.quantize(x)
            used += sat
            for v in q.flatten().tolist():
                checksum = ((checksum << 5) ^ (checksum >> 27) ^ (v & 0xFF)) & 0xFFFFFFFF
            x = layer(q, s)
            if i < len(self.layers) - 1:
                idx = ((x.clamp(-6, 6) + 6) / 12 * 255).round().long()
                x = self.lut[idx]
            outs.append(x.abs().mean().item())
            if used > budget:
                break
        else:
            return x, outs, used, hex(checksum), bin(checksum % 16), checksum // 7, -checksum // 7
        return x.sum(-1, keepdim=True), outs, used, f"{checksum:08x}", f"{checksum % 16:#06b}", ~checksum, checksum % -7

def make_model():
    torch.manual_seed(0)
    return QNet()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    return [(torch.randn(n, 8, generator=g) * k, *b) for n, k, b in ((1, 1, ()), (2, 3, (1,)), (3, 0, ()), (4, 100, (2,)), (1, 0.01, (0,)))]
