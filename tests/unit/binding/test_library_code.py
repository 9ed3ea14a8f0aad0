"""Library code in a user's loop: taken as a whole, exact for every size, or refused with the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from like_python import assert_like_python
from torch2cpp.binding.entry import bind
from torch2cpp.diagnostics import Refused
from torch2cpp.hostir.interpret import Interpreter

sys.path.append(str(Path(__file__).parent / "site-packages"))

import backbones


def seeded(module: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for p in module.parameters():
        nn.init.normal_(p, std=0.4)
    return module.eval()


BACKBONE = seeded(backbones.MobileBackbone({"block0": "fine", "block2": "coarse"}))
CLASSIFIER = seeded(backbones.Classifier())
DECODER = seeded(backbones.Decoder())
STRICT, GATE, HALVING = backbones.Strict(), backbones.Gate(), backbones.Halving()


def test_a_backbone_in_a_loop_over_data():
    def f(x: torch.Tensor, limit: int) -> tuple[torch.Tensor, int]:
        steps = 0
        while x.shape[-1] > 4 and steps < limit:
            levels = BACKBONE(image=x)
            x = x[..., : x.shape[-1] // 2] + levels["coarse"].mean()
            if levels["fine"].amax() > 40:
                break
            steps += 1
        return x, steps

    torch.manual_seed(1)
    assert_like_python(f, *((torch.randn(n, 3, h, h), 3) for n, h in [(1, 16), (2, 12), (1, 33), (3, 5), (1, 1)]))


def test_every_size_takes_its_own_way():
    def f(x: torch.Tensor) -> torch.Tensor:
        out = CLASSIFIER(image=x)
        return out.logits if out.aux is None else out[0] + out.aux.sum()

    torch.manual_seed(2)
    assert_like_python(f, *((torch.randn(n, 3, h, h),) for n, h in [(1, 16), (2, 16), (1, 25), (3, 32), (1, 24)]))


def test_outputs_of_a_class_of_the_library():
    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int, bool]:
        out = DECODER(x)
        return out.last, out["last"] + out[0], len(out.to_tuple()), out.cache is None

    assert_like_python(f, (torch.randn(1, 3, 8),), (torch.randn(2, 1, 8),), (torch.randn(1, 0, 8),))


def test_a_cache_that_grows():
    def f(x: torch.Tensor, steps: int) -> tuple[torch.Tensor, int]:
        cache = None
        out = x
        for _ in range(steps):
            result = DECODER(x, past=cache, use_cache=True)
            cache = result.cache
            x = result.last[:, -1:]
            out = torch.cat([out, x], dim=1)
        return out, 0 if cache is None else cache.length()

    torch.manual_seed(3)
    assert_like_python(f, *((torch.randn(b, n, 8), s) for b, n, s in [(1, 3, 4), (2, 1, 5), (1, 5, 1), (1, 2, 0)]))


def test_a_cache_made_by_the_user_and_shared_by_two_names():
    def f(x: torch.Tensor, steps: int) -> tuple[torch.Tensor, int, int]:
        cache = backbones.Cache()
        same = cache
        for _ in range(steps):
            x = DECODER(x, cache=cache).last
        return x, same.length(), len(same)

    torch.manual_seed(4)
    assert_like_python(f, (torch.randn(1, 3, 8), 3), (torch.randn(2, 1, 8), 1), (torch.randn(2, 2, 8), 0))


def test_two_caches_are_two():
    def f(x: torch.Tensor, steps: int) -> tuple[torch.Tensor, int, int]:
        a, b = backbones.Cache(), backbones.Cache()
        y = x
        for i in range(steps):
            x = DECODER(x, cache=a).last
            if i % 2 == 0:
                y = DECODER(y[:, :1], cache=b).last
        return x + y.sum(), a.length(), b.length()

    torch.manual_seed(5)
    assert_like_python(f, (torch.randn(1, 3, 8), 3), (torch.randn(2, 1, 8), 1), (torch.randn(2, 2, 8), 0))


def test_an_exception_on_one_way_only():
    def f(x: torch.Tensor) -> torch.Tensor:
        return STRICT(x)

    assert_like_python(f, (torch.ones(3, 2),), (torch.ones(4, 2),), (torch.ones(0, 2),))


def test_a_decision_by_data():
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = GATE(x)
        return x

    assert_like_python(f, (torch.ones(2), 3), (-torch.ones(3), 2), (torch.zeros(1), 0))


class Hooked(nn.Module):
    """Of the user; its lines are not all that happens."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.linear.register_forward_hook(lambda module, args, out: out * 2 if out.shape[0] > 2 else out)

    def forward(self, x):
        class Scale:
            by = 3

        return self.linear(x) * Scale.by


def test_a_module_of_the_user_that_is_refused_line_by_line():
    torch.manual_seed(0)
    hooked = Hooked()

    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = hooked(x)
        return x

    assert_like_python(f, (torch.ones(2, 3), 2), (torch.ones(3, 3), 1), (torch.ones(0, 3), 0))


class Unsupported(nn.Module):
    def forward(self, x):
        class Scale:
            by = 3

        while x.max() < 100:
            x = x * Scale.by
        return x


def test_both_reasons_are_told():
    module = Unsupported()

    def f(x: torch.Tensor) -> torch.Tensor:
        return module(x)

    with pytest.raises(Refused) as caught:
        bind(f, [(torch.ones(2),), (torch.ones(3),)], entries=["f"])
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == "T2C212"
    assert "as a whole" in diagnostic.notes[-1][1]


def test_a_loop_by_data_is_interpreted():
    def f(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        return HALVING(x)

    assert_like_python(f, (torch.ones(2) * 9,), (torch.zeros(3),))


def test_what_changes_its_arguments_is_interpreted():
    module = backbones.Appending()

    def f(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        xs = [x]
        y = module(xs)
        return y, len(xs)

    assert_like_python(f, (torch.ones(2),), (torch.zeros(3),))


@pytest.mark.parametrize("name", ["Jitter", "Timed"])
def test_what_differs_from_run_to_run_is_refused(name):
    module = getattr(backbones, name)()

    def f(x: torch.Tensor) -> torch.Tensor:
        return module(x)

    with pytest.raises(Refused) as caught:
        bind(f, [(torch.ones(2, 2),), (torch.ones(3, 2),)], entries=["f"])
    assert "as a whole" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("name", ["Unrolled", "Baked"])
def test_sizes_are_never_taken_for_constants(name):
    module = getattr(backbones, name)()

    def f(x: torch.Tensor) -> torch.Tensor:
        return module(x)

    try:
        bind(f, [(torch.ones(2, 2),), (torch.ones(3, 2),)], entries=["f"])
    except Refused:
        return
    assert_like_python(f, *((torch.randn(n, 2),) for n in (2, 3, 1, 7)))


class Counter(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


@pytest.mark.parametrize("name", ["Counting", "Global"])
def test_what_is_written_is_state(name):
    """Not taken as a whole, which would freeze the counter; nor does trying change the model."""
    module = Counter(getattr(backbones, name)())
    program = bind(module, [(torch.ones(2, 2),)])
    assert getattr(module.inner, "calls", 0) == backbones.CALLS["count"] == 0
    interpreter = Interpreter(program)
    assert [interpreter.run("forward", (torch.ones(2, 2),))[0, 0].item() for _ in range(3)] == [1.0, 2.0, 3.0]
