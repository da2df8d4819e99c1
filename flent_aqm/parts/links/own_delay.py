# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the delay that a link itself adds to packets, which they have without any queue, too."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.parts.links.plan import LinkPlan

# A packet's delay is that of the step in which it goes, and it goes by its delay before it leaves.
# Two rounds find it, unless the delay changes twice within itself.
_ROUNDS = 3


def own_delays_ns(plan: LinkPlan, arrived_ns: NDArray[Any], left_ns: NDArray[Any]) -> NDArray[Any]:
    """Return the link's own delay of each packet in ns, at most its whole time in the link: the
    request for capacity, the wait for the end of the cycle in which it would be sent without a
    queue, the delay of the schedule at the time at which it was sent, and the greatest random
    delay (jitter). The time to send the packet, outages and times without capacity don't count.

    Args:
        plan: the direction of the link.
        arrived_ns: when each packet arrived, in ns since the schedule began.
        left_ns: when it left. The result has no meaning for a packet that never left.
    """
    ready_ns = arrived_ns + plan.lead_ns
    own_ns: NDArray[Any] = ready_ns - arrived_ns + plan.jitter_ns
    if plan.schedule is not None:
        period_ns = plan.schedule.period_ns
        if plan.cycle_ns:
            # A cycle that the period cuts short ends with it.
            in_round = ready_ns % period_ns
            ends_ns = numpy.minimum(-(-in_round // plan.cycle_ns) * plan.cycle_ns, period_ns)
            own_ns = own_ns + ends_ns - in_round
        begins_ns, delays_ns = plan.schedule.table["at_ns"], plan.schedule.table["delay_ns"]
        delay_ns = numpy.full(left_ns.shape, delays_ns.max(), numpy.int64)
        for _ in range(_ROUNDS):
            sent_ns = left_ns - delay_ns
            step = numpy.searchsorted(begins_ns, sent_ns % period_ns if period_ns else sent_ns,
                                      side="right") - 1
            delay_ns = delays_ns[numpy.maximum(step, 0)]
        own_ns = own_ns + delay_ns
    at_most_ns: NDArray[Any] = numpy.minimum(own_ns, left_ns - arrived_ns)
    return at_most_ns
