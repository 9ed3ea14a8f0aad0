"""LLM serving: continuous batching over a paged key-value cache; requests wait, run, are preempted, and finish."""
from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass, field
from typing import Deque, Dict, Iterable, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn


class SequenceStatus(enum.Enum):
    WAITING = enum.auto()
    RUNNING = enum.auto()
    FINISHED_STOPPED = enum.auto()
    FINISHED_LENGTH = enum.auto()

    @staticmethod
    def is_finished(status: SequenceStatus) -> bool:
        return status in [SequenceStatus.FINISHED_STOPPED, SequenceStatus.FINISHED_LENGTH]


class OutOfBlocks(RuntimeError):
    """No free cache block is left."""


class BlockAllocator:
    def __init__(self, num_blocks: int):
        self.free: List[int] = list(range(num_blocks))
        self.num_blocks = num_blocks

    def allocate(self) -> int:
        if not self.free:
            raise OutOfBlocks(f"all {self.num_blocks} blocks are in use")
        return self.free.pop(0)

    def release(self, blocks: Iterable[int]) -> None:
        for b in blocks:
            self.free.append(b)
        self.free.sort()

    def get_num_free_blocks(self) -> int:
        return len(self.free)


@dataclass
class Sequence:
    seq_id: int
    tokens: List[int]
    prompt_len: int
    max_new: int
    block_table: List[int] = field(default_factory=list)
    num_cached: int = 0
    status: SequenceStatus = SequenceStatus.WAITING
    preemptions: int = 0

    @property
    def num_new(self) -> int:
        return len(self.tokens) - self.prompt_len


class Scheduler:
    def __init__(self, block_size: int, num_blocks: int, max_running: int):
        self.block_size = block_size
        self.allocator = BlockAllocator(num_blocks)
        self.max_running = max_running
        self.waiting: Deque[Sequence] = deque()
        self.running: List[Sequence] = []

    def add(self, seq: Sequence) -> None:
        self.waiting.append(seq)

    def blocks_needed(self, seq: Sequence) -> int:
        total = (len(seq.tokens) + self.block_size - 1) // self.block_size
        return total - len(seq.block_table)

    def grow(self, seq: Sequence) -> None:
        for _ in range(self.blocks_needed(seq)):
            seq.block_table.append(self.allocator.allocate())

    def preempt(self, seq: Sequence) -> None:
        self.allocator.release(seq.block_table)
        seq.block_table = []
        seq.num_cached = 0
        seq.preemptions += 1
        seq.status = SequenceStatus.WAITING
        self.waiting.appendleft(seq)

    def schedule(self) -> List[Sequence]:
        scheduled: List[Sequence] = []
        queue = sorted(self.running, key=lambda s: s.seq_id)
        self.running = []
        while queue:
            seq = queue.pop(0)
            try:
                self.grow(seq)
            except OutOfBlocks:
                victim = queue.pop() if queue else seq
                self.preempt(victim)
                if victim is not seq:
                    queue.insert(0, seq)
                continue
            scheduled.append(seq)
        while self.waiting and len(scheduled) < self.max_running:
            seq = self.waiting[0]
            if self.blocks_needed(seq) > self.allocator.get_num_free_blocks():
                break
            self.waiting.popleft()
            self.grow(seq)
            seq.status = SequenceStatus.RUNNING
            scheduled.append(seq)
        self.running = scheduled
        return scheduled

    def finish(self, seq: Sequence, status: SequenceStatus) -> None:
        seq.status = status
        self.allocator.release(seq.block_table)
        seq.block_table = []
        self.running.remove(seq)


class PagedLM(nn.Module):
    def __init__(self, vocab=18, dim=12, block_size=4, num_blocks=6, eos=1):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, vocab)
        self.block_size, self.num_blocks, self.eos = block_size, num_blocks, eos

    def slots(self, seq: Sequence, start: int, end: int) -> torch.Tensor:
        return torch.tensor(
            [seq.block_table[p // self.block_size] * self.block_size + p % self.block_size for p in range(start, end)],
            dtype=torch.long,
        )

    def run(self, seq: Sequence, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        start, end = seq.num_cached, len(seq.tokens)
        x = self.embed(torch.tensor(seq.tokens[start:end]))
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        where = self.slots(seq, start, end)
        keys.index_copy_(0, where, k)
        values.index_copy_(0, where, v)
        seq.num_cached = end
        all_slots = self.slots(seq, 0, end)
        scores = q @ keys[all_slots].T / q.shape[-1] ** 0.5
        if end - start > 1:
            mask = torch.ones(end - start, end, dtype=torch.bool).tril(diagonal=start)
            scores = scores.masked_fill(~mask, float("-inf"))
        out = x + self.proj(F.softmax(scores, dim=-1) @ values[all_slots])
        return self.head(out[-1])

    def forward(self, prompts: List[List[int]], max_new: int = 5, max_running: int = 2, max_steps: int = 60):
        total = self.num_blocks * self.block_size
        keys, values = torch.zeros(total, self.embed.embedding_dim), torch.zeros(total, self.embed.embedding_dim)
        sched = Scheduler(self.block_size, self.num_blocks, max_running)
        done: Dict[int, Tuple[List[int], str, int]] = {}
        for i, p in enumerate(prompts):
            assert len(p) > 0, "empty prompt"
            sched.add(Sequence(i, list(p), len(p), max_new))
        steps, occupancy = 0, []
        while (sched.waiting or sched.running) and steps < max_steps:
            steps += 1
            batch = sched.schedule()
            if not batch:
                raise OutOfBlocks("a prompt is larger than the cache")
            for seq in list(batch):
                token = int(self.run(seq, keys, values).argmax())
                seq.tokens.append(token)
                if token == self.eos:
                    sched.finish(seq, SequenceStatus.FINISHED_STOPPED)
                elif seq.num_new >= seq.max_new:
                    sched.finish(seq, SequenceStatus.FINISHED_LENGTH)
                if SequenceStatus.is_finished(seq.status):
                    done[seq.seq_id] = (seq.tokens[seq.prompt_len:], seq.status.name.lower(), seq.preemptions)
            occupancy.append(self.num_blocks - sched.allocator.get_num_free_blocks())
        outputs = [done.get(i) for i in range(len(prompts))]
        return outputs, steps, occupancy


def make_model():
    torch.manual_seed(3)
    m = PagedLM()
    with torch.no_grad():
        m.head.weight.mul_(4)
        m.head.bias[1] += 0.5
    return m.eval()


def make_inputs():
    g = torch.Generator().manual_seed(1)
    p = lambda *ns: [torch.randint(2, 18, (n,), generator=g).tolist() for n in ns]
    return [(p(3),), (p(5, 2, 7), 6), (p(9, 10, 4, 2), 7, 3), ([],), (p(30),), (p(4, 4), 8, 4, 3), ([[]],)]
