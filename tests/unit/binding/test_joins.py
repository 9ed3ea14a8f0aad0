"""Joins, widening and loop fixed points: what several paths and iterations leave in one variable."""

from __future__ import annotations

import torch
from torch import nn

from like_python import assert_like_python

T = torch.tensor


def test_tensor_that_grows_by_cat_in_a_loop() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        seq = x
        for _ in range(n):
            seq = torch.cat([seq, seq[-1:] * 0.5])
        return seq

    assert_like_python(f, (torch.randn(2, 3), 0), (torch.randn(4, 3), 3), (torch.randn(1, 3), 7))


def test_none_that_becomes_a_tensor() -> None:
    def f(x: torch.Tensor, n: int) -> object:
        best = None
        for i in range(n):
            row = x[i]
            if best is None or row.sum() > best.sum():
                best = row
        return best

    x = T([[1.0, 2.0], [5.0, -1.0], [0.0, 0.5]])
    assert_like_python(f, (x, 0), (x, 1), (x, 3))


def test_int_that_changes_per_iteration() -> None:
    def f(x: torch.Tensor) -> object:
        step = 1
        total = 0
        while total < x.shape[0]:
            total += step
            step *= 2
        return total, step, x[: min(total, x.shape[0])]

    assert_like_python(f, (torch.randn(0),), (torch.randn(1),), (torch.randn(9),))


def test_branches_that_leave_different_sizes() -> None:
    def f(x: torch.Tensor, wide: bool) -> object:
        y = torch.cat([x, x], dim=1) if wide else x[:, :1]
        return y, y.shape[1], y.sum(1)

    assert_like_python(f, (torch.randn(2, 4), True), (torch.randn(3, 4), False), (torch.randn(0, 4), True))


def test_branch_that_returns_early() -> None:
    def f(x: torch.Tensor, limit: float) -> object:
        for i in range(x.shape[0]):
            if x[i].item() > limit:
                return i, x[i]
        return -1, x.mean()

    assert_like_python(f, (T([0.0, 2.0, 3.0]), 1.0), (T([0.0]), 1.0), (T([5.0, 1.0]), 1.0))


def test_break_and_continue_in_nested_loops() -> None:
    def f(x: torch.Tensor) -> object:
        picked = []
        rows = 0
        for i in range(x.shape[0]):
            if x[i, 0] < 0:
                continue
            for j in range(x.shape[1]):
                if x[i, j] == 0:
                    continue
                if x[i, j] > 2:
                    break
                picked.append((i, j))
            else:
                rows += 1
            if len(picked) > 3:
                break
        return picked, rows

    assert_like_python(
        f,
        (T([[1.0, 0.0, 1.0], [-1.0, 1.0, 1.0], [1.0, 3.0, 1.0]]),),
        (T([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),),
        (torch.zeros(0, 3),),
    )


def test_condition_of_a_tensor_an_int_and_short_circuit_operators() -> None:
    def f(x: torch.Tensor, n: int) -> str:
        if (x.sum() > 0 and n > 2) or (n != 0 and 10 // n > x.shape[0]):
            return "both"
        return "neither"

    assert_like_python(f, (T([1.0]), 3), (T([-1.0]), 0), (T([-1.0, 0.0]), 1), (T([-1.0] * 9), 5))


def test_values_of_unlike_kinds_in_one_variable() -> None:
    def f(x: torch.Tensor, kind: int) -> object:
        value = x if kind == 0 else x.sum().item() if kind == 1 else x[None] if kind == 2 else x > 0
        return value * 2

    x = T([1.0, -2.0])
    assert_like_python(f, (x, 0), (x, 1), (x, 2), (x, 3))


def test_number_that_becomes_a_tensor_in_a_loop() -> None:
    def f(x: torch.Tensor, tol: float) -> object:
        gap, rounds = float("inf"), 0
        while gap > tol and rounds < 20:
            new = x * 0.5
            gap = (new - x).abs().max()
            x = new
            rounds += 1
        return x, rounds

    assert_like_python(f, (T([1.0, 4.0]), 0.1), (T([0.0]), 0.1), (T([9.0]), 100.0))


def test_name_that_is_not_assigned_on_every_path() -> None:
    def f(n: int) -> object:
        for i in range(n):
            last = i * 2
        return last

    assert_like_python(f, (3,), (0,))


def test_sizes_zero_and_one_whatever_the_examples_had() -> None:
    def f(x: torch.Tensor) -> object:
        n, m = x.shape
        return x.reshape(m, n), x.sum(0), n, x[: n // 2], torch.arange(n) * m

    assert_like_python(f, (torch.randn(2, 3),), (torch.randn(7, 5),), (torch.randn(0, 4),), (torch.randn(1, 1),))


class Recurrent(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        made = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}[kind]
        self.rnn = made(3, 4, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rnn(x)[0]


def test_recurrent_modules_over_a_varying_length() -> None:
    for kind in ("gru", "lstm", "rnn"):
        torch.manual_seed(0)
        model = Recurrent(kind).eval()
        inputs = [(torch.randn(b, t, 3),) for b, t in ((1, 7), (2, 9), (3, 1))]
        _assert_model_like_python(model, inputs, more=[(torch.randn(2, 4, 3),), (torch.randn(1, 23, 3),)])


def _assert_model_like_python(model: nn.Module, examples: list, more: list) -> None:
    from torch2cpp.binding.entry import bind
    from torch2cpp.hostir.interpret import Interpreter
    from torch2cpp.passes.order import run_passes

    program = run_passes(bind(model, examples))
    for args in (*examples, *more):
        with torch.no_grad():
            want = model(*args)
        assert torch.equal(Interpreter(program).run("forward", args), want)


def test_a_list_argument_that_shares_a_variable_with_a_wider_list() -> None:
    def f(k: int, xs: list[int], flag: bool, n: int) -> object:
        m = k if k > 0 else None
        ys = xs
        if flag:
            xs = [1, m]
        for _ in range(n):
            xs.append(None)
        return xs, xs == ys, len(ys)

    assert_like_python(f, (1, [1, 2], True, 0), (2, [3], False, 2), (-1, [], False, 0), (0, [4], True, 1))


def test_a_container_of_an_iteration_is_handed_out_where_it_goes_on_early() -> None:
    def f(x: torch.Tensor, k: int, limit: float) -> object:
        kept: object = None
        for i in range(2):
            kept = {3: x, i: x * 2}
            if limit > 3:
                break
            elif limit > 2:
                n = [1]
            else:
                n = (x > limit).long().tolist()
                if limit < 1:
                    continue
                elif limit < 1.5:
                    n[0] += k
        return kept

    x = torch.tensor([0.5, 2.0])
    assert_like_python(f, (x, 2, 4.0), (x, 2, 2.5), (x, 2, 0.5), (x, 2, 1.25), (x, 2, 1.75))
