# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares of lost packets: of the probes, and of the UDP flows that load the link."""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.run import Run, Samples


def loss_pct(samples: Samples) -> float:
    """Return the share of lost probes in percent. A probe is lost if it or its reply was.

    Source: RFC 7680 calls this the loss ratio, for one direction. Raises NotAvailable if the probe
    can't tell losses.
    """
    if samples.loss_unknown:
        raise NotAvailable(samples.loss_unknown)
    return float(numpy.isinf(samples.rtt_ms).mean()) * 100


def udp_loss_pct(run: Run, direction: str) -> float:
    """Return the share in % of a direction's UDP packets that the receiver missed, by their
    numbers. Source: RFC 7680, one way. Raises NotAvailable."""
    counts = [(flow.packets, flow.lost_packets) for flow in run.way(direction)
              if flow.packets is not None and flow.lost_packets is not None]
    if not counts:
        raise NotAvailable(f"the test has no UDP flow in {direction} whose receiver tells its "
                           "losses")
    sent = sum(packets for packets, _ in counts)
    lost = sum(missed for _, missed in counts)
    if not 0 <= lost <= sent or not sent:
        raise NotAvailable(f"the receiver of UDP tells {lost:g} lost packets of {sent:g}")
    return 100 * lost / sent
