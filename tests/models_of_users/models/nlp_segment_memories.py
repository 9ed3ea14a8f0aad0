"""Transformer-XL language model: relative positions, memories across segments, adaptive softmax clusters, perplexity stop."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class PositionalEmbedding(nn.Module):
    def __init__(self, demb):
        super().__init__()
        inv_freq = 1 / (10000 ** (torch.arange(0.0, demb, 2.0) / demb))
        self.register_buffer("inv_freq", inv_freq)
    def forward(self, pos_seq, bsz=None):
        sinusoid_inp = torch.ger(pos_seq, self.inv_freq)
        pos_emb = torch.cat([sinusoid_inp.sin(), sinusoid_inp.cos()], dim=-1)
        if bsz is not None:
            return pos_emb[:, None, :].expand(-1, bsz, -1)
        return pos_emb[:, None, :]

class RelAttn(nn.Module):
    def __init__(self, n_head, d, d_head):
        super().__init__()
        self.n_head, self.d_head = n_head, d_head
        self.qkv = nn.Linear(d, 3 * n_head * d_head, bias=False)
        self.r_net = nn.Linear(d, n_head * d_head, bias=False)
        self.o = nn.Linear(n_head * d_head, d, bias=False)
        self.ln = nn.LayerNorm(d)
        self.scale = 1 / d_head ** 0.5
    def _rel_shift(self, x, zero_triu=False):
        zero_pad = torch.zeros((x.size(0), 1, *x.size()[2:]), device=x.device, dtype=x.dtype)
        x_padded = torch.cat([zero_pad, x], dim=1)
        x_padded = x_padded.view(x.size(1) + 1, x.size(0), *x.size()[2:])
        x = x_padded[1:].view_as(x)
        if zero_triu:
            ones = torch.ones((x.size(0), x.size(1)))
            x = x * torch.tril(ones, x.size(1) - x.size(0))[:, :, None, None]
        return x
    def forward(self, w, r, r_w_bias, r_r_bias, attn_mask=None, mems=None):
        qlen, rlen, bsz = w.size(0), r.size(0), w.size(1)
        cat = torch.cat([mems, w], 0) if mems is not None else w
        heads = self.qkv(cat)
        q, k, v = torch.chunk(heads, 3, dim=-1)
        q = q[-qlen:]
        klen = k.size(0)
        q = q.view(qlen, bsz, self.n_head, self.d_head)
        k = k.view(klen, bsz, self.n_head, self.d_head)
        v = v.view(klen, bsz, self.n_head, self.d_head)
        r_head_k = self.r_net(r).view(rlen, self.n_head, self.d_head)
        AC = torch.einsum("ibnd,jbnd->ijbn", (q + r_w_bias, k))
        BD = self._rel_shift(torch.einsum("ibnd,jnd->ijbn", (q + r_r_bias, r_head_k)))
        score = (AC + BD).mul_(self.scale)
        if attn_mask is not None and attn_mask.any().item():
            if attn_mask.dim() == 2:
                score = score.float().masked_fill(attn_mask[:, :, None, None], -float("inf")).type_as(score)
            elif attn_mask.dim() == 3:
                score = score.float().masked_fill(attn_mask[:, :, :, None], -float("inf")).type_as(score)
        prob = F.softmax(score, dim=1)
        vec = torch.einsum("ijbn,jbnd->ibnd", (prob, v)).contiguous().view(qlen, bsz, -1)
        return self.ln(w + self.o(vec))

class XL(nn.Module):
    def __init__(self, vocab=20, d=12, layers=2, mem_len=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pos = PositionalEmbedding(d)
        self.layers = nn.ModuleList([RelAttn(2, d, 6) for _ in range(layers)])
        self.r_w_bias = nn.Parameter(torch.randn(2, 6) * 0.1)
        self.r_r_bias = nn.Parameter(torch.randn(2, 6) * 0.1)
        self.mem_len, self.n_layer = mem_len, layers
        self.cut = 8
        self.head, self.tail = nn.Linear(d, self.cut + 1), nn.Linear(d, vocab - self.cut)

    def init_mems(self):
        return [torch.empty(0) for _ in range(self.n_layer + 1)] if self.mem_len > 0 else None

    def _update_mems(self, hids, mems, qlen, mlen):
        if mems is None:
            return None
        assert len(hids) == len(mems), "len(hids) != len(mems)"
        with torch.no_grad():
            new_mems = []
            end_idx = mlen + max(0, qlen)
            beg_idx = max(0, end_idx - self.mem_len)
            for i in range(len(hids)):
                cat = torch.cat([mems[i], hids[i]], dim=0) if mems[i].numel() else hids[i]
                new_mems.append(cat[beg_idx:end_idx].detach())
        return new_mems

    def segment(self, inp, mems):
        qlen, bsz = inp.size()
        w = self.emb(inp)
        mlen = mems[0].size(0) if mems[0].numel() else 0
        klen = mlen + qlen
        mask = torch.triu(w.new_ones(qlen, klen), diagonal=1 + mlen).bool()
        pos_seq = torch.arange(klen - 1, -1, -1.0)
        r = self.pos(pos_seq).squeeze(1)
        hids = [w]
        h = w
        for i, layer in enumerate(self.layers):
            h = layer(h, r, self.r_w_bias, self.r_r_bias, attn_mask=mask, mems=mems[i] if mlen else None)
            hids.append(h)
        return h, self._update_mems(hids, mems, qlen, mlen)

    def nll(self, h, target):
        h, target = h.reshape(-1, h.size(-1)), target.reshape(-1)
        hp = self.head(h).log_softmax(-1)
        out = torch.zeros(target.shape)
        small = target < self.cut
        if small.any():
            out[small] = -hp[small].gather(1, target[small].unsqueeze(1)).squeeze(1)
        big = (~small).nonzero().squeeze(1)
        if big.numel():
            tp = self.tail(h.index_select(0, big)).log_softmax(-1)
            lp = hp[big, -1] + tp.gather(1, (target[big] - self.cut)[:, None]).squeeze(1)
            out.index_copy_(0, big, -lp)
        return out

    def forward(self, data, bptt: int = 3, max_ppl: float = 30.0):
        mems = self.init_mems()
        losses, ppl = [], []
        for i in range(0, data.size(0) - 1, bptt):
            seq = min(bptt, data.size(0) - 1 - i)
            h, mems = self.segment(data[i : i + seq], mems)
            loss = self.nll(h, data[i + 1 : i + 1 + seq])
            losses.append(loss.view(seq, -1))
            ppl.append(math.exp(loss.mean()))
            if ppl[-1] > max_ppl:
                break
        return torch.cat(losses), ppl, [tuple(m.shape) for m in mems], mems[-1]

def make_model():
    torch.manual_seed(0)
    return XL().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randint(0, 20, s, generator=g)
    return [(r(10, 1),), (r(7, 3), 2), (r(5, 2), 4, 15.0), (r(2, 1),), (r(9, 2), 1, 25.0)]
