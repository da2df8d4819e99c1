# SPDX-License-Identifier: GPL-3.0-or-later
"""Sums of the counters of subscribers' queues."""

from __future__ import annotations

from flent_aqm.results.metrics.queue import _MARKS
from flent_aqm.router.subscriber_counters import _sum_counters


def test_marks_of_every_queue_are_summed() -> None:
    """Else the sum would say that a queue doesn't count marks which each of them counts."""
    queue = dict.fromkeys((*_MARKS, "pkts-in-c", "pkts-in-l"), 2)
    assert _sum_counters([queue, queue]) == dict.fromkeys(queue, 4)
    assert _sum_counters([{"delay": 7, "drops": 1}]) == {"drops": 1}
