# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures that papers use, for runs of the test aqm_flows in either direction.

A group is what aqm_flows has as one series: equal flows. The first group is the one whose series'
name comes first in the alphabet; measures are of the time in which it runs. The functions that they
return raise NotAvailable if the run has no flow, or flows in both directions, if the first group
has no intervals, or if they would divide by 0. Those of rates also raise NotAvailable if it ended
before their begin, those of the router's queue BadResult if the run has no sample of it in the
measured time, or a damaged one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.results.data_file import Numbers, numbers, read_data_file
from flent_aqm.results.metrics.queue_samples import DEVICES
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.throughput import FRAME_BYTES, PAYLOAD_BYTES, flow_window, mean_mbps
from flent_aqm.results.metrics.window import Window

Measure = Callable[[Run], float]


def share_pct(control: str, from_s: float) -> Measure:
    """Return a function that measures the share in % that the flows of a congestion control get of
    the throughput of all flows of the test. It raises NotAvailable if the run has no flow, or flows
    in both directions, or if the first group's end is before `from_s`, or no flow carried data.

    Args:
        control: the congestion control, such as "bbr".
        from_s: begin of the measurement, in s after the start of the first group of flows. Its end
            is that group's.
    """
    def measure(run: Run) -> float:
        mbps = dict(_rates_of_groups(run, from_s))
        ours = sum(value for name, value in mbps.items() if f"x{control}" in name)
        return 100 * _quotient(ours, sum(mbps.values()), "the throughput of all flows")
    return measure


def ratio(from_s: float) -> Measure:
    """Return a function that measures the rate of one group of equal flows divided by that of the
    other, in the order of their series' names. It raises ValueError if the run has one group or
    more than two, NotAvailable if it has none, or flows in both directions, or if the first group's
    end is before `from_s`, or the second group carried no data.

    from_s: begin of the measurement, in s after the start of the first group. Its end is that
    group's.
    """
    def measure(run: Run) -> float:
        (_, one), (_, other) = _rates_of_groups(run, from_s)
        return _quotient(one, other, "the throughput of the second group")
    return measure


def goodput_mbps(from_s: float) -> Measure:
    """Return a function that measures the goodput of all flows of the test together in Mbit/s, at
    their receivers. It raises NotAvailable if the run has no flow, or flows in both directions, or
    if the first group's end is before `from_s`.

    from_s: begin of the measurement, in s after the start of the first group of flows. Its end is
    that group's.
    """
    return lambda run: sum(mbps for _, mbps in _rates_of_groups(run, from_s))


def utilisation_pct(from_s: float) -> Measure:
    """Return a function that measures the bytes that the router sent in the direction of the flows
    as a share of its rate in that direction in %. The router's own counters tell them: with dozens
    of slow streams, iperf3 also counts data that arrives after the end. The function raises
    NotAvailable if the run has no flow, or flows in both directions, or a single sample of the
    router's queue in the measured time, BadResult if it has none, or a damaged one.

    from_s: begin of the measurement, in s after the start of the first group of flows. Its end is
    that group's.
    """
    def measure(run: Run) -> float:
        at_s, sent = _queue_samples(run, "sent_bytes", from_s, None)
        sent_mbps = _quotient(float(sent[-1] - sent[0]) * 8e-6, float(at_s[-1] - at_s[0]),
                              "the time between the samples of the router's queue")
        return 100 * sent_mbps / _rate_mbps(run)
    return measure


def total_window_segments(from_s: float) -> Measure:
    """Return a function that measures the mean sum of all flows' windows in segments: their goodput
    times the base round-trip time, which assumes an empty queue. It raises NotAvailable if the run
    has no flow, or flows in both directions, or if the first group's end is before `from_s`.

    from_s: begin of the measurement, in s after the start of the first group of flows. Its end is
    that group's.
    """
    def measure(run: Run) -> float:
        delay_s = float(str(run.settings["base_delay_ms"])) / 1000
        return goodput_mbps(from_s)(run) * 1e6 * delay_s / (8 * PAYLOAD_BYTES)
    return measure


def queue_packets(percentile: float, from_s: float) -> Measure:
    """Return a function that measures a percentile of the router's queue in the direction of the
    flows, in packets. It raises NotAvailable if the run has no flow, or flows in both directions,
    BadResult if the run has no sample of the queue in the measured time, or a damaged one.

    Args:
        percentile: 0 to 100.
        from_s: begin of the measurement, in s after the start of the first group of flows. Its end
            is that group's.
    """
    return lambda run: float(numpy.percentile(_backlog(run, "packets", from_s, None), percentile))


def queue_products(from_s: float) -> Measure:
    """Return a function that measures the median of the router's queue in the direction of the
    flows, in products of the router's rate and the base round-trip time. Packets count as
    full-sized ones. The function raises NotAvailable if the run has no flow, or flows in both
    directions, or no base delay, BadResult if it has no sample of the queue in the measured time,
    or a damaged one.

    from_s: begin of the measurement, in s after the start of the first group of flows. Its end is
    that group's.
    """
    def measure(run: Run) -> float:
        delay_s = float(str(run.settings["base_delay_ms"])) / 1000
        product = _rate_mbps(run) * 1e6 / 8 * delay_s / FRAME_BYTES
        return _quotient(queue_packets(50, from_s)(run), product,
                         "the product of the router's rate and the base delay")
    return measure


def queue_delay_ms(from_s: float, to_s: float) -> Measure:
    """Return a function that measures how long the link needs to send the queue, in ms, as the mean
    over a part of the run. It raises NotAvailable if the run has no flow, or flows in both
    directions, BadResult if the run has no sample of the queue in that part, or a damaged one.

    Args:
        from_s: begin of the part, in s after the start of the first group of flows.
        to_s: end of the part, in s after the start of the first group of flows.
    """
    def measure(run: Run) -> float:
        return float(_backlog(run, "bytes", from_s, to_s).mean()) * 8e-3 / _rate_mbps(run)
    return measure


def _rates_of_groups(run: Run, from_s: float) -> Iterator[tuple[str, float]]:
    """Yield (name, Mbit/s) of each group of flows, in the order of the names, which are those of
    their series, such as "TCP upload 2xreno". Raises NotAvailable if the run has no flow, or flows
    in both directions, or if a group has no intervals or the first group's end is before `from_s`.

    from_s: begin of the time in which the rates are means, in s after the start of the first group.
    Its end is that group's.
    """
    flows = run.flows_of(_direction(run))
    whole = flow_window(flows[0])
    window = Window(whole.start_s + from_s, whole.end_s)
    for flow in flows:
        yield flow.name, mean_mbps(flow, window)


def _quotient(dividend: float, divisor: float, what: str) -> float:
    """Return the quotient. Raises NotAvailable if the divisor isn't above 0, or is NaN.

    what: words for the divisor, with which the message begins.
    """
    if not divisor > 0:
        raise NotAvailable(f"{what} is {divisor:g}; expected more than 0; make the run again")
    return dividend / divisor


def _direction(run: Run) -> str:
    """Return the direction of the test's flows, "download" or "upload". Raises NotAvailable if no
    flow has a direction, or if there are flows in both."""
    directions = [direction for direction in DEVICES
                  if any(flow.direction == direction for flow in run.speed_test)]
    if len(directions) == 2:
        raise NotAvailable("the test has flows in both directions; expected one, as aqm_flows has")
    if not directions:
        raise NotAvailable(run.why_no_flow())
    return directions[0]


def _rate_mbps(run: Run) -> float:
    """Return the router's rate in the direction of the flows, in Mbit/s, as it is set. Raises
    NotAvailable as _direction() does."""
    return float(str(run.settings[f"rate_{DEVICES[_direction(run)]}_mbps"]))


def _backlog(run: Run, unit: str, from_s: float, to_s: float | None) -> Numbers:
    """Return the samples of the router's backlog in the direction of the flows, between two times.
    Raises BadResult if there are none, or one is damaged, NotAvailable as _direction() does.

    Args:
        run: the run.
        unit: "packets" or "bytes".
        from_s: begin, in s after the start of the first group of flows.
        to_s: end, in s after that start, None for the end of the group.
    """
    return _queue_samples(run, f"backlog_{unit}", from_s, to_s)[1]


def _queue_samples(run: Run, field: str, from_s: float, to_s: float | None) -> tuple[Numbers,
                                                                                     Numbers]:
    """Return the times, in epoch seconds, and the values of a field of the queue samples in the
    direction of the flows, between two times. The data file is read again for them.

    Args:
        run: the run.
        field: name of the field without the device's, such as "sent_bytes".
        from_s: begin, in s after the start of the first group of flows.
        to_s: end, in s after that start, None for the end of the group.

    Raises BadResult if there are no samples between these times, or a sample is damaged,
    NotAvailable as _direction() does, or if the group has no intervals.
    """
    direction = _direction(run)
    whole = flow_window(run.flows_of(direction)[0])
    samples = read_data_file(run.path).raw_values.get("Queues", [])
    at_s = numbers([one.get("t") for one in samples], "time in 'Queues'")
    name = f"{DEVICES[direction]}_{field}"
    values = numbers([one.get(name) for one in samples], f"{name} in 'Queues'")
    end_s = whole.end_s if to_s is None else whole.start_s + to_s
    inside = (at_s >= whole.start_s + from_s) & (at_s <= end_s)
    if not inside.any():
        raise BadResult(
            f"{run.path}: none of its {at_s.size} samples of the router's queue is from {from_s:g} "
            f"to {end_s - whole.start_s:g} s after the start of the first group of flows; make the "
            "run again, with the test and length of the paper")
    return at_s[inside], values[inside]
