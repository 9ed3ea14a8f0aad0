"""str, repr, formats, f-strings and methods of strings."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch

from like_python import assert_like_python, assert_refused


def test_f_strings() -> None:
    def f(n: int, x: float, s: str, flag: bool) -> object:
        width = 8
        return (
            f"n={n} x={x:.3f} s={s!r} {{braces}} {flag} {n:>5}|{x:{width}.2f}|{s:<6}|{n:05d}",
            f"{n=} {x=:.1f} {s = }",
            f"",
            f"{n + 1}\t{'lit'}\x41{s}",
            rf"\d{n}",
            f"{n!s:>4}{x!r}",
            f'''it's "{s}"''',
            f"{1 + 1:03d}",
            f"{x:e} {x:g} {x:%} {n:,} {n:x} {n:b}",
        )

    assert_like_python(f, (4, 0.5, "ab", True), (-1234567, 1e-7, "it's", False))


def test_zero_dimensional_tensors_format_as_their_item() -> None:
    def f(x: torch.Tensor) -> object:
        return f"{x.sum():.4f} {x.sum()} {x.argmax()}", "{:.1f}".format(x[0]), "%.2f %d" % (x[1], x[2])

    assert_like_python(f, (torch.tensor([1.5, 2.25, -7.0]),))


def test_tensors_with_rows_are_refused() -> None:
    def f(x: torch.Tensor) -> object:
        return f"{x}"

    assert_refused(f, "T2C220", (torch.ones(2),))


def test_containers() -> None:
    def f(n: int, x: float, s: str) -> object:
        xs = [i * x for i in range(n)]
        d = {s: n}
        return (
            str([n, x, s]),
            str((n,)),
            str((n, (x, None))),
            repr({"a": n, 2: [s]}),
            str(xs),
            str(d),
            str(()),
            repr(s),
            str(s),
            str(deque([n])),
            str(True),
            f"{xs}",
            f"{(n, s)}",
        )

    assert_like_python(f, (2, 0.5, "a'b"), (3, 1.0, "é\n"))


def test_optionals() -> None:
    def f(n: int) -> object:
        best = None
        for i in range(n):
            best = i
        return f"best {best}", str(best)

    assert_like_python(f, (3,), (0,))


@dataclass
class Point:
    x: int
    y: float


class Shown:
    def __init__(self, n: int) -> None:
        self.n = n

    def __str__(self) -> str:
        return f"<{self.n}>"

    def __repr__(self) -> str:
        return f"Shown({self.n})"


def test_objects() -> None:
    def f(n: int) -> object:
        p, s = Point(n, 0.5), Shown(n)
        return str(p), f"{p!r} {s} {s!r}", str([s])

    assert_like_python(f, (3,), (4,))


def test_percent_formats() -> None:
    def f(n: int, x: float, s: str) -> object:
        return (
            "%d items, %s, %r: %.2f%%" % (n, s, s, x),
            "%5d|%-5d|%05d|%+d|% d" % (n, n, n, n, n),
            "%8.3f|%-8.2e|%g|%f" % (x, x, x, n),
            "%5s|%-5s|%.1s" % (s, s, s),
            "%x %X %#x %o" % (n, n, n, n),
            "%s" % n,
            "%(a)s %(b)d" % {"a": s, "b": n},
            "%d" % x,
            "%*d" % (6, n),
            "%s" % (None,),
        )

    assert_like_python(f, (42, 2.5, "ab"), (255, -0.001, "xyz"))


def test_percent_errors() -> None:
    def f(n: int, s: str) -> object:
        if n == 1:
            return "%d %d" % (n,)
        if n == 2:
            return "%d" % (n, n)
        if n == 3:
            return "%d" % s
        return "%f" % s

    assert_like_python(f, (1, "a"), (2, "a"), (3, "a"), (4, "a"))


def test_str_format() -> None:
    def f(n: int, x: float, s: str) -> object:
        return (
            "{} {} {}".format(n, x, s),
            "{1}{0}{1!r}".format(n, s),
            "{a:.2f}|{b:>4}".format(a=x, b=n),
            "{0[0]} {0[1]}".format([n, s]),
            "{:{w}d}".format(n, w=5),
            "{{}}{:<3}|".format(n),
        )

    assert_like_python(f, (4, 0.5, "a"), (5, 1.25, "b'"))


def test_methods() -> None:
    def f(n: int, s: str) -> object:
        t = s + str(n)
        return (
            t.upper(),
            t.lower(),
            t.strip(),
            t.strip("4 "),
            t.replace("a", "--"),
            t.replace("a", "b", 1),
            t.startswith("ab"),
            t.startswith(("x", " a")),
            t.endswith("4"),
            t.find("a"),
            t.find("a", 2),
            t.isdigit(),
            t.split(),
            t.split("a"),
            t.split("a", 1),
            t.title(),
            t.capitalize(),
            t.ljust(12),
            t.rjust(12, "*"),
            str(n).isdigit(),
            len(t),
            "b" in t,
            t[0],
            t[-1],
            t[1:3],
            t[::-1],
        )

    assert_like_python(f, (4, " ab ab"), (54, "banana"))


def test_kinds_of_characters() -> None:
    def f(s: str) -> object:
        return [
            (t, t.isupper(), t.islower(), t.isalpha(), t.isalnum(), t.isspace(), t.isnumeric(), t.isascii())
            for t in (s, s[:1], s + "1", s.upper())
        ]

    assert_like_python(f, ("abc",), ("Ab c",), ("",), (" ",), ("12",))


def test_looking_for_parts() -> None:
    def f(s: str, part: str) -> object:
        try:
            at = s.index(part)
        except ValueError as e:
            at = str(e)
        found = (s.partition(part), s.rpartition(part), s.count(part), s.rfind(part), str(at))
        return found, s.removeprefix(part), s.removesuffix(part), s.zfill(6)

    assert_like_python(f, ("a-b-c", "-"), ("-7", "x"), ("", "a"), ("abab", "ab"))


def test_ord_and_chr() -> None:
    def f(s: str) -> tuple[list[int], str]:
        codes = [ord(c) % 7 + 97 for c in s]
        return codes, "".join(chr(c) for c in codes)

    assert_like_python(f, ("hello",), ("",))


def test_join() -> None:
    def f(n: int, s: str) -> object:
        words = []
        for i in range(n):
            words.append(f"w{i}")
        return (
            ", ".join([s, "x", str(n)]),
            s.join(words),
            "-".join(str(i) for i in range(n)),
            "".join([]),
            "/".join(map(str, (1, n))),
            "+".join(("a", "b")),
        )

    assert_like_python(f, (3, "a"), (0, "b"))


def test_join_of_numbers_raises() -> None:
    def f(n: int) -> object:
        return ",".join(["a", n])

    assert_like_python(f, (3,), (4,))


def test_strings_built_in_a_loop() -> None:
    def f(n: int, s: str) -> object:
        out = ""
        for c in s:
            if c == "x":
                break
            out += c * n
        return out, out == s, out < s

    assert_like_python(f, (2, "abx"), (1, "hello"), (0, ""))


def test_errors_carry_texts() -> None:
    def f(n: int) -> object:
        try:
            if n > 3:
                raise ValueError(f"too many: {n}")
            if n < 0:
                raise KeyError(n)
        except (ValueError, KeyError) as e:
            return f"caught {e}", str(e)
        if n == 2:
            raise AssertionError(f"not {n}")
        raise RuntimeError("n is %d" % n)

    assert_like_python(f, (4,), (-2,), (2,), (1,))


def test_string_index_errors() -> None:
    def f(s: str, i: int) -> object:
        return s[i]

    assert_like_python(f, ("abc", 1), ("abc", -3), ("abc", 3))
