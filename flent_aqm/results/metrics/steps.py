# SPDX-License-Identifier: GPL-3.0-or-later
"""Thresholds that turn a number into a grade or points."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

Result = TypeVar("Result")


def step(value: float, cuts: Sequence[float], results: Sequence[Result]) -> Result:
    """Return the result for value: results[0] below the first cut, results[1] from there, ..."""
    return results[bisect_right(cuts, value)]
