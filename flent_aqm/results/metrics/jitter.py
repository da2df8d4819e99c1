# SPDX-License-Identifier: GPL-3.0-or-later
"""Jitter: the difference in latency between successive probes.

Only answered probes count. A lost probe between two others makes jitter neither smaller nor larger.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.run import Samples


def mean_difference_ms(samples: Samples) -> float:
    """Return the mean absolute difference between successive RTTs, in ms. Source: Cloudflare's
    speed test calls this jitter. Raises NotAvailable."""
    return float(_differences_ms(samples).mean())


def smoothed_ms(samples: Samples) -> float:
    """Return the last value of the smoothed jitter in ms: J += (|D| - J) / 16 for each pair of
    probes.

    Source: RFC 3550, 6.4.1 and A.8, there for one-way transit times, here for RTTs. Raises
    NotAvailable.
    """
    jitter_ms = 0.0
    for difference_ms in _differences_ms(samples).tolist():
        jitter_ms += (difference_ms - jitter_ms) / 16
    return jitter_ms


def _differences_ms(samples: Samples) -> Numbers:
    """Return the absolute differences between successive RTTs, in ms. Raises NotAvailable with
    fewer than two answered probes, or if the file has interpolated steps only."""
    if samples.of_steps:
        raise NotAvailable("the file has Flent's interpolated steps only, which are smoother than "
                           "the probes were")
    answered_ms = samples.answered_ms
    if answered_ms.size < 2:
        raise NotAvailable("only one probe came back")
    return numpy.abs(numpy.diff(answered_ms))
