"""Takes away the scope of a function interpreted in place that has one way out, its end.

Before:

    scope block_1 (block)
      h: float32[?] = aten.relu.default(x)
      leave block_1 h
    -> y: float32[?]
    return y

After, with nothing between the caller's tensor operations and the callee's:

    h: float32[?] = aten.relu.default(x)
    return h
"""

from __future__ import annotations

from typing import final

from torch2cpp.hostir.ops import Leave, Op, Scope, walk
from torch2cpp.hostir.program import Program
from torch2cpp.passes.rebuild import Rewriter, with_functions


def inline_scopes(program: Program) -> Program:
    """Scopes left only at their end become part of the block around them."""
    return with_functions(program, lambda f: _Inliner().function(f))


@final
class _Inliner(Rewriter):
    def visit(self, op: Op) -> list[Op]:
        if not isinstance(op, Scope):
            return super().visit(op)
        exits = [inner for inner in walk(op.body) if isinstance(inner, Leave) and inner.label == op.label]
        last = op.body.ops[-1]
        if any(inner is not last for inner in exits):
            return super().visit(op)
        body = self.block(op.body).ops
        end = body[-1]
        if isinstance(end, Leave) and end.label == op.label:
            self.replace_all(op.results, end.values)
            return body[:-1]
        # It ends in a return, a raise or by leaving a scope around it.
        return body
