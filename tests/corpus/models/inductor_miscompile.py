import torch
import torch.nn as nn

SOURCE = "found while trying models: Inductor on CPU (torch 2.13.0) gets this network wrong"
ASKS = "two layers with a growing memory and a convolution tail over three chunks; eager and torch.export agree, Inductor differs by O(1) from the second chunk on"


class Chunks(nn.Module):
    def __init__(self, layers=2, dim=8):
        super().__init__()
        mk = lambda f: nn.ModuleList([f() for _ in range(layers)])
        self.ask, self.mem = mk(lambda: nn.Linear(dim, dim)), mk(lambda: nn.Linear(dim, 2 * dim))
        self.smooth, self.norm = mk(lambda: nn.Conv1d(dim, dim, 3, groups=dim)), mk(lambda: nn.LayerNorm(dim))

    def forward(self, a, b, c):
        n = len(self.ask)
        mems, tails, outs = [None] * n, [torch.zeros(1, 2, 8)] * n, []
        for x in (a, b, c):
            for i in range(n):
                h = self.norm[i](x)
                mem = self.mem[i](h)
                if mems[i] is not None:
                    mem = torch.cat([mems[i], mem], 1)
                k, v = mem.chunk(2, -1)
                x = x + (self.ask[i](h) @ k.transpose(1, 2) / 8 ** 0.5).softmax(-1) @ v
                mems[i] = mem
                p = torch.cat([tails[i], x], 1)
                x = x + torch.tanh(self.smooth[i](p.transpose(1, 2)).transpose(1, 2))
                tails[i] = p[:, -2:]
            outs.append(x)
        return torch.cat(outs, 1)


def make_model():
    torch.manual_seed(0)
    return Chunks().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    return [tuple(torch.randn(1, t, 8, generator=g) for t in lengths) for lengths in [(4, 4, 2), (4, 4, 2)]]
