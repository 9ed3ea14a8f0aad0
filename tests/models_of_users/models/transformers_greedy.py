"""Greedy decoding around a small GPT-2 of `transformers`, everything computed again for each token."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

EOS = 22


class Greedy(nn.Module):
    def __init__(self, limit=12):
        super().__init__()
        self.lm = GPT2LMHeadModel(
            GPT2Config(vocab_size=48, n_positions=64, n_embd=32, n_layer=2, n_head=2, initializer_range=0.4,
                       bos_token_id=EOS, eos_token_id=EOS)
        )
        self.limit = limit

    @torch.no_grad()
    def forward(self, ids):
        for _ in range(self.limit):
            logits = self.lm(ids).logits[:, -1]
            token = logits.argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, token], dim=1)
            if token.item() == EOS:
                break
        return ids


def make_model():
    torch.manual_seed(0)
    return Greedy().eval()


def make_inputs():
    torch.manual_seed(1)
    return [(torch.randint(0, 48, (1, n)),) for n in (1, 2, 3, 5, 8, 13)]
