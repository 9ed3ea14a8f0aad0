"""Inductor's text, cut down: kernels local, bounded in threads, without paths of this machine."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.backends.aotinductor.generate import generate
from torch2cpp.backends.aotinductor.rewrite import RegionCode, raises_in_parallel, rewrite
from torch2cpp.backends.exported.export import NotExportable, export
from torch2cpp.backends.protocol import Target


def _code(module: nn.Module, args: tuple[torch.Tensor, ...], threads: int = 2) -> tuple[str, RegionCode]:
    region, weights = region_of(module, args, [[0]] * len(args))
    wrapper = generate(export(region, weights, args), "fast", threads, Target()).wrapper
    return wrapper, rewrite(wrapper, threads)


class Reduce(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(300))

    def forward(self, x: torch.Tensor) -> Any:
        return torch.tanh(x * self.scale).sum()


def test_kernels_are_local_and_bounded() -> None:
    _, code = _code(Reduce(), (torch.randn(1000, 300),))
    assert 'extern "C"' not in code.kernels
    assert "static void cpp_fused" in code.kernels
    assert "num_threads(std::min(2, omp_get_max_threads()))" in code.kernels
    assert "#pragma omp parallel\n" not in code.kernels
    assert code.constants == (0,)


def test_no_machine_paths_and_no_environment_checks() -> None:
    _, code = _code(Reduce(), (torch.randn(8, 300),))
    text = code.kernels + code.run
    assert "g++" not in text
    assert "/tmp" not in text
    assert "AOTI_RUNTIME_CHECK_INPUTS" not in text
    assert "_check_aoti_runtime_check_inputs_env" not in text


def test_results_of_operators_keep_their_stride_checks() -> None:
    class Convolve(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(2, 3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.conv(x)) + 1

    _, code = _code(Convolve(), (torch.randn(2, 2, 8, 8),))
    assert "{ assert_size_stride(buf" in code.run


def test_integer_division_is_noticed() -> None:
    class Divide(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x // y) + 1

    _, code = _code(Divide(), (torch.arange(8), torch.arange(1, 9)))
    assert code.divides
    assert "integer_div_error" in code.kernels
    _, code = _code(Reduce(), (torch.randn(8, 300),))
    assert not code.divides
    assert "integer_div_error" not in code.kernels


def test_a_kernel_that_may_raise_is_not_parallel() -> None:
    class Lookup(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(1000, 256)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.table(x)) * 2

    args = (torch.randint(0, 1000, (64, 64)),)
    assert raises_in_parallel(_code(Lookup(), args)[0])
    assert not raises_in_parallel(_code(Lookup(), args, threads=1)[0])


def test_an_operator_outside_of_the_c_abi_is_named() -> None:
    class Count(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.bincount(x, minlength=5).float().tanh()

    with pytest.raises(NotExportable, match=r"no entry for aten\.bincount") as caught:
        _code(Count(), (torch.randint(0, 5, (7,)),))
    assert caught.value.operators == {"aten.bincount"}


def test_recurrent_layers_of_onednn_are_for_programs_that_have_them() -> None:
    layer, x = nn.LSTM(6, 4), torch.randn(1, 2, 6)
    region, weights = region_of(layer, (x,))
    wrapper = generate(export(region, weights, (x,)), "fast", 1, Target()).wrapper
    assert rewrite(wrapper, 1).onednn
    with pytest.raises(NotExportable, match="shim_cpu"):
        rewrite(wrapper, 1, onednn=False)
    _, plain = _code(Reduce(), (torch.randn(1000, 300),))
    assert not plain.onednn
