"""Modern Hopfield layer with a growing pattern store: energy descent until it settles, near duplicates merge, LRU forgetting."""
from collections import OrderedDict
from operator import attrgetter, itemgetter
import torch
from torch import Tensor, nn

STATEFUL = True
ENTRY = "serve"


class Pattern:
    def __init__(self, key: Tensor, label: str, stamp: int):
        self.key, self.label = key, label
        self.stamp = stamp
        self.hits = 0

    def absorb(self, key: Tensor) -> None:
        self.hits += 1
        rate = 1.0 / (self.hits + 1)
        self.key = (1 - rate) * self.key + rate * key

    def __eq__(self, other):
        return isinstance(other, Pattern) and self.label == other.label

    def __hash__(self):
        return hash(self.label)


class Hopfield(nn.Module):
    def __init__(self, dim, beta=4.0, max_steps=8, tol=1e-3):
        super().__init__()
        self.query = nn.Linear(dim, dim, bias=False)
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.beta, self.max_steps, self.tol = beta, max_steps, tol

    def energy(self, state, keys):
        lse = torch.logsumexp(self.beta * keys @ state, dim=0) / self.beta
        return 0.5 * state.dot(state) - lse

    def forward(self, x, keys):
        state = self.norm(self.query(x))
        energies = [self.energy(state, keys)]
        for _ in range(self.max_steps):
            attention = torch.softmax(self.beta * keys @ state, dim=0)
            new = attention @ keys
            energies.append(self.energy(new, keys))
            moved = torch.linalg.vector_norm(new - state)
            state = new
            if moved <= self.tol * state.norm():
                break
            if energies[-1] > energies[-2]:
                raise ArithmeticError(f"energy rose from {energies[-2]:.3f} to {energies[-1]:.3f}")
        return state, attention, torch.stack(energies)


class Memory(nn.Module):
    def __init__(self, dim=10, capacity=4, merge_at=0.95):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, dim), nn.Tanh(), nn.Linear(dim, dim))
        self.hopfield = Hopfield(dim)
        self.capacity, self.merge_at = capacity, merge_at
        self.store = OrderedDict()
        self.clock = 0
        self.stats = {"hit": 0, "miss": 0, "merged": 0, "forgotten": 0}

    @property
    def keys(self) -> Tensor:
        return torch.stack([p.key for p in self.store.values()])

    def write(self, key: Tensor, label: str) -> str:
        key = self.hopfield.norm(key)
        if label in self.store:
            self.store[label].absorb(key)
            self.store.move_to_end(label)
            return "updated"
        if self.store:
            sims = torch.cosine_similarity(self.keys, key[None])
            best = int(sims.argmax())
            if sims[best] > self.merge_at:
                name = list(self.store)[best]
                self.store[name].absorb(key)
                self.stats["merged"] += 1
                return f"merged into {name}"
        forgotten = None
        if len(self.store) >= self.capacity:
            forgotten, _ = self.store.popitem(last=False)
            self.stats["forgotten"] += 1
        self.store[label] = Pattern(key, label, self.clock)
        return "stored" if forgotten is None else f"stored, forgot {forgotten}"

    def read(self, x: Tensor):
        if not self.store:
            self.stats["miss"] += 1
            return None
        state, attention, energies = self.hopfield(x, self.keys)
        weights = list(zip(self.store, attention.tolist()))
        label, w = max(weights, key=itemgetter(1))
        if w < 0.5:
            self.stats["miss"] += 1
            return state, None, len(energies)
        self.stats["hit"] += 1
        self.store[label].stamp = self.clock
        self.store.move_to_end(label)
        return state, label, len(energies)

    @torch.no_grad()
    def serve(self, op: str, x: Tensor, label: str = ""):
        self.clock += 1
        key = self.encoder(x)
        if op == "write":
            if not label:
                raise ValueError("a label is needed to write")
            return self.write(key, label), len(self.store)
        if op == "read":
            return self.read(key), len(self.store)
        if op == "oldest":
            p = min(self.store.values(), key=attrgetter("stamp"))
            return (p.label, p.stamp, p.key), len(self.store)
        if op == "stats":
            return sorted(self.stats.items()), len(self.store)
        raise ValueError("unknown operation '%s'" % op)


def make_model():
    torch.manual_seed(9)
    return Memory().eval()


def make_inputs():
    g = torch.Generator().manual_seed(7)
    r = lambda s=1.0: torch.randn(6, generator=g) * s
    a, b, c, d, e = (r(3.0) for _ in range(5))
    z = torch.zeros(6)
    return [("read", a), ("write", a, "a"), ("write", b, "b"), ("write", a * 1.01, "a2"), ("read", b), ("write", c, "c"), ("write", d, "d"),
            ("oldest", z), ("write", e, "e"), ("read", a), ("read", z), ("write", b, "b"), ("stats", z), ("write", z), ("jump", z), ("oldest", z)]
