# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the number of the probe that the user means, in a run's first latency series."""

from __future__ import annotations

import math
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import plain
from flent_aqm.parts.why.probe_series import explainable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.latency import (
    LISTED_GLITCH_MS,
    bad_probes,
    glitches,
    idle_median_ms,
)
from flent_aqm.results.metrics.run import Run


def _numbers(run: Run) -> tuple[Numbers, Numbers, Any]:
    """Return three arrays with a value for each probe of the run's first latency series: when it
    was sent, in epoch seconds; its RTT in ms, infinite if it was lost; its number, counted from 0.
    """
    probe = run.probe
    return probe.sent_s, probe.rtt_ms, numpy.arange(probe.sent_s.size)


def with_number(run: Run, number: int) -> int:
    """Return the number of a probe, which is counted from 0, unchanged. Raises ConfigError if the
    run's first latency series has no probe of that number."""
    sent_s, _, _ = _numbers(run)
    if not 0 <= number < sent_s.size:
        raise ConfigError(f"--probe: the series {plain(run.probe.name)!r} has no probe {number}; "
                          f"its probes have the numbers 0 to {sent_s.size - 1}"
                          f"{_other_series(run)}")
    return number


def at_time(run: Run, at_s: float) -> int:
    """Return the number of the probe that was sent nearest to a time.

    Args:
        run: the run.
        at_s: the time, in seconds since the first probe of the series was sent.

    Raises ConfigError if the time is before the first probe or after the last.
    """
    sent_s, _, _ = _numbers(run)
    lasted_s = float(sent_s[-1] - sent_s[0])
    # Rounded down, so that a time in the message is in the series.
    shown_s = math.floor(100 * lasted_s) / 100
    if not 0 <= at_s <= lasted_s:
        raise ConfigError(f"--at: the series {plain(run.probe.name)!r} has no probe at "
                          f"{at_s:.12g} s; "
                          f"its probes were sent from 0 to {shown_s:.2f} s{_other_series(run)}")
    return int(numpy.abs(sent_s - sent_s[0] - at_s).argmin())


def _other_series(run: Run) -> str:
    """Return the end of a message, which names the run's other series that can be explained. ""
    if there is none."""
    others = [f"{plain(probe.name)!r}" for probe in explainable(run) if probe is not run.probe]
    return f"; --series names another: {', '.join(others)}" if others else ""


def of_glitch(run: Run, number: int) -> int:
    """Return the number, counted from 0, of the slowest answered probe among the bad ones of a
    glitch under load, or of the first bad one if all were lost. A probe is bad if it was lost or
    took more than 30 ms (LISTED_GLITCH_MS) longer than before the load.

    Args:
        run: the run.
        number: number of the glitch in the order of time, counted from 1.

    Raises ConfigError if there is no such glitch, and NotAvailable if glitches can't be found.
    """
    found = glitches(run, LISTED_GLITCH_MS)
    if not 1 <= number <= len(found):
        has = (f"its glitches have the numbers 1 to {len(found)}" if len(found) > 1 else
               "its only glitch has the number 1" if found else "it has none")
        raise ConfigError(f"--glitch: the series {plain(run.probe.name)!r} has no glitch {number}; "
                          f"{has} (probes under load that were lost or took "
                          f"{LISTED_GLITCH_MS:g} ms longer than before it){_other_series(run)}")
    _, rtt_ms, numbers = _numbers(run)
    inside = bad_probes(run.probe, found[number - 1], idle_median_ms(run) + LISTED_GLITCH_MS)
    return _slowest(rtt_ms, numbers, inside)


def slowest(run: Run) -> int:
    """Return the number, counted from 0, of the slowest answered probe under load in the run's
    first latency series, or of the first probe under load if all of these were lost. In a run
    without load, all probes count. Raises BadResult if no probe was sent under load."""
    window = run.load_window
    sent_s, rtt_ms, numbers = _numbers(run)
    return _slowest(rtt_ms, numbers, window.holds(sent_s) if window else sent_s >= 0)


def _slowest(rtt_ms: Numbers, numbers: Any, inside: Any) -> int:
    """Return the number of the slowest answered probe, of the first probe if all were lost. Raises
    BadResult if there is no probe.

    Args:
        rtt_ms, numbers: RTT and number of each probe of the run.
        inside: mask of the probes that count.
    """
    answered = inside & numpy.isfinite(rtt_ms)
    chosen = answered if answered.any() else inside
    if not chosen.any():
        raise BadResult("no probe of the series was sent under load; expected probes between the "
                        "start of the test's first flow and the end of its last one; --probe and "
                        "--at name another probe")
    return int(numbers[chosen][rtt_ms[chosen].argmax()])
