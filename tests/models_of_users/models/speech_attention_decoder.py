"""Tacotron-like decoder: location-sensitive attention, always-on prenet dropout off in eval, stop token, reduction factor."""
import torch
from torch import nn
from torch.nn import functional as F

class LSA(nn.Module):
    def __init__(self, q, m, a=12, f=4, k=5):
        super().__init__()
        self.q, self.m = nn.Linear(q, a, bias=False), nn.Linear(m, a, bias=False)
        self.loc_conv, self.loc = nn.Conv1d(2, f, k, padding=(k - 1) // 2, bias=False), nn.Linear(f, a, bias=False)
        self.v = nn.Linear(a, 1)
        self.mask_value = -float("inf")
        self.reset()
    def reset(self):
        self.w = None
        self.cum = None
        self.processed = None
    def start(self, memory):
        b, t, _ = memory.size()
        self.w = memory.new_zeros(b, t)
        self.cum = memory.new_zeros(b, t)
        self.processed = self.m(memory)
    def forward(self, query, memory, mask=None):
        if self.w is None:
            self.start(memory)
        loc = self.loc(self.loc_conv(torch.stack((self.w, self.cum), 1)).transpose(1, 2))
        e = self.v(torch.tanh(self.q(query).unsqueeze(1) + loc + self.processed)).squeeze(-1)
        if mask is not None:
            e.data.masked_fill_(mask, self.mask_value)
        self.w = F.softmax(e, 1)
        self.cum = self.cum + self.w
        return torch.bmm(self.w.unsqueeze(1), memory).squeeze(1), self.w

class Decoder(nn.Module):
    def __init__(self, n_mels=6, enc=10, r=2):
        super().__init__()
        self.n_mels, self.r = n_mels, r
        self.prenet = nn.Sequential(nn.Linear(n_mels, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.5))
        self.rnn1, self.rnn2 = nn.LSTMCell(8 + enc, 12), nn.LSTMCell(12 + enc, 12)
        self.attention = LSA(12, enc)
        self.proj, self.gate = nn.Linear(12 + enc, n_mels * r), nn.Linear(12 + enc, 1)
        self.max_steps, self.threshold = 14, 0.5

    def init_states(self, memory):
        b = memory.shape[0]
        z = lambda: memory.new_zeros(b, 12)
        self.attention.reset()
        return (z(), z()), (z(), z()), memory.new_zeros(b, memory.shape[2])

    def forward(self, memory, lengths=None):
        b, t, _ = memory.shape
        mask = None if lengths is None else ~(torch.arange(t).unsqueeze(0) < lengths.unsqueeze(1))
        s1, s2, ctx = self.init_states(memory)
        frame = memory.new_zeros(b, self.n_mels)
        mels, gates, aligns = [], [], []
        not_done = torch.ones(b, dtype=torch.int32)
        mel_lengths = torch.zeros(b, dtype=torch.int32)
        while True:
            x = self.prenet(frame)
            s1 = self.rnn1(torch.cat((x, ctx), -1), s1)
            ctx, w = self.attention(s1[0], memory, mask)
            s2 = self.rnn2(torch.cat((s1[0], ctx), -1), s2)
            o = torch.cat((s2[0], ctx), -1)
            mel = self.proj(o).view(b, self.r, self.n_mels)
            stop = torch.sigmoid(self.gate(o)).squeeze(1)
            mels += [mel]
            gates += [stop]
            aligns += [w]
            dec = torch.le(stop, self.threshold).to(torch.int32)
            not_done = not_done * dec
            mel_lengths += not_done * self.r
            if torch.sum(not_done) == 0:
                break
            if len(mels) == self.max_steps:
                print("Warning! Reached max decoder steps")
                break
            frame = mel[:, -1]
        mel = torch.cat(mels, 1)
        entropy = -(torch.stack(aligns).clamp_min(1e-8).log() * torch.stack(aligns)).sum(-1).mean()
        return mel.transpose(1, 2), torch.stack(gates, 1), mel_lengths, entropy

def make_model():
    torch.manual_seed(13)
    m = Decoder().eval()
    with torch.no_grad():
        m.gate.weight.mul_(6)
    return m

def make_inputs():
    g = torch.Generator().manual_seed(0)
    return [(torch.randn(b, t, 10, generator=g) * s,) for b, t, s in ((1, 5, 1.0), (2, 7, 2.0), (3, 3, 0.3))] + [(torch.randn(2, 6, 10, generator=g), torch.tensor([6, 2]))]
