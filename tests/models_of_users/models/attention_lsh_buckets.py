"""LSH attention: random rotations seeded in a buffer, bucket sort, chunked attention with look-back, undo sort, dedup mask."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from functools import wraps

def default(val, d):
    return d if val is None else val

def batched_index_select(values, indices):
    last = values.shape[-1]
    return values.gather(1, indices[:, :, None].expand(-1, -1, last))

def sort_key_val(t1, t2, dim=-1):
    values, indices = t1.sort(dim=dim)
    t2 = t2.expand_as(t1)
    return values, t2.gather(dim, indices)

def look_one_back(x):
    extra = torch.cat([x[:, -1:, ...], x[:, :-1, ...]], dim=1)
    return torch.cat([x, extra], dim=2)

class LSHAttention(nn.Module):
    def __init__(self, d=8, bucket_size=4, n_hashes=2, causal=True):
        super().__init__()
        self.bucket_size, self.n_hashes, self.causal = bucket_size, n_hashes, causal
        self.register_buffer("rot", torch.randn(d, n_hashes, 8))
        self.qk, self.v, self.o = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def hash_vectors(self, n_buckets, vecs):
        assert n_buckets % 2 == 0
        rotated = torch.einsum("btf,fhi->bhti", vecs, self.rot[..., : n_buckets // 2])
        rotated = torch.cat([rotated, -rotated], dim=-1)
        buckets = torch.argmax(rotated, dim=-1)
        offsets = torch.arange(self.n_hashes).reshape(1, -1, 1) * n_buckets
        return (buckets + offsets).reshape(buckets.shape[0], -1)

    def forward(self, x, input_mask=None):
        b, t, d = x.shape
        pad = (-t) % (self.bucket_size * 2)
        if pad:
            x = F.pad(x, (0, 0, 0, pad))
            input_mask = default(input_mask, torch.ones(b, t, dtype=torch.bool))
            input_mask = F.pad(input_mask, (0, pad), value=False)
        seqlen = t + pad
        n_buckets = seqlen // self.bucket_size
        n_buckets += n_buckets % 2
        n_buckets = min(n_buckets, 16)
        qk, v = self.qk(x), self.v(x)
        buckets = self.hash_vectors(n_buckets, qk)
        ticker = torch.arange(self.n_hashes * seqlen)[None].expand_as(buckets)
        buckets_and_t = seqlen * buckets + (ticker % seqlen)
        sbuckets_and_t, sticker = sort_key_val(buckets_and_t, ticker)
        _, undo = sticker.sort(dim=-1)
        st = sticker % seqlen
        sqk, sv = batched_index_select(qk, st), batched_index_select(v, st)
        chunk = self.n_hashes * seqlen // self.bucket_size
        bq_t = bkv_t = st.reshape(b, chunk, -1)
        bqk, bv = sqk.reshape(b, chunk, -1, d), sv.reshape(b, chunk, -1, d)
        bq = bqk
        bk = F.normalize(bqk, p=2, dim=-1)
        bk, bv, bkv_t = look_one_back(bk), look_one_back(bv), look_one_back(bkv_t)
        dots = torch.einsum("bhie,bhje->bhij", bq, bk) * d ** -0.5
        neg = -torch.finfo(dots.dtype).max
        if input_mask is not None:
            mq = input_mask.gather(1, st).reshape(b, chunk, -1)
            mkv = look_one_back(mq)
            mask = mq[:, :, :, None] * mkv[:, :, None, :]
            dots.masked_fill_(~mask, neg)
            del mask
        if self.causal:
            dots.masked_fill_(bq_t[:, :, :, None] < bkv_t[:, :, None, :], neg)
        self_mask = bq_t[:, :, :, None] == bkv_t[:, :, None, :]
        dots.masked_fill_(self_mask, -5e4)
        lse = torch.logsumexp(dots, dim=-1, keepdim=True)
        probs = torch.exp(dots - lse).type_as(dots)
        bo = torch.einsum("buij,buje->buie", probs, bv)
        so, slog = bo.reshape(b, -1, d), lse.reshape(b, -1)
        o = batched_index_select(so, undo)
        logits = slog.gather(1, undo)
        o = o.reshape(b, self.n_hashes, seqlen, d)
        logits = logits.reshape(b, self.n_hashes, seqlen, 1)
        w = torch.exp(logits - torch.logsumexp(logits, dim=1, keepdim=True))
        out = torch.sum(o * w, dim=1)[:, :t]
        return self.o(out), buckets.unique().numel()

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.ModuleList([LSHAttention(), LSHAttention(causal=False)])
        self.full = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norms = nn.ModuleList([nn.LayerNorm(8) for _ in self.attn])
    def forward(self, x, mask=None):
        used = []
        for a, n in zip(self.attn, self.norms):
            if x.shape[1] <= 6:
                y, _ = self.full(n(x), n(x), n(x), key_padding_mask=~mask if mask is not None else None)
                used.append("full")
            else:
                y, nb = a(n(x), mask)
                used.append(nb)
            x = x + y
        return x, used

def make_model():
    torch.manual_seed(0)
    return Model().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    out = [(torch.randn(b, t, 8, generator=g),) for b, t in ((1, 16), (2, 11), (1, 5))]
    m = torch.arange(20)[None] < torch.tensor([[20], [13]])
    out.append((torch.randn(2, 20, 8, generator=g), m))
    out.append((torch.randn(2, 4, 8, generator=g), torch.arange(4)[None] < torch.tensor([[4], [2]])))
    return out
