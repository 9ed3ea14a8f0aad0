"""Numbers written with another base than ten."""

from __future__ import annotations

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def int_with_base(text: str, base: int) -> int:
    """`int(text, base)` for a base of 2 to 36."""
    rest = text.strip().lower()
    negative = rest.startswith("-")
    if negative or rest.startswith("+"):
        rest = rest[1:]
    prefixed = (
        (base == 16 and rest.startswith("0x"))
        or (base == 8 and rest.startswith("0o"))
        or (base == 2 and rest.startswith("0b"))
    )
    if prefixed:
        rest = rest[2:]
    value = 0
    before = "0" if prefixed else "_"  # an underscore stands between digits, or after the prefix
    for c in rest:
        digit = _DIGITS.find(c)
        if c == "_" and before != "_":
            before = c
            continue
        if digit < 0 or digit >= base:
            raise ValueError(f"invalid literal for int() with base {base}: {text!r}")
        value = value * base + digit
        before = c
    if before == "_" or not rest:
        raise ValueError(f"invalid literal for int() with base {base}: {text!r}")
    return -value if negative else value
