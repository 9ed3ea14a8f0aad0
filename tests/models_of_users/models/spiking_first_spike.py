"""Spiking network: LIF neurons with state, encoded inputs by rate or latency, decision at the first confident spike count."""
import torch
import torch.nn as nn

class LIF(nn.Module):
    def __init__(self, n, tau=2.0, v_th=1.0):
        super().__init__()
        self.n, self.v_th = n, v_th
        self.decay = nn.Parameter(torch.tensor(1 - 1 / tau))
        self.v = None
        self.spike_count = 0

    def reset(self):
        self.v = None
        self.spike_count = 0

    def forward(self, i):
        if self.v is None:
            self.v = torch.zeros_like(i)
        self.v = self.decay * self.v + i
        s = (self.v >= self.v_th).float()
        self.v = self.v * (1 - s)
        n = int(s.sum())
        self.spike_count += n
        return s

class SNN(nn.Module):
    encoders = ("rate", "latency", "direct")

    def __init__(self):
        super().__init__()
        sizes = [10, 16, 5]
        self.fcs = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
        self.lifs = nn.ModuleList([LIF(b) for b in sizes[1:]])
        self.readout = {"counts": lambda c: c, "rates": lambda c: c / c.sum().clamp(min=1)}

    def encode(self, x, mode):
        if mode == "rate":
            return lambda t: (x > ((t * 7919) % 13) / 13).float()
        elif mode == "latency":
            order = x.argsort(descending=True)
            return lambda t: torch.zeros_like(x).index_fill(0, order[t:t + 1], 1.0) * 2
        if mode not in self.encoders:
            raise KeyError(f"unknown encoder {mode!r}")
        return lambda t: x

    def forward(self, x, mode: str = "rate", margin: int = 2, T: int = 20, readout="rates"):
        for m in self.modules():
            if isinstance(m, LIF):
                m.reset()
        enc = self.encode(x, mode)
        counts = torch.zeros(5)
        t = 0
        while t < T:
            s = enc(t)
            for fc, lif in zip(self.fcs, self.lifs):
                s = lif(fc(s))
                if not s.any():
                    break
            else:
                counts += s
                top2 = counts.topk(2).values
                if top2[0] - top2[1] >= margin:
                    return counts.argmax().item(), self.readout[readout](counts), t + 1, True
            t += 1
        spikes = tuple(l.spike_count for l in self.lifs)
        best = -1 if counts.sum() == 0 else int(counts.argmax())
        return best, self.readout[readout](counts), spikes, False

def make_model():
    torch.manual_seed(2)
    m = SNN().eval()
    with torch.no_grad():
        for f in m.fcs:
            f.weight.mul_(2.5)
    return m

def make_inputs():
    g = torch.Generator().manual_seed(0)
    xs = [torch.rand(10, generator=g) for _ in range(4)]
    return [(xs[0],), (xs[1], "latency"), (xs[2], "direct", 4), (xs[3] * 0, "rate"), (xs[0], "rate", 50, 10, "counts"), (xs[1], "direct", 3, 6), (xs[2], "huh")]
