"""A small Llama of `transformers`: grouped keys, rotary positions, its cache carried by the caller's loop."""

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

EOS = 18


class LlamaGreedy(nn.Module):
    def __init__(self, limit=6):
        super().__init__()
        self.lm = LlamaForCausalLM(
            LlamaConfig(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                        initializer_range=0.3, bos_token_id=1, eos_token_id=EOS, pad_token_id=0)
        )
        self.limit = limit

    @torch.no_grad()
    def forward(self, ids):
        cache, new, steps = None, ids, 0
        while steps < self.limit:
            out = self.lm(new, cache=cache, use_cache=True)
            cache = out.cache
            new = out.logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, new], 1)
            steps += 1
            if new.item() == EOS:
                break
        return ids, steps


def make_model():
    torch.manual_seed(0)
    return LlamaGreedy().eval()


def make_inputs():
    torch.manual_seed(1)
    return [(torch.randint(0, 40, (1, n)),) for n in (1, 3, 5, 8)]
