"""Learned lossless compression: an autoregressive model drives an integer arithmetic coder; decode checks itself."""
from typing import Iterator, List, NamedTuple, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

PRECISION = 16
FULL = 1 << PRECISION
HALF, QUARTER = FULL >> 1, FULL >> 2


class Span(NamedTuple):
    low: int
    high: int

    def width(self) -> int:
        return self.high - self.low + 1


class BitWriter:
    def __init__(self):
        self.bits: List[int] = []
        self.pending = 0

    def put(self, bit: int) -> None:
        self.bits.append(bit)
        self.bits.extend([1 - bit] * self.pending)
        self.pending = 0

    def __len__(self):
        return len(self.bits)


class BitReader:
    def __init__(self, bits: List[int]):
        self._it: Iterator[int] = iter(bits)

    def get(self) -> int:
        return next(self._it, 0)


def cumulative(probs: torch.Tensor) -> List[int]:
    freq = (probs * (QUARTER - probs.numel() - 1)).long() + 1
    return [0] + torch.cumsum(freq, 0).tolist()


def narrow(span: Span, cdf: List[int], symbol: int) -> Span:
    total, width = cdf[-1], span.width()
    return Span(span.low + width * cdf[symbol] // total, span.low + width * cdf[symbol + 1] // total - 1)


class Codec(nn.Module):
    def __init__(self, alphabet=7, hidden=12, context=2):
        super().__init__()
        self.alphabet, self.context = alphabet, context
        self.embed = nn.Embedding(alphabet + 1, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.head = nn.Linear(hidden, alphabet)

    def predict(self, state, last):
        state = self.cell(self.embed(last).unsqueeze(0), state)
        return state, F.softmax(self.head(state).squeeze(0), dim=-1)

    def encode(self, symbols: torch.Tensor) -> BitWriter:
        out, span = BitWriter(), Span(0, FULL - 1)
        state = torch.zeros(1, self.cell.hidden_size)
        last = torch.tensor(self.alphabet)
        for s in symbols:
            state, probs = self.predict(state, last)
            span = narrow(span, cumulative(probs), s.item())
            while True:
                if span.high < HALF:
                    out.put(0)
                elif span.low >= HALF:
                    out.put(1)
                    span = Span(span.low - HALF, span.high - HALF)
                elif QUARTER <= span.low and span.high < 3 * QUARTER:
                    out.pending += 1
                    span = Span(span.low - QUARTER, span.high - QUARTER)
                else:
                    break
                span = Span(span.low * 2, span.high * 2 + 1)
            last = s
        out.pending += 1
        out.put(0 if span.low < QUARTER else 1)
        return out

    def decode(self, bits: List[int], count: int) -> Tuple[torch.Tensor, int]:
        reader = BitReader(bits)
        span, code, used = Span(0, FULL - 1), 0, PRECISION
        for _ in range(PRECISION):
            code = code << 1 | reader.get()
        state, last = torch.zeros(1, self.cell.hidden_size), torch.tensor(self.alphabet)
        out = torch.full((count,), -1, dtype=torch.long)
        for i in range(count):
            state, probs = self.predict(state, last)
            cdf = cumulative(probs)
            target = ((code - span.low + 1) * cdf[-1] - 1) // span.width()
            symbol = next(k for k, edge in enumerate(cdf[1:]) if target < edge)
            out[i] = symbol
            span = narrow(span, cdf, symbol)
            while not (span.low < HALF <= span.high and not (QUARTER <= span.low and span.high < 3 * QUARTER)):
                if span.high < HALF:
                    shift = 0
                elif span.low >= HALF:
                    shift = HALF
                else:
                    shift = QUARTER
                span = Span((span.low - shift) * 2, (span.high - shift) * 2 + 1)
                code = (code - shift) << 1 | reader.get()
                used += 1
            last = out[i].clone()
        return out, used

    def forward(self, symbols: torch.Tensor, corrupt: int = -1):
        if symbols.dim() != 1:
            raise ValueError(f"expected a 1-D message, got shape {tuple(symbols.shape)}")
        writer = self.encode(symbols)
        bits = list(writer.bits)
        if 0 <= corrupt < len(bits):
            bits[corrupt] ^= 1
        decoded, used = self.decode(bits, symbols.numel())
        wrong = (decoded != symbols).nonzero().flatten()
        first = int(wrong[0]) if len(wrong) else None
        text = "".join(map(str, bits[:24])) + ("..." if len(bits) > 24 else "")
        return decoded, len(writer), first, f"{text} ({len(bits) / max(len(symbols), 1):.2f} bits per symbol)", used


def make_model():
    torch.manual_seed(5)
    return Codec().eval()


def make_inputs():
    g = torch.Generator().manual_seed(2)
    make = lambda n: torch.randint(0, 7, (n,), generator=g)
    return [(make(12),), (make(0),), (make(30), 10), (make(1),), (make(20), 3), (torch.zeros(2, 3, dtype=torch.long),), (make(8), 500)]
