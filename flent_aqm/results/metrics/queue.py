# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the router's queue: drops, marks, backlog and delay.

Drops and marks are the kernel's counters of the queue below the shaper (tc(8), `tc -s -j qdisc`),
after the run less before. With three tiers, they are the sums of three queues. Backlog and delay
are those of all of a device's queues, while its direction was loaded (queue_samples.py).
`direction` is "download" or "upload" everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers, a_number
from flent_aqm.results.metrics.flows import DIRECTIONS, span
from flent_aqm.results.metrics.percentiles import percentile
from flent_aqm.results.metrics.queue_samples import QueueSamples
from flent_aqm.results.metrics.run import Run

STATISTICS: dict[str, Callable[[Numbers], float]] = {
    "mean": lambda values: float(values.mean()),
    "p95": lambda values: percentile(values, 95),
    "max": lambda values: float(values.max()),
}

# Queues' names for packets that they marked (ECN) instead of dropping them. Some queues count two
# kinds separately: those above CoDel's ce_threshold, those at DualPI2's step, and SFQ's REDs those
# by chance and above the maximum, at the tail and at the head.
_MARKS = ("ecn_mark", "ecn-mark", "ce_mark", "step-mark", "marked",
          "prob_mark", "prob_mark_head", "forced_mark", "forced_mark_head")
# Beginnings of the names of scalable congestion controls in Linux and in kernels for RFC 9331.
_SCALABLE = ("dctcp", "prague")
_IN_C, _IN_L = "pkts-in-c", "pkts-in-l"


def drops(run: Run, direction: str) -> float:
    """Return the number of packets that the direction's queue, below the shaper, dropped during the
    run (with three tiers: the queues of all three). direction: "download" or "upload". Raises
    NotAvailable if the file has no such counter, or if it fell."""
    return _counter_increase(run, direction, "drops")


def marks(run: Run, direction: str) -> float:
    """Return the number of packets marked during the run, of all kinds, in all queues of the device
    and all of CAKE's tins. direction: "download" or "upload". Raises NotAvailable if the file has
    no counters, or none of marks, or if they fell."""
    before, after = (_marks_counted(run, moment, direction) for moment in ("before", "after"))
    return _grown("count of marks", direction, before, after)


def requeues(run: Run, direction: str) -> float:
    """Return how often during the run the device refused a packet that the direction's queue, below
    the shaper, wanted to send, so that the packet was sent later. direction: "download" or
    "upload". With three tiers, the queues of all three count. Raises NotAvailable if the file has
    no such counter, or if it fell."""
    return _counter_increase(run, direction, "requeues")


def drop_pct(run: Run, direction: str) -> float:
    """Return the packets that the direction's queue, below the shaper, dropped, in percent of those
    that it dropped or sent during the run. direction: "download" or "upload". With three tiers, the
    queues of all three count. Raises NotAvailable if the file has no such counters, if one of them
    fell, or if there was no packet."""
    dropped, sent = drops(run, direction), _counter_increase(run, direction, "packets")
    if not dropped + sent > 0:
        raise NotAvailable("no packet went through the queue")
    return dropped / (dropped + sent) * 100


def backlog_bytes(run: Run, direction: str) -> float:
    """Return the bytes in the direction's queue, below the shaper, at the end of the run.
    direction: "download" or "upload". With three tiers, the queues of all three count. Raises
    NotAvailable if the file has no such counter."""
    return _counter(run, "after", direction, "backlog")


def delay_ms(run: Run, direction: str, statistic: str) -> float:
    """Return a statistic in ms of the delay of all queues of the direction's device together, while
    the test loaded the direction, from its first flow's start to its last one's end. statistic:
    "mean", "p95" or "max". direction: "download" or "upload". Raises NotAvailable if the test has
    no flow in that direction, if the queues were not sampled under load, if the file doesn't record
    the bytes sent, or with too few samples for the percentile."""
    queue, loaded = _sampled(run, direction)
    return STATISTICS[statistic](queue.delay_ms[loaded])


def standing_bytes(run: Run, direction: str, statistic: str) -> float:
    """Return a statistic in bytes of the backlog of all queues of the direction's device together,
    while the test loaded the direction, from its first flow's start to its last one's end.
    statistic: "mean", "p95" or "max". direction: "download" or "upload". Raises NotAvailable if the
    test has no flow in that direction, if the queues were not sampled under load, or with too few
    samples for the percentile."""
    queue, loaded = _sampled(run, direction)
    return STATISTICS[statistic](queue.backlog_bytes[loaded])


def empty_l_queue_warnings(run: Run) -> list[str]:
    """Return a warning for each direction with flows of scalable congestion controls (DCTCP,
    Prague), cross traffic included, if DualPI2 had packets in its C queue but none in its L queue.
    Empty if there is none, if the queue isn't DualPI2, or if the flows' congestion control is not
    recorded.

    Source: RFC 9332: the queue is chosen by ECT(1) or CE. A congestion control that falls back, or
    that sends ECT(0) as Linux' DCTCP does, is served as a classic one. Neither throughput nor
    latency shows this.
    """
    lines = []
    for direction in DIRECTIONS:
        controls = sorted({flow.control for flow in run.flows if flow.direction == direction
                           and flow.control.startswith(_SCALABLE)})
        in_c, in_l = (_increase_if_counted(run, direction, name) for name in (_IN_C, _IN_L))
        if controls and in_l == 0 and in_c > 0:
            lines.append(f"{direction}: none of {in_c:.0f} packets were in DualPI2's L queue, "
                         f"though {' and '.join(controls)} sent some: without ECT(1) they are "
                         "served as classic ones; see docs/results/l4s.md")
    return lines


def _sampled(run: Run, direction: str) -> tuple[QueueSamples, NDArray[numpy.bool_]]:
    """Return a direction's queue, and the mask of samples taken while the test loaded the
    direction. direction: "download" or "upload". Raises NotAvailable without a flow in that
    direction, without samples, or without samples under load."""
    window, queue = span(run.flows_of(direction)), run.queue_by_direction.get(direction)
    if queue is None:
        raise NotAvailable(run.queue_failure or (
            f"the file has no samples of the router's {direction} queue, which tests of flent-aqm "
            "take in the lab and in namespaces"))
    assert window is not None, "flows_of() raises without a flow"
    loaded = window.holds(queue.at_s)
    if not loaded.any():
        raise NotAvailable(f"no sample of the router's queues was taken during the {direction}")
    return queue, loaded


def _counter_increase(run: Run, direction: str, name: str) -> float:
    """Return the increase during the run of a counter of the direction's queue below the shaper,
    the sum of all three queues with three tiers. name: tc's name of the counter. direction:
    "download" or "upload". Raises NotAvailable if the file lacks the counter before or after the
    run, or if it fell."""
    return _grown(f"counter {name!r}", direction, _counter(run, "before", direction, name),
                  _counter(run, "after", direction, name))


def _grown(what: str, direction: str, before: float, after: float) -> float:
    """Return how much a count of the direction's queue grew. Raises NotAvailable if it fell. what:
    the count, for the message."""
    if after < before:
        raise NotAvailable(f"the {what} of the router's {direction} queue fell during the run, as "
                           "if the queue had been set up anew")
    return after - before


def _counter(run: Run, moment: str, direction: str, name: str) -> float:
    """Return a counter of the direction's queue below the shaper, the sum of all three with three
    tiers. Raises NotAvailable if the file lacks it, also for one of the three.

    Args:
        run: the run.
        moment: "before" or "after" the run.
        direction: "download" or "upload".
        name: tc's name of the counter.
    """
    values = [a_number(one.get(name)) for one in _queues(run.counters(moment, direction))]
    if not values:
        raise NotAvailable(_no_counters(moment, direction))
    if None in values:
        raise NotAvailable(f"the file has no counter {name!r} of the router's {direction} queue "
                           f"{moment} the run")
    return sum(value for value in values if value is not None)


def _no_counters(moment: str, direction: str) -> str:
    """Return the reason why a file has no counters of a queue. Arguments: as for _counter()."""
    return (f"the file has no counters of the router's {direction} queue {moment} the run, which "
            "flent-aqm records in runs of a batch")


def _queues(counters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the counters of the queue below the shaper, or with three tiers of the queues of all
    three. Empty if there are none. counters: those of a device, as Run.counters() returns them."""
    return [one for name, one in counters.items()
            if (name == "qdisc" or name.startswith("qdisc ")) and isinstance(one, dict)]


def _marks_counted(run: Run, moment: str, direction: str) -> float:
    """Return the sum of all counters of marks of the direction's device at a moment, "before" or
    "after" the run. Raises NotAvailable if the file has no counters, or none of marks."""
    counters = run.counters(moment, direction)
    queues = counters.get("queues")  # exists if the device has several
    places = [place for place in (*_queues(counters), *(
        queues.values() if isinstance(queues, dict) else ())) if isinstance(place, dict)]
    for place in tuple(places):
        tins = place.get("tins")
        places += [tin for tin in tins if isinstance(tin, dict)] if isinstance(tins, list) else []
    counts = [value for place in places for name in _MARKS
              if (value := a_number(place.get(name))) is not None]
    if not counts:
        raise NotAvailable(
            f"the file has no counter of marks, which not every queue has, of the router's "
            f"{direction} queue {moment} the run" if places else
            _no_counters(moment, direction))
    return sum(counts)


def _increase_if_counted(run: Run, direction: str, name: str) -> float:
    """Return the increase of a queue's counter during the run, as _counter_increase() does, but -1
    if the file doesn't have it, or if it fell. direction: "download" or "upload"."""
    try:
        return _counter_increase(run, direction, name)
    except NotAvailable:
        return -1.0
