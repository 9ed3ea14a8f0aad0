"""LLM serving: speculative decoding; a small draft model proposes, the large one verifies in one pass."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(t, 3, self.heads, d // self.heads).permute(1, 2, 0, 3)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(0, 1).reshape(t, d))
        return x + self.ff(self.n2(x))


class LM(nn.Module):
    def __init__(self, vocab, dim, layers, heads=2, max_len=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(max_len, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(len(ids), device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Speculative(nn.Module):
    def __init__(self, vocab=12, eos=0, gamma=3):
        super().__init__()
        self.large, self.small = LM(vocab, 32, 2), LM(vocab, 32, 1)
        self.eos, self.gamma = eos, gamma

    def forward(self, prompt, max_new_tokens=12):
        ids = prompt
        calls, accepted_total = 0, 0
        done = False
        while not done and ids.shape[0] - prompt.shape[0] < max_new_tokens:
            draft = ids
            for _ in range(self.gamma):
                nxt = self.small(draft)[-1].argmax().unsqueeze(0)
                draft = torch.cat([draft, nxt])
            logits = self.large(draft)
            calls += 1
            targets = logits[ids.shape[0] - 1 :].argmax(-1)
            proposed = draft[ids.shape[0] :]
            agree = (targets[:-1] == proposed).long()
            n = int(agree.cumprod(0).sum())
            accepted_total += n
            ids = torch.cat([ids, proposed[:n], targets[n : n + 1]])
            new = ids[prompt.shape[0] :]
            if (new == self.eos).any():
                first = (new == self.eos).nonzero()[0, 0]
                ids = ids[: prompt.shape[0] + first + 1]
                done = True
        rate = accepted_total / (calls * self.gamma) if calls else 0.0
        return ids[: prompt.shape[0] + max_new_tokens], {"calls": calls, "rate": rate, "finished": done}


def make_model():
    torch.manual_seed(0)
    m = Speculative()
    with torch.no_grad():
        m.large.pos.weight.mul_(2)
        m.large.head.bias[0] += 1.0
        m.small.load_state_dict({k: v for k, v in m.large.state_dict().items() if k in m.small.state_dict()})
    return m.eval()


def make_inputs():
    ins = []
    for seed, n, extra in [(0, 4, ()), (1, 1, ()), (2, 9, (5,)), (3, 6, (0,)), (4, 3, (20,)), (5, 7, ()), (6, 5, ())]:
        g = torch.Generator().manual_seed(seed)
        ins.append((torch.randint(1, 12, (n,), generator=g), *extra))
    return ins
