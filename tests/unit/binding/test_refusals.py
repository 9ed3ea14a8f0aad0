"""What is refused, and how: code, file, line, column, excerpt with caret, what was found, what to do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from like_python import assert_like_python
from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Diagnostic, Refused, SignatureError


def refusal(model: object, *examples: tuple) -> Diagnostic:
    entry = model.__name__ if callable(model) and not isinstance(model, nn.Module) else "forward"
    with pytest.raises(Refused) as caught:
        bind(model, list(examples), entries=[entry])
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_a_diagnostic_shows_the_place_and_a_way_out() -> None:
    def f(x: torch.Tensor) -> object:
        y = x.relu()
        y.backward()
        return y

    d = refusal(f, (torch.randn(2),))
    first = f.__code__.co_firstlineno
    assert (d.code, d.span.file, d.span.line, d.span.column) == ("T2C197", __file__, first + 2, 9)
    lines = d.render().splitlines()
    assert lines[0].startswith(f"{__file__}:{first + 2}:9: error T2C197: tensor.backward")
    assert lines[1].strip() == "y.backward()"
    assert lines[2].strip() == "^" * len("y.backward")
    assert lines[-1].strip().startswith("help: ")


def test_generators_that_call_themselves_are_refused() -> None:
    def numbers(n: int) -> Any:
        if n > 0:
            yield n
            yield from numbers(n - 1)

    def f(n: int) -> list:
        return list(numbers(n))

    assert refusal(f, (3,)).code == "T2C205"


def test_a_yield_that_guards_its_consumer_is_refused() -> None:
    def numbers(n: int) -> Any:
        try:
            yield n
        finally:
            print("done")

    def f(n: int) -> list:
        return list(numbers(n))

    assert refusal(f, (3,)).code == "T2C205"


def test_iterating_a_generator_twice_is_refused() -> None:
    def f(n: int) -> tuple:
        squares = (i * i for i in range(n))
        return sum(squares), list(squares)

    def g(n: int) -> tuple:
        pairs = enumerate(range(n))
        return list(pairs), list(pairs)

    def h(n: int) -> list:
        squares = (i * i for i in range(n))
        return [sum(squares) for _ in range(n)]

    assert {refusal(x, (3,)).code for x in (f, g, h)} == {"T2C206"}


def test_moving_to_another_device_is_refused() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.to("cuda")

    assert refusal(f, (torch.randn(2),)).code == "T2C198"


def test_iteration_over_a_set_is_refused() -> None:
    def f(xs: list) -> list:
        return [x for x in set(xs)]  # noqa: C416

    assert refusal(f, (["a", "b"],), (["c"],)).code == "T2C165"
    assert refusal(f, ([1.5, 2.0],), ([3.0],)).code == "T2C165"


def test_order_of_a_set_that_cannot_be_made_again() -> None:
    def f(n: int) -> list:
        seen = {3, 11, 19, 27, 35, 43}  # collide in the table: the order is another one once the module was saved
        seen.add(n)
        return [n in seen, len(seen), sum(seen)]

    def g(n: int) -> list:
        seen = {3, 11, 19, 27, 35, 43}
        seen.add(n)
        return [x for x in seen]  # noqa: C416

    assert_like_python(f, (1,), (3,))
    assert refusal(g, (1,), (3,)).code == "T2C165"


def test_global_variables_that_change_are_refused() -> None:
    def f(n: int) -> int:
        global COUNT
        COUNT = n
        return n

    assert refusal(f, (1,)).code == "T2C130"


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.lin.register_forward_hook(lambda m, a, out: out * 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin(x)


def test_hooks_are_refused() -> None:
    assert refusal(Hooked().eval(), (torch.randn(1, 2),)).code == "T2C173"


def test_a_fault_inside_torch_is_shown_at_the_users_call() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lin(x)

    d = refusal(Net().eval(), (torch.randn(1, 3),))
    assert d.code == "T2C140"
    assert d.span.file == __file__
    assert "linear" in d.message
    assert "return self.lin(x)" in d.render()


def test_examples_that_do_not_fit_the_parameters() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    with pytest.raises(SignatureError, match="example 1 does not fit"):
        bind(f, [(torch.randn(2), 1), (torch.randn(2),)], entries=["f"])


def test_no_example_at_all() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x

    with pytest.raises(SignatureError, match="at least one example"):
        bind(f, [], entries=["f"])


def test_several_problems_are_reported_together() -> None:
    def f(x: torch.Tensor, n: int) -> object:
        y = x.to("cuda")
        z = y + 1  # follows from the first problem: not reported again
        if n > 1:
            x.backward()
        for v in {str(n), str(n + 1)}:
            z = z + len(v)
        return z

    with pytest.raises(Refused) as caught:
        bind(f, [(torch.randn(2), 1), (torch.randn(2), 3)], entries=["f"])
    first = f.__code__.co_firstlineno
    found = [(d.code, d.span.line - first) for d in caught.value.diagnostics]
    assert found == [("T2C198", 1), ("T2C197", 4), ("T2C165", 5)]
