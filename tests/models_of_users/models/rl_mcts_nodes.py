"""RL: Monte Carlo tree search on tic-tac-toe with a policy-value net; nodes know their parent and children."""
from __future__ import annotations

import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn

C_PUCT = 1.4
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class Board:
    def __init__(self, cells: List[int], player: int = 1):
        self.cells = cells
        self.player = player

    def legal(self) -> List[int]:
        return [i for i, c in enumerate(self.cells) if c == 0]

    def play(self, move: int) -> Board:
        if self.cells[move] != 0:
            raise ValueError(f"cell {move} is taken")
        cells = self.cells.copy()
        cells[move] = self.player
        return Board(cells, -self.player)

    @property
    def winner(self) -> int:
        for a, b, c in LINES:
            if self.cells[a] != 0 and self.cells[a] == self.cells[b] == self.cells[c]:
                return self.cells[a]
        return 0

    def is_over(self) -> bool:
        return self.winner != 0 or all(self.cells)

    def encode(self) -> torch.Tensor:
        x = torch.tensor(self.cells, dtype=torch.float32) * self.player
        return torch.stack([(x > 0).float(), (x < 0).float()]).flatten()

    def __str__(self) -> str:
        marks = {1: "x", -1: "o", 0: "."}
        return "".join(marks[c] for c in self.cells)


class TreeNode:
    def __init__(self, parent: Optional[TreeNode], prior: float):
        self._parent = parent
        self._children: Dict[int, TreeNode] = {}
        self._n_visits = 0
        self._Q = 0.0
        self._P = prior

    def expand(self, action_priors: List[Tuple[int, float]]) -> None:
        for action, prob in action_priors:
            if action not in self._children:
                self._children[action] = TreeNode(self, prob)

    def select(self, c_puct: float) -> Tuple[int, TreeNode]:
        return max(self._children.items(), key=lambda act_node: act_node[1].get_value(c_puct))

    def get_value(self, c_puct: float) -> float:
        parent_visits = self._parent._n_visits if self._parent is not None else 1
        u = c_puct * self._P * math.sqrt(parent_visits) / (1 + self._n_visits)
        return self._Q + u

    def update_recursive(self, leaf_value: float) -> None:
        if self._parent:
            self._parent.update_recursive(-leaf_value)
        self._n_visits += 1
        self._Q += 1.0 * (leaf_value - self._Q) / self._n_visits

    def is_leaf(self) -> bool:
        return self._children == {}

    def is_root(self) -> bool:
        return self._parent is None

    def depth(self) -> int:
        if self.is_leaf():
            return 0
        return 1 + max(child.depth() for child in self._children.values())


class PolicyValueNet(nn.Module):
    def __init__(self, hidden: int = 16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(18, hidden), nn.ReLU())
        self.policy = nn.Linear(hidden, 9)
        self.value = nn.Sequential(nn.Linear(hidden, 1), nn.Tanh())

    def policy_value(self, board: Board) -> Tuple[List[Tuple[int, float]], float]:
        h = self.body(board.encode().unsqueeze(0))
        legal = board.legal()
        probs = torch.softmax(self.policy(h)[0][legal], dim=0)
        return list(zip(legal, probs.tolist())), self.value(h).item()

    def playout(self, root: TreeNode, board: Board) -> None:
        node = root
        while True:
            if node.is_leaf():
                break
            action, node = node.select(C_PUCT)
            board = board.play(action)
        if not board.is_over():
            priors, leaf_value = self.policy_value(board)
            node.expand(priors)
        elif board.winner == 0:
            leaf_value = 0.0
        else:
            leaf_value = 1.0 if board.winner == board.player else -1.0
        node.update_recursive(-leaf_value)

    def forward(self, cells: List[int], player: int = 1, n_playout: int = 10, temp: float = 1.0):
        board = Board(cells, player)
        if board.is_over():
            return None, torch.zeros(9), {"board": str(board), "depth": 0}
        root = TreeNode(None, 1.0)
        for _ in range(n_playout):
            self.playout(root, Board(list(cells), player))
        acts, visits = zip(*[(act, node._n_visits) for act, node in root._children.items()])
        logits = torch.log(torch.tensor(visits, dtype=torch.float32) + 1e-10) / temp
        probs = torch.zeros(9)
        probs[list(acts)] = torch.softmax(logits, dim=0)
        best = max(zip(visits, acts))[1]
        return best, probs, {"board": str(board.play(best)), "depth": root.depth()}


def make_model():
    torch.manual_seed(0)
    m = PolicyValueNet()
    with torch.no_grad():
        m.policy.weight.mul_(3)
    return m.eval()


def make_inputs():
    return [
        ([0] * 9,),
        ([1, 1, 0, -1, -1, 0, 0, 0, 0], 1, 12),
        ([1, -1, 1, 1, -1, -1, 0, 1, 0], -1, 8, 0.5),
        ([1, 1, 1, -1, -1, 0, 0, 0, 0],),
        ([1, -1, 1, 1, -1, -1, -1, 1, 0], 1, 4),
    ]
