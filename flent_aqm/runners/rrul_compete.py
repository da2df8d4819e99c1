# SPDX-License-Identifier: GPL-3.0-or-later
"""The test rrul_compete: when its second RRUL runs, and its data sets.

Read whenever the test is loaded, in the guest too: it imports little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Refuse = Callable[[str], object]

PLOTS = {"compete": {
    "description": "Throughput of both RRULs", "type": "timeseries", "series": [
        {"data": f"TCP {word}{way} sum", "label": f"{name} {way}", "smoothing": 5}
        for word, name in (("", "first"), ("second ", "second"))
        for way in ("download", "upload")]}}


@dataclass(frozen=True)
class Span:
    """When the second one runs, in s after the start of the first."""

    start_s: float
    length_s: float


def span_of(parameter: Callable[..., Any], refuse: Refuse, length_s: float) -> Span:
    """Test parameters, checked: the second one has to lie within the first, which takes
    length_s. parameter: Flent's get_test_parameter; refuse: its test_error."""
    start_s = _seconds(refuse, parameter, "second_start", length_s / 4)
    span = Span(start_s, _seconds(refuse, parameter, "second_length", length_s / 2))
    if not (span.start_s >= 0 and span.length_s > 0
            and span.start_s + span.length_s <= length_s):
        refuse(f"second_start, second_length: {span.start_s:g} s and {span.length_s:g} s don't "
               f"lie within the first RRUL, which takes {length_s:g} s; give shorter ones")
    return span


def _seconds(refuse: Refuse, parameter: Callable[..., Any], name: str, default: float) -> float:
    text = str(parameter(name, default=default))
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        refuse(f"{name}: {text!r} is not a number of seconds")
        return default
    return seconds


def second(first: Mapping[str, Mapping[str, Any]], delay_s: float, span: Span,
           glob: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """The flows of the first RRUL once more, in the span, and their sums."""
    found = {name.replace("TCP ", "TCP second ", 1): {
        **one, "delay": delay_s + span.start_s, "length": span.length_s}
        for name, one in first.items() if one.get("runner") == "netperf_demo"}
    for way in ("upload", "download"):
        found[f"TCP second {way} sum"] = {
            "apply_to": [glob(f"TCP second {way} *")], "units": "Mbits/s", "runner": "sum"}
    return found
