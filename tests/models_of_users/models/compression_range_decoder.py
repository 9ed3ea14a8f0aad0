"""Learned image compression: an arithmetic decoder in integers driven by predicted frequency tables, context from decoded symbols."""
import torch
import torch.nn as nn
from typing import List

BITS = 16
FULL, HALF, QUARTER = 1 << BITS, 1 << (BITS - 1), 1 << (BITS - 2)
MASK = FULL - 1

class BitReader:
    def __init__(self, data: List[int]):
        self.data, self.pos = data, 0
    def bit(self) -> int:
        byte, off = divmod(self.pos, 8)
        self.pos += 1
        if byte >= len(self.data):
            return 0
        return (self.data[byte] >> (7 - off)) & 1

class Decoder:
    def __init__(self, reader):
        self.reader = reader
        self.low, self.high, self.code = 0, MASK, 0
        for _ in range(BITS):
            self.code = (self.code << 1) | reader.bit()
    def decode(self, cum: List[int]) -> int:
        total = cum[-1]
        span = self.high - self.low + 1
        value = ((self.code - self.low + 1) * total - 1) // span
        lo, hi = 0, len(cum) - 2
        while lo < hi:
            mid = (lo + hi + 1) >> 1
            if cum[mid] <= value:
                lo = mid
            else:
                hi = mid - 1
        sym = lo
        self.high = self.low + span * cum[sym + 1] // total - 1
        self.low = self.low + span * cum[sym] // total
        while True:
            if self.high < HALF:
                pass
            elif self.low >= HALF:
                self.low -= HALF
                self.high -= HALF
                self.code -= HALF
            elif self.low >= QUARTER and self.high < 3 * QUARTER:
                self.low -= QUARTER
                self.high -= QUARTER
                self.code -= QUARTER
            else:
                break
            self.low = (self.low << 1) & MASK
            self.high = ((self.high << 1) & MASK) | 1
            self.code = ((self.code << 1) & MASK) | self.reader.bit()
        return sym

class Codec(nn.Module):
    def __init__(self, symbols=5):
        super().__init__()
        self.symbols = symbols
        self.ctx = nn.Linear(3, 8)
        self.out = nn.Linear(8, symbols)
        self.synth = nn.ConvTranspose2d(1, 2, 4, 2, 1)

    def table(self, a, b, c):
        x = torch.tensor([a, b, c], dtype=torch.float32) / self.symbols
        p = self.out(torch.relu(self.ctx(x))).softmax(0)
        freq = (p * 1000).floor().long() + 1
        return [0] + freq.cumsum(0).tolist()

    def forward(self, data: List[int], h: int, w: int, limit_bits: int = 400):
        reader = BitReader(data)
        dec = Decoder(reader)
        sym = torch.zeros(h, w, dtype=torch.long)
        counts = [0] * self.symbols
        for i in range(h):
            for j in range(w):
                left = int(sym[i, j - 1]) if j else 0
                up = int(sym[i - 1, j]) if i > 0 else 0
                diag = sym[i - 1, j - 1].item() if i and j else 0
                s = dec.decode(self.table(left, up, diag))
                sym[i, j] = s
                counts[s] += 1
                if reader.pos > limit_bits:
                    raise EOFError(f"stopped at {i},{j} after {reader.pos} bits")
        img = torch.tanh(self.synth((sym.float() - 2)[None, None]))
        return img, sym, counts, reader.pos, dec.low ^ dec.high

def make_model():
    torch.manual_seed(2)
    return Codec().eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    data = lambda n: torch.randint(0, 256, (n,), generator=g).tolist()
    return [(data(12), 3, 4), (data(2), 2, 2), ([], 2, 3), (data(40), 5, 5), (data(40), 6, 6, 60)]
