"""The body of a function of the host IR as C++ statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

from torch2cpp.emit import literals
from torch2cpp.emit.cpp_types import default_value
from torch2cpp.emit.effects import Effect, effect_of
from torch2cpp.emit.expressions import Expressions
from torch2cpp.emit.flow import Flow
from torch2cpp.emit.loops import count_breaks, for_header, while_test
from torch2cpp.emit.names import PREFIXES, identifier
from torch2cpp.emit.names import Scope as Names
from torch2cpp.emit.nodes import Braces, Branch, Line, Node, mentions
from torch2cpp.emit.precedence import ATOM, Expr
from torch2cpp.emit.tries import Exits, emit_try
from torch2cpp.emit.variables import Variable, Variables
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Call,
    Continue,
    HostOp,
    If,
    Leave,
    Load,
    Loop,
    Op,
    Operand,
    Raise,
    RegionCall,
    Return,
    Scope,
    Store,
    TensorOp,
    Try,
    Value,
    Yield,
    blocks,
    results,
)
from torch2cpp.hostir.program import Function
from torch2cpp.hostir.types import ListType, NoneType, OptionalType, ScalarType, TensorType, TupleType, Type, UnionType
from torch2cpp.spans import Span


@final
@dataclass(frozen=True, slots=True)
class Context:
    """Where a block stands."""

    #: What the block's `Yield` assigns, and a loop's `Continue` and `Break`.
    yields: tuple[Value, ...] = ()
    loop: Loop | None = None
    scopes: tuple[Scope, ...] = ()
    #: Whether nothing of the loop's body follows, so that `continue` goes without saying.
    tail: bool = False
    #: `finally` blocks to run on the way out.
    exits: Exits = field(default_factory=Exits)
    #: The flag that a `break` sets, where the loop's running out means something else.
    broken: str = ""
    #: In a lambda of an inlined function, its results.
    lambda_results: tuple[Type, ...] | None = None


@final
@dataclass(slots=True)
class Statements:
    """Emits one function."""

    function: Function
    expressions: Expressions
    flow: Flow
    variables: Variables
    #: What stands for a value that is a field of a region's result: `step.stop`.
    places: dict[Value, str]
    used: set[Variable]
    #: C++ labels of scopes that `goto` leaves.
    labels: dict[str, str] = field(default_factory=dict)
    #: What holds the results of a region with several, by its method.
    holders: dict[str, str] = field(default_factory=dict)
    _temporaries: int = 0

    def body(self) -> list[Node]:
        """The whole body."""
        return self.block(self.function.body, Context())

    # -- helpers -------------------------------------------------------------------------------

    def block(self, block: Block, ctx: Context) -> list[Node]:
        """The statements of a block; what follows a branch that leaves is flattened into it."""
        nodes: list[Node] = []
        for i, op in enumerate(block.ops):
            last = i == len(block.ops) - 1 or (i == len(block.ops) - 2 and self._says_nothing(block.ops[-1], ctx))
            nodes += self.op(op, replace(ctx, tail=ctx.tail and last))
        return nodes

    def _says_nothing(self, op: Op, ctx: Context) -> bool:
        """Whether a terminator prints nothing at the end of a loop's body."""
        if isinstance(op, Continue) and ctx.tail and ctx.loop is not None:
            return not self.moves(op.values, self.carried(ctx.loop), None)
        return isinstance(op, Yield) and not self.moves(op.values, ctx.yields, None)

    def carried(self, loop: Loop) -> tuple[Value, ...]:
        """The parameters of a loop's body that its iterations hand on."""
        return loop.body.params[1:] if loop.over is not None else loop.body.params

    def spelled(self, t: Type) -> str:
        """The C++ type."""
        return self.expressions.spelled(t)

    def name(self, value: Value) -> str:
        """The variable of a value."""
        return self.places.get(value) or self.variables.of[value].name

    def temporary(self, purpose: str) -> str:
        """A name for a helper variable."""
        self._temporaries += 1
        suffix = "" if self._temporaries == 1 else f"_{self._temporaries}"
        return f"{PREFIXES[purpose]}{suffix}_"

    def declare(self, variable: Variable, init: Expr | None, span: Span | None) -> Line:
        """`const int64_t n = ...;`"""
        type_ = self.spelled(variable.type)
        const = "const " if variable.is_constant and isinstance(variable.type, ScalarType) and init else ""
        if init is None:
            zero = default_value(variable.type)
            return Line(f"{type_} {variable.name}{f' = {zero}' if zero else ''};", span)
        for opening in (f"{type_}(", f"{type_}{{"):
            # std::optional<Tensor> x(y) rather than std::optional<Tensor> x = std::optional<Tensor>(y)
            if init.text.startswith(opening) and _closes_at_end(init.text, len(opening) - 1):
                return Line(f"{const}{type_} {variable.name}{init.text[len(type_) :]};".replace("{};", ";"), span)
        if init.text == f"{type_}::of()":
            return Line(f"{type_} {variable.name};", span)
        return Line(f"{const}{type_} {variable.name} = {init.text};", span)

    def bare(self, expr: Expr, t: Type) -> str:
        """What to assign: an optional takes its value as it is."""
        opening = f"{self.spelled(t)}("
        if isinstance(t, OptionalType) and not isinstance(t.elem, OptionalType | UnionType):
            if expr.text.startswith(opening) and _closes_at_end(expr.text, len(opening) - 1):
                return expr.text[len(opening) : -1]
        return expr.text

    def before(self, op: Op) -> list[Node]:
        """Variables that the branches of `op` assign."""
        return [self.declare(v, None, None) for v in self.variables.declared_at(op, "before") if v in self.used]

    def moves(self, sources: Sequence[Operand], targets: Sequence[Value], span: Span | None) -> list[Node]:
        """Assigns all targets at once: none is overwritten while another still reads it."""
        pending: list[tuple[Variable, Expr, set[Variable]]] = []
        for source, target in zip(sources, targets):
            variable = self.variables.of[target]
            if variable not in self.used or (isinstance(source, Value) and self.variables.of.get(source) is variable):
                continue
            expr = self.expressions.typed(source, variable.type)
            read = {self.variables.of[v] for v in self.expressions.folding.variables(source)}
            pending.append((variable, expr, read))
        nodes: list[Node] = []
        while pending:
            ready = next((m for m in pending if not any(m[0] in other[2] for other in pending if other is not m)), None)
            if ready is None:
                variable, expr, _ = pending[0]
                saved = self.temporary("temporary")
                nodes.append(Line(f"auto {saved} = {expr.text};", span))
                pending[0] = (variable, Expr(saved, ATOM), set())
                continue
            pending.remove(ready)
            nodes.append(Line(f"{ready[0].name} = {self.bare(ready[1], ready[0].type)};", span))
        return nodes

    # -- operations ----------------------------------------------------------------------------

    def op(self, op: Op, ctx: Context) -> list[Node]:
        """The statements of one operation."""
        if self.flow.is_silent(op):
            return []
        match op:
            case HostOp() | TensorOp() | Call() | RegionCall() | Load():
                return self.simple(op)
            case If():
                return self.simple(op) if self.flow.folding.is_expression(op) else self.branch(op, ctx)
            case Loop():
                return self.loop(op, ctx)
            case Scope():
                return self.scope(op, ctx)
            case Try():
                return emit_try(self, op, ctx)
            case Store():
                value = self.expressions.typed(op.value, op.cell.type)
                return [Line(f"{self.expressions.cell(op.cell)} = {self.bare(value, op.cell.type)};", op.span)]
            case Raise():
                return self.raised(op)
            case Yield():
                return self.moves(op.values, ctx.yields, None)
            case Continue() | Break() | Leave() | Return():
                return self.leave(op, ctx)

    def simple(self, op: Op) -> list[Node]:
        """An operation without control flow: a declaration, an assignment or a call."""
        made = results(op)
        if isinstance(op, RegionCall | Call | TensorOp) and len(made) > 1:
            return self.several(op, made)
        expr = self.expressions.operation(op)
        in_place = isinstance(op, TensorOp) and self._is_operand(op)
        if not made or in_place or self.variables.of[made[0]] not in self.used:
            pure = made and effect_of(op, self.expressions.program.regions) in (Effect.PURE, Effect.QUIET_READ)
            return [] if pure else [Line(f"{expr.text};", op.span)]
        variable = self.variables.of[made[0]]
        if variable.declared == "definition" and variable.at is op:
            return [self.declare(variable, expr, op.span)]
        return [Line(f"{variable.name} = {self.bare(expr, variable.type)};", op.span)]

    def _is_operand(self, op: TensorOp) -> bool:
        return any(r in op.args for r in op.results)

    def several(self, op: RegionCall | Call | TensorOp, made: tuple[Value, ...]) -> list[Node]:
        """A call with several results: structured bindings, or a struct whose fields are copied or named."""
        call = self._call_of_several(op)
        variables = [self.variables.of[v] for v in made]
        fresh = [v.declared == "definition" and v.at is op for v in variables]
        if not any(v in self.used for v in variables):
            return [Line(f"{call};", op.span)]
        if all(fresh):
            return [Line(f"auto [{', '.join(v.name for v in variables)}] = {call};", op.span)]
        if isinstance(op, RegionCall):
            return self._fields(op, call, made, fresh)
        nodes: list[Node] = [self.declare(v, None, None) for v, new in zip(variables, fresh) if new]
        names = [v.name if v in self.used else "std::ignore" for v in variables]
        return [*nodes, Line(f"std::tie({', '.join(names)}) = {call};", op.span)]

    def _call_of_several(self, op: RegionCall | Call | TensorOp) -> str:
        return self.expressions.operation(op).text

    def _fields(self, op: RegionCall, call: str, made: tuple[Value, ...], fresh: list[bool]) -> list[Node]:
        method = self.expressions.region_method(op.region)
        holder = self._holder(method)
        nodes: list[Node] = [Line(f"auto {holder} = {call};", op.span)]
        for value, new, field_name in zip(made, fresh, self.expressions.region_fields(op.region)):
            variable = self.variables.of[value]
            if variable not in self.used:
                continue
            place = f"{holder}.{field_name}"
            if not new:
                # Nobody reads this field again: the variable takes the tensor over.
                moved = f"std::move({place})" if isinstance(value.type, TensorType | ListType) else place
                nodes.append(Line(f"{variable.name} = {moved};"))
            elif variable.is_constant:
                self.places[value] = place
            else:
                nodes.append(self.declare(variable, Expr(place, ATOM), None))
        return nodes

    def _holder(self, method: str) -> str:
        """The name of what a region with several results gives: the region's, where nothing else has it."""
        if method not in self.holders:
            taken = {v.name for v in self.variables.of.values()} | set(self.holders.values())
            self.holders[method] = method if method not in taken else Names(taken).fresh(f"{method}_out")
        return self.holders[method]

    def raised(self, op: Raise) -> list[Node]:
        """`throw PyError(type, message, bases, file, line)`"""
        if not op.name:
            return [Line("throw;", op.span)]
        message = self.expressions.operand(op.message).text
        bases = ", ".join(literals.string(b) for b in op.bases if b != op.name)
        file = literals.string(op.span.file.rsplit("/", 1)[-1])
        text = f"throw py::PyError({literals.string(op.name)}, {message}, {{{bases}}}, {file}, {op.span.line});"
        return [Line(text, op.span)]

    # -- control flow --------------------------------------------------------------------------

    def branch(self, op: If, ctx: Context) -> list[Node]:
        """if / else; an arm that leaves needs no else after it."""
        nodes = self.before(op)
        ctx = replace(ctx, yields=op.results)
        cond = self.expressions.operand(op.cond).text
        goes_on, other_goes_on = map(self.flow.falls_through, blocks(op))
        if not goes_on and not other_goes_on and ctx.tail and _both_continue(op):
            goes_on = other_goes_on = True
        inner = ctx if goes_on and other_goes_on else replace(ctx, tail=False)
        if not goes_on:
            then, rest = self.block(op.then, inner), self.block(op.orelse, ctx)
            return [*nodes, Branch(cond, then, [], op.span), *rest]
        if not other_goes_on:
            orelse, rest = self.block(op.orelse, inner), self.block(op.then, ctx)
            return [*nodes, Branch(self.expressions.negated(op.cond).text, orelse, [], op.span, True), *rest]
        then, orelse = self.block(op.then, ctx), self.block(op.orelse, ctx)
        if then:
            nodes.append(Branch(cond, then, orelse, op.span))
        elif orelse:
            nodes.append(Branch(self.expressions.negated(op.cond).text, orelse, [], op.span, True))
        elif self._has_effect(op):
            nodes.append(Line(f"static_cast<void>({cond});", op.span))
        return nodes

    def _has_effect(self, op: If) -> bool:
        return isinstance(op.cond, Value) and op.cond in self.flow.folding.folded

    def loop(self, op: Loop, ctx: Context) -> list[Node]:
        """for, while, or while (true)."""
        nodes = self.before(op)
        nodes += self._initial(op)
        inner = Context(loop=op, scopes=ctx.scopes, tail=True, exits=ctx.exits.inside(op),
                        lambda_results=ctx.lambda_results)  # fmt: skip
        if op.over is not None:
            return [*nodes, *self.counted(op, inner)]
        test = while_test(op, self.flow)
        leaving = self.moves(test.exit.values, op.results, None) if test is not None else []
        if test is None or (leaving and test.others):
            nodes.append(Braces("while (true)", self.block(op.body, inner), span=op.span))
            return nodes
        cond = self.expressions.operand(test.branch.cond) if test.goes_on_if else None
        text = cond.text if cond is not None else self.expressions.negated(test.branch.cond).text
        rest = replace(inner, yields=test.branch.results, tail=inner.tail and test.after is None)
        body = self.block(test.arm, rest)
        if test.after is not None:
            body += self.block(test.after, inner)
        return [*nodes, Braces(f"while ({text})", body, span=op.span), *leaving]

    def counted(self, op: Loop, inner: Context) -> list[Node]:
        """A `for`; where it runs out, its results are the carried values."""
        moves = self.moves(self.carried(op), op.results, None)
        if not moves or not count_breaks(op.body):
            return [Braces(for_header(self, op), self.block(op.body, inner), span=op.span), *moves]
        flag = self.temporary("broken flag")
        body = self.block(op.body, replace(inner, broken=flag))
        loop = Braces(for_header(self, op), body, span=op.span)
        return [Line(f"bool {flag} = false;"), loop, Branch(f"!{flag}", moves, [])]

    def _initial(self, op: Loop) -> list[Node]:
        """Declares the carried variables, or assigns those that exist already."""
        nodes: list[Node] = []
        rest: list[tuple[Operand, Value]] = []
        for init, param in zip(op.inits, self.carried(op)):
            variable = self.variables.of[param]
            declared_here = variable.declared == "definition" and variable.at is op and variable in self.used
            if declared_here:
                nodes.append(self.declare(variable, self.expressions.typed(init, variable.type), None))
            else:
                rest.append((init, param))
        return [*nodes, *self.moves([i for i, _ in rest], [p for _, p in rest], None)]

    def scope(self, op: Scope, ctx: Context) -> list[Node]:
        """An inlined function: in place, or a lambda called at once where it returns early."""
        nodes = self.before(op)
        if op.label in self.flow.inline:
            return [*nodes, *self.block(op.body, replace(ctx, scopes=(*ctx.scopes, op), tail=False))]
        if op.label in self.flow.blocks:
            return [*nodes, *self.left_by_goto(op, ctx)]
        types = tuple(r.type for r in op.results)
        inner = Context(scopes=(*ctx.scopes, op), exits=Exits(), lambda_results=types)
        body = self.block(op.body, inner)
        if not types:
            # Nothing follows the last statement.
            if body and isinstance(last := body[-1], Line) and last.text == "return;":
                body = body[:-1]
            return [*nodes, Braces("[&]", body, "();", op.span)]
        made = self.spelled(types[0]) if len(types) == 1 else self.spelled(TupleType(types))
        variables = [self.variables.of[r] for r in op.results]
        if len(types) == 1 and variables[0].at is op and variables[0].declared == "definition":
            const = "const " if variables[0].is_constant and isinstance(types[0], ScalarType) else ""
            target = f"{const}{self.spelled(types[0])} {variables[0].name}"
            if mentions(body, f"{variables[0].name} = "):
                # A scope inside hands out the same variable: it must exist before the lambda that makes it.
                nodes.append(Line(f"{self.spelled(types[0])} {variables[0].name}{{}};"))
                target = variables[0].name
        elif len(types) == 1:
            target = variables[0].name
        else:
            names = [v.name if v in self.used else "std::ignore" for v in variables]
            target = f"std::tie({', '.join(names)})"
        return [*nodes, Braces(f"{target} = [&]() -> {made}", body, "();", op.span)]

    def left_by_goto(self, op: Scope, ctx: Context) -> list[Node]:
        """A block with a label after it; leaving a block by `goto` passes no declaration."""
        label = self.labels.setdefault(op.label, f"after_{identifier(op.name)}_{len(self.labels) + 1}")
        inner = replace(ctx, scopes=(*ctx.scopes, op), tail=False, exits=ctx.exits.inside(op))
        body = self.block(op.body, inner)
        if isinstance(body[-1], Line) and body[-1].text == f"goto {label};":
            body.pop()
        after: list[Node] = [Line(f"{label}:;")] if mentions(body, f"goto {label};") else []
        return [Braces("", body, span=op.span), *after]

    def leave(self, op: Continue | Break | Leave | Return, ctx: Context) -> list[Node]:
        """Ways out of loops and functions; `finally` blocks run first."""
        match op:
            case Continue():
                assert ctx.loop is not None
                last = [] if ctx.tail else [Line("continue;", op.span)]
                moves = self.moves(op.values, self.carried(ctx.loop), None)
                return [*ctx.exits.run(self, ctx, to=ctx.loop), *moves, *last]
            case Break():
                assert ctx.loop is not None
                moves = self.moves(op.values, ctx.loop.results, None)
                moves += [Line(f"{ctx.broken} = true;")] if ctx.broken else []
                return [*ctx.exits.run(self, ctx, to=ctx.loop), *moves, Line("break;", op.span)]
            case Leave():
                scope = next(s for s in reversed(ctx.scopes) if s.label == op.label)
                if op.label in self.flow.inline:
                    return self.moves(op.values, scope.results, op.span)
                if op.label in self.flow.blocks:
                    moves = self.moves(op.values, scope.results, op.span)
                    goto = Line(f"goto {self.labels[op.label]};", op.span)
                    return [*moves, *ctx.exits.run(self, ctx, to=scope), goto]
                values = [self.expressions.typed(v, r.type) for v, r in zip(op.values, scope.results)]
                text = values[0].text if len(values) == 1 else f"{{{', '.join(v.text for v in values)}}}"
                return self._return(text if values else "", ctx, op.span, None)
            case Return():
                return self.returned(op, ctx)

    def returned(self, op: Return, ctx: Context) -> list[Node]:
        """`return`, of the function's result type."""
        assert ctx.lambda_results is None, f"a return out of an inlined function at {op.span}"
        result = self.function.result
        if isinstance(result, NoneType):
            return self._return("", ctx, op.span, None)
        expr = self.expressions.typed(op.value, result).text
        type_ = self.spelled(result)
        if expr.startswith(f"{type_}{{") and _closes_at_end(expr, len(type_)) and not isinstance(result, ListType):
            expr = expr[len(type_) :]
        return self._return(expr, ctx, op.span, type_)

    def _return(self, text: str, ctx: Context, span: Span, type_: str | None) -> list[Node]:
        """The value is computed before `finally` blocks run."""
        final = ctx.exits.run(self, ctx, to=None)
        if final and text:
            saved = self.temporary("result")
            kept = (
                f"{type_} {saved}{text};" if type_ and text.startswith("{") else f"{type_ or 'auto'} {saved} = {text};"
            )
            return [Line(kept, span), *final, Line(f"return {saved};", span)]
        return [*final, Line(f"return {text};" if text else "return;", span)]


def _both_continue(op: If) -> bool:
    return all(isinstance(b.ops[-1], Continue) for b in blocks(op))


def _closes_at_end(text: str, opening: int) -> bool:
    """Whether the bracket at `opening` is closed by the last character."""
    depth = 0
    for match in re.finditer(r'"(?:\\.|[^"\\])*"|[(){}]', text[opening:]):
        if match[0] in "({":
            depth += 1
        elif match[0] in ")}":
            depth -= 1
            if depth == 0:
                return opening + match.end() == len(text)
    return False
