# SPDX-License-Identifier: GPL-3.0-or-later
"""How much latency differs from one probe to the next.

Neighbours are those among the probes that came back: a lost one between two doesn't make
jitter smaller, nor larger.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.run import Samples


def mean_difference_ms(samples: Samples) -> float:
    """Return the mean of absolute differences. Source: what Cloudflare's speed test calls
    jitter."""
    return float(_differences_ms(samples).mean())


def smoothed_ms(samples: Samples) -> float:
    """J += (|D| - J) / 16 from one pair to the next, its last value.

    Source: RFC 3550, 6.4.1 and A.8; there of one-way transit times, here of round trips.
    """
    jitter_ms = 0.0
    for difference_ms in _differences_ms(samples).tolist():
        jitter_ms += (difference_ms - jitter_ms) / 16
    return jitter_ms


def _differences_ms(samples: Samples) -> Numbers:
    if samples.of_steps:
        raise NotAvailable("the file has Flent's interpolated steps only, which are smoother than "
                           "the probes were")
    answered_ms = samples.answered_ms
    if answered_ms.size < 2:
        raise NotAvailable("only one probe came back")
    return numpy.abs(numpy.diff(answered_ms))
