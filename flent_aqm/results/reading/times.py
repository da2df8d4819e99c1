# SPDX-License-Identifier: GPL-3.0-or-later
"""Check times in a data file: none is later than the year 2286, and series don't last too long.

Metrics and plots divide time into steps, so their costs depend on the duration of a series and not
on its number of samples. They rely on the limit here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import significant
from flent_aqm.results.reading.limits import BeyondLimitsError, Limits

# The year 2286. Floats have a resolution of 2 microseconds there. Much later it would be hours.
LATEST_S = 1e10
# Key of the metadata -> smallest and largest value in seconds.
LENGTHS = {"LENGTH": (0.0, 1e8), "TOTAL_LENGTH": (0.0, 1e8), "DELAY": (0.0, 1e8),
           "STEP_SIZE": (1e-6, 1e8)}
# Keys of a series' metadata: start and end of its load.
WINDOW = ("LOAD_START", "LOAD_END")
# A sample's time may be that of sending, and samples in the order of their replies. So it may be
# earlier than that of the sample before, but not by more than a reply takes.
BACK_S = 30.0


def refuse_odd_times(top: Mapping[str, Any], series_meta: Mapping[str, Mapping[str, Any]],
                     raw: Mapping[str, Sequence[Mapping[str, Any]]], within: Limits) -> None:
    """Raise BadResult if the absolute value of a time, an interval or a latency is above 1e10 s
    (LATEST_S), if a duration in the metadata is outside its range (LENGTHS), if a clock was set
    back during the run (see _refuse_set_back()), or if all series together, or x_values, last
    longer than the limit.

    Args:
        top: content of the file, whose metadata must be a dict.
        series_meta: name of a series -> its metadata.
        raw: name of a series -> raw samples.
        within: limits, of which series_s is used.
    """
    _refuse_lengths(top["metadata"])
    lasting_s = 0.0
    for name in dict.fromkeys([*raw, *series_meta]):
        samples = raw.get(name, ())
        times_s = _checked_s(name, [one.get("t") for one in samples])
        lasting_s += _lasts_s(name, series_meta.get(name, {}), samples, times_s)
        _refuse_set_back(name, times_s)
        refuse_too_long(lasting_s, "all its series together last", within)
    steps = top.get("x_values")
    if isinstance(steps, list):
        refuse_too_long(_extent(_checked_s("x_values", steps)), "its x_values last", within)


def refuse_too_long(lasting_s: float, what: str, within: Limits) -> None:
    """Raise BadResult if a duration is longer than all series of a file together may last.

    Args:
        lasting_s: the duration.
        what: subject and verb of the message, such as "its x_values last".
        within: limits, of which series_s is used.
    """
    if lasting_s > within.series_s:
        # Rounded up, so that it is never shown as what is allowed.
        raise BeyondLimitsError(f"{what} {math.ceil(lasting_s):,} s, more than "
                                f"{within.series_s:,.0f} s{within.hint}")


def _refuse_lengths(metadata: Mapping[str, Any]) -> None:
    """Raise BadResult if a duration in the metadata is outside the range in LENGTHS. Values that
    are not numbers are accepted here."""
    for key, (least, most) in LENGTHS.items():
        seconds = metadata.get(key)
        if isinstance(seconds, int | float) and not least <= seconds <= most:
            raise BadResult(f"its {key} is {str(seconds)[:40]}; expected seconds from {least:g} "
                            f"to {most:g}")


def _lasts_s(name: str, meta: Mapping[str, Any], samples: Sequence[Mapping[str, Any]],
             times_s: NDArray[numpy.float64]) -> float:
    """Return how long a series lasts, in s: from the earliest to the latest of its samples and the
    start and end of its load, plus its longest interval (`dur`) and, if its unit is ms, its largest
    RTT, because these lie before a sample's time. Values that are missing or no numbers are left
    out; a part of this sum without any value is 0. Raises BadResult if the absolute value of a
    time of the load, an interval or an RTT exceeds 1e10 s (LATEST_S).

    Args:
        name: name of the series, for the message.
        meta: its entry in SERIES_META.
        samples: its raw samples.
        times_s: their times, of _checked_s().
    """
    times = numpy.concatenate((times_s, _checked_s(name, [meta.get(key) for key in WINDOW])))
    before = _checked_s(name, (one["dur"] for one in samples if "dur" in one))
    lasts_s = _extent(times) + _largest(before)
    if meta.get("UNITS") == "ms":
        lasts_s += _largest(_checked_s(name, (one.get("val") for one in samples), unit_s=1e-3))
    return lasts_s


def _refuse_set_back(name: str, times_s: NDArray[numpy.float64]) -> None:
    """Raise BeyondLimitsError if a sample's time is more than 30 s (BACK_S) earlier than that of
    the sample before: a clock was set back, and which samples were taken under load can't be told.

    Args:
        name: name of the series, for the message.
        times_s: times of its raw samples, in the file's order.
    """
    back_s = -float(numpy.diff(times_s).min()) if times_s.size > 1 else 0.0
    if back_s > BACK_S:
        raise BeyondLimitsError(
            f"times in {name!r} go back by {significant(back_s)} s: a clock was set back during "
            "the run, so which samples were taken under load is not known; repeat the run, and "
            "let nothing set the clock meanwhile")


def _checked_s(name: str, values: Iterator[Any] | Collection[Any], unit_s: float = 1.0
           ) -> NDArray[numpy.float64]:
    """Return the values that are numbers, converted to seconds. Raises BadResult if an absolute
    value exceeds LATEST_S (1e10 s, the year 2286). Values are epoch times or intervals.

    Args:
        name: name of the series, for the message.
        values: times, in units of `unit_s`. Values that are not numbers are left out, and refused
            where they are used.
        unit_s: unit of the values in s.
    """
    try:
        times = numpy.array([one for one in values if type(one) in (int, float)], float) * unit_s
    except OverflowError:
        times = numpy.array([numpy.inf])
    if times.size and not float(numpy.abs(times).max()) <= LATEST_S:
        worst = float(times[numpy.abs(times).argmax()])
        # Many digits, because fewer could be those of the limit.
        raise BadResult(f"{name!r} has a time, interval or latency of {worst:.15g} s; expected "
                        f"{-LATEST_S:g} to {LATEST_S:g} s, and times since 1970")
    return times


def _extent(times: NDArray[numpy.float64]) -> float:
    """Return the difference between the latest and the earliest time, 0 without any."""
    return float(times.max() - times.min()) if times.size else 0.0


def _largest(times: NDArray[numpy.float64]) -> float:
    """Return the largest absolute value, 0 without any."""
    return float(numpy.abs(times).max()) if times.size else 0.0
