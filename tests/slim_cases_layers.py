"""More calls of operators that programs without libtorch have: sequences, sums by subscripts, images, training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from slim_cases import Case, aten, views


def subscripts() -> Iterator[Case]:
    """Einsum."""
    torch.manual_seed(6)
    a, b, c = torch.randn(3, 4), torch.randn(4, 5), torch.randn(2, 3, 4)
    for equation, tensors in (
        ("ij,jk->ik", (a, b)),
        ("ij,jk", (a, b)),
        ("ji,kj->ik", (a.t(), b.t())),
        ("bij,jk->bik", (c, b)),
        ("bij,bij->b", (c, c)),
        ("bij,bij->", (c, c + 1)),
        ("bij->jb", (c,)),
        ("ii->i", (a[:, :3],)),
        ("ii", (a[:, :3],)),
        ("iji->j", (torch.randn(3, 2, 3),)),
        ("...ij,jk->...ik", (c, b)),
        ("...ij,...ij->...i", (c, a)),
        ("i,j->ij", (a[0], b[0])),
        ("bij,jk,kl->bil", (c, b, torch.randn(5, 6))),
        ("ij,ij,ij->j", (a, a, a)),
        ("i j , j k -> k i", (a, b)),
        ("ij,jk->ik", (a[:0], b)),
        ("ij,jk->ik", (a[:, :0], b[:0])),
        ("bhid,bhjd->bhij", (torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5))),
    ):
        yield aten.einsum.default, (equation, list(tensors)), {}
    yield aten.einsum.default, ("ij,jk->ik", [a, a]), {}
    yield aten.einsum.default, ("ijk,jk->ik", [a, b]), {}


def sequences() -> Iterator[Case]:
    """Packed sequences, recurrent layers over them, places in sorted rows, bags of embeddings."""
    torch.manual_seed(7)
    steps = torch.randn(6, 3, 4)
    for lengths in ((6, 4, 1), (3, 3, 3), (5, 5, 2), (2, 3, 1), (4, 2, 0), (7, 1, 1)):
        yield aten._pack_padded_sequence.default, (steps, torch.tensor(lengths), False), {}
    batch = steps.transpose(0, 1)
    data, counts = torch._VF._pack_padded_sequence(batch, torch.tensor([5, 4, 1]), True)
    yield aten._pack_padded_sequence.default, (batch, torch.tensor([5, 4, 1]), True), {}
    for total in (-1, 7, 2):
        yield aten._pad_packed_sequence.default, (data, counts, True, -1.0, total), {}
    for layers, two in ((1, False), (2, True)):
        for name, gates in (("gru", 9), ("lstm", 12), ("rnn_tanh", 3), ("rnn_relu", 3)):
            sides = 2 if two else 1
            params: list[torch.Tensor] = []
            for layer in range(layers):
                for _ in range(sides):
                    width = 4 if layer == 0 else 3 * sides
                    params += [torch.randn(gates, width), torch.randn(gates, 3), torch.randn(gates), torch.randn(gates)]
            hidden = torch.randn(layers * sides, 3, 3)
            state: Any = [hidden, hidden * 2] if name == "lstm" else hidden
            rest = (params, True, layers, 0.0, False, two)
            yield getattr(aten, name).data, (data, counts, state, *rest), {}
            yield getattr(aten, name).input, (steps, state, *rest, False), {}
            yield getattr(aten, name).input, (batch, state, *rest, True), {}
    for rows in (
        torch.tensor([[1.0, 3.0, 3.0, 7.0], [0.0, 2.0, 4.0, 6.0]]),
        torch.tensor([[1, 3, 3, 7], [0, 2, 4, 6]]),
    ):
        values = torch.tensor([[3.0, 0.5, 8.0], [4.0, -1.0, 5.0]])
        for extra in ({}, {"right": True}, {"side": "right"}, {"out_int32": True}, {"side": "left", "right": True}):
            yield aten.searchsorted.Tensor, (rows, values), extra
        yield aten.searchsorted.Tensor, (rows[0], values), {}
        yield aten.searchsorted.Scalar, (rows[0], 3), {}
        yield aten.searchsorted.Tensor, (rows.flip(1), values), {"sorter": torch.tensor([[3, 2, 1, 0]] * 2)}
        yield aten.bucketize.Tensor, (values, rows[1]), {"right": True}
    table, which = torch.randn(7, 3), torch.tensor([1, 2, 4, 5, 4, 3, 2, 0])
    for offsets in (torch.tensor([0, 3, 3, 6]), torch.tensor([0])):
        for mode in (0, 1, 2):
            for left_out in (-1, 4):
                bags = (table, which, offsets, False, mode, False, None, False, left_out)
                yield aten.embedding_bag.padding_idx, bags, {}
        bags = (table, which, offsets, False, 0, False, torch.rand(8), False, -1)
        yield aten.embedding_bag.padding_idx, bags, {}


def long_lines() -> Iterator[Case]:
    """Convolutions of images whose lines fill vectors, and of channels on their own."""
    torch.manual_seed(9)
    windows = (([1], [1]), ([2], [1]), ([1, 2], [0, 4]), ([3, 1], [2, 1], [2, 3]), ([1, 3], [2, 2], [1, 2]))
    for width in (14, 16, 33, 61):
        image = torch.randn(2, 12, 19, width)
        for rest in windows:
            for out, groups, kernel in ((9, 1, (3, 3)), (16, 4, (3, 2)), (12, 2, (1, 5)), (24, 12, (3, 3))):
                weight = torch.randn(out, 12 // groups, *kernel)
                more = (*rest, [1])[:3]
                yield aten.conv2d.default, (image, weight, torch.randn(out), *more, groups), {}
                yield aten.conv2d.default, (image[:, :, ::2], weight, None, *more, groups), {}
    deep = torch.randn(1, 70, 18, 32)
    yield aten.conv2d.default, (deep, torch.randn(17, 70, 3, 3) / 25, torch.randn(17), [1], [1]), {}
    yield aten.conv2d.default, (deep.double(), torch.randn(17, 70, 3, 3).double(), None, [1], [1]), {}
    small = torch.randn(3, 5, 2, 1)
    yield aten.conv2d.default, (small, torch.randn(5, 1, 3, 3), torch.randn(5), [1], [1], [1], 5), {}
    yield aten.conv2d.default, (small, torch.randn(5, 1, 1, 1), None, [2], [3], [1], 5), {}
    line = torch.randn(2, 6, 80)
    yield aten.conv1d.default, (line, torch.randn(9, 6, 5), torch.randn(9), [2], [3], [2]), {}
    yield aten.conv1d.default, (line, torch.randn(6, 1, 7), torch.randn(6), [1], [3], [1], 6), {}
    yield aten.conv2d.default, (deep[:0], torch.randn(4, 70, 3, 3)), {}


def images() -> Iterator[Case]:
    """Convolutions of three dimensions, other sizes, attention with heads."""
    torch.manual_seed(8)
    block = torch.randn(2, 4, 5, 6, 7)
    yield aten.conv3d.default, (block, torch.randn(6, 4, 3, 2, 3), torch.randn(6), [2, 1, 1], [1, 0, 1], [1, 2, 1]), {}
    yield aten.conv3d.default, (block, torch.randn(4, 1, 3, 3, 3), None, [1], [1], [1], 4), {}
    yield aten.conv3d.default, (block[0], torch.randn(6, 4, 1, 1, 1)), {}
    turned = torch.randn(4, 3, 2, 3, 2)
    yield aten.convolution.default, (block, turned, None, [2] * 3, [0, 1, 0], [1] * 3, True, [1, 0, 1], 1), {}
    last = torch.channels_last
    wide = torch.randn(2, 6, 25, 24).to(memory_format=last)
    for channels, kernel, rest in ((6, 3, ([1], [1])), (6, 1, ()), (6, 1, ([2],)), (6, 2, ([2, 1], [1, 0], [1, 2]))):
        weight = torch.randn(9, channels, kernel, kernel).to(memory_format=last)
        yield aten.conv2d.default, (wide, weight, torch.randn(9), *rest), {}
        yield aten.conv2d.default, (wide.double(), weight.double(), None, *rest), {}
        yield aten.conv2d.default, (wide.bfloat16(), weight.bfloat16(), None, *rest), {}
    for repeat in (1, 2):
        weight = torch.randn(6 * repeat, 1, 3, 3).to(memory_format=last)
        yield aten.conv2d.default, (wide, weight, torch.randn(6 * repeat), [2, 1], [1, 0], [1, 2], 6), {}
    yield aten.conv2d.default, (wide, torch.randn(4, 3, 3, 3), None, [1], [0], [1], 2), {}
    yield aten.conv2d.default, (wide[:0], torch.randn(4, 6, 3, 3)), {}
    image, line = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6)
    for sizes, scales in (([9, 3], None), (None, [2.0, 1.5]), (None, [0.6, 0.5])):
        yield aten.upsample_nearest2d.vec, (image, sizes, scales), {}
        for corners in (True, False):
            yield aten.upsample_bilinear2d.vec, (image, sizes, corners, scales), {}
            yield aten.upsample_bicubic2d.vec, (image, sizes, corners, scales), {}
            yield aten.upsample_linear1d.vec, (line, sizes and sizes[:1], corners, scales and scales[:1]), {}
        yield aten.upsample_nearest1d.vec, (line, sizes and sizes[:1], scales and scales[:1]), {}
    q, w = torch.randn(2, 5, 8), (torch.randn(24, 8), torch.randn(24), torch.randn(8, 8), torch.randn(8))
    whole = (8, 2, *w)
    yield aten._native_multi_head_attention.default, (q, q, q, *whole), {}
    yield aten._native_multi_head_attention.default, (q, q, q, *whole), {"average_attn_weights": False}
    causal, padding = torch.ones(5, 5).triu(1) > 0, torch.tensor([[False] * 5, [False, False, False, True, True]])
    for mask, kind in ((causal, 0), (padding, 1), (causal.expand(2, 2, 5, 5), 2)):
        yield aten._native_multi_head_attention.default, (q, q, q, *whole, mask, True, True, kind), {}
    hidden = torch.rand(2, 1, 1, 33) > 0.3
    hidden[1] = False
    for rank in (3, 4):
        wide_q, wide_k = torch.randn(2, 3, 7, 8)[:, : 3 if rank == 4 else 1], torch.randn(2, 3, 33, 8)
        if rank == 3:
            wide_q, wide_k = wide_q[:, 0], wide_k[:, 0]
        added = torch.randn(7, 33).masked_fill(torch.rand(7, 33) > 0.7, -float("inf"))
        for mask in (None, added, hidden if rank == 4 else hidden[:, 0]):
            yield aten.scaled_dot_product_attention.default, (wide_q, wide_k, wide_k * 3, mask), {}
        yield aten.scaled_dot_product_attention.default, (wide_q, wide_k, wide_k[..., :5]), {"is_causal": True}
        yield aten.scaled_dot_product_attention.default, (wide_q * 40, wide_k, wide_k), {}
        yield aten.scaled_dot_product_attention.default, (wide_q.double(), wide_k.double(), wide_k.double()), {}
    heads, keys = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8)
    yield aten.scaled_dot_product_attention.default, (heads, keys, keys), {"enable_gqa": True}


def training() -> Iterator[Case]:
    """Statistics of the batch, which move the running ones; other normalisations; the rest of the operators."""
    torch.manual_seed(9)
    x = torch.randn(3, 4, 5, 2) * 3 + 10
    moving = (torch.rand(4), torch.rand(4), torch.zeros(4), torch.ones(4))
    yield aten.batch_norm.default, (x, *moving, True, 0.1, 1e-5, True), {}
    yield aten.batch_norm.default, (x[..., 0, 0], None, None, None, None, True, 0.1, 1e-5, True), {}
    yield aten.instance_norm.default, (x, *moving[:2], None, None, True, 0.1, 1e-5, True), {}
    yield aten.instance_norm.default, (x, *moving, False, 0.1, 1e-5, True), {}
    yield aten.rms_norm.default, (x, [5, 2], torch.rand(5, 2), 1e-5), {}
    yield aten.rms_norm.default, (x, [2]), {}
    for t in (
        torch.linspace(-1.1, 1.1, 45),
        torch.tensor([1e-7, 0.9999999, -0.99999, 1.0, -1.0, float("nan")]).double(),
    ):
        yield aten.erfinv.default, (t,), {}
        yield aten.erfc.default, (t,), {}
        yield aten.asinh.default, (t,), {}
        yield aten.acosh.default, (t + 1.2,), {}
        yield aten.atanh.default, (t / 2,), {}
    for t in views(torch.randint(-9, 9, (3, 4))):
        for name in ("bitwise_or_", "bitwise_and_", "bitwise_xor_"):
            yield getattr(aten, name).Tensor, (t.clone(), torch.tensor([1, 2, 4, 8])), {}
        yield aten.remainder_.Scalar, (t.clone(), 4), {}
        yield aten.lerp_.Scalar, (t.float(), torch.zeros(4), 0.3), {}
        yield aten.abs_.default, (t.clone(),), {}
        yield aten.movedim.int, (t[None], 0, -1), {}
        yield aten.movedim.intlist, (t[None, :, :, None], [0, 3], [3, 1]), {}
    yield aten.movedim.intlist, (x, [0, 0], [1, 2]), {}
    yield aten.bitwise_or_.Tensor, (torch.ones(3), torch.ones(3)), {}


def drawn() -> Iterator[Case]:
    """Operators that draw random numbers, each from the same seed."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for size in ([3], [15], [16], [2, 8], [5, 7], [700]):
            for name in ("rand", "randn"):
                yield getattr(aten, name).default, (size,), {"dtype": dtype}
            t = torch.zeros(size, dtype=dtype)
            yield aten.normal_.default, (t.clone(), 2.0, 0.5), {}
            yield aten.uniform_.default, (t.clone(), -1.0, 3.0), {}
            yield aten.exponential_.default, (t.clone(), 2.0), {}
            yield aten.bernoulli_.float, (t.clone(), 0.3), {}
            yield aten.bernoulli.default, (t + 0.4,), {}
            yield aten.bernoulli.p, (t, 0.7), {}
            yield aten.dropout.default, (t + 2, 0.25, True), {}
            yield aten.randn_like.default, (t,), {}
    grid = torch.zeros(4, 6)
    yield aten.normal_.default, (grid.t(),), {}
    yield aten.uniform_.default, (grid.t(),), {}
    yield aten.uniform_.default, (torch.zeros(4, 12)[:, ::2],), {}
    yield aten.normal_.default, (torch.zeros(4, 12)[:, ::2],), {}
    yield aten.dropout.default, (grid + 1, 1.0, True), {}
    yield aten.feature_dropout.default, (torch.ones(2, 3, 4, 4), 0.5, True), {}
    for high in (10, 1000, 2**28 - 1, 2**28, 2**31, 2**33):
        yield aten.randint.default, (high, [5]), {}
        yield aten.randint.low, (-high, high, [2, 3]), {}
    yield aten.randint.default, (9, [5]), {"dtype": torch.int32}
    yield aten.randint.low, (3, 3, [5]), {}
    yield aten.randint_like.default, (torch.zeros(4), 9), {}
    yield aten.randperm.default, (17,), {}
    yield aten.normal.float_float, (1.0, 2.0, [20]), {}
    yield aten.normal.Tensor_float, (torch.arange(20.0), 2.0), {}
    yield aten.normal.float_Tensor, (1.0, torch.arange(20.0)), {}
    yield aten.normal.Tensor_Tensor, (torch.arange(20.0), torch.ones(20)), {}
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4], [4.0, 0.0, 1.0, 1.0]])
    for count, again in ((1, False), (3, False), (9, True), (1, True)):
        yield aten.multinomial.default, (weights, count, again), {}
        yield aten.multinomial.default, (weights[0], count, again), {}
    yield aten.multinomial.default, (weights, 5), {}
    yield aten.multinomial.default, (weights - 1, 2), {}


GROUPS = {
    "subscripts": subscripts,
    "sequences": sequences,
    "images": images,
    "long_lines": long_lines,
    "training": training,
    "drawn": drawn,
}
