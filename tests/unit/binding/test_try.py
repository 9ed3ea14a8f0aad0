"""try, except, else, finally: every way out, and what handlers see of the body's variables."""

from __future__ import annotations

import torch

from like_python import assert_like_python

KS = (-4, 0, 1, 2, 3, 5, 6, 7, -1)


def jumps_out_of_a_loop(x, k):
    log = []
    for i in range(4):
        try:
            log.append(i)
            if k == i:
                continue
            if k + 1 == i:
                break
            if k == 7:
                return log
            x += 1
            x[k]
        except ValueError:
            log.append(99)
        finally:
            log.append(-i)
            x *= 2
    else:
        log.append(1000)
    return log, x


def test_jumps_out_of_a_loop() -> None:
    assert_like_python(jumps_out_of_a_loop, *[(torch.ones(3), k) for k in KS])


def returns_in_finally(x, k):
    try:
        try:
            return x[k]
        finally:
            x += 1
            if k == 2:
                return x
    except Exception as e:
        x += 100
        if k == 5:
            raise
        if k == 6:
            raise e
        return str(e)


def test_returns_in_finally() -> None:
    assert_like_python(returns_in_finally, *[(torch.ones(3), k) for k in KS])


def finally_after_else(x, k):
    s = 0
    try:
        return 10 // k + s
    except ZeroDivisionError:
        return 5
    else:
        s = 7
    finally:
        s += 1
        if k == 3:
            return s
    return 3


def test_finally_after_else() -> None:
    assert_like_python(finally_after_else, *[(torch.ones(3), k) for k in KS])


def closures_and_reraised(x, k):
    def inner():
        try:
            if k > 0:
                return 1
            if k == 0:
                raise AssertionError("zero")
        finally:
            x.add_(1)
        return 2

    try:
        r = inner()
    except (AssertionError, IndexError) as e:
        r = str(e)
        if k == 0:
            raise
    return r


def test_closures_and_reraised() -> None:
    assert_like_python(closures_and_reraised, *[(torch.ones(3), k) for k in KS])


def strings(x, k):
    s = ""
    try:
        for i in range(5):
            try:
                if i == k:
                    raise ValueError(f"at {i}")
                if i == 3:
                    return s
                s += str(i)
            except ValueError as e:
                s += str(e)
                continue
            finally:
                s += "!"
            s += "."
    finally:
        s += "end"
    return s


def test_variables_in_handlers() -> None:
    assert_like_python(strings, *[(torch.ones(3), k) for k in KS])


def unassigned(x, k):
    try:
        y = x[k]
        z = y + 1
    except IndexError:
        return y if k == 7 else k
    return z


def test_a_variable_that_the_body_did_not_reach() -> None:
    assert_like_python(unassigned, *[(torch.ones(3), k) for k in KS])
