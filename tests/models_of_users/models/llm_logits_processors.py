"""LLM serving: requests as dicts, a list of logits processors built from sampling parameters, stop sequences."""
import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Dict, List, Optional, Type

import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger(__name__)

PROCESSORS: Dict[str, Type["LogitsProcessor"]] = {}


def register(name):
    def wrap(cls):
        PROCESSORS[name] = cls
        return cls
    return wrap


class LogitsProcessor(ABC):
    @abstractmethod
    def __call__(self, ids: List[int], logits: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


@register("temperature")
class Temperature(LogitsProcessor):
    def __init__(self, value):
        if not value > 0:
            raise ValueError(f"temperature must be positive, not {value!r}")
        self.value = value

    def __call__(self, ids, logits):
        return logits / self.value


@register("repetition_penalty")
class RepetitionPenalty(LogitsProcessor):
    def __init__(self, value, window=8):
        self.value = value
        self.window = window

    def __call__(self, ids, logits):
        recent = torch.tensor(ids[-self.window:], dtype=torch.long)
        score = torch.gather(logits, 0, recent)
        score = torch.where(score < 0, score * self.value, score / self.value)
        return logits.scatter(0, recent, score)


@register("top_k")
class TopK(LogitsProcessor):
    def __init__(self, value):
        self.k = int(value)

    def __call__(self, ids, logits):
        k = min(self.k, logits.size(-1))
        kth = torch.topk(logits, k)[0][..., -1, None]
        return logits.masked_fill(logits < kth, float("-inf"))


@register("top_p")
class TopP(LogitsProcessor):
    def __init__(self, value, min_keep=1):
        self.p, self.min_keep = value, min_keep

    def __call__(self, ids, logits):
        ordered, index = torch.sort(logits, descending=False)
        cumulative = ordered.softmax(dim=-1).cumsum(dim=-1)
        remove = cumulative <= (1 - self.p)
        remove[..., -self.min_keep:] = False
        return logits.masked_fill(torch.zeros_like(remove).scatter(0, index, remove), -float("inf"))


@register("min_new_tokens")
class MinNewTokens(LogitsProcessor):
    def __init__(self, value, prompt_len=0, eos=0):
        self.at_least = prompt_len + value
        self.eos = eos

    def __call__(self, ids, logits):
        if len(ids) < self.at_least:
            logits[self.eos] = -float("inf")
        return logits


@dataclass
class Request:
    prompt: List[int]
    params: dict = field(default_factory=dict)
    stop: Optional[List[List[int]]] = None
    max_tokens: int = 8

    def processors(self) -> List[LogitsProcessor]:
        out = []
        for name, value in self.params.items():
            if name not in PROCESSORS:
                logger.warning("unknown sampling parameter %s", name)
                continue
            extra = {"prompt_len": len(self.prompt)} if name == "min_new_tokens" else {}
            out.append(PROCESSORS[name](value, **extra))
        return out


def matches_stop(ids: List[int], stop: Optional[List[List[int]]]) -> bool:
    return stop is not None and any(ids[-len(s):] == s for s in stop)


class TinyLM(nn.Module):
    def __init__(self, vocab=20, dim=16, act: Callable = partial(F.gelu, approximate="tanh")):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(2 * dim, dim)
        self.act = act
        self.head = nn.Linear(dim, vocab)

    def next_logits(self, ids, past=None):
        h = past if past is not None else torch.zeros(self.mix.out_features)
        start = 0 if past is None else len(ids) - 1
        for i in ids[start:]:
            h = self.act(self.mix(torch.cat([self.wte.weight[i], h])))
        return self.head(h), h

    @staticmethod
    def draw(logits, u):
        cdf = logits.softmax(-1).cumsum(-1)
        return int((cdf < u).sum().clamp(max=logits.numel() - 1))

    def generate_one(self, request: Request, uniforms):
        chain = request.processors()
        ids = list(request.prompt)
        past, reason = None, "length"
        for step in range(request.max_tokens):
            logits, past = self.next_logits(ids, past)
            for proc in chain:
                logits = proc(ids, logits)
            greedy = not any(isinstance(p, Temperature) for p in chain)
            token = int(logits.argmax()) if greedy else self.draw(logits, uniforms[step])
            ids.append(token)
            if token == 0:
                reason = "eos"
                break
            if matches_stop(ids[len(request.prompt):], request.stop):
                reason = "stop"
                break
        return {"token_ids": ids[len(request.prompt):], "finish_reason": reason, "hidden": past}

    def forward(self, requests: List[dict], uniforms: torch.Tensor):
        outputs = []
        for i, r in enumerate(requests):
            try:
                outputs.append(self.generate_one(Request(**r), uniforms[i]))
            except ValueError as e:
                outputs.append({"token_ids": [], "finish_reason": f"error: {e}", "hidden": None})
        return outputs


def make_model():
    torch.manual_seed(0)
    m = TinyLM()
    with torch.no_grad():
        m.head.weight.mul_(5)
        m.mix.weight.mul_(2)
        m.head.bias[0] += 1.0
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)
    u = lambda n: torch.rand(n, 12, generator=g)
    return [
        ([{"prompt": [1, 2, 3]}], u(1)),
        ([{"prompt": [4], "params": {"temperature": 1.5, "top_p": 0.9}}, {"prompt": [5, 6], "params": {"temperature": 0.8, "top_k": 3, "repetition_penalty": 1.3}, "max_tokens": 12}], u(2)),
        ([{"prompt": [7, 8], "params": {"repetition_penalty": 2.0, "min_new_tokens": 4}, "stop": [[3], [9, 9]]}, {"prompt": [9], "params": {"temperature": 0.0}}], u(2)),
        ([{"prompt": [2], "params": {"mirostat": 2, "temperature": 1.0}, "stop": [[i] for i in range(10, 20)]}], u(1)),
        ([], u(0)),
    ]
