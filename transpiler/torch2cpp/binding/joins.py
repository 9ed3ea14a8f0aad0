"""Joins: what several paths leave behind becomes one state again.

`merge` takes the states of all paths that meet, finds the variables, list elements, fields and
attributes in which they differ, and makes one run-time value of each difference. The caller ends
each path with the operands it gets back (`Yield`, `Break`, `Leave`, ...).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch2cpp.binding.context import Context, Exit, Restart, tensor_type
from torch2cpp.binding.convert import (
    NoType,
    is_constant,
    is_scalar,
    resolve,
    same_layout,
    static_type,
    to_operand,
    type_of,
)
from torch2cpp.binding.growth import fit_inside, learn_type, note_joined
from torch2cpp.binding.join_values import (
    Group,
    Inside,
    as_choice,
    as_tup,
    bound_or_not,
    describe_in,
    dict_of,
    held_type_in,
    inside_of,
    is_itself,
    is_none,
    is_tree,
    mapped_tag,
    may_be_unbound,
    of_any_length,
    origin,
    part_name,
    same_value,
    type_in,
    types_where_there,
)
from torch2cpp.binding.literal_sets import LiteralSet, make_run_time_set
from torch2cpp.binding.meta import DEFAULT_HINTS, distinct, hints_of, merge_meta
from torch2cpp.binding.optional import possible
from torch2cpp.binding.unlike import make_alike
from torch2cpp.binding.unset_fields import escapes
from torch2cpp.binding.values import (
    NONE,
    UNBOUND,
    AbsVal,
    Array,
    Bound,
    Choice,
    DictObj,
    Func,
    Host,
    InstanceObj,
    Iter,
    ListObj,
    Meta,
    Native,
    Option,
    PartialDict,
    Poison,
    RangeVal,
    Ref,
    Rt,
    RtObj,
    ScopeObj,
    SliceVal,
    State,
    Static,
    Tensor,
    Tup,
    Unbound,
    fresh_id,
)
from torch2cpp.binding.widening import as_runtime, list_type, widen_dict, widen_list
from torch2cpp.hostir.ops import Operand, Value
from torch2cpp.hostir.types import (
    INT,
    DictType,
    ListType,
    NoneType,
    OptionalType,
    ScalarType,
    SetType,
    TensorType,
    Type,
    holds_tensor,
    join,
    merged_order,
)

Build = Callable[[list[Value]], AbsVal]


@dataclass
class Merged:
    """The result of a merge."""

    state: State
    #: One abstract value per `extra` position.
    extras: list[AbsVal]
    #: New SSA values, in order.
    results: list[Value]
    #: For each incoming path, the operands for `results`.
    operands: list[list[Operand]]
    #: How many options each choice has.
    options: list[int]


class _Merger:
    def __init__(self, cx: Context, incoming: list[Exit], loop: Any, unroll: bool, since: int | None) -> None:
        self.cx, self.incoming, self.loop = cx, incoming, loop
        #: Values with this id or a later one are defined inside what is left, and must be handed out.
        self.since = since
        #: The loop to unroll when values of unlike kinds are read.
        self.unroll = loop if unroll else None
        self.results: list[Value] = []
        self.operands: list[list[Operand]] = [[] for _ in incoming]
        self.options: list[int] = []
        self.heap: dict[Any, Any] = {}
        self.done: dict[tuple[object, ...], AbsVal] = {}
        self.keep: list[Any] = []

    # One variable ------------------------------------------------------------------------------

    def value(self, vals: list[AbsVal], name: str) -> AbsVal:
        """What remains of one variable with these values on the incoming paths."""
        first = vals[0]
        if all(v is first or same_value(v, first) for v in vals) and not self._inner(first):
            return first
        # The error about an unassigned variable names it.
        key = (*map(id, vals), name if any(isinstance(v, Unbound) for v in vals) else "")
        if key not in self.done:
            self.keep.append(vals)
            self.done[key] = self._differing(vals, name)
        return self.done[key]

    def _differing(self, vals: list[AbsVal], name: str) -> AbsVal:
        for v in vals:
            if isinstance(v, Poison):
                return v
        vals = [as_choice(self._narrowed(e, v), name) for e, v in zip(self.incoming, vals)]
        if all(map(is_none, vals)):
            return NONE  # known on each path in a way of its own
        if any(isinstance(v, Choice) for v in vals):
            return self._choice(vals, name)
        if any(isinstance(v, Unbound) for v in vals):
            return self._maybe_unbound(vals, name)
        members = [v.value for v in vals if isinstance(v, Static) and isinstance(v.value, enum.Enum)]
        if len(members) == len(vals) and len(set(members)) <= MAX_OPTIONS:
            return self._choice(vals, name)
        if any(isinstance(v, Tup) for v in vals):
            vals = [as_tup(v) for v in vals]
        if all(isinstance(v, Array) for v in vals):
            merged = self.value([v.tensor for v in vals], name)
            return Array(merged) if isinstance(merged, Tensor) else merged
        if all(isinstance(v, Tup) for v in vals):
            return self._tuples(vals, name)
        if all(isinstance(v, Tensor) or (isinstance(v, Static) and isinstance(v.value, torch.Tensor)) for v in vals):
            return self._tensors(vals, name)
        if all(map(is_scalar, vals)):
            return self._scalars(vals, name)
        if all(isinstance(v, RangeVal) or (isinstance(v, Static) and isinstance(v.value, range)) for v in vals):
            return self._ranges(vals, name)
        if all(isinstance(v, Iter) and v.kind == "dict_view" and v.extra == vals[0].extra for v in vals):
            of = self.value([v.parts[0] for v in vals], name)
            return of if isinstance(of, Poison) else Iter("dict_view", (of,), vals[0].extra)
        if all(isinstance(v, Ref) for v in vals):
            merged = self._objects(vals, name)
            if merged is not None:
                return merged
        return self._by_type(vals, name)

    def _inner(self, v: AbsVal) -> bool:
        """Whether a value depends on an SSA value defined inside the construct that is left."""
        if self.since is None:
            return False
        match v:
            case Array():
                return self._inner(v.tensor)
            case Tensor() | Host() | Rt():
                return isinstance(v.operand, Value) and v.operand.id >= self.since
            case Tup():
                return any(map(self._inner, v.elems))
            case Iter():
                return any(map(self._inner, v.parts)) or self._inner(v.extra)
            case Bound():
                return self._inner(v.self)
            case Choice():
                return v.tag.id >= self.since
            case RangeVal() | SliceVal():
                return any(map(self._inner, (v.start, v.stop, v.step)))
            case RtObj():
                return self._inner(v.value)
            case ListObj():
                return any(map(self._inner, v.elems))
            case DictObj() | PartialDict():
                return any(map(self._inner, v.items.values()))
            case InstanceObj():
                return any(map(self._inner, v.fields.values()))
            case ScopeObj():
                return any(map(self._inner, v.names.values()))
        message = getattr(v, "message", None)
        return message is not None and self._inner(message)

    @staticmethod
    def _narrowed(path: Exit, v: AbsVal) -> AbsVal:
        """What is known of an optional or a choice on its path."""
        if isinstance(v, Rt) and isinstance(v.type, OptionalType):
            known = path.state.narrowed.get(v.operand, v)
            return UNBOUND if v.unbound and is_none(known) else known
        return v

    def _made_references(self, vals: list[AbsVal]) -> None:
        """Mutable objects that become part of an optional are run-time ones: all names must see the same object."""
        for path, v in zip(self.incoming, vals):
            with Inside(self.cx, path):
                if isinstance(v, Tup):
                    try:
                        type_of(self.cx, v)
                    except NoType:
                        continue
                if isinstance(v, Ref | Tup):
                    as_runtime(self.cx, v)

    @staticmethod
    def _is_known_object(path: Exit, v: AbsVal) -> bool:
        """Whether it is, or has in it, a list, dict or object that does not live at run time."""
        if isinstance(v, Tup):
            return any(_Merger._is_known_object(path, e) for e in v.elems)
        return isinstance(v, Ref) and isinstance(
            path.state.heap.get(v.id), ListObj | DictObj | PartialDict | InstanceObj
        )

    def _leaf(self, type_: Type, vals: list[AbsVal], name: str) -> Value:
        result = self.cx.value(type_, name)
        self.results.append(result)
        for i, v in enumerate(vals):
            with Inside(self.cx, self.incoming[i]):
                fit_inside(self.cx, v, type_)
                # What a joined tensor may be a view of is known.
                known = isinstance(v, Tensor) and isinstance(type_, TensorType)
                self.operands[i].append(v.operand if known else to_operand(self.cx, v, type_))
        note_joined(self.cx, result, [mine[-1] for mine in self.operands])
        return result

    def _tensors(self, vals: list[AbsVal], name: str) -> AbsVal:
        tensors = [v if isinstance(v, Tensor) else self.cx.weight(v.value, name) for v in vals]
        order = sorted(range(len(tensors)), key=lambda i: not self.incoming[i].likely)
        meta: Meta | None = tensors[order[0]].meta
        for i in order[1:]:
            meta = merge_meta(meta, tensors[i].meta) if meta else None
        if meta is None:
            return self._choice(tensors, name)
        bases = frozenset().union(*(t.bases for t in tensors))
        return Tensor(self._leaf(tensor_type(meta), tensors, name), meta, bases=bases)

    def _scalars(self, vals: list[AbsVal], name: str) -> AbsVal:
        types = {v.type if isinstance(v, Host) else static_type(v.value) for v in vals}
        if len(types) > 1:
            return self._by_type(vals, name)
        (type_,) = types
        assert isinstance(type_, ScalarType)
        hints = None
        if type_ == INT:
            order = sorted(range(len(vals)), key=lambda i: not self.incoming[i].likely)
            known = [hints_of(vals[i]) for i in order]
            hints = distinct(next((h for h in known if h), DEFAULT_HINTS))
        loops: frozenset[Any] = frozenset()
        for v in vals:
            if isinstance(v, Host):
                loops |= v.loops
        if self.loop is not None:
            loops |= {self.loop}
        leaf = self._leaf(type_, vals, name)
        self.cx.loops[leaf.id] = loops
        return Host(type_, leaf, hints, loops)

    def _tuples(self, vals: list[AbsVal], name: str) -> AbsVal:
        first = vals[0]
        if any(len(v.elems) != len(first.elems) or v.cls is not first.cls for v in vals):
            return self._by_type(vals, name)
        elems = [self.value([v.elems[i] for v in vals], part_name(name, first, i)) for i in range(len(first.elems))]
        return Tup(tuple(elems), first.cls, first.names)

    def _ranges(self, vals: list[AbsVal], name: str) -> AbsVal:
        """One of several ranges: a range with bounds that are joined."""
        parts: list[AbsVal] = []
        for part in ("start", "stop", "step"):
            bounds = [Static(getattr(v.value, part)) if isinstance(v, Static) else getattr(v, part) for v in vals]
            parts.append(self.value(bounds, f"{name}_{part}"))
        return next((p for p in parts if isinstance(p, Poison)), RangeVal(*parts))

    def _maybe_unbound(self, vals: list[AbsVal], name: str) -> AbsVal:
        bound = [v for v in vals if not isinstance(v, Unbound)]
        place = (self.cx.path, self.cx.span.file, self.cx.span.line, self.cx.span.column, name)
        if place not in self.cx.facts.needed and any(map(self._is_known_object, self.incoming, vals)):
            # Names are mostly not read after the block that assigns them: what is known stays known.
            return Poison(f"{name!r} is a list, dict or object that not every path assigns", needed=place)
        self._made_references(vals)
        try:
            types = [type_in(self.cx, e, v) for e, v in zip(self.incoming, vals) if not isinstance(v, Unbound)]
        except NoType:
            return self._choice(vals, name)
        held = [t.elem if may_be_unbound(v) and isinstance(t, OptionalType) else t for v, t in zip(bound, types)]
        inner = self._common(held)
        if inner is None or isinstance(inner, OptionalType | NoneType):
            return self._choice(vals, name)
        vals = [NONE if isinstance(v, Unbound) else v for v in vals]
        leaf = self._leaf(OptionalType(inner), vals, name)
        example = bound[0].example if may_be_unbound(bound[0]) else bound[0]
        return Rt(leaf, leaf.type, unbound=name, example=example)

    def _by_type(self, vals: list[AbsVal], name: str) -> AbsVal:
        """Values of unlike form: an optional, or containers of joined types."""
        if all(map(is_tree, vals)):
            return self._choice(vals, name)
        self._made_references(vals)
        try:
            types = [held_type_in(self.cx, e, v) for e, v in zip(self.incoming, vals)]
        except NoType:
            known = [as_tup(v) for v in vals]
            # Known tuples of objects that have no type: their items are told apart one by one.
            alike = all(isinstance(t, Tup) and len(t.elems) == len(known[0].elems) for t in known)
            return self._tuples(known, name) if alike and not isinstance(vals[0], Tup) else self._choice(vals, name)
        if any(map(may_be_unbound, vals)) and any(
            isinstance(t, OptionalType | NoneType) and not may_be_unbound(v) for v, t in zip(vals, types)
        ):
            return self._choice(vals, name)  # None is one thing, not assigned another
        make_alike(self.cx, types)
        joined = self._common(types)
        shared = [v for v in vals if isinstance(v, Static) and isinstance(v.value, list | dict)]
        place = (self.cx.path, self.cx.span.file, self.cx.span.line, self.cx.span.column, name)
        if joined is None and shared:
            joined = self._common([of_any_length(t) for t in types])
        if joined is None or (shared and place in self.cx.facts.apart):
            return self._choice(vals, name)
        if isinstance(joined, ListType | DictType | SetType) and not self._is_alike(vals, types, joined):
            return self._choice(vals, name)
        example = next((v for v in vals if not (isinstance(v, Static) and v.value is None)), None)
        if isinstance(joined, ListType | DictType):
            lists = [self._resolved(e, v) for e, v in zip(self.incoming, vals)]
            example = next((v.example for v in lists if isinstance(v, Rt) and v.example is not None), None)
        unbound = next((v.unbound for v in vals if isinstance(v, Rt) and v.unbound), "")
        leaf = self._leaf(joined, vals, name)
        if shared:
            self.cx.copies[leaf.id] = place
        return Rt(leaf, joined, example=example, unbound=unbound)

    @staticmethod
    def _is_alike(vals: list[AbsVal], types: list[Type], joined: Type) -> bool:
        """Whether no container of the run time would have to become one of another C++ type."""
        return all(
            isinstance(v, Static) or not isinstance(t, ListType | DictType | SetType) or same_layout(t, joined)
            for v, t in zip(vals, types)
        )

    def _resolved(self, path: Exit, v: AbsVal) -> AbsVal:
        with Inside(self.cx, path):
            return resolve(self.cx, v)

    @staticmethod
    def _common(types: list[Type]) -> Type | None:
        joined: Type | None = types[0]
        for t in types[1:]:
            joined = join(joined, t) if joined is not None else None
        return joined

    # Choices -----------------------------------------------------------------------------------

    def _choice(self, vals: list[AbsVal], name: str) -> AbsVal:
        """A tagged choice between values that share no type."""
        vals = [self._opened(path, v, name) for path, v in zip(self.incoming, vals)]
        groups: list[Group] = []
        members: list[list[tuple[int, Any]]] = []
        for path, v in zip(self.incoming, vals):
            mine: list[tuple[int, Any]] = []
            left = possible(path.state, v) if isinstance(v, Choice) else [0]
            for i, option in enumerate(v.options if isinstance(v, Choice) else (v,)):
                if i not in left:
                    mine.append((-1, None))
                    continue
                found = self._group(groups, path, option)
                if found is None:
                    return self._poison(name, "holds values that cannot be told apart at run time", vals)
                mine.append((found, option))
            some = next(g for g, _ in mine if g >= 0)
            members.append([(g, o) if g >= 0 else (some, _NOT_THERE) for g, o in mine])
        sets = [g.example.value for g in groups if isinstance(g.example, Static)]
        sets = [v for v in sets if isinstance(v, LiteralSet)]
        if len(sets) > MAX_SETS or (sets and len(groups) > MAX_OPTIONS):
            make_run_time_set(self.cx, sets[0])  # then they are values of one type
        if len(groups) > (MAX_OPTIONS if any(g.type is not None for g in groups) else MAX_KNOWN):
            return self._poison(name, "holds too many kinds of values", vals)
        self.options.append(len({origin(g.example) or i for i, g in enumerate(groups)}))
        tag = self._tag(vals, members, name)
        options = []
        for g, group in enumerate(groups):
            slot = None if group.type is None else self._slot(vals, members, g, group.type, f"{name}_{g}")
            options.append(Option(slot, group.example, slot is not None and isinstance(group.type, OptionalType)))
        # Constants such as members of an enum are told apart by the tag alone: the loop stays one.
        loop = None if all(o.slot is None and is_constant(o.static) for o in options) else self.unroll
        return Choice(tag, tuple(options), name, loop)

    def _opened(self, path: Exit, v: AbsVal, name: str) -> AbsVal:
        """What may be unbound, as a choice that says so."""
        if not may_be_unbound(v):
            return v
        with Inside(self.cx, path):
            return bound_or_not(self.cx, v, name)

    def _group(self, groups: list[Group], path: Exit, option: AbsVal) -> int | None:
        """The number of the group an option belongs to, a new one if need be."""
        if isinstance(option, Option):
            t, example = option.type, option.static
        elif isinstance(option, Unbound):
            t, example = None, option
        else:
            if isinstance(option, Ref):
                with Inside(self.cx, path):
                    as_runtime(self.cx, option)
            try:
                t = None if is_itself(option) else held_type_in(self.cx, path, option)
            except NoType:
                t = None
            example = option
        if t is None and not isinstance(example, Static | Func | Bound | Native | Unbound):
            return None
        for g, group in enumerate(groups):
            if t is None and group.type is None and same_value(group.example, example):
                return g
            if t is not None and group.type is not None:
                wide = join(group.type, t)
                may_be_none = isinstance(t, OptionalType) or isinstance(group.type, OptionalType)
                if wide is None or (isinstance(wide, OptionalType) and not may_be_none):
                    continue
                if not isinstance(example, Static) and any(
                    isinstance(x, ListType | DictType | SetType) and not same_layout(x, wide) for x in (t, group.type)
                ):
                    continue
                group.type = wide
                return g
        groups.append(Group(t, example))
        return len(groups) - 1

    def _tag(self, vals: list[AbsVal], members: list[list[tuple[int, Any]]], name: str) -> Value:
        result = self.cx.value(INT, f"{name}_kind")
        self.results.append(result)
        for i, (path, v, mine) in enumerate(zip(self.incoming, vals, members)):
            with Inside(self.cx, path):
                self.operands[i].append(mapped_tag(self.cx, v, [g for g, _ in mine]))
        return result

    def _slot(self, vals: list[AbsVal], members: list[list[tuple[int, Any]]], g: int, t: Type, name: str) -> Value:
        want = t if isinstance(t, OptionalType) else OptionalType(t)
        result = self.cx.value(want, name)
        self.results.append(result)
        for i, (path, mine) in enumerate(zip(self.incoming, members)):
            with Inside(self.cx, path):
                held = next((o for k, o in mine if k == g and o is not _NOT_THERE), None)
                if held is None:
                    operand = to_operand(self.cx, NONE, want)
                elif isinstance(held, Option):
                    operand = to_operand(self.cx, Rt(held.slot, held.slot.type), want)  # type: ignore[union-attr,arg-type]
                else:
                    operand = to_operand(self.cx, held, want)
                self.operands[i].append(operand)
        return result

    def _poison(self, name: str, reason: str, vals: list[AbsVal]) -> Poison:
        notes = tuple((e.span, f"here it is {describe_in(self.cx, e, v)}") for e, v in zip(self.incoming, vals))
        return Poison(f"{name!r} {reason}", notes, self.unroll)

    # Objects -----------------------------------------------------------------------------------

    def _objects(self, vals: list[AbsVal], name: str) -> AbsVal | None:
        """Different objects in one variable: all made on their own path, or made run-time lists."""
        objs = [e.state.heap[v.id] for e, v in zip(self.incoming, vals)]
        shared = any(all(v.id in e.state.heap for e in self.incoming) for v in vals)
        if all(isinstance(o, RtObj) for o in objs):
            self._escape(objs)
            self._agree(objs)
            merged = self._by_type([o.value for o in objs], name)
            if not isinstance(merged, Rt):
                return merged
            ref = Ref(fresh_id())
            self.heap[ref.id] = RtObj(merged, objs[0].site)
            return ref
        if (all(isinstance(o, ListObj) for o in objs) and (shared or len({len(o.elems) for o in objs}) > 1)) or (
            any(isinstance(o, RtObj) for o in objs) and all(isinstance(o, ListObj | RtObj) for o in objs)
        ):
            self._widen(objs)
            return None
        dicts = all(isinstance(o, DictObj | PartialDict) for o in objs)
        if (type(objs[0]) is not type(objs[-1]) and not dicts) or shared:
            return None
        ref = Ref(fresh_id())
        merged_obj = self._object(objs, name)
        if merged_obj is None:
            return None
        self.heap[ref.id] = merged_obj
        return ref

    def _widen(self, objs: list[Any], learn_only: bool = False) -> None:
        """Lists become run-time ones; a loop over known items that fills one with functions is unrolled instead."""
        lists = [(e.state, o) for e, o in zip(self.incoming, objs) if isinstance(o, ListObj)]
        try:
            for state, o in lists:
                list_type(self.cx, state, o)
        except NoType as error:
            if self.unroll is not None and self.unroll not in self.cx.facts.unrolled:
                self.cx.facts.unrolled.add(self.unroll)
                raise Restart from None
            self.cx.refuse("T2C112", f"{error} is stored in a list of run-time length", "store tensors and numbers")
        for state, o in lists:
            widen_list(self.cx, state, o, None, learn_only)

    def _escape(self, objs: list[RtObj]) -> None:
        """Different objects become one value, of which it is not known which fields are set."""
        if len({o.value.operand for o in objs}) > 1:
            for e, o in zip(self.incoming, objs):
                escapes(self.cx, o.value, e.state)

    def _agree(self, objs: list[RtObj]) -> None:
        """Containers that share a variable must have one C++ type: each takes the joined one where it is made."""
        joined = self._common([o.value.type for o in objs])
        if joined is None:
            return
        news = [learn_type(self.cx, o.site, joined) for o in objs if o.site is not None and o.value.type != joined]
        if any(news):
            raise Restart

    def _object(self, objs: list[Any], name: str) -> Any:
        first = objs[0]
        match first:
            case RtObj() if all(isinstance(o, RtObj) for o in objs):
                self._escape(objs)
                value = self.value([o.value for o in objs], name)
                return RtObj(value, first.site) if isinstance(value, Rt) else None
            case ScopeObj():
                names: dict[str, AbsVal] = {}
                for n in dict.fromkeys(k for o in objs for k in o.names):
                    merged = self.value([o.names.get(n, UNBOUND) for o in objs], n)
                    if not isinstance(merged, Unbound):
                        names[n] = merged
                return ScopeObj(names, first.parent)
            case ListObj():
                if any(not isinstance(o, ListObj) or len(o.elems) != len(first.elems) for o in objs):
                    return None
                elems = [self.value([o.elems[i] for o in objs], f"{name}_{i}") for i in range(len(first.elems))]
                return ListObj(tuple(elems), first.site, first.kind)
            case DictObj() | PartialDict():
                return self._dicts(objs, name)
            case InstanceObj():
                if any(o.cls is not first.cls for o in objs):
                    return None
                fields: dict[str, AbsVal] = {}
                for n in dict.fromkeys(k for o in objs for k in o.fields):
                    fields[n] = self.value([o.fields.get(n, UNBOUND) for o in objs], n)
                return InstanceObj(first.cls, fields, first.site)
        return None

    def _dicts(self, objs: list[Any], name: str) -> DictObj | PartialDict | None:
        """Dicts with known keys; where those differ, some may be missing."""
        first = objs[0]
        if any(not isinstance(o, DictObj | PartialDict) or o.factory is not first.factory for o in objs):
            return None
        order = merged_order([list(o.items) for o in objs])
        if any(list(o.items) != list(first.items) for o in objs) and (order is None or not self._keep_keys(objs)):
            return None
        assert order is not None
        items = {k: self.value([o.items.get(k, UNBOUND) for o in objs], f"{name}_{k}") for k in order}
        return dict_of(items, first.site, first.factory)

    def _keep_keys(self, objs: list[Any]) -> bool:
        """Whether dicts with different keys are one with keys that may be missing; else it is a run-time dict."""
        facts = self.cx.facts
        if any(not isinstance(k, str) for o in objs for k in o.items) or any(o.site in facts.by_key for o in objs):
            return False
        if objs[0].factory is not None:
            return False
        if len({o.site for o in objs}) > 1 or objs[0].site in facts.partial:
            return True
        return not self._of_one_type([(e, x) for e, o in zip(self.incoming, objs) for x in o.items.values()])

    def _of_one_type(self, values: list[tuple[Exit, AbsVal]]) -> bool:
        """Whether values fit a run-time dict without loss."""
        types: list[Type] = []
        for path, v in values:
            with Inside(self.cx, path):
                try:
                    types += types_where_there(self.cx, v)
                except NoType:
                    return False
        return len(set(types)) < 2 or (not any(map(holds_tensor, types)) and self._common(types) is not None)

    def all(self, extras: list[list[AbsVal]], names: list[str]) -> Merged:
        """Merges the whole states; `extras[k]` are the values of an extra variable, one per path."""
        heaps = [e.state.heap for e in self.incoming]
        merged_extras = [self.value(vals, n) for vals, n in zip(extras, names)]
        left_over = frozenset().union(*(e.state.left_over for e in self.incoming))
        # What was there before counts as reachable: the evaluator may hold it in the middle of an expression.
        before, reachable = self.cx.state.heap, None
        learnt: list[Any] = []
        first, others = heaps[0], heaps[1:]
        for key in dict.fromkeys(k for h in heaps for k in h):
            obj = first.get(key)
            if obj is not None and obj is before.get(key) and key not in left_over and not isinstance(key, tuple):
                if all(h.get(key) is obj for h in others) and not self._inner(obj):
                    self.heap[key] = obj  # as it was, nothing of inside
                    continue
            present = [h[key] for h in heaps if key in h]
            if isinstance(key, tuple):
                # an attribute known on one path only, or as a value of inside: it will be read from its cell
                known = len(present) == len(heaps) and all(same_value(o, present[0]) for o in present)
                if known and not self._inner_attribute(present[0]):
                    self.heap[key] = present[0]
            elif len(present) < len(heaps) or key in left_over:
                self.heap[key] = present[0]
                left_over |= {key}
            elif all(o is present[0] for o in present) and not self._inner(present[0]):
                self.heap[key] = present[0]
            else:
                if key not in before and reachable is None:
                    reachable = self._reachable(extras)
                if key in before or (reachable is not None and key in reachable):
                    learnt += self._heap_object(key, present)
        if learnt:
            raise Restart(*learnt)
        narrowed = {k: v for k, v in self.incoming[0].state.narrowed.items() if not self._inner(v)}
        for e in self.incoming[1:]:
            narrowed = {k: v for k, v in narrowed.items() if e.state.narrowed.get(k) is v}
        # What one path did not set may be missing afterwards.
        unset: dict[int, frozenset[str]] = {}
        for each in (e.state.unset for e in self.incoming):
            unset |= {value: names | unset.get(value, frozenset()) for value, names in each.items()}
        state = State(self.heap, narrowed, left_over, unset=unset)
        return Merged(state, merged_extras, self.results, self.operands, self.options)

    def _inner_attribute(self, v: AbsVal) -> bool:
        if isinstance(v, Ref):
            return any(self._inner(e.state.heap.get(v.id)) for e in self.incoming)
        return self._inner(v)

    def _reachable(self, extras: list[list[AbsVal]]) -> set[Any]:
        """Heap ids that anything after the join can still see."""
        seen: set[Any] = set()
        heaps = [e.state.heap for e in self.incoming]
        todo: list[Any] = [v for vals in extras for v in vals]
        todo += [Ref(f.scope) for f in self.cx.frames]
        todo += [v for h in heaps for k, v in h.items() if isinstance(k, tuple)]
        todo += [Ref(k) for k in self.cx.state.heap if not isinstance(k, tuple)]
        while todo:
            v = todo.pop()
            if isinstance(v, Ref):
                if v.id not in seen:
                    seen.add(v.id)
                    todo += [h[v.id] for h in heaps if v.id in h]
                continue
            todo += inside_of(v)
        return seen

    def _heap_object(self, key: Any, objs: list[Any]) -> list[Any]:
        """Merges one object; the sites of which instead it was learnt that they make run-time ones."""
        merged = self._object(objs, getattr(objs[0], "kind", "object"))
        if merged is None:
            if any(isinstance(o, ListObj) for o in objs):
                self._widen(objs, learn_only=True)
                return [o.site for o in objs if isinstance(o, ListObj)]
            if any(isinstance(o, DictObj | PartialDict) for o in objs):
                for e, o in zip(self.incoming, objs):
                    if isinstance(o, DictObj | PartialDict):
                        widen_dict(self.cx, e.state, o, by_key=False)
                return [o.site for o in objs if isinstance(o, DictObj | PartialDict)]
            merged = objs[0]
        self.heap[key] = merged
        return []


#: What stands for an option that a path has ruled out.
_NOT_THERE = object()
#: More kinds of values than this in one variable are refused.
MAX_OPTIONS = 16
#: One variable holds at most this many known sets, the results of operations on others; more are run-time sets.
MAX_SETS = 4
#: More known values, such as nodes of a tree that the model holds.
MAX_KNOWN = 128


def merge(
    cx: Context,
    incoming: list[Exit],
    extras: Sequence[list[AbsVal]] = (),
    names: Sequence[str] = (),
    loop: Any = None,
    unroll: bool = False,
    since: int | None = None,
) -> Merged:
    """Joins the paths. The caller adds the terminators and makes the merged state current.

    At the head of a loop over known iterations, `loop` is its key: what is carried then remembers it,
    and with `unroll`, reading values of unlike kinds makes the loop be unrolled. `since` is the first
    value id of inside, where the paths leave a scope or loop.
    """
    return _Merger(cx, incoming, loop, unroll, since).all(list(extras), list(names))
