# SPDX-License-Identifier: GPL-3.0-or-later
"""Moments in which somebody in a call or a game would have noticed the network.

Source: our own definition, as the term is used in public without one. A probe is bad when
it is lost or takes longer than the idle median and a threshold. A glitch is a run of bad
probes; runs less than 100 ms apart are one glitch.
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
# Probes further apart would miss glitches, or make long ones of short ones.
WIDEST_SPACING_MS = 20.0
APART_S = 0.1


@dataclass(frozen=True)
class Glitch:
    """start_s: when its first bad probe was sent, epoch seconds. length_ms: until a probe
    after the last bad one was due."""

    start_s: float
    length_ms: float


def find_glitches(samples: Samples, idle_median_ms: float,
                  threshold_ms: float) -> Sequence[Glitch]:
    """Return glitches in order. Raises NotAvailable for probes too far apart, or that tell no
    losses."""
    if samples.loss_unknown:
        raise NotAvailable(samples.loss_unknown)
    if samples.spacing_ms > WIDEST_SPACING_MS:
        raise NotAvailable(f"probes are {samples.spacing_ms:.3g} ms apart, and glitches need "
                           f"{WIDEST_SPACING_MS:g} ms at most")
    bad_s = samples.sent_s[samples.rtt_ms > idle_median_ms + threshold_ms]
    if not bad_s.size:
        return []
    # A pause between two bad probes in a row is not one between runs.
    pause_s = APART_S + samples.spacing_ms / 1000
    breaks = numpy.flatnonzero(numpy.diff(bad_s) >= pause_s)
    first = numpy.concatenate(([0], breaks + 1))
    last = numpy.concatenate((breaks, [bad_s.size - 1]))
    return [Glitch(float(start), float(end - start) * 1000 + samples.spacing_ms)
            for start, end in zip(bad_s[first], bad_s[last], strict=True)]


def glitches(run: Run, threshold_ms: float) -> Sequence[Glitch]:
    """Glitches while the test loaded the link. Raises NotAvailable."""
    return find_glitches(run.loaded(), idle_median_ms(run), threshold_ms)


def idle_median_ms(run: Run, probe: Probe | None = None) -> float:
    """Return what glitches are measured from. Raises NotAvailable, also where half of the probes
    before the load were lost."""
    try:
        return percentile(run.idle(probe).rtt_ms, 50)
    except LostProbe as lost:
        raise NotAvailable(f"before the load {lost}") from None


def glitches_per_minute(run: Run, threshold_ms: float) -> float:
    """Count of glitches under load x 60 / seconds of load. Raises NotAvailable."""
    events = glitches(run, threshold_ms)
    length_s = run.loaded().length_s
    if not length_s > 0:
        raise NotAvailable("the load had no length")
    return len(events) * 60 / length_s


def longest_glitch_ms(run: Run, threshold_ms: float) -> float:
    """Length of the longest glitch under load; 0 without any. Raises NotAvailable."""
    return max((one.length_ms for one in glitches(run, threshold_ms)), default=0.0)


def glitch_time_pct(run: Run, threshold_ms: float) -> float:
    """Return the share of the load's time inside glitches. It is what to compare: of two glitches
    that grow into one, the count goes down. Raises NotAvailable."""
    length_s = run.loaded().length_s
    if not length_s > 0:
        raise NotAvailable("the load had no length")
    spent_ms = sum(one.length_ms for one in glitches(run, threshold_ms))
    return min(spent_ms / (length_s * 10), 100.0)
