"""Voice activity segmentation over a stream: frames -> probabilities -> segments with hysteresis, merging, padding."""
import collections
import enum
import torch
import torch.nn as nn

class State(enum.Enum):
    SILENCE = 0
    SPEECH = 1
    HANGOVER = 2

class Segment:
    def __init__(self, start, end, score):
        self.start, self.end = start, end
        self.score = score

    def __len__(self):
        return self.end - self.start

    def overlaps(self, other, gap=0):
        return self.start <= other.end + gap and other.start <= self.end + gap

    def merged(self, other):
        total = len(self) + len(other)
        s = (self.score * len(self) + other.score * len(other)) / max(total, 1)
        return Segment(min(self.start, other.start), max(self.end, other.end), s)

    def __lt__(self, other):
        return (self.start, self.end) < (other.start, other.end)

class VAD(nn.Module):
    def __init__(self, n_feat=8, hidden=12, on=0.55, off=0.45, hang=2, window=3):
        super().__init__()
        self.gru = nn.GRUCell(n_feat, hidden)
        self.head = nn.Linear(hidden, 1)
        self.on, self.off, self.hang = on, off, hang
        self.window = window
        self.hidden = hidden

    def smooth(self, probs):
        history = collections.deque(maxlen=self.window)
        out = []
        for p in probs:
            history.append(p)
            out.append(sum(history) / len(history))
        return out

    def forward(self, frames, min_len: int = 2, gap: int = 1):
        h = frames.new_zeros(1, self.hidden)
        probs = []
        for frame in frames:
            h = self.gru(frame[None], h)
            probs.append(torch.sigmoid(self.head(h)).item())
        state = State.SILENCE
        start, left = -1, 0
        segments = []
        for i, p in enumerate(self.smooth(probs)):
            if state is State.SILENCE:
                if p > self.on:
                    state, start = State.SPEECH, i
            elif state is State.SPEECH:
                if p < self.off:
                    state, left = State.HANGOVER, self.hang
            else:
                if p > self.on:
                    state = State.SPEECH
                elif left == 0:
                    segments.append(Segment(start, i, max(probs[start:i])))
                    state = State.SILENCE
                else:
                    left -= 1
        if state != State.SILENCE:
            segments.append(Segment(start, len(probs), max(probs[start:])))
        merged = []
        for seg in sorted(segments):
            if merged and merged[-1].overlaps(seg, gap):
                merged[-1] = merged[-1].merged(seg)
            else:
                merged.append(seg)
        kept = [s for s in merged if len(s) >= min_len]
        mask = torch.zeros(len(frames), dtype=torch.bool)
        for s in kept:
            mask[max(0, s.start - 1):s.end + 1] = True
        pooled = [frames[s.start:s.end].mean(0) for s in kept]
        return {
            "segments": [(s.start, s.end) for s in kept],
            "scores": [round(s.score, 4) for s in kept],
            "mask": mask,
            "pooled": torch.stack(pooled) if pooled else frames.new_empty(0, frames.shape[1]),
            "state": state.name,
        }

def make_model():
    torch.manual_seed(4)
    m = VAD().eval()
    with torch.no_grad():
        m.head.weight.mul_(6)
    return m

def make_inputs():
    g = torch.Generator().manual_seed(5)
    out = []
    for n in (30, 12, 1, 50, 0, 25):
        env = torch.sin(torch.arange(n) * 0.5)[:, None] * 2
        out.append((torch.randn(n, 8, generator=g) + env,))
    out.append((out[0][0] * -1, 5, 3))
    out.append((out[3][0] + 1.5, 1, 0))
    return out
