"""Two-stage deformable detection transformer: encoder proposals, decoder with iterative refinement and early exit."""
import copy
import math
import torch
from torch import nn
import torch.nn.functional as F


def inverse_sigmoid(x, eps=1e-5):
    x = x.clamp(min=0, max=1)
    return torch.log(x.clamp(min=eps) / (1 - x).clamp(min=eps))


def get_clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class MLP(nn.Module):
    def __init__(self, d_in, d_hidden, d_out, layers):
        super().__init__()
        self.num_layers = layers
        h = [d_hidden] * (layers - 1)
        self.layers = nn.ModuleList(nn.Linear(n, k) for n, k in zip([d_in] + h, h + [d_out]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < self.num_layers - 1 else layer(x)
        return x


class DeformAttn(nn.Module):
    def __init__(self, d, heads, levels, points):
        super().__init__()
        self.d, self.heads, self.levels, self.points = d, heads, levels, points
        self.offsets = nn.Linear(d, heads * levels * points * 2)
        self.weights = nn.Linear(d, heads * levels * points)
        self.value = nn.Linear(d, d)
        self.out = nn.Linear(d, d)

    def forward(self, query, reference, memory, shapes, mask=None):
        b, q, _ = query.shape
        _, s, _ = memory.shape
        assert sum(h * w for h, w in shapes) == s, "levels do not add up"
        value = self.value(memory)
        if mask is not None:
            value = value.masked_fill(mask[..., None], 0.0)
        value = value.view(b, s, self.heads, self.d // self.heads)
        offsets = self.offsets(query).view(b, q, self.heads, self.levels, self.points, 2)
        weights = self.weights(query).view(b, q, self.heads, self.levels * self.points).softmax(-1)
        weights = weights.view(b, q, self.heads, self.levels, self.points)
        if reference.shape[-1] == 2:
            norm = torch.tensor([[w, h] for h, w in shapes], dtype=torch.float32)
            locs = reference[:, :, None, None, None, :] + offsets / norm[None, None, None, :, None, :]
        elif reference.shape[-1] == 4:
            locs = reference[:, :, None, None, None, :2] + offsets / self.points * reference[:, :, None, None, None, 2:] * 0.5
        else:
            raise ValueError("Last dim of reference must be 2 or 4, but get {} instead.".format(reference.shape[-1]))
        grids = 2 * locs - 1
        sampled = []
        for level, part in enumerate(value.split([h * w for h, w in shapes], dim=1)):
            h, w = shapes[level]
            v = part.flatten(2).transpose(1, 2).reshape(b * self.heads, self.d // self.heads, h, w)
            g = grids[:, :, :, level].transpose(1, 2).flatten(0, 1)
            sampled.append(F.grid_sample(v, g, mode="bilinear", padding_mode="zeros", align_corners=False))
        weights = weights.transpose(1, 2).reshape(b * self.heads, 1, q, self.levels * self.points)
        out = (torch.stack(sampled, dim=-2).flatten(-2) * weights).sum(-1).view(b, self.d, q)
        return self.out(out.transpose(1, 2).contiguous())


class DecoderLayer(nn.Module):
    def __init__(self, d, heads, levels):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.cross = DeformAttn(d, heads, levels, 2)
        self.norms = get_clones(nn.LayerNorm(d), 3)
        self.ffn = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x, pos, ref, memory, shapes, mask):
        qk = x + pos
        x = self.norms[0](x + self.self_attn(qk, qk, x, need_weights=False)[0])
        x = self.norms[1](x + self.cross(x + pos, ref, memory, shapes, mask))
        return self.norms[2](x + self.ffn(x))


class TwoStage(nn.Module):
    def __init__(self, d=16, heads=2, levels=2, layers=3, classes=4, queries=6):
        super().__init__()
        self.d, self.queries = d, queries
        self.level_embed = nn.Parameter(torch.randn(levels, d) * 0.1)
        self.enc_out = nn.Linear(d, d)
        self.enc_norm = nn.LayerNorm(d)
        self.layers = get_clones(DecoderLayer(d, heads, levels), layers)
        self.class_embed = get_clones(nn.Linear(d, classes), layers + 1)
        self.bbox_embed = get_clones(MLP(d, d, 4, 3), layers + 1)
        self.pos_trans = nn.Linear(d * 4, 2 * d)

    @staticmethod
    def valid_ratio(mask):
        _, h, w = mask.shape
        valid_h = torch.sum(~mask[:, :, 0], 1)
        valid_w = torch.sum(~mask[:, 0, :], 1)
        return torch.stack([valid_w.float() / w, valid_h.float() / h], -1)

    def proposals(self, memory, padding, shapes):
        n = memory.shape[0]
        out, cur = [], 0
        for lvl, (h, w) in enumerate(shapes):
            mask = padding[:, cur:cur + h * w].view(n, h, w, 1)
            valid_h = torch.sum(~mask[:, :, 0, 0], 1)
            valid_w = torch.sum(~mask[:, 0, :, 0], 1)
            gy, gx = torch.meshgrid(torch.linspace(0, h - 1, h), torch.linspace(0, w - 1, w), indexing="ij")
            grid = torch.cat([gx.unsqueeze(-1), gy.unsqueeze(-1)], -1)
            scale = torch.cat([valid_w.unsqueeze(-1), valid_h.unsqueeze(-1)], 1).view(n, 1, 1, 2)
            grid = (grid.unsqueeze(0).expand(n, -1, -1, -1) + 0.5) / scale
            wh = torch.ones_like(grid) * 0.05 * (2.0 ** lvl)
            out.append(torch.cat((grid, wh), -1).view(n, -1, 4))
            cur += h * w
        props = torch.cat(out, 1)
        ok = ((props > 0.01) & (props < 0.99)).all(-1, keepdim=True)
        props = inverse_sigmoid(props)
        props = props.masked_fill(padding.unsqueeze(-1), float("inf")).masked_fill(~ok, float("inf"))
        memory = memory.masked_fill(padding.unsqueeze(-1), 0.0).masked_fill(~ok, 0.0)
        return self.enc_norm(self.enc_out(memory)), props

    def sine(self, props):
        scale = 2 * math.pi
        dim_t = torch.arange(self.d, dtype=torch.float32)
        dim_t = 10000 ** (2 * torch.div(dim_t, 2, rounding_mode="floor") / self.d)
        pos = (props.sigmoid() * scale)[:, :, :, None] / dim_t
        return torch.stack((pos[:, :, :, 0::2].sin(), pos[:, :, :, 1::2].cos()), dim=4).flatten(2)

    def forward(self, feats, masks=None, tol=0.02):
        shapes = [tuple(f.shape[-2:]) for f in feats]
        if masks is None:
            masks = [torch.zeros(f.shape[0], *f.shape[-2:], dtype=torch.bool) for f in feats]
        memory = torch.cat([f.flatten(2).transpose(1, 2) + self.level_embed[i].view(1, 1, -1) for i, f in enumerate(feats)], 1)
        padding = torch.cat([m.flatten(1) for m in masks], 1)
        ratios = torch.stack([self.valid_ratio(m) for m in masks], 1)
        enc, props = self.proposals(memory, padding, shapes)
        enc_class = self.class_embed[-1](enc)
        enc_coord = self.bbox_embed[-1](enc) + props
        k = min(self.queries, enc.shape[1])
        top = torch.topk(enc_class[..., 0].masked_fill(padding, -1e9), k, dim=1)[1]
        ref_un = torch.gather(enc_coord, 1, top.unsqueeze(-1).repeat(1, 1, 4)).detach()
        ref = ref_un.sigmoid()
        pos, x = torch.split(self.pos_trans(self.sine(ref_un)), self.d, dim=2)
        history, logits = [], None
        for lid, layer in enumerate(self.layers):
            scaled = ref * torch.cat([ratios, ratios], -1)[:, :1]
            x = layer(x, pos, scaled, memory, shapes, padding)
            delta = self.bbox_embed[lid](x)
            new = (delta + inverse_sigmoid(ref)).sigmoid().detach()
            moved = (new - ref).abs().max()
            ref, logits = new, self.class_embed[lid](x)
            history.append(moved.item())
            if moved < tol and lid > 0:
                break
        else:
            history.append(-1.0)
        return {"logits": logits, "boxes": ref, "moved": history}


def make_model():
    torch.manual_seed(3)
    return TwoStage().eval()


def make_inputs():
    g = torch.Generator().manual_seed(4)
    def feats(b, h, w):
        return [torch.randn(b, 16, h, w, generator=g), torch.randn(b, 16, h // 2, w // 2, generator=g)]
    def mask(b, h, w, vh, vw):
        m = torch.ones(b, h, w, dtype=torch.bool)
        m[:, :vh, :vw] = False
        return m
    return [
        (feats(1, 6, 8),),
        (feats(2, 4, 4), [mask(2, 4, 4, 3, 4), mask(2, 2, 2, 2, 2)]),
        (feats(1, 6, 8), None, 10.0),
        (feats(1, 2, 2), None, 0.5),
    ]
