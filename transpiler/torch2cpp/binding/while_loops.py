"""`while`: a loop; unrolled only where its condition is static and something in it must be."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torch2cpp.binding.context import Context, Label, Restart
from torch2cpp.binding.control import branch, labelled
from torch2cpp.binding.expressions import condition
from torch2cpp.binding.for_loops import MAX_UNROLL, _iteration, _iteration_names
from torch2cpp.binding.loops import LoopPlan, run_loop
from torch2cpp.binding.optional import narrow, refinements
from torch2cpp.binding.values import NONE, AbsVal, Host, Static


def run_while(cx: Context, node: cst.While) -> None:
    """Runs a `while` statement."""
    from torch2cpp.binding.statements import run_body

    key = cx.site(node)
    tail = node.orelse
    orelse = None if tail is None else (lambda: run_body(cx, tail.body))
    if key in cx.facts.unrolled - cx.facts.rolled:
        _unrolled(cx, node, orelse, key)
    elif orelse is None:
        with cx.label("break") as break_label:
            _loop(cx, node, key, break_label, break_label)
    else:

        def with_else(out: Label) -> AbsVal:
            # `break` leaves the statement; only the false condition leads to the else clause
            with cx.label("exhausted") as exhausted:
                _loop(cx, node, key, out, exhausted)
            orelse()
            return NONE

        labelled(cx, "while", with_else, cx.span)


def _loop(cx: Context, node: cst.While, key: object, broken: Label, exhausted: Label) -> None:
    """The loop itself: `break` leads to one label, a false condition to the other."""
    from torch2cpp.binding.statements import run_body

    def test() -> None:
        cond = condition(cx, node.test)
        if isinstance(cond, Static):
            if not cond.value:
                cx.leave(exhausted, NONE)
            return
        true, false = refinements(cx, cond)

        def stop() -> AbsVal:
            narrow(cx.state, cx, false)
            cx.leave(exhausted, NONE)

        branch(cx, cond.operand, lambda: narrow(cx.state, cx, true), stop, "while", cx.span)

    with cx.label("continue") as continue_label:

        def once(_: Host | None) -> None:
            test()
            with cx.in_loop(broken, continue_label):
                run_body(cx, node.body)

        plan = LoopPlan(
            key,
            cx.span,
            None,
            once,
            exhausted,
            continue_label,
            static=key not in cx.facts.rolled and _may_unroll(cx, node),
            unrolls=False,
            hints=(0, 1, 2),
            local_names=_iteration_names(cx, node),
        )
        run_loop(cx, plan)


def _may_unroll(cx: Context, node: cst.While) -> bool:
    """Whether the condition is static on entry and not just `True`: then its iterations may be known."""
    if (isinstance(node.test, cst.Name) and node.test.value == "True") or isinstance(node.test, cst.Integer):
        return False
    probe = cx.probe(lambda: condition(cx, node.test))
    return isinstance(probe, Static)


def _unrolled(cx: Context, node: cst.While, orelse: Callable[[], None] | None, key: object) -> None:
    from torch2cpp.binding.statements import run_body

    def whole(out: Label) -> AbsVal:
        for i in range(MAX_UNROLL):
            cond = condition(cx, node.test)
            if not isinstance(cond, Static):
                # Only some later iteration shows that it is a loop after all.
                cx.facts.rolled.add(key)
                raise Restart
            if not cond.value:
                if orelse is not None:
                    orelse()
                return NONE
            _iteration(cx, i, out, lambda: run_body(cx, node.body))
        cx.refuse("T2C121", "a while loop would have to be unrolled too often", "make its condition depend on data")

    labelled(cx, "while", whole, cx.span)
