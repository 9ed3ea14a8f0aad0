"""AlphaZero style self-play move on tic-tac-toe: the game inside the model, PUCT search over nodes, virtual temperature."""
from __future__ import annotations

import copy
import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class Game:
    def __init__(self, board: List[int], player: int = 1):
        self.board = list(board)
        self.player = player

    def legal(self) -> List[int]:
        return [i for i, v in enumerate(self.board) if v == 0]

    def play(self, a: int) -> "Game":
        if self.board[a] != 0:
            raise ValueError("illegal move %d" % a)
        g = copy.copy(self)
        g.board = self.board[:]
        g.board[a] = self.player
        g.player = -self.player
        return g

    def winner(self) -> Optional[int]:
        for a, b, c in LINES:
            s = self.board[a] + self.board[b] + self.board[c]
            if abs(s) == 3:
                return s // 3
        return 0 if all(self.board) else None

    def planes(self) -> torch.Tensor:
        b = torch.tensor(self.board, dtype=torch.float32).view(3, 3) * self.player
        return torch.stack([(b == 1).float(), (b == -1).float(), torch.full((3, 3), float(self.player))])

    def __str__(self):
        return "/".join("".join(".XO"[v] for v in self.board[r:r + 3]) for r in (0, 3, 6))


class Node:
    __slots__ = ("prior", "visits", "total", "children", "game")

    def __init__(self, prior: float, game: Optional[Game] = None):
        self.prior = prior
        self.visits = 0
        self.total = 0.0
        self.children: Dict[int, Node] = {}
        self.game = game

    @property
    def value(self) -> float:
        return self.total / self.visits if self.visits else 0.0

    def expanded(self) -> bool:
        return bool(self.children)

    def select(self, c: float) -> Tuple[int, Node]:
        total = math.sqrt(max(1, self.visits))
        return max(self.children.items(), key=lambda kv: -kv[1].value + c * kv[1].prior * total / (1 + kv[1].visits))


class PVNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.pi = nn.Linear(ch * 9, 9)
        self.v = nn.Linear(ch * 9, 1)

    def forward(self, x):
        h = self.body(x).flatten(1)
        return self.pi(h), torch.tanh(self.v(h)).squeeze(-1)


class AlphaZero(nn.Module):
    def __init__(self, sims=16, c=1.4):
        super().__init__()
        self.net = PVNet()
        self.sims, self.c = sims, c

    def expand(self, node: Node) -> float:
        logits, v = self.net(node.game.planes().unsqueeze(0))
        legal = node.game.legal()
        mask = torch.zeros(9, dtype=torch.bool)
        mask[legal] = True
        p = F.softmax(logits[0].masked_fill(~mask, -1e9), -1)
        for a in legal:
            node.children[a] = Node(p[a].item())
        return v.item()

    def simulate(self, root: Node):
        node, path = root, [root]
        while node.expanded():
            action, child = node.select(self.c)
            if child.game is None:
                child.game = node.game.play(action)
            node = child
            path.append(node)
        w = node.game.winner()
        if w is None:
            value = self.expand(node)
        else:
            value = float(w * node.game.player)
        for n in reversed(path):
            n.visits += 1
            n.total += value
            value = -value

    def forward(self, board: List[int], player: int, temperature: float = 0.0):
        game = Game(board, player)
        if (w := game.winner()) is not None:
            return str(game), None, {0: "draw", 1: "X", -1: "O"}[w]
        root = Node(1.0, game)
        for _ in range(self.sims):
            self.simulate(root)
        visits = torch.zeros(9)
        for a, ch in root.children.items():
            visits[a] = ch.visits
        if temperature == 0:
            best = int(visits.argmax())
            policy = F.one_hot(torch.tensor(best), 9).float()
        else:
            policy = visits ** (1 / temperature)
            policy = policy / policy.sum()
            best = max(range(9), key=lambda i: (policy[i].item(), -i))
        after = game.play(best)
        return str(after), policy, {"value": root.value, "visits": {a: c.visits for a, c in root.children.items()}}


def make_model():
    torch.manual_seed(9)
    return AlphaZero().eval()


def make_inputs():
    return [([0] * 9, 1), ([1, -1, 0, 0, 1, 0, -1, 0, 0], 1, 1.0), ([1, 1, 1, -1, -1, 0, 0, 0, 0], -1), ([1, -1, 1, 1, -1, -1, -1, 1, 1], -1), ([1, -1, 1, 1, -1, -1, -1, 1, 0], 1, 0.5), ([-1, -1, -1, 1, 1, 0, 0, 0, 0], 1)]
