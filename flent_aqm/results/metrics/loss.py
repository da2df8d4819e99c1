# SPDX-License-Identifier: GPL-3.0-or-later
"""Share of lost probes."""

from __future__ import annotations

import numpy

from flent_aqm.results.metrics.run import Samples


def loss_pct(samples: Samples) -> float:
    """Lost probes of those sent, in percent. Source: RFC 7680 calls it the loss ratio, there
    one way; a probe here is lost when its way or its answer's was."""
    return float(numpy.isinf(samples.rtt_ms).mean()) * 100
