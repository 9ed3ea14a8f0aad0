"""Objects of libraries as abstract values.

To the rest of the binding such an object is an instance of a class of its own making, whose fields
are the holes of its template and the number of the template; so it can be kept in variables, be
carried by loops, be `None` on some paths and become a run-time struct, as objects of users' classes
do. Only library code, run on the object made from its template, sees more of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch2cpp.binding.context import Context, Restart
from torch2cpp.binding.control import branch
from torch2cpp.binding.convert import resolve
from torch2cpp.binding.traced.stand_ins import Untraceable
from torch2cpp.binding.traced.templates import Node, ints_that_differ
from torch2cpp.binding.values import NONE, AbsVal, Host, InstanceObj, Ref, Rt, Static, fresh_id
from torch2cpp.hostir.types import OptionalType, StructType

#: The field that tells which template an object has.
FORM = "form_"
#: More forms of one class than this are refused.
_MOST_FORMS = 16


class LibraryObject:
    """Base of the classes that stand for a library's classes."""

    #: The library's class.
    library: type
    #: The templates met so far.
    forms: list[Node]
    #: Names of all holes, in order of appearance.
    holes: list[str]
    #: Paths of plain ints that differ between objects alike in everything else.
    ints: set[str]


def class_for(cx: Context, library: type) -> type[LibraryObject]:
    """The class that stands for a library's class; the same in every round."""
    known = cx.facts.library_classes
    if library not in known:
        body = {"library": library, "forms": [], "holes": [], "ints": set()}
        known[library] = type(library.__name__, (LibraryObject,), body)
    found: type[LibraryObject] = known[library]
    return found


def library_class(cx: Context, v: AbsVal) -> type[LibraryObject] | None:
    """The class of a library object; None for other values."""
    o = resolve(cx, v)
    cls: Any = None
    if isinstance(o, InstanceObj):
        cls = o.cls
    elif isinstance(o, Rt) and isinstance(o.type, StructType):
        cls = cx.struct_key(o.type.name)
    return cls if isinstance(cls, type) and issubclass(cls, LibraryObject) else None


def object_key(v: AbsVal) -> int:
    """What tells library objects apart that are not known to be one."""
    return v.id if isinstance(v, Ref) else -id(v)


def form_number(cls: type[LibraryObject], template: Node, holes: list[str]) -> int:
    """The number of a template. One that is new starts binding again."""
    for i, known in enumerate(cls.forms):
        if known == template:
            return i
    for known in cls.forms:
        ints = ints_that_differ(known, template)
        if ints:
            cls.ints |= set(ints)
            cls.forms.clear()
            raise Restart
    if len(cls.forms) == _MOST_FORMS:
        raise Untraceable(f"objects of class {cls.__name__} take too many forms")
    cls.forms.append(template)
    cls.holes += [h for h in holes if h not in cls.holes]
    raise Restart


def make(cx: Context, cls: type[LibraryObject], template: Node, holes: dict[str, AbsVal]) -> Ref:
    """A new object."""
    from torch2cpp.binding.objects import new_struct

    fields = _fields(cls, template, holes)
    if cls in cx.facts.structs:
        ref = new_struct(cx, cls)
        _set_all(cx, ref, fields)
        return ref
    ref = Ref(fresh_id())
    cx.state.heap[ref.id] = InstanceObj(cls, fields, cx.site(None))
    return ref


def update(cx: Context, v: AbsVal, template: Node, holes: dict[str, AbsVal]) -> None:
    """Gives an object another content."""
    cls = library_class(cx, v)
    assert cls is not None
    fields = _fields(cls, template, holes)
    o = resolve(cx, v)
    if isinstance(o, InstanceObj):
        cx.write(v.id, InstanceObj(cls, fields, o.site))
    else:
        _set_all(cx, v, fields)


def _fields(cls: type[LibraryObject], template: Node, holes: dict[str, AbsVal]) -> dict[str, AbsVal]:
    number = form_number(cls, template, list(holes))
    return {FORM: Static(number), **{name: holes.get(name, NONE) for name in cls.holes}}


def _set_all(cx: Context, v: AbsVal, fields: dict[str, AbsVal]) -> None:
    from torch2cpp.binding.attributes import _set_struct

    o = resolve(cx, v)
    assert isinstance(o, Rt)
    for name, value in fields.items():
        _set_struct(cx, v, o, name, value)


def with_content(cx: Context, v: AbsVal, f: Callable[[Node, dict[str, AbsVal]], AbsVal]) -> AbsVal:
    """`f(template, holes)` for the form that the object has: a branch for each form it may have."""
    cls = library_class(cx, v)
    assert cls is not None
    form = _field(cx, v, FORM)

    def one(i: int) -> AbsVal:
        names = _hole_names(cls.forms[i])
        return f(cls.forms[i], {name: _held(cx, _field(cx, v, name)) for name in names})

    if isinstance(form, Static):
        return one(form.value)
    assert isinstance(form, Host)

    def step(i: int) -> AbsVal:
        if i == len(cls.forms) - 1:
            return one(i)
        here = cx.host("eq", form.operand, i, label="is_form")
        return branch(cx, here, lambda: one(i), lambda: step(i + 1), cls.__name__.lower(), cx.span)

    return step(0)


def _field(cx: Context, v: AbsVal, name: str) -> AbsVal:
    from torch2cpp.binding.attributes import _struct_attribute

    o = resolve(cx, v)
    return o.fields.get(name, NONE) if isinstance(o, InstanceObj) else _struct_attribute(cx, v, o, name)


def _held(cx: Context, v: AbsVal) -> AbsVal:
    """What fills a hole of the form that is there."""
    from torch2cpp.binding.optional import held

    o = resolve(cx, v)
    if isinstance(o, Rt) and isinstance(o.type, OptionalType):
        return held(cx, o)
    if isinstance(o, Static) and o.value is None:
        cx.raise_(RuntimeError, "an object of a library has a form that it cannot have here")
    return v


def _hole_names(node: Node) -> list[str]:
    from torch2cpp.binding.traced.templates import Hole, Whole

    match node:
        case Hole(name):
            return [name]
        case Whole():
            nodes = [n for i in node.items for n in (i if isinstance(i, tuple) else (i,))]
            return [h for n in [*nodes, *(n for _, n in node.attributes)] for h in _hole_names(n)]
    return []
