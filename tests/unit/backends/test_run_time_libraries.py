"""What the backends with a run-time library take, refuse and write; no C++ is compiled here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from region_from_export import region_of
from torch2cpp.backends.exported.export import NotExportable, export, held_weights
from torch2cpp.backends.exported.kept import kept
from torch2cpp.backends.exported.shapes import requirements, result_sizes
from torch2cpp.backends.exported.write_engine import literal
from torch2cpp.backends.onnxruntime.export_onnx import export_onnx
from torch2cpp.backends.protocol import Context, Refusal, Target
from torch2cpp.backends.registry import create
from torch2cpp.backends.torchscript.write_script import write_script
from torch2cpp.hostir.ops import HostOp, TensorOp, Value
from torch2cpp.hostir.program import Region
from torch2cpp.hostir.types import INT, TensorType
from torch2cpp.regions.share import DistinctRegion, share
from torch2cpp.spans import Span

SPAN = Span("model.py", 3, 1, 3, 9)
VECTOR = TensorType(torch.float32, (None,))
aten = torch.ops.aten


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> Any:
        y = torch.relu(self.norm(self.conv(x)))
        return y, y.mean((2, 3)), y[:, 0].flatten()


def block() -> tuple[Region, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    return region_of(Block().eval(), (torch.randn(3, 2, 5, 6),), [[0, 2]], name="block")


def distinct(region: Region) -> DistinctRegion:
    return share([region]).distinct[0]


def refusal(backend: str, region: Region) -> Refusal:
    found = create(backend).accepts(distinct(region), Target())
    assert found is not None
    return found


class Ordered(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        values, places = torch.sort(torch.tanh(x * 2 + 1), dim=-1)
        return values * 3 - 1, places, torch.median(x) + x.max(-1)[1]


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_an_engine_does_not_say_which_of_equal_elements_comes_first(backend: str) -> None:
    region, _ = region_of(Ordered().eval(), (torch.randn(3, 5),), [[0]], name="ordered")
    found = refusal(backend, region)
    ops = [op for op in region.body if isinstance(op, TensorOp)]
    apart = {region.body[i].overload._schema.name for i in found.culprits if isinstance(region.body[i], TensorOp)}
    assert apart == {"aten::sort"}
    assert "equal elements" in found.reason
    # The median of all elements has no place, and of the largest the first is taken everywhere.
    assert {"aten::median", "aten::max"} <= {op.overload._schema.name for op in ops}
    assert create("aotinductor").accepts(distinct(region), Target()) is None


def scaled(op: HostOp | None = None) -> Region:
    """`relu(x) * n`, or times what `op` makes of `n`."""
    x, n = Value(1, VECTOR, "x", SPAN), Value(2, INT, "n", SPAN)
    a, b = Value(3, VECTOR, "a", SPAN), Value(4, VECTOR, "b", SPAN)
    factor: Any = n
    body: list[TensorOp | HostOp] = [TensorOp((a,), aten.relu.default, (x,), {}, SPAN)]
    if op is not None:
        factor = Value(5, INT, "m", SPAN)
        body.append(HostOp(factor, op.name, (n, *op.args), SPAN))
    body.append(TensorOp((b,), aten.mul.Tensor, (a, factor), {}, SPAN))
    return Region("scaled", (x, n), tuple(body), (b,), SPAN)


def test_graphs_hold_no_weights() -> None:
    region, weights = block()
    program = export(region, held_weights(region, weights), (torch.randn(3, 2, 5, 6),), lifted=True)
    graph = export_onnx(program, len(region.weights()))
    proto = onnx.load_from_string(graph.data)
    assert [t.name for t in proto.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL] == list(
        graph.weights
    )
    assert len(graph.weights) == 5
    # Nothing was computed from their values either: batch norm is still there.
    assert "BatchNormalization" in {node.op_type for node in proto.graph.node}
    assert len(graph.data) < 3000


def test_graphs_give_eagers_results_with_the_weights_handed_over() -> None:
    region, weights = block()
    program = export(region, held_weights(region, weights), (torch.randn(3, 2, 5, 6),), lifted=True)
    graph = export_onnx(program, len(region.weights()))
    options = onnxruntime.SessionOptions()
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(weights[w.name].numpy(force=True)) for w in region.weights()]
    options.add_external_initializers(list(graph.weights), values)
    session = onnxruntime.InferenceSession(graph.data, options)
    module = Block().eval()
    module.load_state_dict(weights, strict=False)
    for sizes in ((3, 2, 5, 6), (1, 2, 1, 6), (0, 2, 4, 6)):
        x = torch.randn(sizes)
        with torch.no_grad():
            for got, want in zip(
                session.run(list(graph.outputs), {graph.inputs[0]: x.numpy()}), module(x), strict=True
            ):
                torch.testing.assert_close(torch.from_numpy(got), want)


def test_sizes_of_results_follow_from_those_of_inputs() -> None:
    region, weights = block()
    program = export(region, held_weights(region, weights), (torch.randn(3, 2, 5, 6),), lifted=True)
    needs = requirements(program, 1)
    batch, height = (name for name, _, _ in needs.symbols)
    first, second, third = result_sizes(program, 1)
    assert first == (batch, "4", height, "6")
    assert second == (batch, "4")
    assert third is not None
    assert "6" in third[0]
    assert batch in third[0]


def test_a_number_decided_at_run_time_is_for_torchscript_only() -> None:
    assert "number or a list decided at run time" in refusal("onnxruntime", scaled()).reason
    assert "number or a list decided at run time" in refusal("openvino", scaled()).reason
    assert create("torchscript").accepts(distinct(scaled()), Target()) is None


def test_torchscripts_integers_wrap_around_so_arithmetic_on_numbers_is_refused() -> None:
    twice = HostOp(None, "mul", (2,), SPAN)
    assert refusal("torchscript", scaled(twice)).reason == "mul of a number decided at run time"


@pytest.mark.parametrize("backend", ["onnxruntime", "torchscript", "openvino"])
def test_random_numbers_and_writes_are_refused(backend: str) -> None:
    x, a, b = (Value(i, VECTOR, name, SPAN) for i, name in enumerate("xab"))
    drops = TensorOp((b,), aten.dropout.default, (a, 0.5, True), {}, SPAN)
    body = (TensorOp((a,), aten.relu.default, (x,), {}, SPAN), drops)
    found = refusal(backend, Region("drops", (x,), body, (b,), SPAN))
    assert "random numbers" in found.reason
    assert found.culprits == {1}
    writes = Region("writes", (x,), (TensorOp((), aten.add_.Tensor, (x, 1), {}, SPAN),), (x,), SPAN, aliasing=True)
    assert "writes to tensors that others see" in refusal(backend, writes).reason


@pytest.mark.parametrize(("dtype", "said"), [(torch.float64, "float64 in 32 bits"), (torch.int64, "int64 in 32 bits")])
def test_openvino_refuses_what_it_computes_in_fewer_bits(dtype: torch.dtype, said: str) -> None:
    wide = TensorType(dtype, (None,))
    x, a, b = (Value(i, wide, name, SPAN) for i, name in enumerate("xab"))
    body = (
        TensorOp((a,), aten.add.Tensor, (x, 1), {}, SPAN),
        TensorOp((b,), aten.mul.Tensor, (a, x), {}, SPAN),
    )
    region = Region("wide", (x,), body, (b,), SPAN)
    assert said in refusal("openvino", region).reason
    assert create("onnxruntime").accepts(distinct(region), Target()) is None


def test_an_operator_without_a_translation_is_named(tmp_path: Path) -> None:
    class Counts(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(torch.special.bessel_j0(x) + 1)

    x = torch.rand(4)
    region, weights = region_of(Counts(), (x,), [[0]], name="counts")
    context = Context("demo", Target(), {"counts": [(x,)]}, weights, tmp_path)
    found = create("onnxruntime").compile([distinct(region)], context).refused["counts"]
    assert "bessel_j0" in found.reason
    assert found.culprits == {i for i, op in enumerate(region.body) if "bessel" in str(getattr(op, "overload", ""))}


def test_torchscript_reads_like_the_region() -> None:
    assert write_script(scaled()) == (
        "def forward(self, x: Tensor, n: int):\n    a = torch.relu(x)\n    b = torch.mul(a, n)\n    return b\n"
    )


def test_refusals_and_graphs_are_kept(tmp_path: Path) -> None:
    made = []

    def make() -> Any:
        made.append(1)
        if len(made) > 1:
            raise NotExportable("too hard", frozenset({"aten.bincount"}))
        return {"data": b"\0\1", "sizes": [("s0", "2"), None]}

    x = (torch.zeros(2),)
    first = kept(tmp_path, "onnxruntime", ("1",), "key", x, make)
    again = kept(tmp_path, "onnxruntime", ("1",), "key", x, make)
    assert first["data"] == again["data"] == b"\0\1"
    assert again["sizes"] == [["s0", "2"], None]
    for _ in range(2):
        with pytest.raises(NotExportable) as caught:
            kept(tmp_path, "onnxruntime", ("2",), "key", x, make)
        assert caught.value.operators == {"aten.bincount"}
    assert len(made) == 2


def test_bytes_as_literals_read_back() -> None:
    data = bytes(range(256)) * 3
    text = "".join(line.strip()[1:-1] for line in literal(data).splitlines())
    assert text.encode().decode("unicode_escape").encode("latin-1") == data
    assert literal(b"") == '  ""'
