"""Encoder-decoder in the style of a well-known library: relative buckets, past key values, outputs that index, generate with processors."""
from __future__ import annotations
import math
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any, List, Optional, Tuple
import torch
from torch import nn

class ModelOutput(OrderedDict):
    def __post_init__(self):
        for f in fields(self):
            v = getattr(self, f.name)
            if v is not None:
                self[f.name] = v

@dataclass
class DecoderOutput:
    last_hidden_state: torch.Tensor
    past_key_values: Optional[Tuple[Tuple[torch.Tensor, ...], ...]] = None
    attentions: Optional[List[torch.Tensor]] = None
    def to_tuple(self):
        return tuple(v for v in (self.last_hidden_state, self.past_key_values, self.attentions) if v is not None)
    def __getitem__(self, i):
        return self.to_tuple()[i]

class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.variance_epsilon = nn.Parameter(torch.ones(d)), eps
    def forward(self, x):
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        if self.weight.dtype in [torch.float16, torch.bfloat16]:
            x = x.to(self.weight.dtype)
        return self.weight * x

class Attention(nn.Module):
    def __init__(self, d=16, heads=2, causal=False, has_bias=False, buckets=8, max_distance=16):
        super().__init__()
        self.heads, self.causal, self.has_bias = heads, causal, has_bias
        self.buckets, self.max_distance = buckets, max_distance
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        if has_bias:
            self.bias = nn.Embedding(buckets, heads)
    @staticmethod
    def _bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
        relative_buckets = 0
        if bidirectional:
            num_buckets //= 2
            relative_buckets += (relative_position > 0).to(torch.long) * num_buckets
            relative_position = torch.abs(relative_position)
        else:
            relative_position = -torch.min(relative_position, torch.zeros_like(relative_position))
        max_exact = num_buckets // 2
        is_small = relative_position < max_exact
        large = max_exact + (torch.log(relative_position.float() / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact)).to(torch.long)
        large = torch.min(large, torch.full_like(large, num_buckets - 1))
        relative_buckets += torch.where(is_small, relative_position, large)
        return relative_buckets
    def compute_bias(self, qlen, klen):
        ctx = torch.arange(qlen, dtype=torch.long)[:, None]
        mem = torch.arange(klen, dtype=torch.long)[None, :]
        b = self._bucket(mem - ctx, bidirectional=not self.causal, num_buckets=self.buckets, max_distance=self.max_distance)
        return self.bias(b).permute([2, 0, 1]).unsqueeze(0)
    def forward(self, x, mask=None, kv=None, past=None, position_bias=None, use_cache=False):
        b, t = x.shape[:2]
        real = t
        if past is not None:
            if len(past) != 2:
                raise ValueError(f"past_key_value should have 2 past states. Got {len(past)} past states")
            real += past[0].shape[2] if kv is None else 0
        shape = lambda y: y.view(b, -1, self.heads, y.shape[-1] // self.heads).transpose(1, 2)
        q = shape(self.q(x))
        if kv is None:
            k, v = shape(self.k(x)), shape(self.v(x))
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        elif past is not None:
            k, v = past
        else:
            k, v = shape(self.k(kv)), shape(self.v(kv))
        scores = torch.matmul(q, k.transpose(3, 2))
        if position_bias is None:
            klen = k.shape[2]
            position_bias = self.compute_bias(real, klen) if self.has_bias else torch.zeros((1, self.heads, real, klen))
            if past is not None and kv is None:
                position_bias = position_bias[:, :, -t:, :]
            if mask is not None:
                position_bias = position_bias + mask
        scores += position_bias
        w = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        out = self.o(torch.matmul(w, v).transpose(1, 2).contiguous().view(b, -1, x.shape[-1]))
        outputs = (out,) + (((k, v) if use_cache else None),) + (position_bias,)
        return outputs + (w,)

class Layer(nn.Module):
    def __init__(self, d, decoder, first):
        super().__init__()
        self.n = nn.ModuleList([RMSNorm(d) for _ in range(3 if decoder else 2)])
        self.self_attn = Attention(d, causal=decoder, has_bias=first)
        if decoder:
            self.cross = Attention(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d, bias=False), nn.ReLU(), nn.Linear(2 * d, d, bias=False))
        self.is_decoder = decoder
    def forward(self, x, mask=None, bias=None, enc=None, enc_mask=None, cross_bias=None, past=None, use_cache=False):
        self_past, cross_past = (past[:2], past[2:]) if past is not None else (None, None)
        a = self.self_attn(self.n[0](x), mask, past=self_past, position_bias=bias, use_cache=use_cache)
        x, present, bias = x + a[0], a[1], a[2]
        if self.is_decoder and enc is not None:
            c = self.cross(self.n[1](x), enc_mask, kv=enc, past=cross_past, position_bias=cross_bias, use_cache=use_cache)
            x, cross_bias = x + c[0], c[2]
            if present is not None:
                present = present + c[1]
        x = x + self.ff(self.n[-1](x))
        return x, present, bias, cross_bias, a[-1]

class Stack(nn.Module):
    def __init__(self, emb, d, n, decoder=False):
        super().__init__()
        self.embed_tokens = emb
        self.block = nn.ModuleList([Layer(d, decoder, bool(i == 0)) for i in range(n)])
        self.final = RMSNorm(d)
        self.is_decoder = decoder
    def forward(self, ids, mask=None, enc=None, enc_mask=None, past=None, use_cache=False):
        t = ids.shape[1]
        total = past[0][0].shape[2] + t if past is not None else t
        x = self.embed_tokens(ids)
        m = None
        if self.is_decoder:
            pos = torch.arange(total)
            causal = (pos[None, :] > pos[:, None])[-t:]
            m = torch.zeros(causal.shape).masked_fill(causal, float("-inf"))[None, None]
        elif mask is not None:
            m = (1.0 - mask[:, None, None, :].float()) * torch.finfo(x.dtype).min
        em = None if enc_mask is None else (1.0 - enc_mask[:, None, None, :].float()) * torch.finfo(x.dtype).min
        if past is None:
            past = [None] * len(self.block)
        bias = cross_bias = None
        presents, atts = () if use_cache else None, []
        for i, (block, p) in enumerate(zip(self.block, past)):
            x, present, bias, cross_bias, w = block(x, m, bias, enc, em, cross_bias, p, use_cache)
            if use_cache:
                presents = presents + (present,)
            atts.append(w.mean())
        return DecoderOutput(self.final(x), presents, atts)

class MinLength:
    def __init__(self, n, eos):
        self.n, self.eos = n, eos
    def __call__(self, ids, scores):
        if ids.shape[-1] < self.n:
            scores[:, self.eos] = -float("inf")
        return scores

class NoRepeat:
    def __init__(self, n):
        self.n = n
    def __call__(self, ids, scores):
        for b, row in enumerate(ids.tolist()):
            banned = [row[i + self.n - 1] for i in range(len(row) - self.n + 1) if row[i : i + self.n - 1] == row[len(row) - self.n + 1 :]]
            if banned:
                scores[b, banned] = -float("inf")
        return scores

class T5(nn.Module):
    def __init__(self, vocab=18, d=16):
        super().__init__()
        self.shared = nn.Embedding(vocab, d)
        self.encoder, self.decoder = Stack(self.shared, d, 2), Stack(self.shared, d, 2, decoder=True)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.eos, self.pad = 1, 0
    def forward(self, ids, mask=None, max_length: int = 8, min_length: int = 0, use_cache: bool = True):
        enc = self.encoder(ids, mask)
        processors: List[Any] = [NoRepeat(2)]
        if min_length > 0:
            processors.append(MinLength(min_length, self.eos))
        out = torch.full((ids.shape[0], 1), self.pad)
        unfinished = out.new_ones(ids.shape[0])
        past = None
        while True:
            step = out[:, -1:] if past is not None else out
            dec = self.decoder(step, enc=enc[0], enc_mask=mask, past=past, use_cache=use_cache)
            past = dec.past_key_values if use_cache else None
            scores = self.lm_head(dec.last_hidden_state[:, -1] * (16 ** -0.5)).log_softmax(-1)
            for p in processors:
                scores = p(out, scores)
            nxt = scores.argmax(-1)
            nxt = nxt * unfinished + self.pad * (1 - unfinished)
            out = torch.cat([out, nxt[:, None]], dim=-1)
            unfinished = unfinished.mul((nxt != self.eos).long())
            if unfinished.max() == 0 or out.shape[-1] >= max_length:
                break
        return out, dec.attentions[0], len(dec.to_tuple())

def make_model():
    torch.manual_seed(4)
    m = T5().eval()
    with torch.no_grad():
        m.lm_head.weight.mul_(5)
    return m

def make_inputs():
    g = torch.Generator().manual_seed(0)
    r = lambda *s: torch.randint(2, 18, s, generator=g)
    m = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    return [(r(1, 5),), (r(2, 4), m), (r(1, 3), None, 12, 5), (r(2, 4), m, 6, 0, False), (r(3, 2), None, 4)]
