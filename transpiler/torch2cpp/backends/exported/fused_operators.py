"""ATen's fused attention operators as the operations they stand for, for exporters that know only those.

Modules of torch.nn take them in evaluation mode; a mask makes them another thing, and they stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional as F

aten = torch.ops.aten


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    mask: torch.Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """`aten::_native_multi_head_attention` of (batch, steps, embed_dim) on itself, without the weights."""
    if mask is not None or need_weights or not (query is key is value):
        return aten._native_multi_head_attention.default(
            query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, need_weights,
            average_attn_weights, mask_type,
        )  # fmt: skip
    batch, steps, _ = query.shape
    size = embed_dim // num_head
    parts = F.linear(query, qkv_weight, qkv_bias).chunk(3, -1)
    q, k, v = (x.reshape(batch, steps, num_head, size).transpose(1, 2) for x in parts)
    chosen = torch.softmax((q / math.sqrt(size)) @ k.transpose(-2, -1), -1) @ v
    out = F.linear(chosen.transpose(1, 2).reshape(batch, steps, embed_dim), proj_weight, proj_bias)
    return out, query.new_empty(0)


def encoder_layer(
    src: torch.Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: torch.Tensor,
    norm_bias_1: torch.Tensor,
    norm_weight_2: torch.Tensor,
    norm_bias_2: torch.Tensor,
    ffn_weight_1: torch.Tensor,
    ffn_bias_1: torch.Tensor,
    ffn_weight_2: torch.Tensor,
    ffn_bias_2: torch.Tensor,
    mask: torch.Tensor | None = None,
    mask_type: int | None = None,
) -> torch.Tensor:
    """`aten::_transformer_encoder_layer_fwd` of (batch, steps, embed_dim)."""
    if mask is not None:
        out: torch.Tensor = aten._transformer_encoder_layer_fwd.default(
            src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
            norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2,
            mask, mask_type,
        )  # fmt: skip
        return out

    def attend(x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, need_weights=False
        )[0]
        return found

    def feed(x: torch.Tensor) -> torch.Tensor:
        hidden = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else torch.relu(hidden), ffn_weight_2, ffn_bias_2)

    def norm_1(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm_2(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attend(norm_1(src))
        return x + feed(norm_2(x))
    x = norm_1(src + attend(src))
    return norm_2(x + feed(x))


#: Operator -> function of the same arguments.
UNFUSED: Mapping[Any, Callable[..., Any]] = {
    aten._native_multi_head_attention.default: attention,
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
}
