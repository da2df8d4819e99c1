# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts numbers to grades or points by thresholds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

Result = TypeVar("Result")


def step(value: float, cuts: Sequence[float], results: Sequence[Result]) -> Result:
    """Return the result for a value: results[0] below the first threshold in `cuts`, results[1]
    from it on, and so on."""
    return results[bisect_right(cuts, value)]
