# SPDX-License-Identifier: GPL-3.0-or-later
"""Glitches: moments in which somebody in a call or a game would have noticed the network.

Own definition, because the term is used in public without one. A probe is bad if it is lost, or if
it takes longer than the idle median and a threshold. A glitch is a sequence of bad probes.
Sequences less than 100 ms apart are one glitch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import LostProbe, NotAvailable
from flent_aqm.results.metrics.percentiles import percentile
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run, Samples

THRESHOLDS_MS = (30, 60, 100, 200)
# Probes further apart would miss glitches, or make them too long.
WIDEST_SPACING_MS = 20.0
APART_S = 0.1


@dataclass(frozen=True)
class Glitch:
    """A glitch.

    start_s: when its first bad probe was sent, in epoch seconds.
    length_ms: time until the probe after the last bad one was due.
    """

    start_s: float
    length_ms: float


def find_glitches(samples: Samples, idle_median_ms: float,
                  threshold_ms: float) -> Sequence[Glitch]:
    """Return glitches in order. Raises NotAvailable if probes are too far apart, or can't tell
    losses."""
    if samples.loss_unknown:
        raise NotAvailable(samples.loss_unknown)
    if samples.spacing_ms > WIDEST_SPACING_MS:
        raise NotAvailable(f"probes are {samples.spacing_ms:.3g} ms apart, and glitches need "
                           f"{WIDEST_SPACING_MS:g} ms at most")
    bad_s = samples.sent_s[samples.rtt_ms > idle_median_ms + threshold_ms]
    if not bad_s.size:
        return []
    # The usual distance between two probes does not count as a pause.
    pause_s = APART_S + samples.spacing_ms / 1000
    breaks = numpy.flatnonzero(numpy.diff(bad_s) >= pause_s)
    first = numpy.concatenate(([0], breaks + 1))
    last = numpy.concatenate((breaks, [bad_s.size - 1]))
    return [Glitch(float(start), float(end - start) * 1000 + samples.spacing_ms)
            for start, end in zip(bad_s[first], bad_s[last], strict=True)]


def glitches(run: Run, threshold_ms: float) -> Sequence[Glitch]:
    """Return the glitches while the test loaded the link. Raises NotAvailable."""
    return find_glitches(run.loaded(), idle_median_ms(run), threshold_ms)


def idle_median_ms(run: Run, probe: Probe | None = None) -> float:
    """Return the median RTT of the probes before the load, from which glitches are measured. Raises
    NotAvailable, also if half of these probes were lost."""
    try:
        return percentile(run.idle(probe).rtt_ms, 50)
    except LostProbe as lost:
        raise NotAvailable(f"before the load {lost}") from None


def glitches_per_minute(run: Run, threshold_ms: float) -> float:
    """Return the number of glitches per minute of load. Raises NotAvailable."""
    events = glitches(run, threshold_ms)
    length_s = run.loaded().length_s
    if not length_s > 0:
        raise NotAvailable("the load had no length")
    return len(events) * 60 / length_s


def longest_glitch_ms(run: Run, threshold_ms: float) -> float:
    """Return the length of the longest glitch under load in ms, 0 without any. Raises
    NotAvailable."""
    return max((one.length_ms for one in glitches(run, threshold_ms)), default=0.0)


def glitch_time_pct(run: Run, threshold_ms: float) -> float:
    """Return the share of the load's time inside glitches, in %. It is better for comparisons than
    the number, which decreases if two glitches grow into one. Raises NotAvailable."""
    length_s = run.loaded().length_s
    if not length_s > 0:
        raise NotAvailable("the load had no length")
    spent_ms = sum(one.length_ms for one in glitches(run, threshold_ms))
    return min(spent_ms / (length_s * 10), 100.0)
