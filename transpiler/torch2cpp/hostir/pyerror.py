"""The Python exception a host program raises, as a value: class name, bases, message, place."""

from __future__ import annotations

from typing import final

from torch2cpp.spans import Span


class IrFault(Exception):
    """The program itself is malformed, or the interpreter is wrong: never the user's exception."""


@final
class PyError(Exception):
    """An exception as Python would have raised it at `span`.

    `str()` of it is the message alone, as for the exception it stands for.
    """

    def __init__(self, name: str, bases: tuple[str, ...], message: str, span: Span) -> None:
        super().__init__(message)
        #: Name of the exception's class, without its module.
        self.name = name
        #: Names of all classes it can be caught under, its own first.
        self.bases = (name, *(b for b in bases if b != name))
        self.message = message
        self.span = span

    def matches(self, names: tuple[str, ...]) -> bool:
        """Whether a handler for these class names takes it; no names take every exception.

        >>> from torch2cpp.spans import NOWHERE
        >>> error = PyError("KeyError", ("LookupError", "Exception"), "'a'", NOWHERE)
        >>> error.matches(("LookupError",)), error.matches(("ValueError",)), error.matches(())
        (True, False, True)
        """
        return not names or any(name in self.bases for name in names)

    def __repr__(self) -> str:
        return f"{self.name}({self.message!r}) at {self.span}"


def from_exception(error: Exception, span: Span) -> PyError:
    """What a real Python exception is as a `PyError`; classes are matched by name.

    >>> from torch2cpp.spans import NOWHERE
    >>> from_exception(ZeroDivisionError("division by zero"), NOWHERE).bases
    ('ZeroDivisionError', 'ArithmeticError', 'Exception', 'BaseException')
    """
    # torch.linalg.LinAlgError calls itself _LinAlgError; it can be caught under either name.
    bases = tuple(c.__name__ for c in type(error).__mro__ if c is not object)
    if "_LinAlgError" in bases:
        bases = ("LinAlgError", *bases)
    return PyError(bases[0], bases, str(error), span)
