# SPDX-License-Identifier: GPL-3.0-or-later
"""Times in a data file: of our age, and no more of them than runs last.

Metrics and plots cut time into steps, so what they take depends on how long a series lasts, not
on how many samples it has: all of them rely on this limit, and have none of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult
from flent_aqm.results.reading.limits import Limits

# The year 2286. Floats are 2 microseconds apart there; far beyond it they would be hours.
LATEST_S = 1e10
# Of metadata, in seconds: the least, the most.
LENGTHS = {"LENGTH": (0.0, 1e8), "TOTAL_LENGTH": (0.0, 1e8), "DELAY": (0.0, 1e8),
           "STEP_SIZE": (1e-6, 1e8)}
# In a series' metadata: when it loaded the link.
WINDOW = ("LOAD_START", "LOAD_END")


def refuse_odd_times(top: Mapping[str, Any], series_meta: Mapping[str, Mapping[str, Any]],
                     raw: Mapping[str, Sequence[Mapping[str, Any]]], within: Limits) -> None:
    """Check all times of a file. Raises BadResult for one that is none of our age, or for series
    that last longer than `within` allows, all together."""
    _refuse_lengths(top["metadata"])
    lasting_s = 0.0
    for name in dict.fromkeys([*raw, *series_meta]):
        lasting_s += _lasts_s(name, series_meta.get(name, {}), raw.get(name, ()))
        refuse_lasting(lasting_s, "all its series together last", within)
    steps = top.get("x_values")
    if isinstance(steps, list):
        refuse_lasting(_extent(_times("x_values", steps)), "its x_values last", within)


def refuse_lasting(lasting_s: float, what: str, within: Limits) -> None:
    """Raise BadResult for a time that is longer than runs of a file may last together."""
    if lasting_s > within.series_s:
        raise BadResult(f"{what} {lasting_s:,.0f} s, more than {within.series_s:,.0f} s"
                        f"{within.hint}")


def _refuse_lengths(metadata: Mapping[str, Any]) -> None:
    for key, (least, most) in LENGTHS.items():
        seconds = metadata.get(key)
        if isinstance(seconds, int | float) and not least <= seconds <= most:
            raise BadResult(f"its {key} is {str(seconds)[:40]}; expected seconds from {least:g} "
                            f"to {most:g}")


def _lasts_s(name: str, meta: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> float:
    """From the first of a series' times to its last. A sample's interval, or what it says that
    a packet took, came before its time."""
    times = _times(name, [*(one.get("t") for one in samples), *(meta.get(key) for key in WINDOW)])
    before = _times(name, (one["dur"] for one in samples if "dur" in one))
    lasts_s = _extent(times) + _largest(before)
    if meta.get("UNITS") == "ms":
        lasts_s += _largest(_times(name, (one.get("val") for one in samples), unit_s=1e-3))
    return lasts_s


def _times(name: str, values: Iterator[Any] | Collection[Any], unit_s: float = 1.0
           ) -> NDArray[numpy.float64]:
    """Return those of the values that are numbers, in seconds; others are no times, which whoever
    uses them says."""
    try:
        times = numpy.array([one for one in values if type(one) in (int, float)], float) * unit_s
    except OverflowError:
        times = numpy.array([numpy.inf])
    if times.size and not float(numpy.abs(times).max()) <= LATEST_S:
        worst = float(times[numpy.abs(times).argmax()])
        raise BadResult(f"{name[:60]!r} has the time {worst:g} s; expected seconds since 1970, "
                        f"or of an interval, up to {LATEST_S:g}")
    return times


def _extent(times: NDArray[numpy.float64]) -> float:
    return float(times.max() - times.min()) if times.size else 0.0


def _largest(times: NDArray[numpy.float64]) -> float:
    return float(numpy.abs(times).max()) if times.size else 0.0
