"""A batch decoded until every row has ended, with a `DynamicCache` of the caller's own and its length asked for."""

import torch
from torch import nn
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

EOS = 22


class BatchGreedy(nn.Module):
    def __init__(self, limit=10):
        super().__init__()
        self.lm = GPT2LMHeadModel(
            GPT2Config(vocab_size=48, n_positions=64, n_embd=32, n_layer=2, n_head=2, initializer_range=0.4,
                       bos_token_id=EOS, eos_token_id=EOS)
        )
        self.limit = limit

    @torch.no_grad()
    def forward(self, ids):
        cache = DynamicCache(config=self.lm.config)
        done = torch.zeros(ids.shape[0], dtype=torch.bool)
        logits = self.lm(ids, cache=cache, use_cache=True).logits[:, -1]
        for _ in range(self.limit):
            token = logits.argmax(-1)
            token = torch.where(done, EOS, token)
            ids = torch.cat([ids, token[:, None]], dim=1)
            done = done | (token == EOS)
            if bool(done.all()):
                break
            logits = self.lm(token[:, None], cache=cache, use_cache=True).logits[:, -1]
        return ids, cache.get_seq_length()


def make_model():
    torch.manual_seed(0)
    return BatchGreedy().eval()


def make_inputs():
    torch.manual_seed(1)
    ends = torch.tensor([[8, 31, 25]])
    return [(ends,), *((torch.randint(0, 48, (b, n)),) for b, n in ((1, 3), (2, 1), (3, 5), (1, 8)))]
