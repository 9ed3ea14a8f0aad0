"""NLP: beam search as sequence-to-sequence libraries write it: a config, hypotheses in a heap per sentence."""
import heapq
import itertools
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


@dataclass
class GenerationConfig:
    num_beams: int = 3
    max_length: int = 10
    length_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    early_stopping: bool = False
    eos_token_id: int = 1
    bos_token_id: int = 0


class BeamHypotheses:
    """The n best finished sentences of one batch item."""

    def __init__(self, num_beams: int, length_penalty: float, early_stopping: bool):
        self.num_beams = num_beams
        self.length_penalty = length_penalty
        self.early_stopping = early_stopping
        self.beams: List[Tuple[float, int, List[int]]] = []
        self.counter = itertools.count()

    def __len__(self) -> int:
        return len(self.beams)

    @property
    def worst_score(self) -> float:
        return self.beams[0][0] if self.beams else 1e9

    def add(self, tokens: List[int], sum_logprobs: float) -> None:
        score = sum_logprobs / (len(tokens) ** self.length_penalty)
        if len(self) < self.num_beams:
            heapq.heappush(self.beams, (score, next(self.counter), tokens))
        elif score > self.worst_score:
            heapq.heapreplace(self.beams, (score, next(self.counter), tokens))

    def is_done(self, best_sum_logprobs: float, cur_len: int) -> bool:
        if len(self) < self.num_beams:
            return False
        if self.early_stopping:
            return True
        return self.worst_score >= best_sum_logprobs / cur_len ** self.length_penalty


def banned_next_tokens(tokens: List[int], ngram_size: int) -> List[int]:
    if len(tokens) + 1 < ngram_size:
        return []
    generated: Dict[Tuple[int, ...], List[int]] = {}
    for ngram in zip(*[tokens[i:] for i in range(ngram_size)]):
        prefix = tuple(ngram[:-1])
        generated[prefix] = generated.get(prefix, []) + [ngram[-1]]
    last = tuple(tokens[len(tokens) + 1 - ngram_size:])
    return generated.get(last, [])


class Seq2Seq(nn.Module):
    def __init__(self, config: GenerationConfig, vocab_size: int = 12, d_model: int = 16):
        super().__init__()
        self.config = config
        self.shared = nn.Embedding(vocab_size, d_model)
        self.encoder = nn.GRU(d_model, d_model, batch_first=True)
        self.decoder = nn.GRUCell(d_model, d_model)
        self.lm_head = nn.Linear(2 * d_model, vocab_size)

    def encode(self, input_ids: Tensor, attention_mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        out, _ = self.encoder(self.shared(input_ids))
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        lengths = attention_mask.sum(dim=1)
        return out, out[torch.arange(out.size(0)), lengths - 1]

    def step(self, tokens: Tensor, hidden: Tensor, memory: Tensor) -> Tuple[Tensor, Tensor]:
        hidden = self.decoder(self.shared(tokens), hidden)
        weights = torch.softmax(torch.bmm(memory, hidden.unsqueeze(2)).squeeze(2), dim=-1)
        context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
        return torch.log_softmax(self.lm_head(torch.cat([hidden, context], dim=-1)), dim=-1), hidden

    @torch.no_grad()
    def forward(self, input_ids: Tensor, attention_mask: Optional[Tensor] = None, **overrides) -> dict:
        cfg = self.config
        num_beams = overrides.get("num_beams", cfg.num_beams)
        memory, hidden = self.encode(input_ids, attention_mask)
        batch_size = input_ids.shape[0]
        results = []
        for b in range(batch_size):
            hyps = BeamHypotheses(num_beams, cfg.length_penalty, cfg.early_stopping)
            beams = [([cfg.bos_token_id], 0.0)]
            state = hidden[b:b + 1]
            steps = 0
            while True:
                if len(beams[0][0]) >= cfg.max_length:
                    for tokens, score in beams:
                        hyps.add(tokens, score)
                    break
                last = torch.tensor([tokens[-1] for tokens, _ in beams])
                scores, state = self.step(last, state, memory[b:b + 1].expand(len(beams), -1, -1))
                if cfg.no_repeat_ngram_size > 0:
                    for i, (tokens, _) in enumerate(beams):
                        for banned in banned_next_tokens(tokens, cfg.no_repeat_ngram_size):
                            scores[i, banned] = -float("inf")
                total = scores + torch.tensor([[s] for _, s in beams])
                vocab = total.size(1)
                values, indices = total.view(-1).topk(min(2 * num_beams, total.numel()))
                candidates, parents = [], []
                for value, index in zip(values.tolist(), indices.tolist()):
                    parent, token = index // vocab, index % vocab
                    if token == cfg.eos_token_id:
                        hyps.add(beams[parent][0] + [token], value)
                        continue
                    candidates.append((beams[parent][0] + [token], value))
                    parents.append(parent)
                    if len(candidates) == num_beams:
                        break
                steps += 1
                if hyps.is_done(values.max().item(), len(beams[0][0]) + 1):
                    break
                beams = candidates
                state = state[parents]
            best = heapq.nlargest(1, hyps.beams)[0]
            results.append({"tokens": best[2][1:], "score": best[0], "steps": steps, "finished": len(hyps)})
        return {"sequences": [r["tokens"] for r in results], "details": results}


def make_model():
    torch.manual_seed(0)
    model = Seq2Seq(GenerationConfig(no_repeat_ngram_size=2, max_length=9))
    with torch.no_grad():
        model.lm_head.weight.mul_(3.0)
        model.lm_head.bias[1] += 1.5
    return model.eval()


def make_inputs():
    ins = []
    for seed, b, t in [(0, 1, 4), (1, 2, 6), (2, 3, 1), (3, 2, 8)]:
        g = torch.Generator().manual_seed(seed)
        ids = torch.randint(0, 12, (b, t), generator=g)
        mask = None
        if b == 2:
            mask = torch.ones_like(ids)
            mask[1, t // 2:] = 0
        ins.append((ids, mask))
    return ins
