"""Python constants as C++ expressions."""

from __future__ import annotations

import math

import torch

from torch2cpp.emit.cpp_types import DTYPES

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def string(text: str) -> str:
    r"""A string literal in UTF-8; a std::string where the text holds a NUL.

    >>> print(string('say "é"\n'))
    "say \"\303\251\"\n"
    """
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        # Octal escapes end after three digits; hexadecimal ones would swallow what follows.
        out.append(_ESCAPES.get(char) or (char if 32 <= byte < 127 else f"\\{byte:03o}"))
    literal = '"' + "".join(out).replace("??", '?""?') + '"'
    return f"std::string({literal}, {len(out)})" if "\0" in text else literal


def integer(value: int) -> str:
    """An int64_t literal.

    >>> integer(3), integer(2**40), integer(-(2**63))
    ('3', 'INT64_C(1099511627776)', 'std::numeric_limits<int64_t>::min()')
    """
    if value == -(2**63):
        return "std::numeric_limits<int64_t>::min()"
    return str(value) if abs(value) < 2**31 else f"INT64_C({value})" if value > 0 else f"-INT64_C({-value})"


def floating(value: float) -> str:
    """A double that reads back as the same value.

    >>> floating(0.1), floating(1e22), floating(float("-inf"))
    ('0.1', '1e+22', '-std::numeric_limits<double>::infinity()')
    """
    if math.isnan(value):
        return "std::numeric_limits<double>::quiet_NaN()"
    if math.isinf(value):
        return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
    return repr(value)


def constant(value: object) -> str:
    """A scalar, a dtype or None."""
    if value is None:
        return "std::nullopt"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return floating(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, complex):
        return f"std::complex<double>({floating(value.real)}, {floating(value.imag)})"
    if isinstance(value, torch.dtype):
        return dtype(value)
    raise TypeError(f"no C++ spelling of the constant {value!r}")


def dtype(value: torch.dtype) -> str:
    """An enumerator of the ABI-stable ScalarType, as host programs spell it."""
    return f"py::ScalarType::{DTYPES[value]}"
