"""Multimodal merge: image placeholders in a token sequence replaced by a run-time number of patch features; causal decode."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import List, Optional, Tuple, Union

IGNORE_INDEX, IMAGE = -100, 5

class Vision(nn.Module):
    def __init__(self, d, patch=4):
        super().__init__()
        self.patch = patch
        self.proj = nn.Conv2d(3, d, patch, patch)
        self.mlp = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, d))
    def forward(self, img):
        h, w = img.shape[-2:]
        ph, pw = (-h) % self.patch, (-w) % self.patch
        if ph or pw:
            img = F.pad(img, (0, pw, 0, ph))
        x = self.proj(img[None]).flatten(2).transpose(1, 2)
        return self.mlp(x)[0]

class LM(nn.Module):
    def __init__(self, vocab=24, d=16):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(d, 2, 32, 0.0, batch_first=True, norm_first=True) for _ in range(2)])
        self.norm = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
    def forward(self, embeds, mask):
        t = embeds.shape[1]
        causal = torch.full((t, t), float("-inf")).triu(1)
        for l in self.layers:
            embeds = l(embeds, src_mask=causal, src_key_padding_mask=torch.zeros(mask.shape).masked_fill(~mask, float("-inf")))
        return self.lm_head(self.norm(embeds))

class Llava(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision, self.lm = Vision(16), LM()
        self.newline = nn.Parameter(torch.randn(16) * 0.1)

    def merge(self, input_ids, attention_mask, images: List[torch.Tensor], labels=None):
        feats = [torch.cat([self.vision(i), self.newline[None]]) for i in images]
        out, out_labels = [], []
        cur = 0
        for b, ids in enumerate(input_ids):
            ids = ids[attention_mask[b]]
            lab = labels[b][attention_mask[b]] if labels is not None else torch.full_like(ids, IGNORE_INDEX)
            n_img = (ids == IMAGE).sum()
            if n_img == 0:
                out.append(self.lm.embed_tokens(ids))
                out_labels.append(lab)
                continue
            where = [-1] + torch.where(ids == IMAGE)[0].tolist() + [ids.shape[0]]
            parts, labs = [], []
            for i in range(len(where) - 1):
                seg = ids[where[i] + 1 : where[i + 1]]
                parts.append(self.lm.embed_tokens(seg))
                labs.append(lab[where[i] + 1 : where[i + 1]])
                if i < n_img:
                    if cur >= len(feats):
                        raise ValueError(f"{int((input_ids == IMAGE).sum())} image tokens for {len(feats)} images")
                    f = feats[cur]
                    cur += 1
                    parts.append(f)
                    labs.append(torch.full((f.shape[0],), IGNORE_INDEX, dtype=lab.dtype))
            out.append(torch.cat(parts))
            out_labels.append(torch.cat(labs))
        longest = max(x.shape[0] for x in out)
        emb = torch.zeros(len(out), longest, 16)
        lab = torch.full((len(out), longest), IGNORE_INDEX)
        mask = torch.zeros(len(out), longest, dtype=torch.bool)
        for b, (x, l) in enumerate(zip(out, out_labels)):
            n = x.shape[0]
            emb[b, :n], lab[b, :n], mask[b, :n] = x, l, True
        return emb, lab, mask

    def forward(self, input_ids, attention_mask, images: List[torch.Tensor], labels: Optional[torch.Tensor] = None, max_new: int = 3):
        emb, lab, mask = self.merge(input_ids, attention_mask, images, labels)
        logits = self.lm(emb, mask)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), lab[:, 1:].reshape(-1), ignore_index=IGNORE_INDEX)
        generated = []
        if labels is None and emb.shape[0] == 1:
            while len(generated) < max_new:
                nxt = logits[0, -1].argmax()
                generated.append(nxt.item())
                if nxt == 0:
                    break
                emb = torch.cat([emb, self.lm.embed_tokens(nxt[None, None])], 1)
                mask = F.pad(mask, (0, 1), value=True)
                logits = self.lm(emb, mask)
        return logits[:, -1], loss, generated, mask.sum(-1).tolist()

def make_model():
    torch.manual_seed(3)
    return Llava().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    im = lambda h, w: torch.randn(3, h, w, generator=g)
    t = torch.tensor
    ones = lambda x: torch.ones_like(x, dtype=torch.bool)
    a = t([[1, 7, 5, 9, 2]])
    b = t([[1, 5, 8, 5, 9], [1, 4, 3, 0, 0]])
    mb = t([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    return [(a, ones(a), [im(8, 8)]), (b, mb, [im(8, 4), im(5, 9)]), (b, mb, [im(4, 4), im(4, 8)], b.clone()), (a, ones(a), [im(6, 4)], None, 6), (b, mb, [im(4, 4)]), (t([[3, 4]]), ones(t([[3, 4]])), [])]
