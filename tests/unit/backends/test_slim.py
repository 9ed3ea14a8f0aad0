"""What programs without libtorch have is read from their runtime's own sources."""

from __future__ import annotations

import re

import pytest

from torch2cpp.backends.aotinductor.generate import inductor_options
from torch2cpp.backends.registry import UnknownBackend
from torch2cpp.backends.runtimes import LIBTORCH, UnknownRuntime, choose_runtime
from torch2cpp.backends.slim.files import slim_units, torch_headers
from torch2cpp.backends.slim.operators import declarations, operators, slim_folder
from torch2cpp.backends.slim.shim import functions, missing
from torch2cpp.toolchain.targets.target import Target


def test_every_declaration_is_read() -> None:
    assert len(operators()) == declarations().count(");") > 300


def test_parameters() -> None:
    assert operators()["add_Tensor"].params == (("Tensor", "self"), ("Tensor", "other"), ("Number", "alpha"))
    assert operators()["topk"].params[1] == ("int64_t", "k")
    assert operators()["clamp"].params[2] == ("std::optional<Number>", "max")


def test_functions_of_the_shim() -> None:
    assert {"aoti_torch_cpu_addmm_out", "aoti_torch_empty_strided", "torch_call_dispatcher"} <= functions()
    assert missing("aoti_torch_dtype_float32(); aoti_torch_cpu_histc(a);") == ("aoti_torch_cpu_histc",)


def test_headers_include_only_each_other() -> None:
    headers = torch_headers()
    assert "torch/csrc/stable/tensor.h" in headers
    assert "ATen/ATen.h" not in headers and "torch/all.h" not in headers


def test_every_source_is_in_a_unit() -> None:
    names = {path.name for path in (slim_folder() / "src").glob("*.cpp")}
    together = re.findall(r'"src/(.*)"', (slim_folder() / "slim.cpp").read_text())
    alone = [unit.path.rpartition("/")[2] for unit in slim_units(Target()) if unit.path != "runtime/slim/slim.cpp"]
    assert sorted([*together, *alone]) == sorted(names)


def test_inductor_leaves_images_as_they_lie() -> None:
    assert inductor_options("fast", 1, Target(libtorch=False))["layout_optimization"] is False
    assert "layout_optimization" not in inductor_options("fast", 1, Target())


def test_runtimes() -> None:
    assert choose_runtime("libtorch") is LIBTORCH
    assert choose_runtime("slim").is_slim
    with pytest.raises(UnknownRuntime, match="libtorch, slim"):
        choose_runtime("tiny")
    with pytest.raises(UnknownBackend, match="needs libtorch"):
        choose_runtime("slim").create("torchscript")
