"""Objects are made with the fields that are set right after, and no later than something looks at them."""

from __future__ import annotations

from ir_builder import Builder
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.printer import print_function
from torch2cpp.hostir.program import Struct
from torch2cpp.hostir.types import BOOL, INT, ListType, OptionalType, StructType
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.fill_objects import fill_objects

POINT = StructType("Point")


def builder() -> Builder:
    b = Builder()
    b.structs[POINT] = Struct("Point", {"x": INT, "y": INT, "next": OptionalType(POINT)})
    return b


def after(b: Builder, *args, result=INT) -> list[str]:
    """The lines of the body after the pass; it computes the same."""
    program = b.program(result)
    verify(program)
    changed = fill_objects(program)
    verify(changed)
    assert Interpreter(changed).run("forward", args) == Interpreter(program).run("forward", args)
    return [line.split("  #")[0].strip() for line in print_function(changed.entries["forward"]).splitlines()[1:]]


def test_fields_that_are_set_right_after():
    b = builder()
    n = b.param("n", INT)
    p = b.host("struct.new", "Point", ("y",), 1, type=POINT, name="p")
    b.do("struct.set", p, "x", n)
    b.do("struct.set", p, "y", b.host("add", n, 2, name="y"))
    b.return_(b.host("add", b.host("struct.get", p, "x", type=INT), b.host("struct.get", p, "y", type=INT)))
    lines = after(b, 3)
    assert sum("struct.new" in line for line in lines) == 1
    assert not any("struct.set" in line for line in lines)
    new = next(line for line in lines if "struct.new" in line)
    assert "('y', 'x')" in new
    # It stands after what its fields need.
    assert lines.index(new) > next(i for i, line in enumerate(lines) if "n + 2" in line or "add" in line)


def test_nothing_moves_past_a_look_at_the_object():
    b = builder()
    n = b.param("n", INT)
    p = b.host("struct.new", "Point", ("x", "y"), 1, 2, type=POINT, name="p")
    before = b.host("struct.get", p, "x", type=INT, name="before")
    b.do("struct.set", p, "x", n)
    b.return_(b.host("add", before, b.host("struct.get", p, "x", type=INT)))
    assert sum("struct.set" in line for line in after(b, 3)) == 1


def test_nothing_moves_past_control_flow():
    b = builder()
    c = b.param("c", BOOL)
    p = b.host("struct.new", "Point", ("x", "y"), 1, 2, type=POINT, name="p")
    with b.block() as then:
        b.do("struct.set", p, "x", 5)
        b.yield_()
    with b.block() as orelse:
        b.yield_()
    b.if_(c, then, orelse, [])
    b.do("struct.set", p, "y", 7)
    b.return_(b.host("add", b.host("struct.get", p, "x", type=INT), b.host("struct.get", p, "y", type=INT)))
    assert sum("struct.set" in line for line in after(b, True)) == 2


def test_an_object_that_refers_to_itself():
    b = builder()
    p = b.host("struct.new", "Point", ("x", "y", "next"), 1, 2, None, type=POINT, name="p")
    b.do("struct.set", p, "next", p)
    b.return_(b.host("struct.get", p, "x", type=INT))
    assert sum("struct.set" in line for line in after(b)) == 1


def test_several_objects_and_one_in_a_list():
    b = builder()
    n = b.param("n", INT)
    points = b.host("list.new", type=ListType(POINT), name="points")
    p = b.host("struct.new", "Point", (), type=POINT, name="p")
    q = b.host("struct.new", "Point", (), type=POINT, name="q")
    for at, each in enumerate((p, q)):
        b.do("struct.set", each, "x", n)
        b.do("struct.set", each, "y", at)
        b.do("struct.set", each, "next", None)
    b.do("list.append", points, p)
    b.do("struct.set", p, "x", 9)
    first = b.host("list.get", points, 0, type=POINT, name="first")
    b.return_(b.host("add", b.host("struct.get", first, "x", type=INT), b.host("struct.get", q, "y", type=INT)))
    lines = after(b, 3)
    # The one after the list has seen the object stays.
    assert sum("struct.set" in line for line in lines) == 1
    assert sum("struct.new" in line for line in lines) == 2
