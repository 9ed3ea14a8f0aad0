"""Writes tests/rows.inc: every row of the host operation table, its C++ spelling run and compared with Python.

Run as `python runtime_cpp/tests/generate_rows.py`, with the package installed; with `--check` it only says whether
the file is up to date. A row without a case here is an error.
"""

from __future__ import annotations

import copy
import math
import sys
from pathlib import Path
from typing import Any

import torch

from torch2cpp.hostir.host_ops import TABLE

OUTPUT = Path(__file__).parent / "rows.inc"
DTYPES = {torch.float32: "Float", torch.int64: "Long", torch.bool: "Bool"}
Case = tuple[Any, ...]

LIST, WORDS = [3, 1, 2, 1], ["b", "a"]
PAIRS = {"b": 1, "a": 2}
T3 = torch.tensor([1.5, 0.0, -2.0])


def each(names: str, *cases: Case, prefix: str = "") -> dict[str, list[Case]]:
    """The same cases for several rows."""
    return {prefix + name: list(cases) for name in names.split()}


SCALARS: dict[str, list[Case]] = {
    **each("add sub mul min max lt le gt ge eq ne", (7, 3), (7.5, -2.0), (True, False)),
    **each("floordiv mod", (7, -3), (7.5, -2.0), (1, 0)),
    "truediv": [(7, -3), (7.5, -2.0), (1, 2.0), (1, 0), (3492930114651979427, 421), (0, -(2**60))],
    "pow": [(7, 3), (2.0, 0.5)],
    "pow_mod": [(7, 3, 5), (-7, 3, -5), (3, -2, 7), (2, -1, 4), (2, 5, 0), (5, 0, 1), (2**62, 2**61 + 1, 2**63 - 25)],
    **each("neg abs int float bool str repr round", (5,), (-2.5,), (True,)),
    "invert": [(5,), (True,)],
    **each("and or xor", (6, 3), (True, False)),
    **each("lshift rshift", (5, 2), (5, -1)),
    "not": [(True,), (False,)],
    "equal": [([1, 2], [1, 2]), ({"a": 1}, {"a": 2}), ((1, "x"), (1, "x"))],
    "select": [(True, 1, 2), (False, 1.5, 2.5)],
    "round_digits": [(2.675, 2), (1250, -2)],
    **each("sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh", (0.75,), (1,), prefix="math."),
    **each("tanh asinh acosh atanh fabs radians degrees erf erfc gamma lgamma", (0.75,), (3,), prefix="math."),
    **each("cbrt exp2", (0.75,), (-8,), prefix="math."),
    "math.remainder": [(5.5, 2.0), (3.0, 2.0), (1.0, 0.0), (float("inf"), 2.0)],
    "math.ldexp": [(0.75, 3), (1.5, 2000), (1.5, -2000), (0.0, 5)],
    **each("atan2 hypot fmod pow copysign log_base", (3.0, 2.0), (3.0, -2.0), prefix="math."),
    **each("ceil floor trunc isnan isinf isfinite", (-2.5,), (3,), prefix="math."),
    **each("gcd lcm comb perm", (12, 8), prefix="math."),
    **each("factorial isqrt", (10,), (-1,), prefix="math."),
}
STRINGS: dict[str, list[Case]] = {
    "str.add": [("a", "b")],
    "str.mul": [("ab", 3)],
    "str.len": [("h\u00e9",)],
    "str.format": [(3.14159, ".2f"), (42, "05d"), ("x", ">4"), (True, "")],
    "str.get": [("abc", -1), ("abc", 5)],
    "str.slice": [("abcdef", 1, None, 2), ("abc", None, None, -1)],
    **each("contains startswith endswith find", ("abc", "c"), ("abc", "ab"), prefix="str."),
    "str.join": [(", ", ["a", "b"])],
    "str.split": [(" a b ",), ("a,b", ",")],
    **each("upper lower strip lstrip rstrip title capitalize", (" aBc ",), prefix="str."),
    "str.replace": [("aXa", "a", "b")],
    **each(
        "count rfind index rindex",
        *(("abcbc", "bc"), ("abc", "z"), ("abab", "", 1), ("abab", "ab", -3, -1), ("ab", "", 5)),
        ("h\u00e9h\u00e9", "\u00e9", 2),
        prefix="str.",
    ),
    **each("partition rpartition", ("a-b-c", "-"), ("abc", "-"), ("abc", ""), prefix="str."),
    "str.rsplit": [(" a b  c ",), ("a,b,c", ",", 1)],
    "str.splitlines": [("a\nb\r\nc",), ("a\n\nb\n", True)],
    **each("center ljust rjust", ("ab", 5), ("abc", 6, "*"), ("abc", 2), ("a", 4, "xy"), prefix="str."),
    "str.zfill": [("-7", 5), ("7", 3), ("abc", 2), ("+", 3)],
    **each("removeprefix removesuffix", ("abcab", "ab"), ("abc", "z"), prefix="str."),
    "str.swapcase": [("aBc1",)],
    **each(
        "isdigit isalpha isalnum isdecimal isnumeric isspace isupper islower isascii", ("12",), ("Ab",), prefix="str."
    ),
    "str.ord": [("a",)],
    "str.chr": [(97,)],
}
TENSORS: dict[str, list[Case]] = {
    "tensor.item": [(torch.tensor(2.5),), (torch.tensor([3]),), (torch.tensor(True),), (T3,)],
    "tensor.truth": [(torch.tensor(0),), (T3,)],
    "tensor.tolist": [(T3,), (torch.tensor([[1, 2], [3, 4]]),), (torch.tensor(5),)],
    "tensor.size": [(torch.zeros(2, 3), -1)],
    "tensor.numel": [(torch.zeros(2, 3),)],
    "tensor.make": [([1.5, 2.0], torch.float32), (3, torch.int64), ([[True], [False]], torch.bool)],
    "tensor.numpy_sum": [
        (T3,),
        (torch.arange(35.0).reshape(5, 7) / 3,),
        (torch.arange(35.0).reshape(5, 7) / 3, 0),
        (torch.arange(35.0).reshape(5, 7) / 3, 1),
        (torch.arange(300.0) / 7,),
    ],
    "tensor.is_same": [(T3, T3)],
}
CONTAINERS: dict[str, list[Case]] = {
    "list.new": [(1, 2), (1.5,), ("a", "b"), ([1], [2])],
    "list.get": [(LIST, 1), (LIST, 9), (WORDS, -1)],
    "list.item": [(LIST, -1, "tuple"), (LIST, 9, "deque")],
    "list.set": [(LIST, 1, 9)],
    **each("append appendleft", (LIST, 4), (WORDS, "c"), prefix="list."),
    "list.extend": [(LIST, [5])],
    "list.insert": [(LIST, 1, 5)],
    "list.pop": [(LIST, 0), (LIST,)],
    "list.remove": [(LIST, 1), (WORDS, "z")],
    **each("len clear reverse copy reversed", (LIST,), prefix="list."),
    "list.delete": [(LIST, 1)],
    **each("slice delete_slice", (LIST, 1, None, 2), (LIST, None, None, None), prefix="list."),
    "list.set_slice": [(LIST, 1, 2, None, [8, 9])],
    "list.concat": [(LIST, [5])],
    "list.repeat": [(LIST, 2)],
    **each("contains index count", (LIST, 1), (LIST, 7), (WORDS, "a"), prefix="list."),
    "list.less": [(LIST, [3, 1]), ([3, 1], LIST), (LIST, LIST), (WORDS, ["c"])],
    "list.sort": [(LIST, False), (WORDS, True)],
    "list.sort_by": [(WORDS, [2, 1], False)],
    **each("sum min max", (LIST,), ([0.5, 1.5],), prefix="list."),
    **each("any all", ([True, False],), (LIST,), prefix="list."),
    "list.range": [(5, 0, -2)],
    "dict.new": [("b", 1, "a", 2)],
    **each("len clear copy keys values items", (PAIRS,), prefix="dict."),
    **each("get pop delete find contains", (PAIRS, "a"), (PAIRS, "z"), prefix="dict."),
    "dict.set": [(PAIRS, "c", 3)],
    "dict.update": [(PAIRS, {"a": 5})],
    "set.new": [(2, 1, 2)],
    "set.len": [({1, 2},)],
    **each("add discard contains", ({1, 2}, 2), ({1, 2}, 5), prefix="set."),
    "set.sorted": [({3, 1, 2},)],
    "tuple.make": [(1, "a")],
    "tuple.get": [((1, "a"), 1)],
    "optional.is_none": [(None,)],
}
CASES = SCALARS | STRINGS | TENSORS | CONTAINERS
#: Rows that need a generated struct, a type of their own or write to standard output: in test_rows.cpp by hand.
BY_HAND = {"record.make", "record.get", "struct.new", "struct.get", "struct.set", "optional.some", "optional.none"}
BY_HAND |= {
    "enum.member",
    "enum.position",
    "optional.get",
    "optional.cast",
    "union.make",
    "union.index",
    "union.get",
    "undefined",
    "print",
    "same",
}


def cpp_type(x: Any) -> str:
    """The C++ type of a Python value."""
    match x:
        case bool():
            return "bool"
        case int():
            return "int64_t"
        case float():
            return "double"
        case str():
            return "std::string"
        case list():
            return f"py::List<{cpp_type(x[0])}>"
        case set():
            return f"py::Set<{cpp_type(next(iter(x)))}>"
        case dict():
            return f"py::Dict<{cpp_type(next(iter(x)))}, {cpp_type(next(iter(x.values())))}>"
        case tuple():
            return f"std::tuple<{', '.join(map(cpp_type, x))}>"
        case None:
            return "std::optional<int64_t>"
        case torch.Tensor():
            return "py::Tensor"
    raise TypeError(x)


def literal(text: str) -> str:
    """A C++ string literal; other bytes than printable ASCII as octal escapes, which cannot run into what follows."""
    escaped = (
        f"\\{c}" if c in '"\\' else c if c.isascii() and c.isprintable() else "".join(f"\\{b:03o}" for b in c.encode())
        for c in text
    )
    return f'"{"".join(escaped)}"'


def cpp(x: Any) -> str:
    """A Python value as a C++ expression."""
    match x:
        case bool():
            return str(x).lower()
        case int():
            return f"int64_t{{{x}}}"
        case float():
            return repr(x) if math.isfinite(x) else "HUGE_VAL"
        case str():
            return f"std::string({literal(x)})"
        case list() | set():
            return f"{cpp_type(x)}::of({', '.join(map(cpp, x))})"
        case dict():
            return f"{cpp_type(x)}::of({', '.join(f'{cpp(k)}, {cpp(v)}' for k, v in x.items())})"
        case tuple():
            return f"{cpp_type(x)}{{{', '.join(map(cpp, x))}}}"
        case None:
            return f"{cpp_type(x)}()"
        case torch.dtype():
            return f"py::ScalarType::{DTYPES[x]}"
        case torch.Tensor():
            return f"py::make_tensor({cpp(x.tolist())}, py::ScalarType::{DTYPES[x.dtype]})"
    raise TypeError(x)


def result_type(name: str, case: Case, value: Any) -> str:
    """What {T} stands for."""
    match name:
        case "list.new":
            return f"py::List<{cpp_type(case[0])}>"
        case "dict.new":
            return f"py::Dict<{cpp_type(case[0])}, {cpp_type(case[1])}>"
        case "set.new":
            return f"py::Set<{cpp_type(case[0])}>"
    return cpp_type(value) if value is not None else "double"


def changes_operand(name: str) -> bool:
    """Whether the row is about what happens to its first operand."""
    return TABLE[name].effect == "writes" and not name.endswith((".new", ".pop"))


def outcome(name: str, case: Case) -> tuple[str, Any]:
    """repr in Python of the result, or of the changed operand, or the error; and the result itself."""
    operands = copy.deepcopy(case)
    try:
        result = TABLE[name].evaluate(*operands)
    except Exception as error:
        return f"Error: {type(error).__name__}: {error}", None
    shown = operands[0] if changes_operand(name) else result
    if isinstance(shown, torch.Tensor):
        shown = shown.tolist()
    return repr(sorted(shown) if isinstance(shown, set) else shown), result


def spelled(name: str, operands: list[str], made: str) -> str:
    """The row's C++ expression."""
    pattern = TABLE[name].cpp
    if "{" not in pattern:
        pattern += "({args})"
    if name == "list.pop" and len(operands) == 1:
        pattern = pattern.replace("{1}", "")
    text = pattern.format(*operands, args=", ".join(operands), T=made)
    return text if text.startswith(("std::", "py::", "(", "!", "x0")) else f"py::{text}"


def line(name: str, case: Case) -> str:
    """One check in C++."""
    expected, value = outcome(name, case)
    operands = [cpp(x) for x in case]
    if name == "tuple.get":
        operands[1] = str(case[1])
    if name == "tensor.is_same":
        operands[1] = "x0"
    declared = ""
    if not name.endswith((".new", "tuple.make")):
        declared = f"[[maybe_unused]] auto x0 = {operands[0]}; "
        operands[0] = "x0"
    text = spelled(name, operands, result_type(name, case, value))
    if isinstance(value, bool) and text.startswith("("):
        # Bit operators of bools give an int, which a bool variable takes back.
        text = f"bool{text}"
    ending = f"{text}; return shown(x0);" if changes_operand(name) else f"return shown({text});"
    return f"CHECK_TEXT(outcome([&]() -> std::string {{ {declared}{ending} }}), {literal(expected)});"


def main() -> int:
    """Exit code 1 for a row without a case, and with `--check` for an outdated file."""
    missing = set(TABLE) - set(CASES) - BY_HAND
    if missing:
        print("rows without a case:", ", ".join(sorted(missing)))
        return 1
    parts = ["// Generated by generate_rows.py from the table of host operations; do not edit."]
    for name in sorted(CASES):
        parts += [f"// {name}", *(line(name, case) for case in CASES[name])]
    text = "\n".join(parts) + "\n"
    if "--check" in sys.argv:
        return 0 if OUTPUT.exists() and OUTPUT.read_text(encoding="utf-8") == text else 1
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
