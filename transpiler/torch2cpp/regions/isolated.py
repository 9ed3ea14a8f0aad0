"""Runs a function in a child process, since an operation on values that nobody meant can end the process.

Eager checks the sizes of its inputs, not always their contents: `lstm` over packed rows reads beyond
its data when the row counts make no sense.
"""

from __future__ import annotations

import faulthandler
import io
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch

#: Seconds after which a child counts as lost.
LIMIT = 300


def run_isolated(function: Callable[[], Any]) -> Any:
    """What `function` returns (tensors and plain containers), or None where its process ended without an answer.

    What it raises is raised here.

    The child is forked, as the workers of torch's DataLoader are, and like them runs torch on one thread.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(function, theirs), daemon=True)
    child.start()
    theirs.close()
    data: bytes | None = None
    try:
        if ours.poll(LIMIT):
            data = ours.recv_bytes()
    except EOFError:
        data = None
    finally:
        ours.close()
        if data is None:
            child.kill()
        child.join()
    if data is None:
        return None
    result, error = torch.load(io.BytesIO(data), weights_only=False)
    if error is not None:
        raise error
    return result


def _answer(function: Callable[[], Any], pipe: Connection) -> None:
    torch.set_num_threads(1)
    # An end without an answer is expected and handled: no report on it, nor the C library's on broken memory.
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    result, error = None, None
    try:
        result = function()
    except Exception as raised:  # it goes on in the parent
        error = raised
    buffer = io.BytesIO()
    torch.save((result, error), buffer)
    pipe.send_bytes(buffer.getvalue())
