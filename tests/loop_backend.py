"""A whole backend in one file: chains of elementwise operations become one C++ loop."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torch2cpp.backends.interface import header_text, interface
from torch2cpp.backends.protocol import Artifact, Context, Refusal, Safety, Target, Unit
from torch2cpp.emit.environment import render
from torch2cpp.hostir.ops import TensorOp
from torch2cpp.hostir.types import TensorType
from torch2cpp.regions.share import DistinctRegion

#: What each operation makes of an element.
FORMULAS = {"aten::neg": "-x", "aten::relu": "x < 0 ? 0 : x", "aten::tanh": "std::tanh(x)"}
CLASS = """#include "{name}.h"

#include <cmath>

#include "../compiled_border.h"

namespace {namespace}::regions {{

struct {cls}::Impl {{}};
{cls}::{cls}(std::vector<Tensor>) : impl_(std::make_unique<Impl>()) {{}}
{cls}::~{cls}() = default;
{cls}::{cls}({cls}&&) noexcept = default;
{cls}& {cls}::operator=({cls}&&) noexcept = default;

Tensor {cls}::operator()(const Tensor& {param}) const {{
  const Tensor in = torch2cpp::compiled::contiguous({param});
  const Tensor out = torch2cpp::compiled::empty_like(in);
  const auto* from = static_cast<const float*>(in.const_data_ptr());
  auto* to = static_cast<float*>(out.mutable_data_ptr());
  for (int64_t i = 0, n = in.numel(); i < n; ++i) {{
    float x = from[i];
    {steps}
    to[i] = x;
  }}
  return out;
}}

}}  // namespace {namespace}::regions
"""


class LoopBackend:
    name = "loop"
    safeties: tuple[Safety, ...] = ("fast",)

    def accepts(self, region: DistinctRegion, target: Target) -> Refusal | None:
        params, body = region.region.params, region.region.body
        value = params[0] if len(params) == 1 else None
        for op in body:
            if not isinstance(op, TensorOp) or op.overload._schema.name not in FORMULAS or op.args != (value,):
                return Refusal("it is no chain of elementwise operations", op.span)
            value = op.results[0]
        if region.region.results != (value,) or value.type != TensorType(torch.float32, value.type.dims):
            return Refusal("its result is not the end of a chain of float32", region.region.span)
        return None

    def compile(self, regions: Sequence[DistinctRegion], ctx: Context) -> Artifact:
        refused = {r.name: refusal for r in regions if (refusal := self.accepts(r, ctx.target))}
        sources = {"src/regions/compiled_border.h": render("regions/compiled_border.h")}
        units = []
        for region in (r for r in regions if r.name not in refused):
            view, _ = interface(region, ctx.namespace)
            steps = "\n    ".join(f"x = {FORMULAS[op.overload._schema.name]};" for op in region.region.body)
            path = f"src/regions/{region.name}/{region.name}.cpp"
            sources[f"src/{view.header}"] = header_text(view)
            sources[path] = CLASS.format(
                name=region.name, namespace=ctx.namespace, cls=region.class_name, param=view.params[0].name, steps=steps
            )
            units.append(Unit(path))
        return Artifact(sources, tuple(units), refused=refused)
