"""Writes tests/data/*.tsv: what CPython gives for each scalar, string and list operation of the runtime.

A line is `operation`, its operands, and the outcome, separated by tabs. Operands are tagged: `i:5`, `f:0x1.8p+3`,
`b:1`, `s:text`, `n:` for None and `l:1,2,3` for a list of ints. The outcome is the repr of the result or
`Error: ValueError: message`. Run as `python runtime_cpp/tests/generate_expectations.py` with Python 3.11.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
import statistics
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
INTS = [0, 1, -1, 2, -2, 3, 7, -7, 10, 63, 64, 100, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, INT_MAX, INT_MIN]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 7.0, -7.0, 1e-3, 123.456, 1e16, 1e15, 9.5e15]
FLOATS += [2.0**53, 2.0**63, -(2.0**63), 1e22, 1e300, 5e-324, 1e-310, math.pi, math.inf, -math.inf, math.nan]
BOOLS = [False, True]
Row = tuple[str, tuple[Any, ...], str]


def encode(value: Any) -> str:
    """One operand as text."""
    if value is None:
        return "n:"
    if isinstance(value, bool):
        return f"b:{int(value)}"
    if isinstance(value, int):
        return f"i:{value}"
    if isinstance(value, float):
        return f"f:{value.hex()}"
    if isinstance(value, list):
        return "l:" + ",".join(map(str, value))
    return "s:" + escape(value)


def escape(text: str) -> str:
    """Text without tabs and line ends."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def fits(value: Any) -> bool:
    """Whether C++ can hold the value."""
    if isinstance(value, list):
        return all(map(fits, value))
    return not isinstance(value, int) or INT_MIN <= value <= INT_MAX


def outcome(run: Callable[..., Any], operands: tuple[Any, ...]) -> str | None:
    """repr of the result or the error; None for what the runtime leaves out (complex results)."""
    try:
        result = run(*operands)
    except Exception as error:
        return f"Error: {type(error).__name__}: {error}"
    if isinstance(result, complex):
        return None
    if not fits(result):
        return "Error: OverflowError: int result does not fit in 64 bits"
    return repr(result)


def rows(name: str, run: Callable[..., Any], cases: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """Rows of one operation."""
    for operands in cases:
        expected = outcome(run, tuple(list(x) if isinstance(x, list) else x for x in operands))
        if expected is not None:
            yield name, operands, expected


def random_floats(rng: random.Random, count: int) -> list[float]:
    """Floats of all magnitudes: random bits, and decimals of few digits."""
    bits = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(count)]
    decimals = [round(rng.uniform(-1000, 1000), rng.randint(0, 6)) for _ in range(count)]
    halves = [rng.randint(-(10**6), 10**6) / 2 ** rng.randint(0, 12) for _ in range(count)]
    return [x for x in bits if not math.isnan(x)] + decimals + halves


def int_power(a: Any, b: Any) -> Any:
    """a ** b where C++ has the same type: float operands for negative int exponents."""
    if isinstance(a, int) and isinstance(b, int):
        if b < 0:
            return 0j
        if abs(a) > 1 and b > 64:
            return 2**64
    if a < 0 and isinstance(b, float) and math.isfinite(a) and math.isfinite(b) and b != math.floor(b):
        return 0j
    return a**b


def scalar_rows() -> Iterator[Row]:
    """Arithmetic, comparisons, conversions and math.*."""
    rng = random.Random(1)
    numbers: list[Any] = [*INTS, *FLOATS, *BOOLS]
    pairs = list(itertools.product(numbers, numbers))
    for name, run in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul), ("mod", operator.mod),
                      ("truediv", operator.truediv), ("floordiv", operator.floordiv), ("lt", operator.lt),
                      ("le", operator.le), ("gt", operator.gt), ("ge", operator.ge), ("eq", operator.eq),
                      ("ne", operator.ne), ("pow", int_power)):  # fmt: skip
        yield from rows(name, run, rng.sample(pairs, 300))
    same = [(a, b) for a, b in pairs if type(a) is type(b)]
    yield from rows("min", min, rng.sample(same, 150))
    yield from rows("max", max, rng.sample(same, 150))
    wide = [rng.randint(INT_MIN, INT_MAX) for _ in range(100)]
    yield from rows("truediv", operator.truediv, [(a, rng.choice(wide) >> rng.randint(0, 62) or 1) for a in wide])
    drawn = random_floats(rng, 80)
    for name, run in (("floordiv", operator.floordiv), ("mod", operator.mod)):
        yield from rows(name, run, [(a, rng.choice(drawn) or 1.0) for a in drawn])
    shifts = [(a, n) for a in INTS for n in (-1, 0, 1, 5, 61, 62, 63, 64, 100)]
    yield from rows("lshift", operator.lshift, shifts)
    yield from rows("rshift", operator.rshift, shifts)
    for name, run in (("neg", operator.neg), ("abs", abs), ("int", int), ("float", float), ("bool", bool),
                      ("str", str), ("repr", repr), ("round", round)):  # fmt: skip
        yield from rows(name, run, [(x,) for x in numbers + drawn])
    yield from rows("invert", operator.invert, [(x,) for x in [*INTS, *BOOLS]])
    powers = [2.0**e for e in range(-60, 60)] + [10.0**e for e in range(-30, 30)]
    yield from rows("repr", repr, [(x,) for x in powers])
    digits = [-320, -308, -20, -19, -18, -5, -2, -1, 0, 1, 2, 3, 5, 10, 16, 20, 300, 323, 324]
    yield from rows("round_digits", round, rng.sample(list(itertools.product(numbers, digits)), 500))
    yield from rows("round_digits", round, [(x, rng.randint(-4, 8)) for x in drawn])
    texts = ["1", " -12 ", "+3", "1_000", "1__0", "_1", "", "a", "1.5", "0x10", "9223372036854775807", "- 1", "1 2",
             "9223372036854775808", "-9223372036854775808", "1e5", "inf", "-Infinity", "NaN", "infin", ".5", "5.",
             ".", "1e", "1e+3", "1_0.5_0", "1e400", "-1e400", "1e-400", "nan1", "0b1", "it's", "+-1"]  # fmt: skip
    texts.append("\u2003 7 \n")
    yield from rows("int", int, [(s,) for s in texts])
    yield from rows("float", float, [(s,) for s in texts])
    yield from math_rows(rng, drawn)


def math_rows(rng: random.Random, drawn: list[float]) -> Iterator[Row]:
    """math.*"""
    small = [rng.uniform(-30, 30) for _ in range(60)] + [rng.uniform(-2, 2) for _ in range(60)]
    reals: list[Any] = [*FLOATS, *small, *[float(n) for n in range(-5, 30)]]
    reals += [170.5, 171.7, -170.5, -190.25, 709.9, -746.0]
    for name in ("sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan",
                 "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fabs", "radians", "degrees", "erf", "erfc",
                 "gamma", "lgamma", "isnan", "isinf", "isfinite", "ceil", "floor", "trunc"):  # fmt: skip
        yield from rows(f"math.{name}", getattr(math, name), [(x,) for x in reals])
    pairs = rng.sample(list(itertools.product(FLOATS, FLOATS)), 300)
    pairs += [(rng.choice(source), rng.choice(source)) for source in (drawn, small) for _ in range(150)]
    for name in ("atan2", "hypot", "fmod", "pow", "copysign"):
        yield from rows(f"math.{name}", getattr(math, name), pairs)
    bases = itertools.product((0.5, 1.0, 8.0, -1.0, 0.0), (2.0, 10.0, 1.0, 0.0))
    yield from rows("math.log_base", math.log, bases)
    few = [0, 1, -1, 2, 3, 5, 6, 12, 20, 21, 30, 64, 67, 100]
    for name in ("gcd", "lcm"):
        yield from rows(f"math.{name}", getattr(math, name), itertools.product([*few, INT_MAX, INT_MIN], repeat=2))
    for name in ("comb", "perm"):
        yield from rows(f"math.{name}", getattr(math, name), itertools.product(few, repeat=2))
    yield from rows("math.factorial", math.factorial, [(n,) for n in few])
    squares = [n * n + d for n in (1, 2, 1000, 2**31, 3037000499) for d in (-1, 0, 1)]
    yield from rows("math.isqrt", math.isqrt, [(n,) for n in [*few, *squares, INT_MAX]])
    for name in ("ceil", "floor", "trunc"):
        yield from rows(f"math.{name}", getattr(math, name), [(n,) for n in INTS])


def format_rows(rng: random.Random) -> Iterator[Row]:
    """format(value, spec): random specs, right and wrong."""
    values: list[Any] = [0, 1, -1, 65, 1234567, -1234567, INT_MAX, INT_MIN, True, False, 0.0, -0.0, 1.0, 2.5, -1.5]
    values += [1234.5678, 1e16, -1e-5, 123456789.0, 1e300, 5e-324, math.inf, -math.inf, math.nan, 0.1, 99999.5, 9.995]
    values += ["", "abc", "h\u00e9llo", "\U0001f600x", "a longer text"]

    def pick(*options: str) -> str:
        return rng.choice(options)

    specs = ["", "10q5", ",_", "_,", ",,", "__", ".", "=010", "5 ", "\x01", "\u00e9", "99999999999999999999", "<", "0"]
    for _ in range(500):
        align = pick("", "", "", "<", ">", "^", "=", "*<", "0>", "0=", "\u20ac^", "x=")
        middle = pick("", "", "+", "-", " ") + pick("", "", "", "", "z") + pick("", "", "", "#") + pick("", "", "0")
        size = pick("", "", "1", "8", "12", "20") + pick("", "", "", ",", "_")
        precision = pick("", "", ".0", ".1", ".2", ".6", ".17")
        specs.append(align + middle + size + precision + pick("", "", *"dboxXeEfFgG%scnq"))
    for spec in specs:
        chosen = rng.sample(values, 6)
        yield from rows("str.format", format, [(value, spec) for value in chosen])


def string_rows() -> Iterator[Row]:
    """Methods of str."""
    rng = random.Random(2)
    texts = ["", "a", "abc", "abcabc", "  two  words ", "h\u00e9llo w\u00f6rld", "\U0001f600\U0001f601x", "a,b,,c"]
    texts += ["it's", 'say "hi"', "both ' and \"", "tab\tline\nreturn\r", "\x00\x7f\u00a0\u00ad", "\u200bzero"]
    texts += ["back\\slash", "12", "\u0661\u0662", "\u00b2", "a1", ",", "\u2028"]
    bounds = [None, 0, 1, 2, 5, 100, -1, -2, -100]
    yield from rows("repr", repr, [(s,) for s in texts])
    yield from rows("str", str, [(s,) for s in texts])
    yield from rows("bool", bool, [(s,) for s in texts])
    yield from rows("str.len", len, [(s,) for s in texts])
    yield from rows("str.get", operator.getitem, [(s, i) for s in texts for i in (0, 1, -1, -3, 10, -20)])
    cut = itertools.product(texts, bounds, bounds, [None, 1, 2, -1, -2, 0])
    yield from rows("str.slice", lambda s, a, b, c: s[slice(a, b, c)], rng.sample(list(cut), 600))
    yield from rows("str.mul", operator.mul, [(s, n) for s in texts for n in (-1, 0, 1, 3)])
    parts = ["", "a", "b", "c", ",", "bc", "l", "\u00e9", " ", "\U0001f601", "x"]
    both = list(itertools.product(texts, parts))
    for name, run in (("contains", operator.contains), ("find", str.find), ("startswith", str.startswith),
                      ("endswith", str.endswith), ("split", str.split), ("strip", str.strip),
                      ("lstrip", str.lstrip), ("rstrip", str.rstrip)):  # fmt: skip
        yield from rows(f"str.{name}", run, both)
    yield from rows("str.find", str.find, rng.sample(list(itertools.product(texts, parts, bounds, bounds)), 500))
    kinds = [
        "Abc",
        "ABC1",
        "abc\u00e9",
        "\u00c9T\u00c9",
        "\u01c5",
        "\u01c5A",
        "\u2167",
        "\u2177",
        "\u00bd",
        "\u4e09",
        "-7",
        "+",
    ]
    for name in ("isdigit", "isalpha", "isalnum", "isdecimal", "isnumeric", "isspace", "isupper", "islower", "isascii"):
        yield from rows(f"str.{name}", getattr(str, name), [(s,) for s in [*texts, *kinds]])
    for name in ("removeprefix", "removesuffix", "count", "rfind"):
        yield from rows(f"str.{name}", getattr(str, name), both)
    yield from rows("str.zfill", str.zfill, itertools.product([*texts, *kinds], [-1, 0, 2, 6]))
    for name in ("split", "strip", "lstrip", "rstrip"):
        yield from rows(f"str.{name}", getattr(str, name), [(s,) for s in texts])
    yield from rows("str.split", str.split, itertools.product(texts, [None, ",", "b"], [-1, 0, 1, 2]))
    yield from rows("str.replace", str.replace, itertools.product(texts, ["", "a", ",", "bc"], ["", "xy", "\u00e9"]))
    yield from rows("str.replace", str.replace, itertools.product(texts, ["", "a"], ["xy"], [-1, 0, 1, 2]))
    # Sigma by its place, letters that become several, that differ as titles, that are cased and looked past at once.
    cases = (
        "MiXed case they're",
        "\u03a3\u03a3 A\u03a3. \u03a3a",
        "A\u0301\u03a3\u0301 x\u03a3\u0301y",
        "1\u03a3\u02b0\u03a3",
        "\u00dfa \ufb03x \u0130I\u0131i",
        "\u01c4\u01c5\u01c6 \u1fb3\u1f80",
        "\U00010400\U00010428 \u02b0A \u2160\u2170",
    )
    every = [chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000]
    changing = "".join(c for c in every if not c == c.lower() == c.upper() == c.title())
    for name in ("upper", "lower", "title", "capitalize", "swapcase"):
        method = getattr(str, name)
        yield from rows(f"str.{name}", method, [(s,) for s in [*texts, *kinds, *cases]])
        # All that change, apart from each other, and some that do not.
        yield from rows(f"str.{name}", method, [(" ".join(changing),), ("".join(every[::997]),)])
    yield from rows("str.ord", ord, [(s,) for s in texts if len(s) < 3])
    yield from rows("str.chr", chr, [(n,) for n in (0, 65, 233, 0x20AC, 0x1F600, 0x10FFFF, 0x110000, -1)])
    points = sorted(rng.sample([n for n in range(0x30000) if not 0xD800 <= n < 0xE000], 600)) + list(range(0x250))
    yield from rows("repr", repr, [(chr(n),) for n in points])
    yield from format_rows(rng)


def mutate(name: str, *operands: Any) -> Any:
    """Calls a method of list and returns the list."""
    getattr(list, name)(*operands)
    return operands[0]


def list_rows() -> Iterator[Row]:
    """Methods of list, on lists of ints; those that change the list give the changed list."""
    rng = random.Random(3)
    lists: list[list[int]] = [[], [5], [1, 2, 3], [3, 1, 2, 3, 1], list(range(10))]
    indices = [0, 1, 2, -1, -2, 4, 5, -5, -6, 100]
    at = list(itertools.product(lists, indices))
    yield from rows("list.get", operator.getitem, at)
    yield from rows("list.set", lambda xs, i: mutate("__setitem__", xs, i, 99), at)
    yield from rows("list.insert", lambda xs, i: mutate("insert", xs, i, 99), at)
    yield from rows("list.delete", lambda xs, i: mutate("__delitem__", xs, i), at)
    yield from rows("list.pop", lambda xs, i: [xs.pop(i), *xs], at)
    yield from rows("list.pop", lambda xs: [xs.pop(), *xs], [(xs,) for xs in lists])
    for name in ("index", "count"):
        yield from rows(f"list.{name}", getattr(list, name), itertools.product(lists, [1, 3, 7]))
    yield from rows("list.contains", operator.contains, itertools.product(lists, [1, 3, 7]))
    yield from rows("list.remove", lambda xs, x: mutate("remove", xs, x), itertools.product(lists, [1, 3, 7]))
    yield from rows("list.repeat", operator.mul, itertools.product(lists, [-1, 0, 1, 3]))
    yield from rows("list.concat", operator.add, itertools.product(lists, lists))
    yield from rows("equal", operator.eq, itertools.product(lists, lists))
    yield from rows("list.less", operator.lt, itertools.product(lists, lists))
    for name, run in (("sum", sum), ("min", min), ("max", max), ("any", any), ("all", all)):
        yield from rows(f"list.{name}", run, [(xs,) for xs in [*lists, [0], [INT_MAX, 1]]])
    yield from rows("list.sort", sorted, [(xs,) for xs in lists])
    yield from rows("list.reversed", lambda xs: xs[::-1], [(xs,) for xs in lists])
    bounds = [None, 0, 1, 3, -1, -3, 20, -20]
    steps = [None, 1, 2, 3, -1, -2, 0]
    cuts = rng.sample(list(itertools.product(lists, bounds, bounds, steps)), 700)
    yield from rows("list.slice", lambda xs, a, b, c: xs[slice(a, b, c)], cuts)
    yield from rows("list.delete_slice", lambda xs, a, b, c: mutate("__delitem__", xs, slice(a, b, c)), cuts)
    puts = [(*cut, rng.choice([[], [7], [7, 8], [7, 8, 9]])) for cut in cuts]
    yield from rows("list.set_slice", lambda xs, a, b, c, ys: mutate("__setitem__", xs, slice(a, b, c), ys), puts)
    ranges = list(itertools.product([0, 1, 5, -3], [0, 1, 5, -3, 10], [1, 2, -1, -2, 3, 0]))
    yield from rows("list.range", lambda a, b, c: list(range(a, b, c)), ranges)


def sort_rows() -> Iterator[Row]:
    """Sorting positions by float keys with NaNs: operands are the keys."""
    rng = random.Random(4)
    for _ in range(300):
        keys = [rng.choice([1.0, 2.0, 3.0, math.nan, -1.0]) for _ in range(rng.randint(0, 63))]
        reverse = rng.random() < 0.3
        expected = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        yield "sort_keys", (reverse, *keys), repr(expected)


def write(name: str, lines: Iterable[Row]) -> None:
    """One file."""
    text = "".join("\t".join([op, *map(encode, operands), escape(expected)]) + "\n" for op, operands, expected in lines)
    (DATA / name).write_text(text, encoding="utf-8", errors="surrogatepass")


def walk_sets(seed: int, steps: int, limit: int, tuples: bool) -> list[Any]:
    """Three sets changed at random; what `pop` gave, then the members of each, in Python's order."""
    state = seed

    def draw(below: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % below

    sets: list[set[Any]] = [set(), set(), set()]
    out: list[Any] = []
    for _ in range(steps):
        op, i, j, k, v = draw(32), draw(3), draw(3), draw(3), draw(limit) - limit // 2
        key = (v, -v) if tuples else v
        a, b, c = sets[i], sets[j], sets[k]
        if op < 16:
            a.add(key)
        elif op < 20:
            a.discard(key)
        elif op == 20:
            sets[i] = b | c
        elif op == 21:
            sets[i] = b & c
        elif op == 22:
            sets[i] = b - c
        elif op == 23:
            sets[i] = b ^ c
        elif op == 24:
            a |= b
        elif op == 25:
            a &= b
        elif op == 26:
            a -= b
        elif op == 27:
            a ^= b
        elif op == 28:
            sets[i] = b.copy()
        elif op == 29 and v % 8 == 0:
            a.clear()
        elif a:
            out.append(a.pop())
    for s in sets:
        out += list(s)
    return out


def sum_rows() -> Iterator[Row]:
    """Sums that are rounded once, of floats of several sizes."""
    draw = random.Random(11)
    cases = [[1e16, 1.0, 1.0], [0.1] * 10, [1e308, 1e308], [1.0, 1e-40, -1.0], [math.inf, 1.0], [math.nan, 2.0]]
    cases += [[math.inf, -math.inf], [0.1, 0.2], [3.0, 3.0, 3.0]]
    for digits in (0, 1, 8):
        cases += [[draw.uniform(-1, 1) * 10 ** draw.uniform(-digits, digits) for _ in range(n)] for n in range(2, 14)]
    for xs in cases:
        for name in ("mean", "variance", "pvariance", "stdev", "pstdev"):
            if max(map(abs, xs)) < 1e300 or math.inf in xs:
                function = getattr(statistics, name)
                yield f"statistics.{name}", tuple(xs), outcome(lambda *x, f=function: f(x), tuple(xs)) or ""
        yield "math.fsum", tuple(xs), outcome(lambda *x: math.fsum(x), tuple(xs)) or ""


def set_rows() -> Iterator[Row]:
    """Sets at random: number of steps, range of the members, whether those are pairs."""
    for seed, (steps, limit, tuples) in enumerate(
        itertools.product((10, 100, 1000), (16, 100, 2**20, 2**30), (False, True))
    ):
        if steps == 1000 and limit > 100:
            steps = 250
        yield "set.walk", (seed, steps, limit, tuples), repr(walk_sets(seed, steps, limit, tuples))


def main() -> None:
    DATA.mkdir(exist_ok=True)
    write("scalars.tsv", scalar_rows())
    write("strings.tsv", string_rows())
    write("lists.tsv", itertools.chain(list_rows(), sort_rows(), set_rows(), sum_rows()))


if __name__ == "__main__":
    main()
