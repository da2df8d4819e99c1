# SPDX-License-Identifier: GPL-3.0-or-later
"""Format numbers and names for the report's sentences and panels."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Significant digits of a latency. Nobody notices smaller differences.
LATENCY_DIGITS = 2


def ms(value: float) -> str:
    """Return a latency in ms as text, rounded to two significant digits, with its unit: "12 ms".
    "lost" if it is infinite."""
    return "lost" if math.isinf(value) else f"{number(value, LATENCY_DIGITS)} ms"


def span(values: Sequence[float], unit: str) -> str:
    """Return the range of at least one value as text, smallest first: "19.4 to 20.9 Mbit/s". If
    both ends are the same when rounded, return one number: "19.4 Mbit/s".

    Args:
        values: the values.
        unit: their unit. Latencies ("ms") have LATENCY_DIGITS significant digits, others three.
    """
    digits = LATENCY_DIGITS if unit == "ms" else 3
    texts = list(dict.fromkeys(number(one, digits) for one in (min(values), max(values))))
    return f"{' to '.join(texts)} {unit}"


def percentile(percent: float) -> str:
    """Return the name of a percentile: "median" for 50, and for others the number with "th", such
    as "99th percentile"."""
    return "median" if percent == 50 else f"{percent:g}th percentile"


def listed(names: Sequence[str]) -> str:
    """Return names, at least one, as a list in a sentence: "a, b and c". If a name has a comma,
    semicolons separate them."""
    comma = "; " if any("," in name for name in names) else ", "
    return names[0] if len(names) == 1 else f"{comma.join(names[:-1])} and {names[-1]}"


def number(value: float, digits: int = 3) -> str:
    """Return a number rounded to `digits` significant digits as text, with commas between
    thousands, without an exponent, and without zeros at the end of decimals: "1,230", "19.4", "20".
    "inf" if it is infinite."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return f"{rounded:,.{max(0, places)}f}".rstrip("0").rstrip(".") if places > 0 \
        else f"{rounded:,.0f}"
