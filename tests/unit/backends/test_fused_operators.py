"""Attention operators taken apart give what the fused ones give."""

from __future__ import annotations

import pytest
import torch

from torch2cpp.backends.exported.fused_operators import attention, encoder_layer

aten = torch.ops.aten


def weights(dim: int) -> list[torch.Tensor]:
    """Of the projections of an attention."""
    torch.manual_seed(0)
    return [torch.randn(3 * dim, dim) / 4, torch.randn(3 * dim), torch.randn(dim, dim) / 4, torch.randn(dim)]


@pytest.mark.parametrize("steps", [1, 7])
def test_attention(steps: int) -> None:
    x = torch.randn(2, steps, 8)
    with torch.no_grad():
        want = aten._native_multi_head_attention.default(x, x, x, 8, 2, *weights(8), None, False)[0]
        torch.testing.assert_close(attention(x, x, x, 8, 2, *weights(8), None, False)[0], want)


@pytest.mark.parametrize("use_gelu", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(use_gelu: bool, norm_first: bool) -> None:
    x = torch.randn(2, 5, 8)
    norms = [torch.rand(8) + 0.5, torch.randn(8), torch.rand(8) + 0.5, torch.randn(8)]
    feed = [torch.randn(16, 8) / 4, torch.randn(16), torch.randn(8, 16) / 4, torch.randn(8)]
    args = (x, 8, 2, *weights(8), use_gelu, norm_first, 1e-5, *norms, *feed)
    with torch.no_grad():
        torch.testing.assert_close(encoder_layer(*args), aten._transformer_encoder_layer_fwd.default(*args))


def test_masks_stay_with_the_fused_operator() -> None:
    x, mask = torch.randn(2, 3, 8), torch.tensor([[False, False, True]] * 2)
    with torch.no_grad():
        got = attention(x, x, x, 8, 2, *weights(8), mask, False, True, 1)[0]
        want = aten._native_multi_head_attention.default(x, x, x, 8, 2, *weights(8), mask, False, True, 1)[0]
    assert torch.equal(got, want)
