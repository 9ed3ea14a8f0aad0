"""`torch.Generator` on the CPU: its state is a tensor, which takes the place of the default generator's in a draw."""

# mypy: ignore-errors
from __future__ import annotations

import torch


class Generator(torch.Generator):
    """A generator of the model's own."""

    device = torch.device("cpu")

    def __init__(self):
        outer = torch.get_rng_state()
        torch.manual_seed(67280421310721)  # PyTorch's own first seed
        self._state = torch.get_rng_state()
        torch.set_rng_state(outer)

    def manual_seed(self, seed):
        """`Generator.manual_seed`"""
        outer = torch.get_rng_state()
        torch.manual_seed(seed)
        self._state = torch.get_rng_state()
        torch.set_rng_state(outer)
        return self

    def initial_seed(self):
        """`Generator.initial_seed`"""
        return seed_in(self._state)

    def get_state(self):
        """`Generator.get_state`"""
        return self._state.clone()

    def set_state(self, new_state):
        """`Generator.set_state`: the default generator tells whether it is one."""
        outer = torch.get_rng_state()
        torch.set_rng_state(new_state)
        self._state = torch.get_rng_state()
        torch.set_rng_state(outer)
        return self

    def clone_state(self):
        """`Generator.clone_state`"""
        other = Generator()
        other._state = self._state.clone()
        return other


class DefaultGenerator(torch.Generator):
    """`torch.default_generator`"""

    device = torch.device("cpu")

    def manual_seed(self, seed):
        """`Generator.manual_seed`"""
        torch.manual_seed(seed)
        return torch.default_generator

    def initial_seed(self):
        """`Generator.initial_seed`"""
        return seed_in(torch.get_rng_state())

    def get_state(self):
        """`Generator.get_state`"""
        return torch.get_rng_state()

    def set_state(self, new_state):
        """`Generator.set_state`"""
        torch.set_rng_state(new_state)
        return torch.default_generator


def seed_in(state):
    """The seed that a state goes back to: its first eight bytes, without sign."""
    seed = state[:8].view(torch.int64).item()
    if seed < 0:
        raise OverflowError("int result does not fit in 64 bits")
    return seed


def drawing(generator):
    """A context in which the default generator is where `generator` is."""
    outer = torch.get_rng_state()
    torch.set_rng_state(generator._state)
    try:
        yield
    finally:
        generator._state = torch.get_rng_state()
        torch.set_rng_state(outer)


def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """`torch.random.fork_rng`, without other devices."""
    outer = torch.get_rng_state()
    try:
        yield
    finally:
        if enabled:
            torch.set_rng_state(outer)
