"""Context managers as generators: what is before the `yield` enters, what is after it leaves."""

# mypy: ignore-errors
from __future__ import annotations


def managed(manager):
    """`with manager`, an object with `__enter__` and `__exit__`."""
    value = manager.__enter__()
    try:
        yield value
    except Exception as error:
        if not manager.__exit__(type(error), error, None):
            raise
    else:
        manager.__exit__(None, None, None)


def suppress(*exceptions):
    """`contextlib.suppress`"""
    try:  # noqa: SIM105
        yield
    except exceptions:
        pass


def nullcontext(enter_result=None):
    """`contextlib.nullcontext`"""
    yield enter_result
