"""Slot attention over video frames: iterates until slots settle, merges duplicate slots, keeps object files between calls."""
import itertools
import torch
import torch.nn as nn
import torch.nn.functional as F

STATEFUL = True


class SlotAttention(nn.Module):
    def __init__(self, num_slots, dim, max_iters=6, tol=0.1, eps=1e-8):
        super().__init__()
        self.num_slots, self.max_iters, self.tol, self.eps = num_slots, max_iters, tol, eps
        self.scale = dim ** -0.5
        self.mu = nn.Parameter(2 * torch.randn(num_slots, dim))
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, dim * 2, bias=False)
        self.gru = nn.GRUCell(dim, dim)
        self.norm_in, self.norm_slots = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.ReLU(inplace=True), nn.Linear(dim, dim))

    def forward(self, inputs, slots=None):
        k, v = self.to_kv(self.norm_in(inputs)).chunk(2, dim=-1)
        slots = self.mu if slots is None else slots
        for it in range(1, self.max_iters + 1):
            prev = slots
            q = self.to_q(self.norm_slots(slots))
            attn = torch.einsum("id,jd->ij", q, k).mul(self.scale).softmax(dim=0) + self.eps
            updates = torch.einsum("jd,ij->id", v, attn / attn.sum(dim=-1, keepdim=True))
            slots = self.gru(updates, prev)
            slots = slots + self.mlp(slots)
            if (slots - prev).norm() / prev.norm() < self.tol:
                break
        return slots, attn, it


class ObjectFile:
    _ids = itertools.count()

    def __init__(self, uid, slot, mass):
        self.uid = uid
        self.slot = slot
        self.history = [mass]
        self.missed = 0

    def update(self, slot, mass, momentum):
        self.slot.mul_(momentum).add_(slot, alpha=1 - momentum)
        self.history.append(mass)
        if len(self.history) > 3:
            del self.history[0]
        self.missed = 0

    @property
    def mean_mass(self):
        return sum(self.history) / len(self.history)

    def __repr__(self):
        return f"<{self.uid}: {self.mean_mass:.2f}, missed {self.missed}>"


class VideoSlots(nn.Module):
    def __init__(self, num_slots=5, dim=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, dim, 3, padding=1), nn.ReLU(), nn.Conv2d(dim, dim, 3, stride=2, padding=1))
        self.slots = SlotAttention(num_slots, dim)
        self.register_buffer("frame", torch.zeros((), dtype=torch.long))
        self.files = []
        self.next_id = 0

    def reset(self):
        self.files.clear()
        self.next_id = 0
        self.frame.zero_()

    @staticmethod
    def merge_duplicates(slots, attn, threshold=0.97):
        groups = []
        sim = F.cosine_similarity(slots[:, None], slots[None], dim=-1)
        taken = set()
        for i in range(len(slots)):
            if i in taken:
                continue
            members = [j for j in range(i, len(slots)) if j not in taken and (j == i or sim[i, j] > threshold)]
            taken.update(members)
            groups.append(members)
        merged = torch.stack([slots[m].mean(0) for m in groups])
        mass = torch.stack([attn[m].sum() for m in groups]) / attn.sum()
        return merged, mass, groups

    def match(self, slots, mass):
        if not self.files:
            pairs, free = [], list(range(len(slots)))
        else:
            cost = torch.cdist(torch.stack([f.slot for f in self.files]), slots)
            pairs, free = [], []
            used_rows, used_cols = set(), set()
            for flat in cost.flatten().argsort().tolist():
                r, c = divmod(flat, len(slots))
                if r in used_rows or c in used_cols or cost[r, c] > 4.0:
                    continue
                used_rows.add(r)
                used_cols.add(c)
                pairs.append((r, c))
            free = [c for c in range(len(slots)) if c not in used_cols]
            for r, f in enumerate(self.files):
                if r not in used_rows:
                    f.missed += 1
        for r, c in pairs:
            self.files[r].update(slots[c], mass[c].item(), 0.7)
        for c in free:
            if mass[c] < 0.05:
                continue
            self.files.append(ObjectFile(self.next_id, slots[c].clone(), mass[c].item()))
            self.next_id += 1
        self.files = [f for f in self.files if f.missed < 2]

    @torch.no_grad()
    def forward(self, frame, cut=False):
        if cut:
            self.reset()
        self.frame += 1
        tokens = self.encoder(frame[None]).flatten(2)[0].t()
        warm = None
        if len(self.files) == self.slots.num_slots:
            warm = torch.stack([f.slot for f in self.files])
        slots, attn, iters = self.slots(tokens, warm)
        merged, mass, groups = self.merge_duplicates(slots, attn)
        self.match(merged, mass)
        order = sorted(self.files, key=lambda f: (-f.mean_mass, f.uid))
        state = torch.stack([f.slot for f in order]) if order else torch.empty(0, slots.shape[-1])
        return state, [f.uid for f in order], iters, groups, self.frame.item(), [repr(f) for f in order]


def make_model():
    torch.manual_seed(2)
    return VideoSlots().eval()


def make_inputs():
    g = torch.Generator().manual_seed(3)
    r = lambda h, w, s: torch.randn(3, h, w, generator=g) * s
    a = r(8, 8, 1.0)
    return [(a,), (a * 1.1,), (r(8, 12, 4.0),), (r(6, 6, 12.0),), (a,), (torch.zeros(3, 4, 4), True), (r(10, 8, 0.3),), (r(8, 8, 30.0), False)]
