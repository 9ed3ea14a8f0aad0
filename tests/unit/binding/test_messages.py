"""Logging and warnings are no part of what is deployed; their arguments are."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from like_python import assert_like_python

logger = logging.getLogger(__name__)
child = logging.getLogger("child")


def test_messages_change_nothing() -> None:
    def f(xs: list[int]) -> Any:
        logging.debug("start")
        total = 0
        for x in xs:
            if x > 2:
                logger.warning("large: %d of %s", x, xs)
                warnings.warn(f"large: {x}", UserWarning, stacklevel=2)
            else:
                child.info("small", extra={"x": x})
            total += x
        logger.error("done %s", total)
        return total

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_like_python(f, ([1, 2, 3],), ([],))


def test_arguments_of_messages_are_evaluated() -> None:
    def f(xs: list[int]) -> Any:
        logger.debug("last: %d", xs.pop())
        return xs

    assert_like_python(f, ([1, 2],), ([],))
