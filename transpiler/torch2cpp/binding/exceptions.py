"""raise, try, and exception objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import libcst as cst

from torch2cpp.binding.context import Catching, Context, Exit, Label, Restart
from torch2cpp.binding.control import branch, labelled, run_path
from torch2cpp.binding.convert import describe, is_scalar, resolve, type_of
from torch2cpp.binding.exception_objects import (
    exception_of,
    is_user_class,
    load,
    names_below,
    new_exception,
    store,
)
from torch2cpp.binding.exception_objects import message_of as raised_message
from torch2cpp.binding.join_values import Inside
from torch2cpp.binding.joins import merge
from torch2cpp.binding.kept import Kept, begin, in_handler
from torch2cpp.binding.values import NONE, AbsVal, Host, InstanceObj, Native, Poison, Ref, ScopeObj, State, Static, Tup
from torch2cpp.hostir.ops import Block, Call, Handler, Raise, Try, Yield, walk
from torch2cpp.hostir.ops import Store as StoreOp
from torch2cpp.hostir.types import STR


@dataclass(eq=False)
class Exc:
    """An exception object of one of Python's own classes, or one that a handler caught."""

    cls: type[BaseException]
    #: The message, `str(e)`.
    message: Static | Host
    args: tuple[AbsVal, ...] = ()
    #: Whether a handler caught it: then its class may be one derived from `cls`.
    caught: bool = False
    #: All classes of the handler that caught it.
    classes: tuple[type, ...] = ()
    #: Name of its class, where it was caught.
    name: Host | None = None
    #: User classes that may have been raised where it was caught.
    raised: frozenset[type] = frozenset()
    #: Classes it may have -> the object, where the handler wants more than the message.
    objects: dict[type, Ref] | None = None

    def attribute(self, cx: Context, name: str) -> AbsVal:
        """`e.args` and the like."""
        if name == "__class__":
            return class_of(cx, self)
        if name == "with_traceback":
            return Native(name, lambda c, a, k: self)
        if name in ("__traceback__", "__cause__", "__context__"):
            cx.refuse("T2C190", f"{name} of an exception", "put what the handler needs into the message")
        if self.caught and all(map(is_user_class, self.classes)):
            return self._carried(cx, name)
        if name == "args":
            return self._args(cx)
        if name == "message":
            return self.message
        cx.refuse("T2C190", f"attribute {name!r} of an exception", "put what the handler needs into the message")

    def _args(self, cx: Context) -> AbsVal:
        if not self.caught:
            return Tup(self.args)
        odd = {KeyError, *cx.facts.odd_args, *self.raised}
        if any(issubclass(c, k) for c in odd for k in self.classes):
            cx.refuse("T2C190", "args of an exception that may hold more than one text", "use str(e)")
        return Tup((self.message,))

    def _carried(self, cx: Context, name: str) -> AbsVal:
        """An attribute of an object of a user class, which the `raise` has stored."""
        from torch2cpp.binding.attributes import find_attribute

        if self.objects is None:
            cx.facts.payload_wanted |= set(self.classes)
            raise Restart
        found = list(self.objects.items())

        def step(i: int) -> AbsVal:
            if i == len(found) - 1:
                return find_attribute(cx, found[i][1], name)
            assert self.name is not None
            here = cx.host("eq", self.name.operand, found[i][0].__name__, label="is_class")
            return branch(cx, here, lambda: find_attribute(cx, found[i][1], name), lambda: step(i + 1), name, cx.span)

        if not found:
            cx.raise_(AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        return step(0)


@dataclass(eq=False)
class ExcClass:
    """The class of a caught exception: its name is known at run time only."""

    name: Host

    def attribute(self, cx: Context, name: str) -> AbsVal:
        """`type(e).__name__`"""
        if name in ("__name__", "__qualname__"):
            return self.name
        cx.refuse("T2C190", f"attribute {name!r} of an exception's class", "use its name")


def class_of(cx: Context, e: Exc) -> AbsVal:
    """`type(e)`"""
    if not e.caught or e.name is None:
        return Static(e.cls)
    return ExcClass(e.name)


def has_class(cx: Context, e: Exc, classes: Any) -> AbsVal:
    """`isinstance(e, classes)`"""
    listed = classes if isinstance(classes, tuple) else (classes,)
    if all(any(issubclass(k, c) for c in listed) for k in (e.classes if e.caught else (e.cls,))):
        return Static(True)
    if not e.caught or e.name is None:
        return Static(False)
    return name_below(cx, e.name, classes)


def name_below(cx: Context, name: Host, classes: Any) -> AbsVal:
    """Whether the class of a run-time name is one of these or derived from one."""
    from torch2cpp.binding.container_operators import any_equal

    listed = classes if isinstance(classes, tuple) else (classes,)
    names = dict.fromkeys(n for c in listed for n in names_below(cx, c))
    return any_equal(cx, [Static(n) for n in names], name)


def make_exception(cx: Context, cls: type[BaseException], args: list[AbsVal], kwargs: dict[str, AbsVal]) -> AbsVal:
    """`SomeError(...)`"""
    from torch2cpp.binding.objects import initialise
    from torch2cpp.binding.strings import to_repr, to_str

    if is_user_class(cls):
        ref = new_exception(cx, cls, args)
        initialise(cx, ref, cls, args, kwargs)
        return ref
    if kwargs:
        cx.raise_(TypeError, f"{cls.__name__}() takes no keyword arguments")
    message: AbsVal
    if not args:
        message = Static("")
    elif len(args) == 1:
        message = to_repr(cx, args[0]) if issubclass(cls, KeyError) else to_str(cx, args[0])
    else:
        message = to_repr(cx, Tup(tuple(args)))
    return Exc(cls, message, tuple(args))


def raise_value(cx: Context, v: AbsVal) -> None:
    """`raise v`"""
    if isinstance(v, Static) and isinstance(v.value, type) and issubclass(v.value, BaseException):
        v = make_exception(cx, v.value, [], {})
    if isinstance(v, Static) and isinstance(v.value, BaseException):
        cx.raise_(type(v.value), str(v.value))
    o = resolve(cx, v)
    if isinstance(o, Exc) and o.caught:
        if cx.frame.handling is not o:
            cx.refuse("T2C192", "an exception is raised again outside of its handler", "raise it in the handler")
        reraise(cx)
    if isinstance(o, Exc):
        one_text = len(o.args) == 1 and is_scalar(o.args[0]) and type_of(cx, o.args[0]) == STR
        if not one_text and o.cls not in cx.facts.odd_args:
            cx.facts.odd_args.add(o.cls)
            raise Restart
        cx.raise_(o.cls, o.message.value if isinstance(o.message, Static) else o.message.operand)
    made = exception_of(cx, v)
    if made is not None:
        message = raised_message(cx, v, made)
        store(cx, made)
        cx.raise_(made.cls, message)
    cx.refuse("T2C192", f"raise of {describe(cx, v)}", "raise an exception class with a message")


def reraise(cx: Context) -> None:
    """A bare `raise`"""
    handled = next((f.handling for f in reversed(cx.frames) if f.handling is not None), None)
    if handled is not None:
        for ref in (handled.objects or {}).values():
            made = exception_of(cx, ref)
            if made is not None:
                store(cx, made)  # the handler may have raised another of its class in between
        cx.mark("host")
        cx.terminate(Raise("", (), "", cx.span))
    cx.raise_(RuntimeError, "No active exception to reraise")


def run_try(cx: Context, node: cst.Try) -> None:
    """`try`: what the body assigned before it raised is not known to the handlers."""
    frame = cx.frame
    frame.guarded += 1
    try:
        if node.finalbody is not None:
            _run_finally(cx, node)
        else:
            _run_except(cx, node)
    finally:
        frame.guarded -= 1


def _run_finally(cx: Context, node: cst.Try) -> None:
    """`finally`, whose body follows every way out: the end, each jump, and exceptions, which then go on."""
    frame = cx.frame
    outer = [frame.returns, *(frame.loops[-1] if frame.loops else ())]

    def clean_up(way: str) -> None:
        with cx.at(("finally", way)):
            run_body(cx, node.finalbody.body)  # type: ignore[union-attr]

    def inside(own: list[Label]) -> None:
        frame.returns = own[0]
        if frame.loops:
            frame.loops.append((own[1], own[2]))
        try:
            _guard(cx, node, lambda: clean_up("raise"))
        finally:
            frame.returns = outer[0]
            if frame.loops:
                frame.loops.pop()

    def ways(end: Label, own: list[Label]) -> AbsVal:
        # One scope around the other for each jump: what follows a scope is the way on for its jump.
        if len(own) == len(outer):
            inside(own)
            cx.leave(end, NONE)
        value = labelled(cx, "finally", lambda mine: ways(end, [*own, mine]), cx.span)
        clean_up(f"exit {len(own)}")
        cx.leave(outer[len(own)], value)

    from torch2cpp.binding.statements import run_body

    labelled(cx, "try", lambda end: ways(end, []), cx.span)
    clean_up("end")


def _guard(cx: Context, node: cst.Try, clean_up: Callable[[], None]) -> None:
    """The statement without its `finally`; where an exception passes, `clean_up` runs before it goes on."""
    from torch2cpp.binding.statements import run_body

    base = cx.state
    block, handler_block = Block(), Block()
    since = cx.next_id()

    def body() -> AbsVal:
        if node.handlers:
            _run_except(cx, node)
        else:
            run_body(cx, node.body)
        return NONE

    def passing() -> AbsVal:
        before = len(cx.block.ops)
        clean_up()
        _must_not_store(cx, cx.block.ops[before:])
        cx.terminate(Raise("", (), "", cx.span))

    with _watched(cx, (cx.site(node), "finally")) as watched:
        end = run_path(cx, block, base.copy(), body)
    run_path(cx, handler_block, _handler_state(cx, handler_block, base, watched), passing)
    _finish(cx, None, block, end, [Handler((), handler_block)], [], since)


def _must_not_store(cx: Context, ops: list[Any]) -> None:
    """What runs while an exception passes must not replace what the exception carries."""
    cells = set(map(id, cx.payload.values()))
    if any(isinstance(op, StoreOp) and id(op.cell) in cells for op in walk(Block(ops=ops))):
        cx.refuse(
            "T2C191", "an exception with values of its own is raised inside `finally`", "raise it outside of `finally`"
        )


@dataclass(eq=False)
class _Watched:
    """What a `try` body writes."""

    site: Any
    #: (heap key, name or None)
    log: set[tuple[Any, str | None]]
    #: The variables among them that handlers read.
    kept: dict[tuple[int, str], Kept]


@contextmanager
def _watched(cx: Context, site: Any) -> Iterator[_Watched]:
    """Notes what is written while the body runs."""
    watched = _Watched(site, set(), begin(cx, site))
    logs, kept = cx.write_logs, cx.kept
    cx.write_logs, cx.kept = [*logs, watched.log], [*kept, watched.kept]
    try:
        yield watched
    finally:
        cx.write_logs, cx.kept = logs, kept


def _run_except(cx: Context, node: cst.Try) -> None:
    from torch2cpp.binding.statements import run_body

    base = cx.state
    body_block = Block()
    since = cx.next_id()

    def body() -> AbsVal:
        run_body(cx, node.body)
        return NONE

    taken = [_classes(cx, h) for h in node.handlers]
    catching = tuple(c for classes in taken for c in classes or (Exception,))
    around = Catching(catching)
    cx.catching.append(around)
    try:
        with _watched(cx, cx.site(node)) as watched, cx.at(("try", cx.span.line)):
            end = run_path(cx, body_block, base.copy(), body)
    finally:
        cx.catching.pop()
    calls = any(isinstance(op, Call) for op in walk(body_block))
    raised = frozenset(cx.facts.raised if calls else around.raised)
    paths: list[Exit] = []
    handlers: list[Handler] = []
    for h, classes in zip(node.handlers, taken):
        handler, path = _handler(cx, h, classes, base, watched, raised)
        handlers.append(handler)
        if path is not None:
            paths.append(path)
    _finish(cx, node.orelse, body_block, end, handlers, paths, since)


def _finish(
    cx: Context,
    orelse: cst.Else | None,
    body_block: Block,
    end: Exit | None,
    handlers: list[Handler],
    paths: list[Exit],
    since: int,
) -> None:
    """Joins the body's end and the handlers'; `else` runs after the body, outside of the handlers' reach."""
    from torch2cpp.binding.context import Terminated
    from torch2cpp.binding.statements import run_body

    incoming = [*([end] if end is not None else []), *paths]
    if not incoming:
        cx.emit(Try((), body_block, tuple(handlers), None, cx.span))
        raise Terminated
    flags = [[Static(e is end) for e in incoming]]
    needs_flag = orelse is not None and end is not None and bool(paths)
    merged = merge(cx, incoming, flags if needs_flag else [], ["completed"] if needs_flag else [], since=since)
    for path, operands in zip(incoming, merged.operands):
        path.block.ops.append(Yield(tuple(operands), path.span))
    cx.emit(Try(tuple(merged.results), body_block, tuple(handlers), None, cx.span))
    cx.state = merged.state
    if orelse is None or end is None:
        return
    if not paths:
        run_body(cx, orelse.body)
        return
    completed = merged.extras[0]
    assert isinstance(completed, Host)

    def after() -> AbsVal:
        # The body's own values are known again only where it completed; they were joined above.
        run_body(cx, orelse.body)
        return NONE

    branch(cx, completed.operand, after, lambda: NONE, "else", cx.span)


def _make_objects(cx: Context, exc: Exc) -> None:
    """What the `raise` has stored of the caught exception, if the handler reads it."""
    if exc.classes and all(c in cx.facts.payload_wanted for c in exc.classes):
        exc.objects = {}
        for c in exc.classes:
            exc.objects |= load(cx, c, exc.raised)


def _handler(
    cx: Context,
    h: cst.ExceptHandler,
    classes: list[type] | None,
    base: State,
    watched: _Watched,
    raised: frozenset[type],
) -> tuple[Handler, Exit | None]:
    from torch2cpp.binding.statements import run_body
    from torch2cpp.binding.variables import assign

    names = tuple(c.__name__ for c in classes) if classes is not None else ()
    message, name = cx.value(STR, "message"), cx.value(STR, "class_name")
    block = Block((message, name))
    state = _handler_state(cx, block, base, watched)
    taken = tuple(classes or (Exception,))
    exc = Exc(taken[0], Host(STR, message), caught=True, classes=taken, name=Host(STR, name), raised=raised)

    def run() -> AbsVal:
        saved = cx.frame.handling
        _make_objects(cx, exc)
        cx.frame.handling = exc
        try:
            if h.name is not None:
                assert isinstance(h.name.name, cst.Name)
                assign(cx, h.name.name.value, exc)
            run_body(cx, h.body)
        finally:
            cx.frame.handling = saved
        return NONE

    with cx.at(("except", cx.frame.source.span(h).line)):
        end = run_path(cx, block, state, run)
    if end is not None and h.name is not None:
        scope = end.state.heap[cx.frame.scope]
        kept = {n: v for n, v in scope.names.items() if n != h.name.name.value}  # type: ignore[union-attr]
        end.state.heap[cx.frame.scope] = ScopeObj(kept, scope.parent)
    return Handler(names, block), end


def _classes(cx: Context, h: cst.ExceptHandler) -> list[type] | None:
    """The classes of an except clause; None for a bare one and for Exception itself."""
    from torch2cpp.binding.expressions import evaluate

    if h.type is None:
        return None
    saved = cx.span
    cx.span = cx.frame.source.place(h, cx.span)
    v = evaluate(cx, h.type)
    cx.span = saved
    if not isinstance(v, Static):
        cx.refuse("T2C194", "the classes of an except clause are not known", "name them")
    listed = list(v.value) if isinstance(v.value, tuple) else [v.value]
    return None if any(c in (Exception, BaseException) for c in listed) else listed


def _handler_state(cx: Context, block: Block, base: State, watched: _Watched) -> State:
    """The state a handler sees: variables that the body wrote are kept for it where it reads them."""
    state = base.copy()
    for key, name in sorted(watched.log, key=str):
        if key not in state.heap:
            continue
        if isinstance(key, tuple):
            del state.heap[key]  # an attribute: it is read from its cell
        elif name is not None and isinstance(state.heap[key], ScopeObj):
            scope = state.heap[key]
            with Inside(cx, Exit(state, block, None, cx.span)):
                seen = in_handler(cx, watched.site, key, name, watched.kept.get((key, name)))
            state.heap[key] = ScopeObj({**scope.names, name: seen}, scope.parent)
        elif isinstance(state.heap[key], InstanceObj):
            obj = state.heap[key]
            text = "an attribute is assigned in the try body, and may or may not be when it raises"
            unknown = Poison(text, kept=base.heap[key])
            state.heap[key] = InstanceObj(obj.cls, dict.fromkeys(obj.fields, unknown), obj.site)
        else:
            _must_be_run_time(cx, base, key)
    return state


def _must_be_run_time(cx: Context, base: State, key: Any) -> None:
    """A list or dict changed in a try body must be a run-time one: the handler sees the changes made so far."""
    from torch2cpp.binding.values import DictObj, ListObj, PartialDict
    from torch2cpp.binding.widening import widen_dict, widen_list

    obj = base.heap[key]
    if isinstance(obj, ListObj):
        widen_list(cx, base, obj, None)
    if isinstance(obj, DictObj | PartialDict):
        widen_dict(cx, base, obj)
        raise Restart
