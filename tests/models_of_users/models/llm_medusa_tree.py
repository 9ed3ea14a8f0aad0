"""Medusa heads: several future tokens are proposed as a tree, one pass verifies all, the longest accepted path is kept."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def generate_medusa_buffers(choices):
    """Tree mask, positions and retrieval paths of a static tree, given as a list of paths."""
    sorted_choices = sorted(choices, key=lambda c: (len(c), c))
    n = len(sorted_choices) + 1
    mask = torch.eye(n, n, dtype=torch.bool)
    mask[:, 0] = True
    index_of = {tuple(c): i + 1 for i, c in enumerate(sorted_choices)}
    depth = [0] * n
    for i, c in enumerate(sorted_choices):
        depth[i + 1] = len(c)
        for k in range(1, len(c)):
            mask[i + 1, index_of[tuple(c[:k])]] = True
    leaves = [c for c in sorted_choices if not any(o[: len(c)] == c and len(o) > len(c) for o in sorted_choices)]
    longest = max(len(c) for c in leaves)
    paths = []
    for c in leaves:
        p = [0] + [index_of[tuple(c[: k + 1])] for k in range(len(c))]
        paths.append(p + [-1] * (longest + 1 - len(p)))
    return {
        "mask": mask,
        "depth": torch.tensor(depth),
        "paths": torch.tensor(paths),
        "slots": [(len(c) - 1, c[-1]) for c in sorted_choices],
    }


class ResBlock(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.linear = nn.Linear(hidden, hidden)
        self.act = nn.SiLU()

    def forward(self, x):
        return x + self.act(self.linear(x))


class TinyLM(nn.Module):
    def __init__(self, vocab, d, heads, max_len):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(max_len, d)
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.norm = nn.LayerNorm(d)

    def forward(self, ids, positions, mask, past=None):
        x = self.tok(ids) + self.pos(positions)
        t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(t, 3, self.heads, d // self.heads).permute(1, 2, 0, 3)
        if past is not None:
            k = torch.cat([past[0], k], dim=1)
            v = torch.cat([past[1], v], dim=1)
        att = (q @ k.transpose(-1, -2)) / (d // self.heads) ** 0.5
        att = att.masked_fill(~mask, float("-inf")).softmax(-1)
        x = x + self.out((att @ v).transpose(0, 1).reshape(t, d))
        return x + self.mlp(x), (k, v)


class MedusaModel(nn.Module):
    def __init__(self, vocab=12, d=16, heads=2, num_heads=2, max_len=96, eos=0, choices=None):
        super().__init__()
        self.base = TinyLM(vocab, d, heads, max_len)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.medusa_head = nn.ModuleList(nn.Sequential(ResBlock(d), nn.Linear(d, vocab, bias=False)) for _ in range(num_heads))
        self.eos = eos
        self.choices = choices or [[0], [1], [0, 0], [0, 1], [1, 0]]
        for name, value in generate_medusa_buffers(self.choices).items():
            if isinstance(value, torch.Tensor):
                self.register_buffer("tree_" + name, value, persistent=False)
            else:
                setattr(self, "tree_" + name, value)
        self.max_len = max_len

    def candidates(self, hidden, root):
        tops = [head(hidden).topk(2).indices for head in self.medusa_head]
        return torch.stack([root] + [tops[level][rank] for level, rank in self.tree_slots])

    def evaluate_posterior(self, tree_tokens, logits, temperature, threshold):
        paths = self.tree_paths
        safe = paths.clamp(min=0)
        cand = tree_tokens[safe]
        if temperature == 0:
            match = (logits.argmax(-1)[safe][:, :-1] == cand[:, 1:]) & (paths[:, 1:] >= 0)
        else:
            probs = F.softmax(logits / temperature, dim=-1)[safe][:, :-1]
            picked = probs.gather(-1, cand[:, 1:].unsqueeze(-1)).squeeze(-1)
            entropy = -(probs * torch.log(probs + 1e-5)).sum(-1)
            match = (picked > torch.minimum(torch.full_like(entropy, threshold), torch.exp(-entropy) * 0.9)) & (paths[:, 1:] >= 0)
        lengths = torch.cumprod(match.int(), dim=1).sum(1)
        best = lengths.argmax()
        return int(best), lengths[best].item()

    @torch.inference_mode()
    def forward(self, input_ids, max_new_tokens: int = 12, temperature: float = 0.0, threshold: float = 0.15):
        n = input_ids.shape[0]
        if n + max_new_tokens + len(self.choices) + 1 > self.max_len:
            raise ValueError(f"prompt of {n} and {max_new_tokens} new tokens do not fit into {self.max_len}")
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        hidden, past = self.base(input_ids, torch.arange(n), causal)
        last = hidden[-1]
        tokens = input_ids.tolist()
        accepted_lengths = []
        root = self.lm_head(last).argmax()
        while len(tokens) - n < max_new_tokens:
            length = past[0].size(1)
            tree = self.candidates(last, root)
            mask = torch.cat([torch.ones(len(tree), length, dtype=torch.bool), self.tree_mask], dim=1)
            hidden, (k, v) = self.base(tree, self.tree_depth + length, mask, past)
            logits = self.lm_head(hidden)
            best, accept = self.evaluate_posterior(tree, logits, temperature, threshold)
            path = self.tree_paths[best, : accept + 1]
            keep = torch.cat([torch.arange(length), path + length])
            past = (k.index_select(1, keep), v.index_select(1, keep))
            new = tree[path].tolist()
            accepted_lengths.append(accept)
            if self.eos in new:
                tokens.extend(new[: new.index(self.eos) + 1])
                break
            tokens.extend(new)
            last = hidden[path[-1]]
            root = logits[path[-1]].argmax()
        else:
            return tokens[: n + max_new_tokens], accepted_lengths, False
        return tokens, accepted_lengths, True


def make_model():
    torch.manual_seed(5)
    return MedusaModel().eval()


def make_inputs():
    g = torch.Generator().manual_seed(2)
    p = lambda n: torch.randint(1, 12, (n,), generator=g)
    return [(p(3),), (p(5), 8), (p(1), 20), (p(7), 9, 0.7), (p(2), 30, 1.3, 0.05), (p(90), 12), (p(4), 0)]
