"""Random host IR for property tests: control flow, in-place tensors, views, lists, cells, errors.

Every tensor has one dimension of a size that varies, or none; so programs mostly run, and where
they raise, the error is part of what must stay the same.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ir_builder import Builder, aten, tensor
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.ops import Cell, Handler, Value, map_leaves
from torch2cpp.hostir.program import Program, Region
from torch2cpp.hostir.pyerror import PyError
from torch2cpp.hostir.types import BOOL, INT, STR, ListType, TupleType

ROW = tensor(None)
POINT = tensor()
ROWS = ListType(ROW)


@dataclass
class Scope:
    """What a block can use, and the ways out of it."""

    rows: list[Value]
    points: list[Value]
    ints: list[Any]
    bools: list[Any]
    lists: list[Value]
    loop: bool = False
    label: str | None = None
    in_try: bool = False

    def inner(self, **changes: Any) -> Scope:
        """A scope that starts with the same values."""
        lists = {k: list(getattr(self, k)) for k in ("rows", "points", "ints", "bools", "lists")}
        return replace(self, **lists, **changes)


@dataclass
class Writer:
    """Writes one random entry."""

    rnd: random.Random
    size: int
    b: Builder = field(default_factory=Builder)
    labels: int = 0
    cells: list[Cell] = field(default_factory=list)
    #: Multiplies the chance of operations that write tensors in place.
    in_place: bool = True

    def program(self) -> Program:
        b = self.b
        x, y = b.param("x", ROW), b.param("y", ROW)
        n, flag = b.param("n", INT), b.param("flag", BOOL)
        self.weight = b.weight("w", torch.tensor(0.5))
        self.cells = [b.cell("hidden", ROW, torch.tensor([1.0, 2.0, 3.0])), b.cell("count", INT, 0)]
        xs = b.host("list.new", x, type=ROWS, name="xs")
        scope = Scope([x, y], [], [n, 2], [flag], [xs])
        self.block(scope, self.size, 3)
        rows, ints = tuple(scope.rows[-3:]), tuple(scope.ints[-2:])
        b.return_((rows, ints, scope.lists[-1]))
        result = TupleType((TupleType((ROW,) * len(rows)), TupleType((INT,) * len(ints)), ROWS))
        return b.program(result)

    def block(self, s: Scope, size: int, depth: int) -> None:
        """Some operations; what they define is added to the scope."""
        for _ in range(self.rnd.randint(1, max(1, size))):
            if depth and self.rnd.random() < 0.2:
                self.rnd.choice([self.if_, self.if_, self.kinds, self.for_, self.while_, self.scope, self.try_])(
                    s, size, depth - 1
                )
            else:
                self.simple(s)

    def simple(self, s: Scope) -> None:
        choices = [self.unary, self.unary, self.binary, self.binary, self.view, self.reduce, self.predicate, self.host]
        choices += [self.sizes, self.split, self.list_op, self.cell, self.scaled, self.random]
        if self.in_place:
            choices += [self.write, self.write, self.private, self.private]
        self.rnd.choice(choices)(s)

    # -- operations ----------------------------------------------------------------------------

    def row(self, s: Scope) -> Value:
        return self.rnd.choice(s.rows[-5:])

    def unary(self, s: Scope) -> None:
        op = self.rnd.choice([aten.relu, aten.neg, aten.clone, aten.sin, aten.contiguous])
        s.rows.append(self.b.tensor(op.default, self.row(s), type=ROW, name="u"))

    def binary(self, s: Scope) -> None:
        op = self.rnd.choice([aten.add.Tensor, aten.mul.Tensor, aten.sub.Tensor])
        other = self.rnd.choice([self.row(s), self.row(s), self.weight])
        s.rows.append(self.b.tensor(op, self.row(s), other, type=ROW, name="z"))

    def scaled(self, s: Scope) -> None:
        s.rows.append(self.b.tensor(aten.mul.Scalar, self.row(s), self.rnd.choice(s.ints), type=ROW, name="s"))

    def view(self, s: Scope) -> None:
        x = self.row(s)
        match self.rnd.randrange(4):
            case 0:
                s.points.append(self.b.tensor(aten.select.int, x, 0, self.rnd.choice([0, -1, *s.ints]), type=POINT))
            case 1:
                s.rows.append(self.b.tensor(aten.dropout.default, x, 0.5, False, type=ROW, name="same"))
            case 2:
                at = self.rnd.choice([0, *s.ints])
                s.rows.append(self.b.tensor(aten.slice.Tensor, x, 0, at, type=ROW, name="cut"))
            case _:
                wide = self.b.tensor(aten.unsqueeze.default, x, 0, type=tensor(1, None))
                s.rows.append(self.b.tensor(aten.select.int, wide, 0, 0, type=ROW, name="back"))

    def sizes(self, s: Scope) -> None:
        n = self.b.host("tensor.size", self.row(s), 0, name="n")
        m = self.b.host(self.rnd.choice(["mul", "add", "floordiv"]), n, self.rnd.choice([1, 2, *s.ints]), name="m")
        s.ints.append(m)
        if self.rnd.random() < 0.7:
            x = self.row(s)
            shape = [self.b.host("tensor.size", x, 0)] if self.rnd.random() < 0.8 else [m]
            s.rows.append(self.b.tensor(aten.view.default, x, shape, type=ROW, name="same"))

    def split(self, s: Scope) -> None:
        parts = self.b.tensor(aten.chunk.default, self.row(s), 2, type=ROWS, name="parts")
        s.rows.append(self.b.host("list.get", parts, 0, name="part"))
        if self.rnd.random() < 0.2:
            s.lists.append(parts)

    def reduce(self, s: Scope) -> None:
        s.points.append(self.b.tensor(aten.sum.default, self.row(s), type=POINT, name="total"))

    def predicate(self, s: Scope) -> None:
        if s.points:
            test = self.b.tensor(aten.gt.Scalar, self.rnd.choice(s.points), 0.5, type=tensor(dtype=torch.bool))
            s.bools.append(self.b.host("tensor.truth", test, name="above"))

    def host(self, s: Scope) -> None:
        a, c = self.rnd.choice(s.ints), self.rnd.choice(s.ints)
        match self.rnd.randrange(5):
            case 0:
                s.bools.append(self.b.host("lt", a, c, name="less"))
            case 1:
                s.ints.append(self.b.host("floordiv", a, c, name="q"))
            case 2:
                self.b.do("print", self.b.host("str", a))
            case 3:
                s.bools.append(self.b.host("not", self.rnd.choice(s.bools)))
            case _:
                s.ints.append(self.b.host(self.rnd.choice(["add", "sub"]), a, c, name="k"))

    def list_op(self, s: Scope) -> None:
        xs = self.rnd.choice(s.lists)
        match self.rnd.randrange(7):
            case 6:
                pair = self.b.host("tuple.make", self.row(s), self.row(s), name="pair")
                at = self.rnd.choice([0, 1, -1])
                s.rows.append(self.b.host("tuple.get", pair, at, type=ROW, name="one"))
            case 0 | 1:
                self.b.do("list.append", xs, self.row(s))
            case 2:
                s.rows.append(self.b.host("list.get", xs, self.rnd.choice([0, -1, *s.ints]), name="got"))
            case 3:
                s.ints.append(self.b.host("list.len", xs, name="length"))
            case 4:
                s.lists.append(self.b.host("list.new", self.row(s), type=ROWS, name="ys"))
            case _:
                s.rows.append(self.b.tensor(aten.cat.default, xs, type=ROW, name="joined"))

    def cell(self, s: Scope) -> None:
        hidden, count = self.cells
        match self.rnd.randrange(4):
            case 0:
                s.rows.append(self.b.load(hidden, "hidden"))
            case 1:
                self.b.store(hidden, self.row(s))
            case 2:
                self.b.store(count, self.b.host("add", self.b.load(count), 1))
            case _:
                s.ints.append(self.b.load(count, "count"))

    def random(self, s: Scope) -> None:
        s.rows.append(self.b.tensor(aten.rand_like.default, self.row(s), type=ROW, name="noise"))

    def write(self, s: Scope) -> None:
        x = self.row(s)
        match self.rnd.randrange(40):
            case 39:
                own = self.b.tensor(aten.clone.default, x, type=ROW, name="own")
                s.rows.append(own)
                s.ints.append(self.b.host("tensor.size", own, 0))
                self.b.tensor(aten.resize_.default, own, [0], type=ROW)
            case n if n % 6 == 0 and s.points:
                self.b.tensor(aten.add_.Scalar, self.rnd.choice(s.points), 1.0, type=POINT)
            case n if n % 6 == 1:
                point = self.b.tensor(aten.select.int, x, 0, self.rnd.choice([0, -1, *s.ints]), type=POINT)
                self.b.tensor(aten.fill_.Scalar, point, 3.0, type=POINT)
            case n if n % 6 == 2:
                self.b.tensor(aten.add_.Tensor, x, self.row(s), type=ROW)
            case n if n % 6 == 3:
                s.rows.append(self.b.tensor(aten.mul_.Scalar, x, 0.5, type=ROW, name="halved"))
            case n if n % 6 == 4:
                own = self.b.tensor(aten.clone.default, x, type=ROW, name="own")
                self.b.tensor(aten.relu_.default, own, type=ROW)
                s.rows.append(own)
            case _:
                self.b.tensor(aten.copy_.default, x, self.row(s), type=ROW)

    def private(self, s: Scope) -> None:
        """Storage made and written here, with looks at it and ways for others to hold it before the write."""
        b = self.b
        own = b.tensor(aten.clone.default, self.row(s), type=ROW, name="own")
        for _ in range(self.rnd.randrange(3)):
            match self.rnd.randrange(5):
                case 0:
                    xs = self.rnd.choice(s.lists)
                    b.do("list.append", xs, own)
                    got = b.host("list.get", xs, -1)
                    s.rows.append(b.tensor(aten.sin.default, got, type=ROW, name="other"))
                case 1:
                    s.rows.append(b.tensor(aten.mul.Scalar, own, self.rnd.choice(s.ints), type=ROW, name="seen"))
                case 2:
                    first = b.tensor(aten.select.int, own, 0, 0, type=POINT)
                    b.do("print", b.host("str", b.host("tensor.item", first)))
                case 3:
                    s.lists.append(b.host("list.new", own, type=ROWS, name="ys"))
                case _:
                    s.rows.append(b.tensor(aten.einsum.default, "i,i->i", [own, own], type=ROW, name="heavy"))
        b.tensor(aten.add_.Scalar, own, 1.0, type=ROW)
        s.rows.append(own)

    # -- control flow --------------------------------------------------------------------------

    def exit(self, s: Scope, types: tuple[Any, ...]) -> bool:
        """Ends the block by a way out, if it takes one."""
        draw = self.rnd.random()
        if draw < (0.2 if s.in_try else 0.05):
            self.b.raise_("ValueError", "stop", "Exception")
        elif draw < 0.25 and s.loop:
            self.b.break_(self.row(s), self.rnd.choice(s.ints))
        elif draw < 0.3 and s.loop:
            self.b.continue_(self.row(s), self.rnd.choice(s.ints))
        elif draw < 0.45 and s.label:
            self.b.leave(s.label, self.row(s))
        else:
            return False
        return True

    def arm(self, s: Scope, size: int, depth: int) -> Any:
        with self.b.block() as block:
            self.block(s, size // 2, depth)
            if not self.exit(s, (ROW, INT)):
                self.b.yield_(self.row(s), self.rnd.choice(s.ints))
        return block

    def if_(self, s: Scope, size: int, depth: int) -> None:
        then, orelse = self.arm(s.inner(), size, depth), self.arm(s.inner(), size, depth)
        row, number = self.b.if_(self.rnd.choice([*s.bools, *s.bools, True, False]), then, orelse, [ROW, INT])
        s.rows.append(row)
        s.ints.append(number)

    def kinds(self, s: Scope, size: int, depth: int) -> None:
        """A branch that only notes which way it went, and another that asks for it later."""
        b = self.b
        one, other = self.rnd.choice([(0, 1), (1, 0), (True, False), (False, True), (2, 2)])
        type_ = BOOL if isinstance(one, bool) else INT
        cond = self.rnd.choice(s.bools)
        with b.block() as then:
            b.yield_(one, self.row(s))
        with b.block() as orelse:
            self.simple(s.inner())
            b.yield_(other, self.row(s))
        kind, row = b.if_(cond, then, orelse, [type_, ROW])
        s.rows.append(row)
        if type_ == BOOL:
            test = self.rnd.choice([kind, b.host("not", kind)])
        else:
            test = b.host("eq", kind, self.rnd.choice([0, 1, 2]))
        s.bools.append(self.rnd.choice([test, cond]))
        then, orelse = self.arm(s.inner(), size, depth), self.arm(s.inner(), size, depth)
        row, number = b.if_(s.bools[-1], then, orelse, [ROW, INT])
        s.rows.append(row)
        s.ints.append(number)

    def for_(self, s: Scope, size: int, depth: int) -> None:
        b = self.b
        i, row, number = b.value(INT, "i"), b.value(ROW, "carried"), b.value(INT, "k")
        inner = s.inner(loop=True)
        inner.rows.append(row)
        inner.ints += [i, number]
        with b.block(i, row, number) as body:
            self.block(inner, size // 2, depth)
            if not self.exit(inner, (ROW, INT)):
                b.continue_(self.row(inner), self.rnd.choice([number, i]))
        over = (0, self.rnd.choice([3, b.host("min", self.rnd.choice(s.ints), 3)]), 1)
        row, number = b.loop([self.row(s), 1], body, [ROW, INT], over=over)
        s.rows.append(row)
        s.ints.append(number)

    def while_(self, s: Scope, size: int, depth: int) -> None:
        b = self.b
        i, row = b.value(INT, "i"), b.value(ROW, "carried")
        inner = s.inner(loop=False)
        inner.ints.append(i)
        with b.block(i, row) as body:
            # The same in every iteration, unless something writes.
            fixed = [self.row(s), self.row(s)]
            heavy = b.tensor(aten.einsum.default, "i,i->i", fixed, type=ROW, name="heavy")
            inner.rows += [row, heavy]
            self.block(inner, size // 2, depth)
            with b.block() as then:
                b.break_(self.row(inner))
            with b.block() as orelse:
                b.yield_()
            b.if_(b.host("ge", i, 2), then, orelse, [])
            b.continue_(b.host("add", i, 1), self.row(inner))
        s.rows += b.loop([0, self.row(s)], body, [ROW])

    def scope(self, s: Scope, size: int, depth: int) -> None:
        self.labels += 1
        label = f"inlined_{self.labels}"
        inner = s.inner(label=label, loop=False)
        with self.b.block() as body:
            self.block(inner, size // 2, depth)
            self.b.leave(label, self.row(inner))
        s.rows += self.b.scope(label, body, [ROW])

    def try_(self, s: Scope, size: int, depth: int) -> None:
        inner = s.inner(in_try=True)
        body = self.arm(inner, size, depth)
        with self.b.block(self.b.value(STR, "e")) as handler:
            self.b.do("print", handler.params[0])
            self.b.yield_(self.row(s), -1)
        names = self.rnd.choice([(), ("ValueError",), ("RuntimeError",), ("IndexError", "ZeroDivisionError")])
        final = None
        if self.rnd.random() < 0.3:
            with self.b.block() as final:
                self.simple(s.inner())
                self.b.yield_()
        row, number = self.b.try_(body, [Handler(names, handler)], [ROW, INT], final)
        s.rows.append(row)
        s.ints.append(number)


def random_program(rnd: random.Random, size: int = 12, in_place: bool = True) -> Program:
    """One random program with an entry `forward(x, y, n, flag)`."""
    return Writer(rnd, size, in_place=in_place).program()


#: Arguments that reach most branches; the sizes 0 and 1 among them.
ARGUMENTS = [
    ([1.0, -2.0, 0.5], [0.5, 1.0, -1.0], 1, True),
    ([-1.0, 4.0, 0.0], [2.0, 2.0, 2.0], 0, False),
    ([0.25], [3.0], -2, True),
    ([], [], 3, False),
]


def compiled_separately(interpreter: Interpreter) -> None:
    """Makes regions that are not marked as aliasing run like a compiler that copies: nothing is shared."""
    run_eagerly = interpreter.run_region

    def run(region: Region, args: Sequence[Any]) -> tuple[Any, ...]:
        if region.aliasing:
            return run_eagerly(region, args)
        return tuple(map_leaves(r, copied) for r in run_eagerly(region, [map_leaves(a, copied) for a in args]))

    interpreter.run_region = run


def compiled_sharing(interpreter: Interpreter) -> None:
    """Makes regions that are not marked as aliasing run like a compiler that shares what is equal.

    Results equal to each other are one tensor, and what does not depend on inputs is computed once
    for all calls.
    """
    run_eagerly = interpreter.run_region
    constants: list[torch.Tensor] = []

    def run(region: Region, args: Sequence[Any]) -> tuple[Any, ...]:
        if region.aliasing:
            return run_eagerly(region, args)
        known = list(constants)

        def shared(x: Any) -> Any:
            if not isinstance(x, torch.Tensor):
                return x
            for other in known:
                if comparable(x) == comparable(other):
                    return other
            known.append(x)
            if not region.params:
                constants.append(x)
            return x

        return tuple(map_leaves(r, shared) for r in run_eagerly(region, [map_leaves(a, copied) for a in args]))

    interpreter.run_region = run


def copied(x: Any) -> Any:
    """A copy of a tensor; anything else as it is."""
    return x.clone() if isinstance(x, torch.Tensor) else x


def behaviour(program: Program, compiled: Callable[[Interpreter], None] | None = None) -> list[Any]:
    """All that can be seen of a program: results, errors, what is printed, arguments and state afterwards.

    An error raised outside any `try` ends the call; which values state and arguments then have is
    not compared, nor which of several such errors in one straight line came first.
    """
    seen: list[Any] = []
    for x, y, n, flag in ARGUMENTS:
        interpreter = Interpreter(program)
        if compiled is not None:
            compiled(interpreter)
        for _ in range(2):
            torch.manual_seed(0)
            args = [torch.tensor(x), torch.tensor(y), n, flag]
            try:
                out = interpreter.run("forward", args)
            except PyError:
                seen.append("error")
                break
            state = list(interpreter.state.values())
            seen.append(comparable((out, args, state)))
    return seen


def seen(program: Program, compiled: Callable[[Interpreter], None] | None = None) -> Any:
    """Behaviour and output; what was printed before an error that ends the call is not compared."""
    out = io.StringIO()
    with redirect_stdout(out):
        found = behaviour(program, compiled)
    return found, [] if "error" in found else out.getvalue().splitlines()


def comparable(tree: Any) -> Any:
    """The same nesting with tensors as dtype, shape and exact values."""
    if isinstance(tree, torch.Tensor):
        return (str(tree.dtype), tuple(tree.shape), repr(tree.tolist()))
    if isinstance(tree, list | tuple):
        return type(tree)(comparable(x) for x in tree)
    return tree
