"""The text of emitted functions, for programs written by hand."""

from __future__ import annotations

import textwrap

from emit_programs import LineBuilder, greedy_decoder
from ir_builder import FILE, aten, tensor
from torch2cpp.emit.functions import function_text
from torch2cpp.emit.layout import lay_out
from torch2cpp.hostir.ops import Handler
from torch2cpp.hostir.program import Program
from torch2cpp.hostir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    STR,
    DictType,
    ListType,
    OptionalType,
    RecordType,
    TupleType,
    Type,
    UnionType,
)


def emitted(program: Program, name: str = "forward") -> str:
    function = {**program.entries, **program.functions}[name]
    text = function_text(function, lay_out(program), FILE)
    params = ", ".join(f"{p.type} {p.name}" for p in text.params)
    return "\n".join([f"{text.result} {text.name}({params})", *(line[2:] for line in text.lines)]) + "\n"


def expect(program: Program, text: str) -> None:
    assert emitted(program) == textwrap.dedent(text).lstrip("\n")


def of(b: LineBuilder, result: Type, text: str) -> None:
    expect(b.program(result), text)


def test_greedy_decoder_reads_like_the_python():
    expect(
        greedy_decoder(),
        """
        Tensor forward(const Tensor& src, int64_t limit)
        auto [memory, state, token, finished] = regions_->encode(src);  // 19-22
        py::List<Tensor> tokens;  // 23
        while (py::len(tokens) < limit) {  // 24
          auto step = regions_->step(state, token, finished);  // 25-30
          state = std::move(step.state);
          token = std::move(step.token);
          finished = std::move(step.finished);
          tokens.append(token);  // 28
          if (py::truth(step.stop)) {  // 30
            break;  // 31
          }
        }
        return py::stack(tokens, 1);  // 32
        """,
    )


def test_for_carries_one_variable():
    b = LineBuilder()
    n = b.at(1).param("n", INT)
    i, total = b.value(INT, "i"), b.value(INT, "total")
    with b.block(i, total) as body:
        b.at(4)
        b.continue_(b.host("add", total, i, name="total"))
    (total,) = b.at(3, 4).loop([0], body, [INT], over=(0, n, 2))
    b.at(5).return_(total)
    of(
        b,
        INT,
        """
        int64_t forward(int64_t n)
        int64_t total = 0;
        for (int64_t i = 0; i < n; i += 2) {  // 3
          total = py::add(total, i);  // 4
        }
        return total;  // 5
        """,
    )


def test_swapping_needs_a_temporary():
    b = LineBuilder()
    n = b.at(1).param("n", INT)
    i, x, y = (b.value(INT, name) for name in ("i", "x", "y"))
    with b.block(i, x, y) as body:
        b.at(4).continue_(y, x)
    x, y = b.at(3, 4).loop([1, 2], body, [INT, INT], over=(0, n, 1))
    b.at(5).return_((x, y))
    of(
        b,
        TupleType((INT, INT)),
        """
        std::tuple<int64_t, int64_t> forward(int64_t n)
        int64_t x = 1;
        int64_t y = 2;
        for (int64_t i = 0; i < n; ++i) {  // 3
          auto tmp_ = y;
          y = x;
          x = tmp_;
        }
        return {x, y};  // 5
        """,
    )


def test_reads_stay_before_writes():
    b = LineBuilder()
    xs = b.at(1).param("xs", ListType(INT))
    b.at(2)
    first = b.host("list.get", xs, 0, name="first")
    b.do("list.append", xs, 7)
    b.return_(first)
    of(
        b,
        INT,
        """
        int64_t forward(py::List<int64_t> xs)
        const int64_t first = xs.get(0);  // 2
        xs.append(7);
        return first;
        """,
    )


def test_items_of_one_list_keep_their_order():
    b = LineBuilder()
    xs = b.at(1).param("xs", ListType(INT))
    b.at(2)
    b.return_((b.host("list.pop", xs, 0), b.host("list.pop", xs, 0)))
    of(
        b,
        TupleType((INT, INT)),
        """
        std::tuple<int64_t, int64_t> forward(py::List<int64_t> xs)
        return {xs.pop(0), xs.pop(0)};  // 2
        """,
    )


def test_operands_that_both_write_are_not_left_to_the_compiler():
    b = LineBuilder()
    xs = b.at(1).param("xs", ListType(INT))
    b.at(2)
    b.return_(b.host("sub", b.host("list.pop", xs, 0, name="left"), b.host("list.pop", xs, 0)))
    of(
        b,
        INT,
        """
        int64_t forward(py::List<int64_t> xs)
        const int64_t left = xs.pop(0);  // 2
        return py::sub(left, xs.pop(0));
        """,
    )


def test_short_circuit_and_precedence():
    b = LineBuilder()
    n, flag = b.at(1).param("n", INT), b.param("flag", BOOL)
    b.at(2)
    with b.block() as then:
        b.yield_(b.host("gt", b.host("mod", n, 3), 1))
    with b.block() as orelse:
        b.yield_(False)
    (both,) = b.if_(flag, then, orelse, [BOOL])
    with b.block() as yes:
        b.yield_(True)
    with b.block() as no:
        b.yield_(b.host("not", flag))
    b.return_(*b.if_(both, yes, no, [BOOL]))
    of(
        b,
        BOOL,
        """
        bool forward(int64_t n, bool flag)
        return (flag && py::mod(n, 3) > 1) || !flag;  // 2
        """,
    )


def test_branches_assign_a_declared_variable_and_none_is_an_empty_optional():
    b = LineBuilder()
    x, flag = b.at(1).param("x", tensor(None)), b.param("flag", BOOL)
    with b.block() as then:
        b.at(3).yield_(x)
    with b.block() as orelse:
        b.at(5).yield_(None)
    (found,) = b.at(2, 5).if_(flag, then, orelse, [OptionalType(tensor(None))], name="found")
    b.at(6).return_(found)
    of(
        b,
        OptionalType(tensor(None)),
        """
        std::optional<Tensor> forward(const Tensor& x, bool flag)
        std::optional<Tensor> found;
        if (flag) {  // 2
          found = x;
        } else {
          found = std::nullopt;
        }
        return found;  // 6
        """,
    )


def test_early_return_in_an_inlined_function_is_a_lambda():
    b = LineBuilder()
    n = b.at(1).param("n", INT)
    with b.block() as body:
        with b.block() as early:
            b.at(11).leave("clip", 0)
        with b.block() as on:
            b.at(10).yield_()
        b.at(10).if_(b.host("lt", n, 0), early, on, [])
        b.at(12).leave("clip", n)
    (m,) = b.at(3).scope("clip", body, [INT])
    b.at(4).return_(b.host("add", m, 1))
    of(
        b,
        INT,
        """
        int64_t forward(int64_t n)
        const int64_t clip = [&]() -> int64_t {  // 3
          if (n < 0) {  // 10
            return 0;  // 11
          }
          return n;  // 12
        }();
        return py::add(clip, 1);  // 4
        """,
    )


def test_a_scope_left_with_its_loop_uses_goto():
    b = LineBuilder()
    xs = b.at(1).param("xs", ListType(INT))
    i = b.value(INT, "i")
    with b.block() as outer:
        with b.block() as inner:
            with b.block(i) as body:
                with b.block() as found:
                    b.at(5).leave("search", b.host("list.get", xs, i))
                with b.block() as on:
                    b.at(4).yield_()
                b.at(4).if_(b.host("gt", i, 2), found, on, [])
                b.at(4).continue_()
            b.at(3).loop([], body, [], over=(0, b.host("list.len", xs), 1))
            b.at(7).leave("for")
        b.at(3).scope("for", inner, [])
        b.at(8).leave("search", -1)
    (out,) = b.at(2).scope("search", outer, [INT])
    b.at(9).return_(out)
    of(
        b,
        INT,
        """
        int64_t forward(py::List<int64_t> xs)
        const int64_t search = [&]() -> int64_t {  // 2
          for (int64_t i = 0, end_ = py::len(xs); i < end_; ++i) {  // 3
            if (i > 2) {  // 4
              return xs.get(i);  // 5
            }
          }
          return -1;  // 8
        }();
        return search;  // 9
        """,
    )


def test_try_except_finally():
    b = LineBuilder()
    n = b.at(1).param("n", INT)
    with b.block() as body:
        b.at(3).yield_(b.host("floordiv", 10, n, name="q"))
    with b.block(b.value(STR, "message")) as handler:
        b.at(5).do("print", handler.params[0])
        b.at(6).yield_(0)
    with b.block() as final:
        b.at(8).do("print", "done")
        b.yield_()
    (q,) = b.at(2, 8).try_(body, [Handler(("ZeroDivisionError",), handler)], [INT], final)
    b.at(9).return_(q)
    of(
        b,
        INT,
        """
        int64_t forward(int64_t n)
        int64_t q = 0;
        try {  // 2
          try {
            q = py::floordiv(10, n);  // 3
          } catch (const py::PyError& error_2_) {
            if (!error_2_.matches({"ZeroDivisionError"})) {
              throw;
            }
            const std::string message = error_2_.message();
            py::print(message);  // 5
            q = 0;
          }
        } catch (...) {
          py::print("done");  // 8
          throw;
        }
        py::print("done");
        return q;  // 9
        """,
    )


def test_raise_carries_bases_file_and_line():
    b = LineBuilder()
    n = b.at(1).param("n", INT)
    with b.block() as bad:
        b.at(3).raise_("TooSmall", b.host("str.add", "n is ", b.host("str", n)), "ValueError")
    with b.block() as on:
        b.at(2).yield_()
    b.at(2).if_(b.host("lt", n, 2), bad, on, [])
    b.at(4).return_(n)
    of(
        b,
        INT,
        """
        int64_t forward(int64_t n)
        if (n < 2) {  // 2
          throw py::PyError("TooSmall", "n is " + py::str(n), {"ValueError"}, "model.py", 3);  // 3
        }
        return n;  // 4
        """,
    )


def test_state_is_a_member():
    b = LineBuilder()
    count = b.cell("net.count", INT, 0)
    b.at(2)
    b.store(count, b.host("add", b.load(count), 1))
    b.at(3).return_(b.load(count))
    of(
        b,
        INT,
        """
        int64_t forward()
        state_->net_count = py::add(state_->net_count, 1);  // 2
        return state_->net_count;  // 3
        """,
    )


def test_records_unions_and_dicts():
    b = LineBuilder()
    x, flag = b.at(1).param("x", tensor(None)), b.param("flag", BOOL)
    record = RecordType("dict", "Output", (("scores", tensor(None)), ("n", UnionType((INT, STR)))))
    with b.block() as then:
        b.at(3).yield_(b.host("union.make", 0, 1, type=UnionType((INT, STR)), name="n"))
    with b.block() as orelse:
        b.at(5).yield_(b.host("union.make", 1, "many", type=UnionType((INT, STR)), name="n"))
    (n,) = b.at(2, 5).if_(flag, then, orelse, [UnionType((INT, STR))], name="n")
    b.at(6).return_({"scores": x, "n": n})
    of(
        b,
        record,
        """
        ScoresNDict forward(const Tensor& x, bool flag)
        std::variant<int64_t, std::string> n;
        if (flag) {  // 2
          n = std::variant<int64_t, std::string>(std::in_place_index<0>, 1);  // 3
        } else {
          n = std::variant<int64_t, std::string>(std::in_place_index<1>, "many");  // 5
        }
        return {x, n};  // 6
        """,
    )


def test_an_empty_list_takes_the_type_of_its_use():
    b = LineBuilder()
    b.at(1).param("n", INT)
    b.at(2)
    empty = b.host("list.new", type=ListType(NEVER), name="xs")
    b.at(3).return_(empty)
    of(
        b,
        ListType(tensor(None)),
        """
        py::List<Tensor> forward([[maybe_unused]] int64_t n)
        return py::List<Tensor>::of();  // 3
        """,
    )


def test_python_names_that_cpp_cannot_have():
    b = LineBuilder()
    b.at(1)
    b.return_(b.host("mul", b.param("default", FLOAT), b.param("py", FLOAT)))
    of(
        b,
        FLOAT,
        """
        double forward(double default_, double py_)
        return default_ * py_;  // 1
        """,
    )


def test_recursion_calls_a_private_method():
    inner = LineBuilder("visit")
    n = inner.at(10).param("n", INT)
    with inner.block() as base:
        inner.at(12).return_(0)
    with inner.block() as on:
        inner.at(11).yield_()
    inner.if_(inner.host("le", n, 0), base, on, [])
    inner.at(13).return_(inner.call("visit", inner.host("sub", n, 1), type=INT))
    b = LineBuilder()
    b.at(2).return_(b.call("visit", b.at(1).param("n", INT), type=INT))
    program = b.program(INT)
    program.functions["visit"] = inner.function(INT)
    assert emitted(program, "visit") == textwrap.dedent(
        """\
        int64_t visit(int64_t n)
        if (n <= 0) {  // 11
          return 0;  // 12
        }
        return visit(py::sub(n, 1));  // 13
        """
    )


def test_dict_keys_and_views_of_tensors():
    b = LineBuilder()
    x, seen = b.at(1).param("x", tensor(None, 3)), b.param("seen", DictType(STR, INT))
    b.at(2)
    row = b.host_tensor(aten.select.int, x, 0, b.host("dict.get", seen, "a"), type=tensor(3))
    b.return_(row)
    of(
        b,
        tensor(3),
        """
        Tensor forward(const Tensor& x, py::Dict<std::string, int64_t> seen)
        return py::select(x, 0, seen.get("a"));  // 2
        """,
    )


def test_a_parameter_keeps_its_name_when_a_loop_carries_it_under_another():
    b = LineBuilder()
    battery, n = b.param("battery", FLOAT), b.param("n", INT)
    carried = b.value(FLOAT, "sub")
    with b.block(b.value(INT, "i"), carried) as body:
        b.continue_(b.host("sub", carried, 0.25, name="sub"))
    (left,) = b.loop([battery], body, [FLOAT], over=(0, n, 1))
    b.return_(left)
    assert emitted(b.program(FLOAT)).startswith("double forward(double battery, int64_t n)\n")
