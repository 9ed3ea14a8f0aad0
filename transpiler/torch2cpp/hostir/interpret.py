"""The reference interpreter: runs any program in Python, before or after region formation.

Tensor operations are the ATen overloads themselves, called eagerly; host operations are the
`evaluate` column of `host_ops.TABLE` with 64-bit integers. What it computes is what the emitted
C++ must compute, so the analysis is tested in milliseconds without a build.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

import torch

from torch2cpp.hostir.host_ops import TABLE, checked
from torch2cpp.hostir.ops import (
    Block,
    Break,
    Call,
    Cell,
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
    WeightRef,
    Yield,
    map_leaves,
)
from torch2cpp.hostir.program import REQUIRED, Function, Param, Program, Region
from torch2cpp.hostir.pyerror import IrFault, PyError, from_exception
from torch2cpp.hostir.pyvalues import to_internal, to_python
from torch2cpp.hostir.types import FLOAT, INT, ListType, TensorType, Type

#: How a block ended: its terminator and the values that one hands on.
_Exit = tuple[Op, tuple[Any, ...]]
#: Python frames a deeply recursive model may use; each IR call takes about four.
_RECURSION_LIMIT = 20_000


@final
class _Frame:
    """The variables and local cells of one call of a function."""

    __slots__ = ("cells", "env")

    def __init__(self) -> None:
        self.env: dict[Value, Any] = {}
        self.cells: dict[Cell, Any] = {}


@final
class Interpreter:
    """One instance of the model: its state lives here, between calls of `run`.

    `capture` asks to keep the inputs of up to so many calls of each region, those with new
    shapes first, for build-time checks. `on_region` is called with each region and its inputs
    before it runs; `on_results` gives what stands for its results.
    """

    def __init__(
        self,
        program: Program,
        capture: int = 0,
        on_region: Callable[[Region, tuple[Any, ...]], None] | None = None,
        on_results: Callable[[Region, tuple[Any, ...]], tuple[Any, ...]] | None = None,
    ) -> None:
        self.program = program
        self._on_region = on_region
        self._on_results = on_results
        # As they are: ATen picks the way of a matmul by whether a weight requires gradients, under no_grad too.
        self.weights = dict(program.weights)
        self.state: dict[Cell, Any] = {}
        #: The arms taken, per `If` that was reached.
        self.taken: dict[If, set[bool]] = {}
        #: Numbers of iterations begun, per `Loop` that was reached.
        self.iterations: dict[Loop, set[int]] = {}
        #: Inputs of region calls, per region.
        self.captured: dict[str, list[tuple[Any, ...]]] = {}
        self._capture = capture
        #: What the handlers that are running took, innermost last.
        self._handled: list[PyError] = []
        self._calls: dict[type, Callable[[Any, _Frame], _Exit | None]] = {
            TensorOp: self._tensor_op,
            HostOp: self._host_op,
            If: self._if,
            Loop: self._loop,
            Scope: self._scope,
            Try: self._try,
            Call: self._call,
            RegionCall: self._region_call,
            Load: self._load,
            Store: self._store,
            Raise: self._raise,
        }
        self.reset()

    def reset(self) -> None:
        """Sets all state back to what it was before the first call; what was shared stays shared."""
        memo: dict[int, Any] = {}
        clones: dict[int, torch.Tensor] = {}
        for cell in self.program.cells:
            if cell.scope == "state":
                where = f"initial value of {cell.name}"
                value = _cloned(cell.initial, clones)
                self.state[cell] = to_internal(value, cell.type, where, self.program.structs, memo)

    def run(self, entry: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Calls an entry with Python values and gives its result as Python has it.

        Raises PyError for what the model's code raises, TypeError or ValueError for an argument
        that the signature does not take.
        """
        function, values = self._variant(entry, args, kwargs or {})
        with torch.no_grad(), _deep_recursion():
            result = self._function(function, values)
        return to_python(result, function.result, self.program.structs)

    def _variant(self, entry: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Function, Sequence[Any]]:
        """The function of the entry that takes these arguments: the first, where examples are of several kinds."""
        names = self.program.variants.get(entry, (entry,))
        for name in names[:-1]:
            function = self.program.entries[name]
            try:
                return function, bind_arguments(self.program, function, args, kwargs)
            except (TypeError, ValueError):
                continue
        function = self.program.entries[names[-1]]
        return function, bind_arguments(self.program, function, args, kwargs)

    # -- functions and blocks ------------------------------------------------------------------

    def _function(self, function: Function, args: Sequence[Any]) -> Any:
        frame = _Frame()
        values = [p.value for p in function.params if p.value is not None]
        self._define(frame, values, args, function)
        op, out = self._block(function.body, frame)
        if not isinstance(op, Return):
            raise IrFault(f"{function.name} ended in {type(op).__name__}")
        return out[0]

    def _block(self, block: Block, frame: _Frame) -> _Exit:
        for op in block.ops:
            call = self._calls.get(type(op))
            if call is None:
                return op, self._handed_on(op, frame)
            try:
                left = call(op, frame)
            except (PyError, IrFault):
                raise
            except Exception as error:
                raise from_exception(error, op.span) from error
            if left is not None:
                return left
        raise IrFault("control reaches the end of a block without terminator")

    def _handed_on(self, op: Op, frame: _Frame) -> tuple[Any, ...]:
        match op:
            case Yield() | Continue() | Break() | Leave():
                return tuple(self._eval(v, frame) for v in op.values)
            case Return():
                return (self._eval(op.value, frame),)
            case _:
                raise IrFault(f"unknown operation {type(op).__name__}")

    def _eval(self, tree: Operand, frame: _Frame) -> Any:
        if isinstance(tree, Value):
            try:
                return frame.env[tree]
            except KeyError:
                raise IrFault(f"{tree} is used before it is defined") from None
        if isinstance(tree, WeightRef):
            return self.weights[tree.name]
        if isinstance(tree, tuple | list | dict | slice):
            return map_leaves(tree, lambda leaf: self._eval(leaf, frame))
        return tree

    def _define(self, frame: _Frame, values: Sequence[Value], given: Sequence[Any], op: object) -> None:
        if len(values) != len(given):
            raise IrFault(f"{type(op).__name__}: {len(given)} values for {len(values)} names")
        for value, x in zip(values, given, strict=True):
            frame.env[value] = coerced(x, value.type)
            if isinstance(value.type, TensorType) and x is not None:
                _check_sizes(value, x)

    # -- operations ----------------------------------------------------------------------------

    def _tensor_op(self, op: TensorOp, frame: _Frame) -> None:
        args = [self._eval(a, frame) for a in op.args]
        kwargs = {k: self._eval(v, frame) for k, v in op.kwargs.items()}
        if op.indexed is not None:
            _check_index(args[0].shape[args[1]], args[2], op.indexed)
        out = op.overload(*args, **kwargs)
        if op.results:
            self._define(frame, op.results, out if isinstance(out, tuple) else (out,), op)

    def _host_op(self, op: HostOp, frame: _Frame) -> None:
        value = evaluate_host(op.name, [self._eval(a, frame) for a in op.args])
        if op.result is not None:
            frame.env[op.result] = coerced(value, op.result.type)

    def _if(self, op: If, frame: _Frame) -> _Exit | None:
        cond = self._eval(op.cond, frame)
        if type(cond) is not bool:
            raise IrFault(f"condition of type {type(cond).__name__} at {op.span}")
        self.taken.setdefault(op, set()).add(cond)
        left = self._block(op.then if cond else op.orelse, frame)
        return self._joined(op.results, left, Yield, frame)

    def _joined(self, values: Sequence[Value], left: _Exit, kind: type, frame: _Frame) -> _Exit | None:
        """Takes over what a block of `kind` of terminator handed on; any other way out goes on outwards."""
        if not isinstance(left[0], kind):
            return left
        self._define(frame, values, left[1], left[0])
        return None

    def _loop(self, op: Loop, frame: _Frame) -> _Exit | None:
        carried = tuple(self._eval(v, frame) for v in op.inits)
        indices: Iterator[int] | None = None
        if op.over is not None:
            indices = iter(range(*(self._eval(v, frame) for v in op.over)))
        count = 0
        try:
            while True:
                if indices is None:
                    given = carried
                else:
                    index = next(indices, None)
                    if index is None:
                        self._define(frame, op.results, carried, op)
                        return None
                    given = (index, *carried)
                count += 1
                self._define(frame, op.body.params, given, op)
                left = self._block(op.body, frame)
                if not isinstance(left[0], Continue):
                    return self._joined(op.results, left, Break, frame)
                carried = left[1]
        finally:
            self.iterations.setdefault(op, set()).add(count)

    def _scope(self, op: Scope, frame: _Frame) -> _Exit | None:
        left = self._block(op.body, frame)
        if isinstance(left[0], Leave) and left[0].label != op.label:
            return left
        return self._joined(op.results, left, Leave, frame)

    def _try(self, op: Try, frame: _Frame) -> _Exit | None:
        try:
            left = self._guarded(op, frame)
        except PyError:
            if op.final is not None:
                out = self._block(op.final, frame)
                if not isinstance(out[0], Yield):
                    return out
            raise
        if op.final is not None:
            out = self._block(op.final, frame)
            if not isinstance(out[0], Yield):
                return out
        return self._joined(op.results, left, Yield, frame)

    def _guarded(self, op: Try, frame: _Frame) -> _Exit:
        try:
            return self._block(op.body, frame)
        except PyError as error:
            for handler in op.handlers:
                if error.matches(handler.names):
                    self._define(
                        frame, handler.body.params, (error.message, error.name)[: len(handler.body.params)], op
                    )
                    self._handled.append(error)
                    try:
                        return self._block(handler.body, frame)
                    finally:
                        self._handled.pop()
            raise

    def _call(self, op: Call, frame: _Frame) -> None:
        out = self._function(self.program.functions[op.function], [self._eval(a, frame) for a in op.args])
        if len(op.results) == 1:
            self._define(frame, op.results, (out,), op)
        else:
            self._define(frame, op.results, out if op.results else (), op)

    def _region_call(self, op: RegionCall, frame: _Frame) -> None:
        args = tuple(self._eval(a, frame) for a in op.args)
        name = op.region
        if op.instances:
            index = self._eval(op.index, frame)
            if not 0 <= index < len(op.instances):
                raise IrFault(f"there is no instance {index} of region {op.region}")
            name = op.instances[index]
        if self._capture:
            self._keep(name, args)
        if self._on_region is not None:
            self._on_region(self.program.regions[name], args)
        found = self.run_region(self.program.regions[name], args)
        if self._on_results is not None:
            found = self._on_results(self.program.regions[name], found)
        self._define(frame, op.results, found, op)

    def run_region(self, region: Region, args: Sequence[Any]) -> tuple[Any, ...]:
        """Runs one region eagerly on its inputs; one value per result."""
        frame = _Frame()
        self._define(frame, region.params, args, region)
        with torch.no_grad():
            for op in region.body:
                try:
                    self._calls[type(op)](op, frame)
                except (PyError, IrFault):
                    raise
                except Exception as error:
                    raise from_exception(error, op.span) from error
        return tuple(frame.env[r] for r in region.results)

    def _keep(self, region: str, args: tuple[Any, ...]) -> None:
        kept = self.captured.setdefault(region, [])
        shapes = _shapes(args)
        if len(kept) < self._capture and all(_shapes(k) != shapes for k in kept):
            # Cloned: the program may write to these tensors later on.
            kept.append(tuple(_cloned(a, {}) for a in args))

    def _cells(self, cell: Cell, frame: _Frame) -> dict[Cell, Any]:
        return self.state if cell.scope == "state" else frame.cells

    def _load(self, op: Load, frame: _Frame) -> None:
        cells = self._cells(op.cell, frame)
        if op.cell not in cells:
            if op.cell.initial is None:
                raise IrFault(f"cell {op.cell.name} is read before it is written")
            cells[op.cell] = op.cell.initial
        frame.env[op.result] = cells[op.cell]

    def _store(self, op: Store, frame: _Frame) -> None:
        self._cells(op.cell, frame)[op.cell] = coerced(self._eval(op.value, frame), op.cell.type)

    def _raise(self, op: Raise, frame: _Frame) -> None:
        if not op.name:
            raise self._handled[-1]
        raise PyError(op.name, op.bases, self._eval(op.message, frame), op.span)


def _check_index(size: int, index: int, dim: int) -> None:
    """Raises as `t[..., index]` does, where `select` itself would word it differently."""
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def bind_arguments(program: Program, function: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The internal values of an entry's unpinned parameters, defaults filled in.

    Raises TypeError as Python does for missing and unknown arguments, and ValueError where a
    pinned parameter gets another value than the pinned one.
    """
    if len(args) > len(function.params):
        raise TypeError(f"{function.name}() takes {len(function.params)} arguments but {len(args)} were given")
    unknown = [k for k in kwargs if k not in {p.name for p in function.params[len(args) :]}]
    if unknown:
        raise TypeError(f"{function.name}() got an unexpected keyword argument {unknown[0]!r}")
    memo: dict[int, Any] = {}
    values = []
    for i, param in enumerate(function.params):
        given = args[i] if i < len(args) else kwargs.get(param.name, param.default)
        if param.value is None:
            _check_pinned(function, param, given)
            continue
        if given is REQUIRED:
            raise TypeError(f"{function.name}() missing required argument: {param.name!r}")
        values.append(to_internal(given, param.value.type, param.name, program.structs, memo))
    return values


def _check_pinned(function: Function, param: Param, given: Any) -> None:
    if given is REQUIRED or given is param.pinned:
        return
    if type(given) is not type(param.pinned) or given != param.pinned:
        raise ValueError(f"{function.name}(): {param.name} is pinned to {param.pinned!r}, got {given!r}")


def evaluate_host(name: str, args: Sequence[Any]) -> Any:
    """The value of a host operation over given operands; raises what Python raises.

    >>> evaluate_host("min", [1, 2.5])
    1.0
    """
    info = TABLE.get(name)
    if info is None:
        raise IrFault(f"unknown host operation {name}")
    if info.promote and any(type(a) is float for a in args):
        args = [float(a) if isinstance(a, int) else a for a in args]
    return info.evaluate(*args)


def _check_sizes(value: Value, x: torch.Tensor) -> None:
    """A tensor is what binding said it is; a size taken for a constant that varies would be a wrong program."""
    t = value.type
    assert isinstance(t, TensorType)
    wrong = x.dtype != t.dtype or x.dim() != len(t.dims)
    if wrong or any(want is not None and want != have for want, have in zip(t.dims, x.shape, strict=True)):
        raise IrFault(f"{value} is {t} to the program but {x.dtype} of sizes {list(x.shape)} at {value.span}")


def coerced(value: Any, type_: Type) -> Any:
    """A scalar as a variable of its type holds it: 64-bit int, bool in an int variable as 0 or 1.

    >>> coerced(True, INT), coerced(2, FLOAT)
    (1, 2.0)
    """
    if isinstance(value, int):
        if type_ == FLOAT:
            return float(value)
        if type_ == INT:
            return int(checked(value))
        return checked(value)
    if isinstance(value, list) and isinstance(type_, ListType) and type_.kind == "tuple":
        return tuple(value)
    return value


def _cloned(tree: Any, clones: dict[int, torch.Tensor]) -> Any:
    """The same Python value with its tensors cloned, each tensor once."""
    if isinstance(tree, torch.Tensor):
        if id(tree) not in clones:
            clones[id(tree)] = tree.detach().clone()
        return clones[id(tree)]
    if type(tree) in (list, tuple):
        return type(tree)(_cloned(x, clones) for x in tree)
    if type(tree) is dict:
        return {k: _cloned(v, clones) for k, v in tree.items()}
    return tree


def _shapes(args: tuple[Any, ...]) -> list[Any]:
    return [
        tuple(a.shape) if isinstance(a, torch.Tensor) else _shapes(tuple(a)) if isinstance(a, list) else a for a in args
    ]


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
