"""The operators of programs without libtorch, one by one, against PyTorch's, and the C functions over them."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

from slim_cases import views
from slim_differences import ALL_GROUPS, differences
from slim_driver import NUMBERS, Driver, SlimError, build_driver

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return Driver(build_driver(tmp_path_factory.mktemp("slim")))


@pytest.mark.parametrize("group", ALL_GROUPS)
def test_as_eager(driver: Driver, group: str) -> None:
    found = differences(driver, group)
    assert not found, "\n".join(found[:40])


def _results(driver: Driver, name: str, *args: Any, results: int = 1) -> list[torch.Tensor]:
    """Calls a C function whose last arguments are results."""
    made = [ctypes.c_void_p() for _ in range(results)]
    driver.check(getattr(driver.lib, name)(*args, *map(ctypes.byref, made)))
    return [driver.take(each) for each in made]


def test_products_through_c(driver: Driver) -> None:
    torch.manual_seed(0)
    first, second, bias = torch.randn(5, 7), torch.randn(7, 4), torch.randn(4)
    for a in views(first):
        for b in views(second):
            out = torch.full((5, 4), 9.0)
            driver.check(driver.lib.aoti_torch_cpu_mm_out(driver.give(out), driver.give(a), driver.give(b)))
            torch.testing.assert_close(out, torch.mm(a, b))
            given = (driver.give(t) for t in (out, bias, a, b))
            driver.check(driver.lib.aoti_torch_cpu_addmm_out(*given, ctypes.c_double(2), ctypes.c_double(3)))
            torch.testing.assert_close(out, torch.addmm(bias, a, b, beta=2, alpha=3))


@pytest.mark.parametrize("dtype", [*NUMBERS])
def test_copies_convert(driver: Driver, dtype: torch.dtype) -> None:
    source = torch.tensor([[0.0, 1.5, 2.0], [3.25, 100.0, 7.0]])
    for given in (source.to(other) for other in NUMBERS):
        for a in views(given):
            out = torch.zeros(2, 3, dtype=dtype)
            driver.check(driver.lib.aoti_torch_copy_(driver.give(out), driver.give(a), 0))
            assert torch.equal(out, a.to(dtype))


def test_sort_and_nonzero_through_c(driver: Driver) -> None:
    torch.manual_seed(1)
    for t in views(torch.randn(6, 5).relu()):
        found = _results(driver, "aoti_torch_cpu_sort", driver.give(t), ctypes.c_int64(1), 1, results=2)
        want = torch.sort(t, dim=1, descending=True, stable=True)
        assert torch.equal(found[0], want[0]) and torch.equal(found[1], want[1])
        (places,) = _results(driver, "aoti_torch_cpu_nonzero", driver.give(t))
        assert torch.equal(places, t.nonzero()) and places.stride() == t.nonzero().stride()


def test_errors_are_codes(driver: Driver) -> None:
    with pytest.raises(SlimError, match="mat1 and mat2 shapes cannot be multiplied"):
        driver.check(driver.lib.aoti_torch_cpu_mm_out(*(driver.give(torch.zeros(2, 3)) for _ in range(3))))
    with pytest.raises(SlimError, match="selected index k out of range"):
        k, dim = ctypes.c_int64(9), ctypes.c_int64(0)
        _results(driver, "aoti_torch_cpu_topk", driver.give(torch.zeros(3)), k, dim, 1, 1, results=2)
    with pytest.raises(SlimError, match="negative dimension"):
        extents = (ctypes.c_int64 * 1)(-1)
        _results(driver, "aoti_torch_empty_strided", ctypes.c_int64(1), extents, extents, 6, 0, -1)


_ONES = torch.ones(3)
_DRAWS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (torch.ops.aten.dropout.default, (_ONES, 1.5, True)),
    (torch.ops.aten.dropout_.default, (_ONES, 1234567.25, False)),
    (torch.ops.aten.feature_dropout.default, (_ONES, float("nan"), True)),
    (torch.ops.aten.normal_.default, (_ONES, 0.0, -1.25e-7)),
    (torch.ops.aten.normal.Tensor_Tensor, (_ONES, -_ONES)),
    (torch.ops.aten.normal.float_Tensor, (0.5, -_ONES)),
    (torch.ops.aten.uniform_.default, (_ONES, 1.5, 0.1)),
    (torch.ops.aten.exponential_.default, (_ONES, -2.0)),
    (torch.ops.aten.bernoulli_.float, (_ONES, -0.25)),
    (torch.ops.aten.randint.low, (5, 3, [2])),
    (torch.ops.aten.randperm.default, (-2,)),
)


@pytest.mark.parametrize(("overload", "args"), _DRAWS, ids=[str(overload) for overload, _ in _DRAWS])
def test_errors_of_draws_have_eagers_text(driver: Driver, overload: Any, args: tuple[Any, ...]) -> None:
    with pytest.raises(RuntimeError) as want:
        overload(*args)
    with pytest.raises(SlimError) as got:
        driver.call(overload, *args)
    assert str(got.value) == str(want.value).splitlines()[0]
