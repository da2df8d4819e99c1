# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines parameters and data sets of rrul_compete, which runs a second RRUL during the first.

It imports little, because it is read whenever the test is loaded, also in the guest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# Function that reports an error. It may return.
Refuse = Callable[[str], object]

PLOTS = {"compete": {
    "description": "Throughput of both RRULs", "type": "aqm_timeseries", "series": [
        {"data": f"TCP {word}{way} sum", "label": f"{name} {way}", "smoothing": 5}
        for word, name in (("", "first"), ("second ", "second"))
        for way in ("download", "upload")]}}


@dataclass(frozen=True)
class Span:
    """Time for which the second RRUL runs. Both fields are whole numbers, because netperf needs
    them.

    Attributes:
        start_s: seconds from the start of the first RRUL to that of the second.
        length_s: length of the second RRUL.
    """

    start_s: int
    length_s: int


def span_of(parameter: Callable[..., Any], refuse: Refuse, length_s: int) -> Span:
    """Return the time span of the second RRUL by the test's parameters second_start (default: a
    quarter of the first's length) and second_length (default: half of it, at least 1 s), in whole
    seconds. The defaults are rounded down. A value that is no such number is reported, and its
    default used. A span that doesn't lie within the first RRUL is reported, and returned
    nevertheless.

    Args:
        parameter: Flent's get_test_parameter().
        refuse: Flent's test_error(), which reports a text and may return.
        length_s: length of the first RRUL.
    """
    span = Span(_seconds(refuse, parameter, "second_start", length_s // 4, 0),
                _seconds(refuse, parameter, "second_length", max(length_s // 2, 1), 1))
    if span.start_s + span.length_s > length_s:
        refuse(f"second_start={span.start_s}, second_length={span.length_s}: the second RRUL "
               f"would end after {span.start_s + span.length_s} s, and the first takes {length_s} "
               "s; give smaller values for one or both, or a longer test (-l)")
    return span


def _seconds(refuse: Refuse, parameter: Callable[..., Any], name: str, default: int,
             lowest: int) -> int:
    """Return a parameter in whole seconds. A value that is no whole number, below `lowest` or above
    99999 is reported, and the default returned.

    Args:
        refuse: reports a text and may return.
        parameter: called with a parameter's name and the keyword `default`. Returns its text, or
            the default.
        name: name of the parameter.
        default: default in s.
        lowest: smallest allowed value in s.
    """
    text = str(parameter(name, default=default))
    if re.fullmatch("[0-9]{1,5}", text) and int(text) >= lowest:
        return int(text)
    refuse(f"{name}: {text!r}; expected a whole number of seconds from {lowest} to 99999")
    return default


def second_data_sets(first: Mapping[str, Mapping[str, Any]], delay_s: int, span: Span,
                     glob: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """Return the data sets of the second RRUL by name, which begins with "TCP second": the TCP
    flows of the first, shifted to the span, and a sum for each direction.

    Args:
        first: data sets of the first RRUL.
        delay_s: seconds from the test's start to the first RRUL.
        span: when the second RRUL runs.
        glob: Flent's glob(), which selects series by a pattern.
    """
    flows = {name.replace("TCP ", "TCP second ", 1): {
        **one, "delay": delay_s + span.start_s, "length": span.length_s}
        for name, one in first.items() if one.get("runner") == "netperf_demo"}
    for direction in ("upload", "download"):
        flows[f"TCP second {direction} sum"] = {
            "apply_to": [glob(f"TCP second {direction} *")], "units": "Mbits/s", "runner": "sum"}
    return flows
