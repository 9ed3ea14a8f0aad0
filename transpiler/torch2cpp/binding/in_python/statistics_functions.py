"""Means and variances of ints: ints where they are whole."""

# mypy: ignore-errors
from __future__ import annotations


def mean(data):
    """`statistics.mean` of ints"""
    return _whole_or_not(sum(data), len(data))


def variance(data):
    """`statistics.variance` of ints"""
    n = len(data)
    return _whole_or_not(n * sum(x * x for x in data) - sum(data) ** 2, n * (n - 1))


def pvariance(data):
    """`statistics.pvariance` of ints"""
    n = len(data)
    return _whole_or_not(n * sum(x * x for x in data) - sum(data) ** 2, n * n)


def _whole_or_not(above, below):
    return above // below if above % below == 0 else above / below
