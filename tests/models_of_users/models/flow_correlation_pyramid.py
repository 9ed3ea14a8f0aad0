import torch
import torch.nn as nn
import torch.nn.functional as F


class Pyramid:
    def __init__(self, fmap1, fmap2, levels=3, radius=2):
        self.levels, self.radius = levels, radius
        b, c, h, w = fmap1.shape
        corr = torch.einsum("bchw,bcxy->bhwxy", fmap1, fmap2) / c ** 0.5
        corr = corr.reshape(b * h * w, 1, h, w)
        self.maps = [corr]
        for _ in range(levels - 1):
            if min(corr.shape[-2:]) < 2:
                break
            corr = F.avg_pool2d(corr, 2, stride=2)
            self.maps.append(corr)

    def __call__(self, coords):
        r = self.radius
        b, _, h, w = coords.shape
        flat = coords.permute(0, 2, 3, 1)
        out = []
        for i, corr in enumerate(self.maps):
            d = torch.linspace(-r, r, 2 * r + 1)
            delta = torch.stack(torch.meshgrid(d, d, indexing="ij"), dim=-1)
            centre = flat.reshape(b * h * w, 1, 1, 2) / 2 ** i
            pos = centre + delta.view(1, 2 * r + 1, 2 * r + 1, 2)
            hh, ww = corr.shape[-2:]
            grid = torch.stack([2 * pos[..., 0] / max(ww - 1, 1) - 1, 2 * pos[..., 1] / max(hh - 1, 1) - 1], -1)
            out.append(F.grid_sample(corr, grid, align_corners=True).view(b, h, w, -1))
        got = torch.cat(out, -1)
        want = self.levels * (2 * r + 1) ** 2
        if got.shape[-1] < want:
            got = F.pad(got, (0, want - got.shape[-1]))
        return got.permute(0, 3, 1, 2).contiguous()


class Update(nn.Module):
    def __init__(self, d, corr_dim):
        super().__init__()
        self.corr = nn.Conv2d(corr_dim + 2, d, 1)
        self.z, self.r, self.q = (nn.Conv2d(2 * d, d, 3, padding=1) for _ in range(3))
        self.flow = nn.Conv2d(d, 2, 3, padding=1)
        self.mask = nn.Conv2d(d, 9 * 16, 1)

    def forward(self, net, corr, flow):
        x = self.corr(torch.cat([corr, flow], 1)).relu()
        hx = torch.cat([net, x], 1)
        z, r = torch.sigmoid(self.z(hx)), torch.sigmoid(self.r(hx))
        q = torch.tanh(self.q(torch.cat([r * net, x], 1)))
        net = (1 - z) * net + z * q
        return net, self.flow(net) * 0.5, 0.25 * self.mask(net)


class Model(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.fnet = nn.Sequential(nn.Conv2d(3, d, 7, 4, 3), nn.InstanceNorm2d(d), nn.ReLU())
        self.cnet = nn.Conv2d(3, 2 * d, 7, 4, 3)
        self.update = Update(d, 3 * 25)
        self.d = d

    def upsample(self, flow, mask):
        n, _, h, w = flow.shape
        mask = mask.view(n, 1, 9, 4, 4, h, w).softmax(2)
        up = F.unfold(4 * flow, [3, 3], padding=1).view(n, 2, 9, 1, 1, h, w)
        up = (mask * up).sum(2).permute(0, 1, 4, 2, 5, 3)
        return up.reshape(n, 2, 4 * h, 4 * w)

    def forward(self, a, b, iters=6, flow_init=None, test_mode=True, tol=0.02):
        h, w = a.shape[-2:]
        pad = [0, -w % 4, 0, -h % 4]
        if any(pad):
            a, b = F.pad(a, pad, mode="replicate"), F.pad(b, pad, mode="replicate")
        a, b = 2 * a - 1, 2 * b - 1
        f1, f2 = self.fnet(torch.cat([a, b])).chunk(2)
        net, inp = self.cnet(a).split([self.d, self.d], 1)
        net, inp = net.tanh(), inp.relu()
        lookup = Pyramid(f1, f2)
        n, _, fh, fw = f1.shape
        ys, xs = torch.meshgrid(torch.arange(fh), torch.arange(fw), indexing="ij")
        coords0 = torch.stack([xs, ys]).float()[None].repeat(n, 1, 1, 1)
        coords1 = coords0.clone()
        if flow_init is not None:
            coords1 = coords1 + flow_init
        predictions = []
        used = 0
        for itr in range(iters):
            used = itr + 1
            flow = coords1 - coords0
            net, delta, mask = self.update(net + 0.1 * inp, lookup(coords1), flow)
            coords1 = coords1 + delta
            if not test_mode:
                predictions.append(self.upsample(coords1 - coords0, mask)[..., :h, :w])
            if delta.pow(2).sum(1).sqrt().mean() < tol:
                break
        if test_mode:
            return coords1 - coords0, self.upsample(coords1 - coords0, mask)[..., :h, :w], used
        return predictions


def make_model():
    torch.manual_seed(0)
    return Model().eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    r = lambda *s: torch.rand(*s, generator=g)
    return [
        (r(1, 3, 16, 20), r(1, 3, 16, 20)),
        (r(2, 3, 18, 21), r(2, 3, 18, 21), 3),
        (r(1, 3, 16, 16), r(1, 3, 16, 16), 4, r(1, 2, 4, 4)),
        (r(1, 3, 14, 12), r(1, 3, 14, 12), 2, None, False),
        (r(1, 3, 8, 8), r(1, 3, 8, 8), 20, None, True, 0.3),
    ]
