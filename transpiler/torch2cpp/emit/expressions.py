"""Operations and operand trees as C++ expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from torch2cpp.emit import literals
from torch2cpp.emit.coerce import conversion
from torch2cpp.emit.cpp_types import CppTypes, spell
from torch2cpp.emit.fold import Folding
from torch2cpp.emit.precedence import (
    ADD,
    ATOM,
    BITAND,
    BITOR,
    BITXOR,
    COND,
    EQ,
    LAND,
    LOR,
    MUL,
    POSTFIX,
    REL,
    UNARY,
    Expr,
    binary,
    call,
    receiver,
    wrap,
)
from torch2cpp.emit.special_rows import SPECIAL
from torch2cpp.emit.tensor_calls import tensor_call
from torch2cpp.hostir.host_ops import TABLE
from torch2cpp.hostir.ops import (
    Call,
    Cell,
    HostOp,
    If,
    Load,
    Op,
    Operand,
    RegionCall,
    TensorOp,
    Value,
    WeightRef,
    operands,
)
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    STR,
    DictType,
    ListType,
    NoneType,
    OptionalType,
    RecordType,
    SetType,
    TupleType,
    Type,
)

#: Rows spelled with an operator: (operator, precedence).
_INFIX = {
    "lt": ("<", REL),
    "le": ("<=", REL),
    "gt": (">", REL),
    "ge": (">=", REL),
    "eq": ("==", EQ),
    "ne": ("!=", EQ),
    "and": ("&", BITAND),
    "or": ("|", BITOR),
    "xor": ("^", BITXOR),
    "str.add": ("+", ADD),
}
_FLOAT_INFIX = {"add": ("+", ADD), "sub": ("-", ADD), "mul": ("*", MUL)}
#: Operations whose result nothing else refers to yet.
_MAKERS = frozenset({"tuple.make", "record.make", "optional.some", "list.new", "dict.new", "set.new"})
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@final
@dataclass(frozen=True, slots=True)
class Expressions:
    """Renders what one function evaluates."""

    program: Program
    types: CppTypes
    folding: Folding
    #: The C++ spelling of a value that has a variable.
    place: Callable[[Value], Expr]
    #: Region name -> method of Regions; function name -> private method.
    region_method: Callable[[str], str]
    function_method: Callable[[str], str]
    #: Region name -> fields of its result struct.
    region_fields: Callable[[str], tuple[str, ...]]
    #: The variable of a cell.
    cell: Callable[[Cell], str]
    #: The function that gives a container of constants which is made once; None for any other operation.
    table: Callable[[HostOp], str | None]

    # -- operand trees -------------------------------------------------------------------------

    def operand(self, tree: Operand) -> Expr:
        """A leaf; trees need a type, see `typed`."""
        if isinstance(tree, Value):
            op = self.folding.folded.get(tree)
            return self.place(tree) if op is None else self.operation(op)
        if isinstance(tree, WeightRef):
            return Expr(f"regions_->weight({literals.string(tree.name)})", POSTFIX)
        text = literals.constant(tree)
        return Expr(text, UNARY if text.startswith("-") else ATOM)

    def typed(self, tree: Operand, type_: Type) -> Expr:
        """An operand tree as a value of a type."""
        match tree, type_:
            case Value(), _:
                made = self.folding.folded.get(tree)
                if isinstance(made, HostOp) and made.name in _MAKERS and self.spelled(tree.type) != self.spelled(type_):
                    return self.made_as(made, type_)
                return conversion(self.operand(tree), tree.type, type_, self.spelled)
            case WeightRef(), _:
                return conversion(self.operand(tree), tree.type, type_, self.spelled)
            case None, OptionalType():
                return Expr("std::nullopt", ATOM)
            case None, NoneType():
                return Expr("std::monostate{}", ATOM)
            case _, OptionalType():
                inner = self.typed(tree, type_.elem)
                return call(self.spelled(type_), inner) if isinstance(tree, tuple | list | dict) else inner
            case tuple() | list(), TupleType():
                return self._braced(self.spelled(type_), [self.typed(x, t) for x, t in zip(tree, type_.elems)])
            case list() | tuple(), ListType():
                return call(f"{self.spelled(type_)}::of", *(self.typed(x, type_.elem) for x in tree))
            case dict(), RecordType():
                return self._braced(self.spelled(type_), [self.typed(tree[k], t) for k, t in type_.fields])
            case (int(), _) if type_ == FLOAT and not isinstance(tree, bool):
                return Expr(literals.floating(float(tree)), ATOM)
            case (str(), _) if type_ == STR:
                return Expr(literals.string(tree), ATOM)
            case _:
                source = _constant_type(tree)
                if source is None:
                    raise TypeError(f"no C++ expression of type {type_} for {tree!r}")
                return conversion(self.operand(tree), source, type_, self.spelled)

    def made_as(self, op: HostOp, type_: Type) -> Expr:
        """A container that is made here, as the wider type it is made for."""
        assert op.result is not None
        match op.name, type_:
            case _, OptionalType() if op.name != "optional.some":
                return call(self.spelled(type_), self.made_as(op, type_.elem))
            case "optional.some", OptionalType():
                return call(self.spelled(type_), self.typed(op.args[0], type_.elem))
            case "tuple.make", TupleType() | ListType():
                return self.typed(list(op.args), type_)
            case "record.make", RecordType():
                names, *values = op.args
                return self.typed(dict(zip(names, values)), type_)
            case "list.new", ListType():
                return call(f"{self.spelled(type_)}::of", *(self.typed(a, type_.elem) for a in op.args))
            case "set.new", SetType():
                return call(f"{self.spelled(type_)}::of", *(self.typed(a, type_.elem) for a in op.args))
            case "dict.new", DictType():
                kinds = (type_.key, type_.value)
                return call(f"{self.spelled(type_)}::of", *(self.typed(a, kinds[i % 2]) for i, a in enumerate(op.args)))
        return conversion(self.host(op), op.result.type, type_, self.spelled)

    def spelled(self, t: Type) -> str:
        """The C++ type."""
        return spell(t, self.types)

    def _braced(self, type_: str, items: Sequence[Expr]) -> Expr:
        return Expr(f"{type_}{{{', '.join(i.text for i in items)}}}", POSTFIX)

    # -- operations ----------------------------------------------------------------------------

    def operation(self, op: Op) -> Expr:
        """An operation with at most one result."""
        match op:
            case HostOp():
                table = self.table(op)
                return self.host(op) if table is None else call(table)
            case TensorOp():
                return tensor_call(op, self.operand)
            case RegionCall():
                params = self.program.regions[op.region].params
                args = [self.typed(a, p.type) for a, p in zip(op.args, params)]
                if op.instances:
                    args.insert(0, self.operand(op.index))
                return call(f"regions_->{self.region_method(op.region)}", *args)
            case Call():
                function = self.program.functions[op.function]
                wanted = [p.value.type for p in function.params if p.value is not None]
                args = [self.typed(a, t) for a, t in zip(op.args, wanted)]
                return call(self.function_method(op.function), *args)
            case Load():
                return Expr(self.cell(op.cell), POSTFIX)
            case If():
                return self.conditional(op)
            case _:
                raise TypeError(f"{type(op).__name__} is a statement")

    def conditional(self, op: If) -> Expr:
        """An `If` whose arms are expressions: `&&`, `||` or `?:`."""
        result = op.results[0].type
        then, orelse = (operands(b.ops[-1])[0] for b in (op.then, op.orelse))
        cond = self.operand(op.cond)
        if result == BOOL:
            if (then, orelse) == (True, False) and isinstance(then, bool):
                return cond
            if orelse is False:
                return binary("&&", LAND, cond, self.operand(then))
            if then is True:
                return binary("||", LOR, cond, self.operand(orelse))
            if then is False:
                return binary("&&", LAND, self.negated(op.cond), self.operand(orelse))
            if orelse is True:
                return binary("||", LOR, self.negated(op.cond), self.operand(then))
        # Both operands of ?: must have the very type of the result.
        a, b = (wrap(self.exactly(x, result), COND + 1) for x in (then, orelse))
        return Expr(f"{wrap(cond, COND + 1)} ? {a} : {b}", COND)

    def exactly(self, tree: Operand, type_: Type) -> Expr:
        """An operand as an expression of just this C++ type, nothing that converts to it."""
        expr = self.typed(tree, type_)
        same = isinstance(tree, Value) and self.spelled(tree.type) == self.spelled(type_)
        if same or isinstance(tree, tuple | list | dict) or type_ in (BOOL, FLOAT):
            return expr
        return Expr(f"{self.spelled(type_)}{{{expr.text}}}", POSTFIX)

    def negated(self, cond: Operand) -> Expr:
        """`not cond`, with a comparison of ints turned round."""
        op = self.folding.folded.get(cond) if isinstance(cond, Value) else None
        if isinstance(op, If) and [operands(b.ops[-1])[0] for b in (op.then, op.orelse)] == [True, False]:
            return self.negated(op.cond)
        if isinstance(op, HostOp):
            if op.name == "not":
                return self.operand(op.args[0])
            if op.name in _COMPARISONS and (op.name in ("eq", "ne") or all(_kind(a) == INT for a in op.args)):
                sign, level = _INFIX[op.name]
                if self.host(op).level == level:  # written with the operator, not as a call
                    return binary(_OPPOSITE[sign], level, *map(self.operand, op.args))
            if op.name == "optional.is_none":
                return Expr(f"{wrap(self.operand(op.args[0]), POSTFIX)}.has_value()", POSTFIX)
        return Expr(f"!{wrap(self.operand(cond), UNARY)}", UNARY)

    # -- host operations -----------------------------------------------------------------------

    def host(self, op: HostOp) -> Expr:
        """One row of the table."""
        special = SPECIAL.get(op.name)
        if special is not None:
            return special(self, op)
        if (infix := self._infix(op)) is not None:
            return infix
        pattern = TABLE[op.name].cpp
        args = [self.argument(op, i) for i in range(len(op.args))]
        # Where C++ would compare otherwise, as an int with a float, the runtime's function does it.
        if "{" not in pattern or op.name in _COMPARISONS:
            pattern = op.name if op.name in _COMPARISONS else pattern
            return call(f"py::{pattern}", *args)
        return self._pattern(op, pattern, args)

    def argument(self, op: HostOp, i: int) -> Expr:
        """An operand, converted where a container's element type asks for it."""
        arg = op.args[i]
        wanted = _wanted(op, i)
        if wanted is not None:
            return self.typed(arg, wanted)
        if isinstance(arg, tuple | list):
            raise TypeError(f"{op.name}: no type for operand {arg!r}")
        return self.operand(arg)

    def _pattern(self, op: HostOp, pattern: str, args: list[Expr]) -> Expr:
        method = re.fullmatch(r"\{0\}\.(\w+)\((.*)\)", pattern)
        if method is not None:
            fixed = re.match(r"\d+, ", method[2])
            texts = ([Expr("0", ATOM)] if fixed else []) + args[1:]
            return call(f"{receiver(args[0])}{method[1]}", *texts)
        made = self.spelled(op.result.type) if op.result is not None else ""
        if pattern == "{T}::of({args})":
            return call(f"{made}::of", *args)
        text = pattern.format(*(a.text for a in args), T=made)
        return Expr(text if text.startswith("std::") else f"py::{text}", POSTFIX)

    def _infix(self, op: HostOp) -> Expr | None:
        kinds = [_kind(a) for a in op.args]
        if op.name in _FLOAT_INFIX and FLOAT in kinds:
            sign, level = _FLOAT_INFIX[op.name]
            return binary(sign, level, *map(self.operand, op.args))
        if op.name == "neg" and kinds == [FLOAT]:
            return Expr(f"-{wrap(self.operand(op.args[0]), UNARY)}", UNARY)
        if op.name == "truediv" and FLOAT in kinds and op.args[1] != 0 and not isinstance(op.args[1], Value):
            return binary("/", MUL, self.operand(op.args[0]), self.typed(op.args[1], FLOAT))
        if op.name not in _INFIX or (op.name in _COMPARISONS and not _comparable(op, kinds)):
            return None
        sign, level = _INFIX[op.name]
        a, b = map(self.operand, op.args)
        if op.name in _COMPARISONS and kinds == [INT, INT] and a.text == b.text and "(" not in a.text:
            # Compilers warn where a variable is compared with itself.
            return Expr("true" if op.name in ("eq", "le", "ge") else "false", ATOM)
        if op.name == "str.add":
            return self._concatenation(op)
        if op.name in ("and", "or", "xor") and kinds == [BOOL, BOOL]:
            # The bit operators of two bools give an int in C++.
            return binary("!=", EQ, a, b) if op.name == "xor" else binary("!=", EQ, binary(sign, level, a, b),
                                                                         Expr("0", ATOM))  # fmt: skip
        return binary(sign, level, a, b)

    def _concatenation(self, op: HostOp) -> Expr:
        """A chain of `+`; it must begin with a std::string, since two literals cannot be added."""
        parts = list(self._string_parts(op))
        first, *rest = (self.operand(p) for p in parts)
        if isinstance(parts[0], str) and not (first.text.startswith("std::string(") or _is_string_object(parts[1])):
            first = call("std::string", first)
        return Expr(" + ".join(wrap(p, ADD + 1) for p in (first, *rest)), ADD)

    def _string_parts(self, tree: Operand) -> Iterator[Operand]:
        op = tree if isinstance(tree, HostOp) else self.folding.folded.get(tree) if isinstance(tree, Value) else None
        if isinstance(op, HostOp) and op.name == "str.add":
            for arg in op.args:
                yield from self._string_parts(arg)
        else:
            yield tree


def _is_string_object(part: Operand) -> bool:
    return isinstance(part, Value)


def _kind(x: Operand) -> Type | None:
    return x.type if isinstance(x, Value) else _constant_type(x)


def _constant_type(x: Operand) -> Type | None:
    if x is None:
        return NoneType()
    return {bool: BOOL, int: INT, float: FLOAT, str: STR}.get(type(x))


def _comparable(op: HostOp, kinds: list[Type | None]) -> bool:
    """Whether C++'s operator compares exactly as Python does: not for an int variable and a float."""
    if FLOAT in kinds and kinds != [FLOAT, FLOAT]:
        return any(isinstance(a, int) and abs(a) < 2**53 for a in op.args)
    return True


def _wanted(op: HostOp, i: int) -> Type | None:
    """The type an operand of a container operation is stored as."""
    first = op.args[0]
    container = first.type if isinstance(first, Value) else None
    result = op.result.type if op.result is not None else None
    if op.name == "list.new" and isinstance(result, ListType):
        return result.elem
    if op.name in ("list.set", "list.insert") and i == 2 and isinstance(container, ListType):
        return container.elem
    if op.name in ("list.append", "list.appendleft", "list.remove", "list.contains", "list.index", "list.count"):
        if i == 1 and isinstance(container, ListType):
            return container.elem
    return _wanted_by_mapping(op, i, container, result)


def _wanted_by_mapping(op: HostOp, i: int, container: Type | None, result: Type | None) -> Type | None:
    if op.name == "dict.new" and isinstance(result, DictType):
        return result.key if i % 2 == 0 else result.value
    if op.name == "set.new" and isinstance(result, SetType):
        return result.elem
    if op.name.startswith("dict.") and isinstance(container, DictType) and i in (1, 2) and op.name != "dict.update":
        return container.key if i == 1 else container.value
    if op.name in ("set.add", "set.discard", "set.contains") and isinstance(container, SetType) and i == 1:
        return container.elem
    return None
