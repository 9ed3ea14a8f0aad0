"""RAFT-like flow: correlation pyramid lookup, convex upsampling, stop on small updates, occlusion check, input padder."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class InputPadder:
    """Pads images such that dimensions are divisible by 4"""

    def __init__(self, dims, mode="sintel", factor=4):
        self.ht, self.wd = dims[-2:]
        pad_ht = (((self.ht // factor) + 1) * factor - self.ht) % factor
        pad_wd = (((self.wd // factor) + 1) * factor - self.wd) % factor
        if mode == "sintel":
            self._pad = [pad_wd // 2, pad_wd - pad_wd // 2, pad_ht // 2, pad_ht - pad_ht // 2]
        else:
            self._pad = [pad_wd // 2, pad_wd - pad_wd // 2, 0, pad_ht]

    def pad(self, *inputs):
        return [F.pad(x, self._pad, mode="replicate") for x in inputs]

    def unpad(self, x):
        ht, wd = x.shape[-2:]
        c = [self._pad[2], ht - self._pad[3], self._pad[0], wd - self._pad[1]]
        return x[..., c[0]:c[1], c[2]:c[3]]


def coords_grid(batch, ht, wd, device=None):
    coords = torch.meshgrid(torch.arange(ht, device=device), torch.arange(wd, device=device), indexing="ij")
    coords = torch.stack(coords[::-1], dim=0).float()
    return coords[None].repeat(batch, 1, 1, 1)


def bilinear_sampler(img, coords, mask=False):
    H, W = img.shape[-2:]
    xgrid, ygrid = coords.split([1, 1], dim=-1)
    xgrid = 2 * xgrid / max(W - 1, 1) - 1
    ygrid = 2 * ygrid / max(H - 1, 1) - 1
    grid = torch.cat([xgrid, ygrid], dim=-1)
    img = F.grid_sample(img, grid, align_corners=True)
    if mask:
        mask = (xgrid > -1) & (ygrid > -1) & (xgrid < 1) & (ygrid < 1)
        return img, mask.float()
    return img


class CorrBlock:
    def __init__(self, fmap1, fmap2, num_levels=3, radius=1):
        self.num_levels = num_levels
        self.radius = radius
        self.corr_pyramid = []
        corr = CorrBlock.corr(fmap1, fmap2)
        batch, h1, w1, dim, h2, w2 = corr.shape
        corr = corr.reshape(batch * h1 * w1, dim, h2, w2)
        self.corr_pyramid.append(corr)
        for i in range(self.num_levels - 1):
            if min(corr.shape[-2:]) < 2:
                break
            corr = F.avg_pool2d(corr, 2, stride=2)
            self.corr_pyramid.append(corr)

    def __call__(self, coords):
        r = self.radius
        coords = coords.permute(0, 2, 3, 1)
        batch, h1, w1, _ = coords.shape
        out_pyramid = []
        for i in range(len(self.corr_pyramid)):
            corr = self.corr_pyramid[i]
            dx = torch.linspace(-r, r, 2 * r + 1)
            dy = torch.linspace(-r, r, 2 * r + 1)
            delta = torch.stack(torch.meshgrid(dy, dx, indexing="ij"), dim=-1)
            centroid_lvl = coords.reshape(batch * h1 * w1, 1, 1, 2) / 2 ** i
            coords_lvl = centroid_lvl + delta.view(1, 2 * r + 1, 2 * r + 1, 2)
            out_pyramid.append(bilinear_sampler(corr, coords_lvl).view(batch, h1, w1, -1))
        while len(out_pyramid) < self.num_levels:
            out_pyramid.append(torch.zeros_like(out_pyramid[0]))
        return torch.cat(out_pyramid, dim=-1).permute(0, 3, 1, 2).contiguous().float()

    @staticmethod
    def corr(fmap1, fmap2):
        batch, dim, ht, wd = fmap1.shape
        corr = torch.matmul(fmap1.view(batch, dim, ht * wd).transpose(1, 2), fmap2.view(batch, dim, ht * wd))
        return corr.view(batch, ht, wd, 1, ht, wd) / torch.sqrt(torch.tensor(dim).float())


class ConvGRU(nn.Module):
    def __init__(self, hidden, inp):
        super().__init__()
        self.convz, self.convr, self.convq = (nn.Conv2d(hidden + inp, hidden, 3, padding=1) for _ in range(3))

    def forward(self, h, x):
        hx = torch.cat([h, x], dim=1)
        z = torch.sigmoid(self.convz(hx))
        r = torch.sigmoid(self.convr(hx))
        q = torch.tanh(self.convq(torch.cat([r * h, x], dim=1)))
        return (1 - z) * h + z * q


class RAFT(nn.Module):
    def __init__(self, hidden=8, iters=6, tol=0.12):
        super().__init__()
        self.iters, self.tol, self.hidden = iters, tol, hidden
        norm = lambda c: nn.InstanceNorm2d(c)
        self.fnet = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), norm(8), nn.ReLU(inplace=True), nn.Conv2d(8, 12, 3, 2, 1))
        self.cnet = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(8, 2 * hidden, 3, 2, 1))
        self.gru = ConvGRU(hidden, hidden + 27 + 2)
        self.flow_head = nn.Conv2d(hidden, 2, 3, padding=1)
        self.mask = nn.Conv2d(hidden, 16 * 9, 1)

    def upsample_flow(self, flow, mask):
        N, _, H, W = flow.shape
        mask = mask.view(N, 1, 9, 4, 4, H, W).softmax(dim=2)
        up_flow = F.unfold(4 * flow, [3, 3], padding=1).view(N, 2, 9, 1, 1, H, W)
        up_flow = torch.sum(mask * up_flow, dim=2)
        return up_flow.permute(0, 1, 4, 2, 5, 3).reshape(N, 2, 4 * H, 4 * W)

    def run(self, image1, image2, flow_init=None):
        fmap1, fmap2 = self.fnet(torch.cat([image1, image2], dim=0)).chunk(2)
        corr_fn = CorrBlock(fmap1, fmap2)
        net, inp = torch.split(self.cnet(image1), [self.hidden, self.hidden], dim=1)
        net, inp = torch.tanh(net), torch.relu(inp)
        N, _, H, W = net.shape
        coords0, coords1 = coords_grid(N, H, W), coords_grid(N, H, W)
        if flow_init is not None:
            if flow_init.shape[-2:] != (H, W):
                flow_init = F.interpolate(flow_init, size=(H, W), mode="bilinear", align_corners=True)
            coords1 = coords1 + flow_init
        flow_predictions = []
        for itr in range(self.iters):
            coords1 = coords1.detach()
            corr = corr_fn(coords1)
            flow = coords1 - coords0
            net = self.gru(net, torch.cat([inp, corr, flow], dim=1))
            delta_flow = self.flow_head(net)
            coords1 = coords1 + delta_flow
            flow_predictions.append(self.upsample_flow(coords1 - coords0, 0.25 * self.mask(net)))
            if delta_flow.pow(2).sum(1).sqrt().mean() < self.tol:
                break
        return coords1 - coords0, flow_predictions

    def forward(self, image1, image2, flow_init=None, check_occlusion: bool = False):
        padder = InputPadder(image1.shape)
        image1, image2 = padder.pad(image1, image2)
        low, preds = self.run(image1, image2, flow_init)
        flow = padder.unpad(preds[-1])
        if not check_occlusion:
            return low, flow, len(preds)
        back = padder.unpad(self.run(image2, image1)[1][-1])
        H, W = flow.shape[-2:]
        where = coords_grid(flow.shape[0], H, W) + flow
        warped, inside = bilinear_sampler(back, where.permute(0, 2, 3, 1), mask=True)
        residual = (flow + warped).norm(dim=1)
        occluded = (residual > 0.5 * (flow.norm(dim=1) + warped.norm(dim=1)) + 0.5) | (inside[..., 0] == 0)
        if occluded.float().mean() > 0.5:
            flow = torch.where(occluded.unsqueeze(1), torch.zeros_like(flow), flow)
        return low, flow, len(preds), occluded


def make_model():
    torch.manual_seed(7)
    return RAFT().eval()


def make_inputs():
    g = torch.Generator().manual_seed(5)
    r = lambda h, w, s=1.0, n=1: torch.randn(n, 3, h, w, generator=g) * s
    a = r(16, 16)
    return [(a, a.roll(2, -1)), (r(18, 21, 4.0), r(18, 21, 4.0)), (r(16, 20), r(16, 20), torch.randn(1, 2, 4, 5, generator=g)),
            (r(17, 16, 3.0, 2), r(17, 16, 3.0, 2), torch.randn(2, 2, 3, 3, generator=g), True), (a, r(16, 16, 20.0), None, True)]
