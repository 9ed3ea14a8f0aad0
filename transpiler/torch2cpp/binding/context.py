"""What the abstract interpreter carries along: the IR being built, facts, frames, the current path."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import torch

from torch2cpp.binding.values import STORED, Dim, Host, Meta, ScopeObj, State, Tensor, fresh_id
from torch2cpp.diagnostics import Diagnostic, Refused
from torch2cpp.frontend.source import Source, is_library
from torch2cpp.hostir import host_ops
from torch2cpp.hostir.ops import Block, Cell, HostOp, Op, Operand, Raise, Value, WeightRef
from torch2cpp.hostir.types import INT, ScalarType, TensorType, Type
from torch2cpp.spans import NOWHERE, Span


class Terminated(Exception):
    """The current path has ended (return, break, continue, raise)."""


class Restart(Exception):
    """A fact was learned that earlier code depends on: bind the entry again.

    Where `sites` are given, nothing but what depends on them changes by it (see retries.py).
    """

    def __init__(self, *sites: Any) -> None:
        super().__init__(*sites)
        self.sites = sites


@dataclass
class Facts:
    """What was learned in earlier rounds. Only ever grows, so that the rounds come to an end."""

    #: Allocation site -> type of the run-time container it must be.
    containers: dict[Any, Type] = field(default_factory=dict)
    #: Dicts that are used by run-time keys, or as a whole: what depends on the path is then their run-time keys.
    by_key: set[Any] = field(default_factory=set)
    #: Elements of sets whose order is not known, since a set of the model has one that cannot be made again.
    any_order: set[Type] = field(default_factory=set)
    #: Dicts of unlike values whose keys depend on the path: they keep their known keys.
    partial: set[Any] = field(default_factory=set)
    #: Allocation site -> a representative element (for sizes in the sample worlds).
    examples: dict[Any, Any] = field(default_factory=dict)
    #: Loops over static ranges that must be unrolled.
    unrolled: set[Any] = field(default_factory=set)
    #: Loops that should have been unrolled, but whose condition turned out to depend on data.
    rolled: set[Any] = field(default_factory=set)
    #: Joins at which lists or dicts of the model meet that are changed later.
    apart: set[Any] = field(default_factory=set)
    #: Joins of lists, dicts or objects that not every path assigns, and that are read afterwards.
    needed: set[Any] = field(default_factory=set)
    #: Loops whose body changes the length of what they walk.
    growing: set[Any] = field(default_factory=set)
    #: (module path, attribute) -> type of the state cell.
    state: dict[tuple[str, str], Type] = field(default_factory=dict)
    state_examples: dict[tuple[str, str], Any] = field(default_factory=dict)
    #: Free size -> better hints.
    hints: dict[Any, tuple[int, ...]] = field(default_factory=dict)
    #: User classes (or places of dict displays) whose objects are run-time structs -> field types.
    structs: dict[Any, dict[str, Type]] = field(default_factory=dict)
    #: (struct, field) -> lengths in the sample worlds of a list that was put there.
    field_lengths: dict[tuple[Any, str], tuple[int, ...]] = field(default_factory=dict)
    #: NamedTuple classes that are in types of the run time, by name.
    named_tuples: dict[str, type] = field(default_factory=dict)
    #: Place of a dict display -> the place whose struct its dicts share.
    same_dicts: dict[Any, Any] = field(default_factory=dict)
    #: Functions that became IR functions (recursion): name -> parameter types, name -> result type.
    recursive: set[Any] = field(default_factory=set)
    function_params: dict[str, list[Type]] = field(default_factory=dict)
    function_results: dict[str, Type] = field(default_factory=dict)
    function_names: dict[Any, str] = field(default_factory=dict)
    #: Buffers and tensors of the model that are written: state, by weight name.
    written_weights: set[str] = field(default_factory=set)
    #: Weights that were put into containers or fields, themselves or as views.
    stored_weights: set[str] = field(default_factory=set)
    #: Whether a tensor out of a container or field is written.
    stored_written: bool = False
    #: Those among them whose size changes.
    resized_weights: set[str] = field(default_factory=set)
    #: id -> list or dict of the model that is changed at run time.
    state_objects: dict[int, Any] = field(default_factory=dict)
    #: (site of a `try`, variable) -> type, for variables that a handler reads after the body assigned them.
    kept: dict[Any, Type] = field(default_factory=dict)
    #: A library's class -> the class that stands for it.
    library_classes: dict[type, Any] = field(default_factory=dict)
    #: id of a numpy array of the model -> the tensor over its storage.
    arrays: dict[int, torch.Tensor] = field(default_factory=dict)
    #: id of an object of a library in the model -> the object that stands for it.
    stand_ins: dict[int, Any] = field(default_factory=dict)
    #: User classes of exceptions -> types of their fields, where they are raised.
    raised: dict[type, dict[str, Type]] = field(default_factory=dict)
    #: Classes of handlers that read more of an exception than its message.
    payload_wanted: set[type] = field(default_factory=set)
    #: User classes of exceptions whose objects have no text here.
    textless: set[type] = field(default_factory=set)
    #: Python's own classes that are raised with something else than one string.
    odd_args: set[type] = field(default_factory=set)
    rounds: int = 0
    keep: list[Any] = field(default_factory=list)


@dataclass
class Exit:
    """A path that left a function, loop or iteration; its terminator is added when all are known."""

    state: State
    block: Block
    value: Any
    span: Span
    #: Whether the first sample world comes this way: then its sizes are the better hints.
    likely: bool = True


@dataclass
class Label:
    """What a return, break or continue leaves."""

    name: str
    exits: list[Exit] = field(default_factory=list)


@dataclass
class Frame:
    """One call being interpreted."""

    name: str
    scope: int
    globals: dict[str, Any]
    source: Source
    returns: Label
    #: Innermost last: (break label, continue label).
    loops: list[tuple[Label, Label]] = field(default_factory=list)
    #: Names declared `nonlocal` and `global`.
    nonlocals: set[str] = field(default_factory=set)
    #: For `super()`: the class the running method was defined in, and its first argument.
    owner: type | None = None
    first: Any = None
    local_names: frozenset[str] = frozenset()
    #: The exception being handled, for a bare `raise`.
    handling: Any = None
    #: The definition being interpreted.
    node: Any = None
    #: In a generator: what is done with an item that it yields.
    on_yield: Any = None
    #: Whether it is the scope of a comprehension.
    comprehension: bool = False
    #: How many `try` and `with` statements are around.
    guarded: int = 0


@dataclass
class Catching:
    """A `try` whose body is bound at this moment."""

    #: The classes that its handlers take.
    classes: tuple[type, ...]
    #: User classes of exceptions that the body raises.
    raised: set[type] = field(default_factory=set)


class Context:
    """The state of one round of binding."""

    #: Static arguments of a recursive function -> its name. The same in every round.
    function_names: dict[Any, str]

    def __init__(self, facts: Facts, weight_names: dict[int, str], module_paths: dict[int, str]) -> None:
        self.facts = facts
        self.function_names = facts.function_names
        #: id(tensor) -> its name in weights.safetensors
        self.weight_names = weight_names
        #: id(module) -> dotted path
        self.module_paths = module_paths
        self.weights: dict[str, torch.Tensor] = {}
        self.cells: dict[tuple[str, str], Cell] = {}
        self.structs: dict[type, Any] = {}
        self.state = State()
        self.block = Block()
        self.frames: list[Frame] = []
        self.labels: list[Label] = []
        #: Where in the unrolled program we are: call sites and iteration numbers.
        self.path: tuple[Any, ...] = ()
        self.span: Span = NOWHERE
        #: Where in a library's own file that is, of which `span` is the call.
        self.inner: Span | None = None
        #: Kind of each source line reached: (file, line) -> {"static", "host", "tensor"}
        self.line_kinds: dict[tuple[str, int], set[str]] = {}
        self._stamps = itertools.count(1)
        #: When the bodies of the loops around were begun.
        self.loop_starts: list[int] = []
        #: Site -> the moment when it was first asked for in this round.
        self.first_seen: dict[Any, int] = {}
        #: Iterators as they were before each change of one: (iterator, uses, collected).
        self.iterators: list[tuple[Any, int, Any]] = []
        #: The `try` statements around, innermost last.
        self.catching: list[Catching] = []
        #: Cells of what exceptions carry: (class, field).
        self.payload: dict[tuple[type, str], Cell] = {}
        #: Whether a function of the IR is being bound.
        self.in_function = False
        #: Whether the results of an entry are made: only there numpy arrays have a type.
        self.returning = False
        #: Whether iterables are only looked at, not consumed.
        self.peeking = False
        #: Loops over a container of a type whose body calls a function: (key, type, function).
        self.open_loops: list[tuple[Any, Type, str]] = []
        #: Functions of the IR bound in this round, by name.
        self.functions: dict[str, Any] = {}
        self._ids = itertools.count(1)
        self._sites: dict[Any, int] = {}
        self.keep = facts.keep
        #: For each `try` around, the variables that its handlers read: (scope, name) -> how they are kept.
        self.kept: list[dict[tuple[int, str], Any]] = []
        #: How many cells were made for them, to tell their names apart.
        self.kept_cells = 0
        #: What is written while a `try` body is bound: (heap key, name or None).
        self.write_logs: list[set[tuple[Any, str | None]]] = []
        #: Condition value -> the optional it tests for None.
        self.none_tests: dict[int, Any] = {}
        #: How many choices are settled around here: what one option cannot do is an error of that option alone.
        self.inside_options = 0
        #: Values that are tensor objects of their own (identity.py).
        self.new_tensors: set[int] = set()
        #: Condition value -> optionals that hold something when it is true, when it is false.
        self.knows: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}
        #: Kind of a defaultdict's type -> its factory.
        self.factories: dict[str, Any] = {}
        #: Value -> the host operation that made it.
        self.made_by: dict[int, HostOp] = {}
        #: Tensor value -> name of the weight it was loaded from.
        self.loaded: dict[int, str] = {}
        #: List value -> its length in the sample worlds.
        self.lengths: dict[int, tuple[int, ...]] = {}
        #: Condition value -> its value in the first sample world.
        self.bool_hints: dict[int, bool] = {}
        #: Scalar value -> the static loops it follows from.
        self.loops: dict[int, frozenset[Any]] = {}
        #: id of a container of the model -> its attribute path, for cell names.
        self.object_names: dict[int, str] = {}
        #: What was refused so far; binding goes on to find more.
        self.problems: list[Diagnostic] = []
        #: Whether a refusal ends what is tried (while probing).
        self.strict = False
        #: Whether binding goes on only to find all that is refused.
        self.reporting = False
        #: Facts were learned that this round did not use: another round follows.
        self.dirty = False
        #: Value of a container -> its place in the container made at a site, and that one's type.
        self.inside: dict[int, Any] = {}
        #: Values that are copies of lists or dicts of the model, which must not be changed.
        self.copies: dict[int, Any] = {}
        #: Whether types are asked for to store values: then members of an enum have one.
        self.storing = False
        #: Scopes of variables around functions that Python made: what is assigned there would be lost.
        self.closures: set[int] = set()
        #: Whether it is a field of an object: then members of an IntEnum stay members too.
        self.storing_field = False
        #: Values that already carry a Python name.
        self.named: set[int] = set()

    # -- emitting ---------------------------------------------------------------------------

    def value(self, type_: Type, name: str) -> Value:
        """A new SSA value at the current place."""
        return Value(next(self._ids), type_, name, self.span)

    def stamp(self) -> int:
        """A number for this moment: later ones are larger."""
        return next(self._stamps)

    def next_id(self) -> int:
        """Values made from now on have this id or a later one."""
        n = next(self._ids)
        self._ids = itertools.count(n)
        return n

    def emit(self, op: Op) -> None:
        """Adds an operation to the current block."""
        self.block.ops.append(op)

    def mark(self, kind: str) -> None:
        """Notes for `explain` what kind of work the current line does."""
        self.line_kinds.setdefault((self.span.file, self.span.line), set()).add(kind)

    def host(self, name: str, *args: Operand, type_: Type | None = None, label: str = "") -> Value:
        """Emits a host operation with a result; its type follows from the table unless given."""
        if type_ is None:
            type_ = host_ops.result_type(name, [operand_type(a) for a in args])
        assert type_ is not None, name
        result = self.value(type_, label or name.rpartition(".")[2])
        op = HostOp(result, name, args, self.span)
        self.emit(op)
        self.made_by[result.id] = op
        self.mark("host")
        loops = frozenset().union(*(self.loops.get(a.id, frozenset()) for a in args if isinstance(a, Value)))
        if loops:
            self.loops[result.id] = loops
        return result

    def effect(self, name: str, *args: Operand) -> None:
        """Emits a host operation without a result."""
        if args and isinstance(args[0], Value):
            self.keep_apart(args[0])
        self.emit(HostOp(None, name, args, self.span))
        self.mark("host")

    def keep_apart(self, container: Value) -> None:
        """A container is changed: if it is a copy of one of the model, binding starts again without the copy."""
        if container.id in self.copies:
            self.facts.apart.add(self.copies[container.id])
            raise Restart

    def scalar(self, name: str, *args: Operand, type_: Type | None = None, label: str = "") -> Host:
        """`host` with the result as an abstract scalar."""
        v = self.host(name, *args, type_=type_, label=label)
        assert isinstance(v.type, ScalarType)
        return Host(v.type, v, loops=self.loops.get(v.id, frozenset()))

    # -- paths ------------------------------------------------------------------------------

    def site(self, node: Any) -> Any:
        """A key for this node on this path, the same in every round."""
        site: Any = (self.path, self.span.file, self.span.line, self.span.column, type(node).__name__)
        site = site if self.inner is None else (*site, self.inner.line, self.inner.column)
        return self.seen(site)

    def seen(self, site: Any) -> Any:
        """The site, which facts are asked for from now on."""
        if site not in self.first_seen:
            self.first_seen[site] = self.stamp()
        return site

    def enter(self, node: Any) -> tuple[Span, Span | None]:
        """Goes to the place of a node; gives what to set `span` and `inner` back to."""
        saved = self.span, self.inner
        source = self.frame.source
        self.span = source.place(node, saved[0])
        self.inner = source.span(node) if is_library(source.file) else None
        return saved

    @contextmanager
    def at(self, key: Any) -> Iterator[None]:
        """Runs the body with `key` added to the path."""
        saved = self.path
        self.path = (*saved, key)
        try:
            yield
        finally:
            self.path = saved

    @contextmanager
    def to_store(self, field: bool = False) -> Iterator[None]:
        """While the body runs, types are those of what a run-time container, or a field of an object, holds."""
        saved = self.storing, self.storing_field
        self.storing, self.storing_field = True, field
        try:
            yield
        finally:
            self.storing, self.storing_field = saved

    @contextmanager
    def label(self, name: str) -> Iterator[Label]:
        """A label that exits can be registered at while the body runs."""
        label = Label(f"{name}_{next(self._ids)}")
        self.labels.append(label)
        try:
            yield label
        finally:
            self.labels.remove(label)

    @contextmanager
    def in_loop(self, break_label: Label, continue_label: Label) -> Iterator[None]:
        """While the body runs, `break` and `continue` of the current frame lead to these labels."""
        loops = self.frame.loops
        loops.append((break_label, continue_label))
        try:
            yield
        finally:
            loops.pop()

    def leave(self, label: Label, value: Any = None) -> NoReturn:
        """Ends the current path at `label`."""
        label.exits.append(Exit(self.state, self.block, value, self.span))
        raise Terminated

    def terminate(self, op: Op) -> NoReturn:
        """Ends the current path with a terminator of its own."""
        self.emit(op)
        raise Terminated

    def raise_(self, cls: type[BaseException], message: Operand) -> NoReturn:
        """Ends the current path with a Python exception."""
        bases = tuple(c.__name__ for c in cls.__mro__ if c not in (object, BaseException))
        self.mark("host")
        self.terminate(Raise(cls.__name__, bases, message, self.span))

    # -- learning ---------------------------------------------------------------------------

    def learn(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Records a fact; binding starts again when it is news."""
        if table.get(key) != value:
            table[key] = value
            raise Restart

    # -- refusing ---------------------------------------------------------------------------

    def refuse(
        self,
        code: str,
        message: str,
        remedy: str,
        span: Span | None = None,
        notes: tuple[tuple[Span, str], ...] = (),
    ) -> NoReturn:
        """Ends binding with a diagnostic at the current place.

        A place inside a library is shown with the user's own line that led there.
        """
        where = span or self.span
        if _is_library(where.file):
            for frame_span in reversed(self.call_spans):
                if not _is_library(frame_span.file):
                    notes = (*notes, (where, "inside this library code"))
                    where = frame_span
                    break
        raise Refused([Diagnostic(code, where, message, remedy, notes)])

    @property
    def call_spans(self) -> list[Span]:
        """Spans of the calls that led here, outermost first."""
        return [p.span for p in self.path if isinstance(p, CallSite)]

    # -- variables --------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def struct_key(self, name: str) -> Any:
        """The class (or place of a dict display) behind a struct's name."""
        return next(k for k in self.facts.structs if struct_name(k) == name)

    def in_library(self) -> bool:
        """Whether the running function is library code (torch's own), whose loops count dimensions and weights."""
        return _is_library(self.frame.source.file)

    def function_node(self) -> Any:
        """The definition of the running function."""
        return self.frame.node

    def probe(self, action: Any) -> Any:
        """The value an action would give now, with nothing emitted or changed; None if it ends the path."""
        block, state, logs = self.block, self.state, self.write_logs
        exits = [(label, len(label.exits)) for label in self.labels]
        self.block, self.state, self.write_logs = Block(), state.copy(), []
        strict, self.strict = self.strict, True
        try:
            return action()
        except Terminated:
            return None
        finally:
            self.block, self.state, self.write_logs = block, state, logs
            self.strict = strict
            for label, n in exits:
                del label.exits[n:]

    def new_scope(self, names: dict[str, Any], parent: int | None) -> int:
        """A fresh scope on the heap."""
        scope = fresh_id()
        self.state.heap[scope] = ScopeObj(names, parent)
        return scope

    def write(self, key: Any, obj: Any, name: str | None = None) -> None:
        """Replaces a heap object on the current path."""
        from torch2cpp.binding.join_values import same_name
        from torch2cpp.binding.kept import note

        if name is not None and same_name(self.state.heap.get(key), obj, name):
            self.state.heap[key] = obj
            return
        self.state.heap[key] = obj
        for log in self.write_logs:
            log.add((key, name))
        if self.kept:
            note(self, key, name, obj)

    # -- tensors ----------------------------------------------------------------------------

    def note_stored(self, bases: frozenset[str]) -> None:
        """A view of these weights is put where only the run time knows it: a write there may be one to them."""
        new = bases - self.facts.stored_weights - {STORED}
        self.facts.stored_weights |= new
        if self.facts.stored_written and new - self.facts.written_weights:
            self.facts.written_weights |= new
            raise Restart

    def note_written(self, bases: frozenset[str]) -> None:
        """A view of these weights is written: they are state."""
        names = bases - {STORED}
        if STORED in bases:
            self.facts.stored_written = True
            names |= self.facts.stored_weights
        if names - self.facts.written_weights:
            self.facts.written_weights |= names
            raise Restart

    def weight(self, tensor: torch.Tensor, hint: str = "constant") -> Tensor:
        """A tensor of the model as an operand, known by name in the weights file."""
        key = id(tensor)
        if key not in self.weight_names:
            taken = set(self.weight_names.values())
            self.weight_names[key] = next(
                n for i in itertools.count() if (n := f"constants.{hint}" + (f"_{i}" if i else "")) not in taken
            )
            self.facts.keep.append(tensor)  # its id is its key
        name = self.weight_names[key]
        # requires_grad stays: eager's matmul picks its kernel by it, even under no_grad
        self.weights[name] = tensor
        if name in self.facts.written_weights:
            from torch2cpp.binding.model_state import written_tensor

            state = written_tensor(self, tensor, name)
            assert isinstance(state, Tensor)
            return state
        dims: tuple[Dim, ...] = tuple(tensor.shape)
        return Tensor(
            WeightRef(name, TensorType(tensor.dtype, tuple(tensor.shape))),
            Meta(tensor.dtype, dims),
            bases=frozenset({name}),
        )


def struct_name(key: Any) -> str:
    """The struct of a user class, or of the dicts made at one place."""
    if isinstance(key, type):
        return key.__name__
    if len(key) > 3 and isinstance(key[1], str) and isinstance(key[3], int):
        return f"Dict{key[2]}_{key[3]}"
    inner = next((part for part in key if isinstance(part, tuple) and part), None)
    if inner is not None:
        return struct_name(inner) + "".join(f"_{part}" for part in key if isinstance(part, str) and part.isidentifier())
    return "Dict" + "".join(f"_{part}" for part in re.findall(r"\w+", "_".join(map(str, key))))


@dataclass(frozen=True)
class CallSite:
    """One call on the path: where it was made and what it called."""

    span: Span
    callee: str
    #: Where in a library's own file the call is.
    inner: Span | None = None


def _is_library(file: str) -> bool:
    return is_library(file) or "site-packages" in file or file.startswith("<") or "/lib/python3" in file


def operand_type(operand: Operand) -> Type:
    """The IR type of an operand."""
    from torch2cpp.hostir.types import BOOL, COMPLEX, FLOAT, NONE, STR

    match operand:
        case Value() | WeightRef():
            return operand.type
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case complex():
            return COMPLEX
        case str():
            return STR
        case None:
            return NONE
    raise TypeError(f"no host type for {operand!r}")


def tensor_type(meta: Meta) -> TensorType:
    """The IR type of a tensor with this metadata."""
    return TensorType(meta.dtype, tuple(d if isinstance(d, int) else None for d in meta.dims))
