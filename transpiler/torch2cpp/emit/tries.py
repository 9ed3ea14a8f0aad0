"""try / except / finally.

C++ has no `finally`: its block is repeated on every way out. A flag keeps the copy that runs when an
exception passes from running again where a copy itself raises.

    try { ...; finished_ = true; cleanup(); return x; }
    catch (...) { if (finished_) { throw; } cleanup(); throw; }
    cleanup();
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from torch2cpp.emit import literals
from torch2cpp.emit.nodes import Braces, Branch, Line, Node, mentions
from torch2cpp.hostir.ops import Handler, Loop, Scope, Try

if TYPE_CHECKING:
    from torch2cpp.emit.statements import Context, Statements


@final
@dataclass(frozen=True, slots=True)
class _Guard:
    op: Try
    flag: str


@final
@dataclass(frozen=True, slots=True)
class Exits:
    """What a jump passes on its way out, outermost first."""

    passed: tuple[Loop | Scope | _Guard, ...] = ()

    def inside(self, item: Loop | Scope | _Guard) -> Exits:
        """The exits within a loop, a scope or a guarded block."""
        return Exits((*self.passed, item))

    def run(self, s: Statements, ctx: Context, to: Loop | Scope | None) -> list[Node]:
        """The `finally` blocks between here and the loop or scope `to`, or the function's end."""
        nodes: list[Node] = []
        for i in range(len(self.passed) - 1, -1, -1):
            item = self.passed[i]
            if isinstance(item, Loop | Scope):
                if item is to:
                    break
                continue
            assert item.op.final is not None
            outside = replace(ctx, exits=Exits(self.passed[:i]), yields=(), tail=False)
            nodes += [Line(f"{item.flag} = true;"), *s.block(item.op.final, outside)]
        return nodes


def emit_try(s: Statements, op: Try, ctx: Context) -> list[Node]:
    """The statements of one `Try`."""
    nodes = s.before(op)
    inner = replace(ctx, yields=op.results, tail=False)
    if op.final is None:
        return [*nodes, *_guarded(s, op, inner)]
    flag = s.temporary("finally flag")
    body = _guarded(s, op, replace(inner, exits=ctx.exits.inside(_Guard(op, flag))))
    final_ctx = replace(ctx, yields=(), tail=False)
    passing: list[Node] = [*s.block(op.final, final_ctx), Line("throw;")]
    if mentions(body, f"{flag} = true;"):
        nodes.append(Line(f"bool {flag} = false;"))
        passing.insert(0, Branch(flag, [Line("throw;")], []))
    nodes += [Braces("try", body, span=op.span), Braces("catch (...)", passing)]
    if any(s.flow.falls_through(b) for b in (op.body, *(h.body for h in op.handlers))):
        nodes += s.block(op.final, final_ctx)
    return nodes


def _guarded(s: Statements, op: Try, ctx: Context) -> list[Node]:
    body = s.block(op.body, ctx)
    if not op.handlers:
        return body
    error = s.temporary("exception")
    clauses = [(h, _handler(s, h, ctx, error)) for h in op.handlers]
    catching: list[Node]
    if len(clauses) == 1:
        handler, caught = clauses[0]
        guard: list[Node] = [Branch(f"!{_matches(handler, error)}", [Line("throw;")], [])] if handler.names else []
        catching = [*guard, *caught]
    else:
        catching = [Line("throw;")]
        for handler, caught in reversed(clauses):
            catching = [Branch(_matches(handler, error), caught, catching)] if handler.names else caught
    named = f" {error}" if mentions(catching, error) else ""
    return [Braces("try", body, span=op.span), Braces(f"catch (const py::PyError&{named})", catching)]


def _matches(handler: Handler, error: str) -> str:
    return f"{error}.matches({{{', '.join(map(literals.string, handler.names))}}})"


def _handler(s: Statements, handler: Handler, ctx: Context, error: str) -> list[Node]:
    nodes: list[Node] = []
    for param, text in zip(handler.body.params, (f"{error}.message()", f"{error}.type_name()")):
        variable = s.variables.of[param]
        if variable in s.used:
            nodes.append(Line(f"const std::string {variable.name} = {text};"))
    return [*nodes, *s.block(handler.body, ctx)]
