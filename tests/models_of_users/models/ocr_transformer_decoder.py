"""Image-to-text with nn.TransformerDecoder, greedy and with early stop, square subsequent masks, padding masks, MHA weights."""
import math
import torch
import torch.nn as nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        pos = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe.unsqueeze(0))
    def forward(self, x):
        return x + self.pe[:, : x.size(1)]

class OCR(nn.Module):
    BOS, EOS, PAD = 0, 1, 2
    def __init__(self, vocab=12, d=16, max_len=12):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, d, 3, 2, 1))
        self.pos = PositionalEncoding(d)
        self.embed = nn.Embedding(vocab, d, padding_idx=self.PAD)
        layer = nn.TransformerDecoderLayer(d_model=d, nhead=4, dim_feedforward=32, batch_first=True, norm_first=True, activation="gelu")
        self.decoder = nn.TransformerDecoder(layer, num_layers=2, norm=nn.LayerNorm(d))
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.out = nn.Linear(d, vocab)
        self.max_len = max_len
        self.d = d

    def encode(self, img):
        f = self.backbone(img)
        b, c, h, w = f.shape
        return self.pos(f.flatten(2).permute(0, 2, 1))

    def forward(self, img, max_len=None):
        memory = self.encode(img)
        b = img.size(0)
        ys = torch.full((b, 1), self.BOS, dtype=torch.long, device=img.device)
        finished = torch.zeros(b, dtype=torch.bool)
        scores = torch.zeros(b)
        limit = self.max_len if max_len is None else min(max_len, self.max_len)
        while ys.shape[1] < limit and not bool(finished.all()):
            mask = nn.Transformer.generate_square_subsequent_mask(ys.size(1))
            tgt = self.pos(self.embed(ys) * math.sqrt(self.d))
            h = self.decoder(tgt, memory, tgt_mask=mask, tgt_key_padding_mask=(ys == self.PAD).float().masked_fill(ys == self.PAD, float("-inf")))
            logp = self.out(h[:, -1, :]).log_softmax(-1)
            best, nxt = logp.max(dim=-1)
            nxt = torch.where(finished, torch.tensor(self.PAD), nxt)
            scores = scores + torch.where(finished, torch.zeros_like(best), best)
            ys = torch.cat((ys, nxt.unsqueeze(1)), dim=1)
            finished |= nxt.eq(self.EOS)
        q = self.embed(ys[:, -1:])
        ctx, weights = self.attn(q, memory, memory, need_weights=True)
        lengths = (ys != self.PAD).sum(1)
        texts = []
        for row, n in zip(ys.tolist(), lengths.tolist()):
            texts.append("".join(chr(ord("a") + t - 3) if t > 2 else "" for t in row[1:n]))
        return texts, scores / lengths, weights.squeeze(1)

def make_model():
    torch.manual_seed(11)
    m = OCR().eval()
    with torch.no_grad():
        m.out.bias[1] += 0.3
        m.out.weight.mul_(2)
    return m

def make_inputs():
    g = torch.Generator().manual_seed(0)
    return [(torch.randn(b, 1, 16, w, generator=g),) for b, w in ((1, 16), (3, 24), (2, 16))] + [(torch.randn(2, 1, 16, 32, generator=g), 4)]
