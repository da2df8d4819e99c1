# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute metrics of throughput: of a test, of all flows, of hosts; utilisation and fairness.

Means of flows that start or end at different times can neither be compared nor added. Everything
that compares flows takes their throughput in a common time from mean_mbps(). `direction` is
"download" or "upload" everywhere.

Synchronisation is whether flows lose throughput at the same time, which is the effect of a queue
that drops packets of many flows at once. Own definition. RFC 7567, section 1, and Zhang and Clark
(1990) describe the effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.base.switch import switch
from flent_aqm.base.words import counted
from flent_aqm.results.data_file import Numbers, a_number
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.window import ROUNDING_S, Window, no_time
from flent_aqm.spec.queues.table import CAKE_OVERHEAD
from flent_aqm.spec.queues.values import Framing
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.tools.table import TOOLS

# Sizes of a full-sized IPv4 packet with TCP's time stamps: its payload, the packet, and its
# Ethernet frame.
PAYLOAD_BYTES, IP_BYTES, FRAME_BYTES = 1448, 1500, 1514
# Share of most shapers' rate that TCP can carry.
PAYLOAD_SHARE = PAYLOAD_BYTES / FRAME_BYTES
_DIRECTION = {"download": "down", "upload": "up"}
_TRACE = {"download": "link_down_trace", "upload": "link_up_trace"}
_SEVERAL = "the run has several bottlenecks, and flows may go through different ones"
_WIFI = ("wifi_rates_mbps", "wifi_ap")
# In a shorter common time, only starts and ends of flows would be compared.
SHORTEST_S = 1.0
# If a flow ran for this share of the time, and hardly longer, the tool's own mean is used.
SAME_TIME = 0.95


def throughput_mbps(run: Run, direction: str) -> float:
    """Return the sum of the throughput of the test's flows in a direction, in Mbit/s, without cross
    traffic.

    A flow that ran for nearly all of the time in which any of them ran counts with its tool's mean,
    any other with its mean over this time, see mean_mbps(). If the throughput of one over time is
    not known, all count with their tools' means. direction: "download" or "upload". Raises
    NotAvailable if the test has no flow in that direction, if the throughput of one is not known,
    or if they ran for 0 s.
    """
    return _sum_mbps(run.flows_of(direction), as_shown=True)


def _sum_mbps(flows: Sequence[Flow], *, as_shown: bool) -> float:
    """Return the sum of the flows' throughput in Mbit/s, as throughput_mbps() does. as_shown: with
    what their tools add for headers. Raises NotAvailable as throughput_mbps() does."""
    means = [flow.mean_mbps / (1.0 if as_shown else _overhead_factor(flow)) for flow in flows
             if flow.mean_mbps is not None]
    if unknown := [flow.name for flow in flows if flow.mean_mbps is None]:
        raise NotAvailable(f"the throughput of {unknown[0]!r} is not known: its tool reports no "
                           "mean, and the file has no samples of it with a duration")
    try:
        window = _window_of_any(flows)
    except NotAvailable:
        return sum(means)
    return sum(mean_mbps(flow, window, as_shown=as_shown) for flow in flows)


def _window_of_any(flows: Sequence[Flow]) -> Window:
    """Return the time from the start of the first interval of any flow to the end of the last one,
    see flow_window(). Raises NotAvailable if the throughput of a flow over time is not known."""
    spans = [flow_window(flow) for flow in flows]
    return Window(min(one.start_s for one in spans), max(one.end_s for one in spans))


def total_mbps(run: Run, direction: str) -> float:
    """Return the throughput of all flows in a direction together, including cross traffic, while
    the test loaded it, in Mbit/s. Without cross traffic in this direction it is throughput_mbps(),
    but for what a tool adds for headers, and for what an upload counts that was only written to the
    socket: in the virtual lab it is at most what TCP can carry at the link's rate, if this is known
    and no burst can exceed it. If the line is shared, this number shows what a queue costs, and not
    the test's own throughput. direction: "download" or "upload". Raises NotAvailable if the test
    has no flow in that direction, if its flows ran for 0 s, or if the throughput of a flow (with
    cross traffic: over time) is not known."""
    own = run.flows_of(direction)
    if len(run.sharing(direction)) > len(own):
        return _carried_mbps(run, direction)
    own_mbps = _sum_mbps(own, as_shown=False)
    # A real router's rate is what was requested, and offloads may pass it by.
    if direction == "upload" and run.settings.get("testbed") == VIRTUAL:
        return _at_most_capacity(run, direction, own_mbps)
    return own_mbps


def _carried_mbps(run: Run, direction: str) -> float:
    """Return the throughput of all flows in a direction together, including cross traffic, while
    the test loaded it, in Mbit/s. With cross traffic it is at most what TCP can carry at the link's
    rate, if this is known and no burst can exceed it: cross traffic runs longer than the test, so
    what it carried meanwhile is taken from its tool's intervals. Those of an upload count what is
    written to the socket, and with it what then is in buffers. Raises NotAvailable as total_mbps()
    does."""
    flows, own = run.sharing(direction), run.flows_of(direction)
    window = _window_of_any(own)
    carried_mbps = sum(mean_mbps(flow, window) for flow in flows)
    if len(flows) == len(own):
        return carried_mbps
    return _at_most_capacity(run, direction, carried_mbps)


def _at_most_capacity(run: Run, direction: str, mbps: float) -> float:
    """Return a throughput in Mbit/s, but at most what TCP can carry at the highest rate that the
    link has. It is unchanged if this rate is not known, or bursts can exceed it."""
    if switch(run.settings.get("burst_shaping")):
        return mbps
    try:
        return min(mbps, _highest_rate_mbps(run, direction) * payload_share(run, direction))
    except NotAvailable:
        return mbps


def _highest_rate_mbps(run: Run, direction: str) -> float:
    """Return a rate in Mbit/s that all flows of a direction together never exceed: that of
    link_rate_mbps(), also if the link stands still at times (link_outages_s). With several routers,
    which have the same rate, it is that of the client's, through which all flows of the client go.
    direction: "download" or "upload". Raises NotAvailable if there are several routers and another
    host has a flow, or as link_rate_mbps() does for other reasons."""
    if _has_several_routers(run) and any(flow.host for flow in run.sharing(direction)):
        raise NotAvailable(_SEVERAL)
    _raise_if_rate_varies(run, direction, but_for_outages=True)
    return _bottleneck_mbps(run, direction)


def shares_line(settings: Mapping[str, object]) -> bool:
    """Return whether a run's flows share the line with cross traffic: the setting `cross_traffic`
    is there, not empty, and no word for off. Then the test's own throughput shows how the line was
    divided, and not the cost of the queue."""
    value = settings.get("cross_traffic")
    return value not in (None, "") and switch(value) is not False


def utilisation_pct(run: Run, direction: str) -> float:
    """Return the throughput of all flows in a direction, including cross traffic, while the test
    loaded it, in percent of the throughput that full-sized TCP packets can have at the link's rate.

    Source: arithmetic, see payload_share(). direction: "download" or "upload". Raises NotAvailable
    if the test has no flow in that direction, if its flows ran for 0 s, or if the link's rate (see
    link_rate_mbps()), or the throughput of a flow over time, is not known.
    """
    run.flows_of(direction)  # its reason is better if there is no flow
    rate_mbps = link_rate_mbps(run, direction)
    return _carried_mbps(run, direction) / (rate_mbps * payload_share(run, direction)) * 100


def link_rate_mbps(run: Run, direction: str) -> float:
    """Return the rate in Mbit/s of the link that all flows share: the smaller one of the shaper's
    and the modem's. direction: "download" or "upload". Raises NotAvailable if there are several
    bottlenecks, if the rate changed during the run or is not recorded, or if nothing limits it."""
    if _has_several_routers(run):
        raise NotAvailable(_SEVERAL)
    _raise_if_rate_varies(run, direction)
    return _bottleneck_mbps(run, direction)


def _has_several_routers(run: Run) -> bool:
    """Return whether the file records queues of further routers."""
    before = run.aqm.get("before")
    return isinstance(before, dict) and bool(before.get("routers"))


def _raise_if_rate_varies(run: Run, direction: str, *, but_for_outages: bool = False) -> None:
    """Raise NotAvailable, with the reason, if the rate of the link isn't constant: the test changes
    it, the link plays a trace, or link_access draws rates anew or link_outages_s stops it, or may
    do so because the file doesn't record what it did.

    Args:
        run: the run.
        direction: "download" or "upload".
        but_for_outages: let outages pass, in which the link carries nothing.
    """
    if run.settings.get("rates_mbps"):
        raise NotAvailable("the rate of the link changed during the run")
    if trace := run.settings.get("link_trace") or run.settings.get(_TRACE[direction]):
        raise NotAvailable(f"the rate of the link followed a trace ({trace})")
    draws = _draws_rates(run.settings.get(f"link_{_DIRECTION[direction]}_access"))
    if but_for_outages and not draws:
        return
    if _changes_rate(run, direction):
        raise NotAvailable("the rate of the link changed during the run, by link_access or "
                           "link_outages_s")
    # flent and speedtest inside `flent-aqm lab` record the settings alone.
    if "links" not in run.aqm and (draws or run.settings.get("link_outages_s")):
        raise NotAvailable("the file does not record how the rate of the link changed, by "
                           "link_access or link_outages_s")


def _draws_rates(access: object) -> bool:
    """Return whether an access model, the value of link_access, draws rates anew: starlink does,
    and any with a period. docsis and lte only delay packets."""
    text = str(access or "")
    return text.startswith("starlink") or "period_s=" in text


def has_varying_rate(run: Run) -> bool:
    """Return whether the file tells that the line has no constant rate in a direction: the test
    changed it, a link plays a trace, its access draws rates anew, or it has outages, or the line is
    a Wi-Fi channel."""
    if any(map(run.settings.get, _WIFI)):
        return True
    try:
        for direction in _DIRECTION:
            _raise_if_rate_varies(run, direction)
    except NotAvailable:
        return True
    return False


def _bottleneck_mbps(run: Run, direction: str) -> float:
    """Return the smaller one of the shaper's and the modem's rate in Mbit/s. Raises NotAvailable if
    neither limits the link, or the shaper's is not recorded."""
    shaper_mbps, modem_mbps = _shaper_mbps(run, direction), _modem_mbps(run, direction)
    if run.settings.get("shaper") == "none":
        if modem_mbps is None:
            raise NotAvailable("the run had shaper=none, so nothing limited the link to rate_mbps")
        return modem_mbps
    if shaper_mbps is None:
        raise NotAvailable("the file does not record the rate of the link")
    return shaper_mbps if modem_mbps is None else min(shaper_mbps, modem_mbps)


def _changes_rate(run: Run, direction: str) -> bool:
    """Return whether the schedule that a link played has steps: its access model draws rates anew,
    or it has outages. False without a link."""
    links = run.aqm.get("links")
    link = links.get(_DIRECTION[direction]) if isinstance(links, dict) else None
    return isinstance(link, dict) and (a_number(link.get("steps")) or 0) > 1


def _shaper_mbps(run: Run, direction: str) -> float | None:
    """Return the rate of the router's shaper in Mbit/s, None if it has none, or the rate is not
    recorded or not above 0."""
    if run.settings.get("shaper") == "none":
        return None
    return _above_0(run.settings.get(f"rate_{_DIRECTION[direction]}_mbps"))


def _modem_mbps(run: Run, direction: str) -> float | None:
    """Return the modem's rate in Mbit/s, None if there is no modem, or its rate isn't above 0."""
    return _above_0(run.settings.get(f"modem_{_DIRECTION[direction]}_mbps"))


def _above_0(value: object) -> float | None:
    """Return a number above 0, None for any other value."""
    number = a_number(value)
    return number if number is not None and number > 0 else None


def payload_share(run: Run, direction: str) -> float:
    """Return TCP's payload in a full-sized IPv4 packet (1448 bytes) as a share of the bytes that
    the shaper counts for it. It may be above 1 with a negative overhead.

    HTB, TBF and CAKE count 1514 bytes: the packet with its Ethernet header. HTB and TBF add an
    overhead to these. CAKE with an overhead other than `raw` counts the packet without that header,
    and the overhead. All of them can have a smallest size (mpu) and count cells of ATM, and CAKE
    also PTM's code. Other shapers count as HTB. A modem narrower than the shaper counts 1514 bytes,
    whatever the shaper's parameters. If the parameters are not recorded, the overhead has words
    that CAKE doesn't know, or a negative one leaves no bytes, it is the share in 1514 bytes.
    Sources: Linux net/sched/sch_cake.c, cake_calc_overhead(), and include/net/sch_generic.h,
    psched_l2t_ns(). direction: "download" or "upload".
    """
    shaper_mbps, modem_mbps = _shaper_mbps(run, direction), _modem_mbps(run, direction)
    if modem_mbps is not None and (shaper_mbps is None or modem_mbps < shaper_mbps):
        return PAYLOAD_SHARE
    requested = run.aqm.get("requested")
    requested = requested if isinstance(requested, dict) else {}
    if requested.get("shaper") == "cake":
        options = requested.get("up_aqm_parameters" if direction == "upload"
                                and requested.get("up_aqm") else "aqm_parameters")
    else:
        options = requested.get("shaper_parameters")
    if not isinstance(options, dict) or not options.keys() & {"overhead", "mpu", "linklayer"}:
        return PAYLOAD_SHARE
    # HTB's overhead is a number, which CAKE's parser accepts, too.
    framing = _framing(options.get("overhead"))
    if framing is None:
        return PAYLOAD_SHARE
    is_on_ip = (requested.get("shaper") == "cake" and options.get("overhead") is not None
                and not framing.raw)
    least = a_number(_as_number(options.get("mpu")))
    size = max((IP_BYTES if is_on_ip else FRAME_BYTES) + framing.overhead,
               framing.mpu if least is None else least)
    link_layer = options.get("linklayer") or framing.link_layer
    if link_layer == "atm":
        size = -(-size // 48) * 53
    elif link_layer == "ptm":
        size += -(-size // 64)
    # A negative overhead may leave nothing.
    return PAYLOAD_BYTES / size if size > 0 else PAYLOAD_SHARE


def _framing(overhead: object) -> Framing | None:
    """Return the framing for an overhead, None if it is neither a number nor CAKE's keywords.

    overhead: a number of bytes (rounded), also as text, CAKE's keywords, or None, which counts as 0
    bytes.
    """
    number = a_number(_as_number(overhead)) if overhead is not None else 0.0
    if number is not None:
        return Framing(round(number))
    try:
        return CAKE_OVERHEAD.framing(CAKE_OVERHEAD(str(overhead)))
    except ConfigError:
        return None


def fairness(run: Run, direction: str) -> float:
    """Return Jain's index over the throughput of all flows in a direction, including cross traffic,
    while all of them ran: (sum x)^2 / (n sum x^2). It is 1 if all flows have the same throughput,
    and 1/n if one has all. Parallel connections of one tool, such as a group `4xcubic` of the test
    aqm_flows, count as one flow, because tools report their sum.

    Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984. direction: "download" or "upload". Raises
    NotAvailable if the test has no flow in that direction, with fewer than two flows, if the
    throughput of one over time is not known, if they ran together for less than 1 s, or if none
    transferred data.
    """
    flows = _two_or_more(run, direction)
    window = shared_window(flows)
    return jain([mean_mbps(flow, window) for flow in flows])


def _two_or_more(run: Run, direction: str) -> Sequence[Flow]:
    """Return all flows in a direction, including cross traffic. Raises NotAvailable if no flow in
    it is the test's own, or if it is the only one, with the reason if another failed. direction:
    "download" or "upload"."""
    flows = run.sharing(direction)
    if len(flows) < 2:
        failed = next(filter(None, (run.why_failed(direction, cross=cross)
                                    for cross in (False, True))), "")
        raise NotAvailable(f"only one {direction} flow has data: {failed}" if failed else
                           f"there is only one {direction} flow")
    return flows


def jain(rates: Sequence[float]) -> float:
    """Return Jain's index, 1/n to 1, of the throughputs of two or more flows while all of them ran,
    in any unit. Raises NotAvailable if all are 0."""
    squares = sum(rate * rate for rate in rates)
    if not squares > 0:
        raise NotAvailable("no flow transferred any data while all of them ran")
    return sum(rates) ** 2 / (len(rates) * squares)


def _as_number(value: object) -> object:
    """Return text as a number, None if it is not one, because a file may have a parameter as text.
    Other values are returned unchanged."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _by_host_mbps(run: Run, direction: str) -> dict[str, float]:
    """Return host -> throughput of its flows together in Mbit/s, while all the test's flows of that
    direction ran. Flows without a host are left out of the result only. direction: "download" or
    "upload". Raises NotAvailable without a flow in that direction, with fewer than two hosts, if
    the throughput of a flow over time is not known, or if the flows ran together for less than 1 s.
    """
    flows = run.flows_of(direction)
    if len({flow.host for flow in flows if flow.host}) < 2:
        failed = run.why_failed(direction, cross=False)
        raise NotAvailable(f"the file doesn't record {direction} flows of two or more hosts"
                           + (f"; {failed}" if failed else ""))
    window = shared_window(flows)
    mbps: dict[str, float] = {}
    for flow in flows:
        if flow.host:
            mbps[flow.host] = mbps.get(flow.host, 0.0) + mean_mbps(flow, window)
    return mbps


def host_fairness(run: Run, direction: str) -> float:
    """Return Jain's index, 1/n to 1 for n hosts, over the throughput of each host's flows together,
    while all the test's flows of that direction ran. direction: "download" or "upload". Raises
    NotAvailable without a flow in that direction, with fewer than two hosts, if the throughput of a
    flow over time is not known, if the flows ran together for less than 1 s, or if none transferred
    data."""
    return jain(list(_by_host_mbps(run, direction).values()))


def least_host_mbps(run: Run, direction: str) -> float:
    """Return the throughput of the flows of the host that got least, in Mbit/s, while all the
    test's flows of that direction ran. direction: "download" or "upload". Raises NotAvailable
    without a flow in that direction, with fewer than two hosts, if the throughput of a flow over
    time is not known, or if the flows ran together for less than 1 s."""
    return min(_by_host_mbps(run, direction).values())


def most_host_mbps(run: Run, direction: str) -> float:
    """Return the throughput of the flows of the host that got most, in Mbit/s, while all the test's
    flows of that direction ran. direction: "download" or "upload". Raises NotAvailable without a
    flow in that direction, with fewer than two hosts, if the throughput of a flow over time is not
    known, or if the flows ran together for less than 1 s."""
    return max(_by_host_mbps(run, direction).values())


# Length of a step: longer than netperf's intervals, and shorter than the time in which TCP
# recovers.
_SYNC_STEP_S = 0.25
# At first the throughput of all flows grows from zero. Correlations of few steps would be chance.
_SYNC_START_UP_S = 2.0
_SYNC_FEWEST_STEPS = 20


def synchronisation(run: Run, direction: str) -> float:
    """Return the mean correlation (Pearson's), -1 to 1, between the drops in throughput of any two
    flows in a direction, including cross traffic. It is 1 if all flows drop at the same times and
    in proportion, and about 0 if they drop independently. Flows that don't drop are left out.

    A flow's drop is its loss of throughput from one step of 0.25 s (_SYNC_STEP_S) to the next, 0 if
    it gained. Steps are those in which all flows run, without the first 2 s (_SYNC_START_UP_S).
    direction: "download" or "upload". Raises NotAvailable if the test has no flow in that
    direction, if there are fewer than two flows or fewer than two drop, or if there are fewer than
    20 (_SYNC_FEWEST_STEPS) steps or intervals of a flow.
    """
    flows = _two_or_more(run, direction)
    return drop_correlation(rates_mbps(flows))


def rates_mbps(flows: Sequence[Flow]) -> NDArray[Any]:
    """Return the mean throughput in Mbit/s of each flow (rows) in the steps of 0.25 s
    (_SYNC_STEP_S) in which all run (columns), after the first 2 s (_SYNC_START_UP_S). Raises
    NotAvailable with fewer than 20 steps (_SYNC_FEWEST_STEPS), or if a flow has fewer intervals
    than that."""
    for flow in flows:
        if flow.at_s.size < _SYNC_FEWEST_STEPS:
            raise NotAvailable(f"the flow {flow.name!r} has {counted(flow.at_s.size, 'interval')} "
                               f"of throughput; expected {_SYNC_FEWEST_STEPS} or more, as a longer "
                               "test has, unless its tool reports only the whole test")
    spans = [flow_window(flow) for flow in flows]
    start_s = max(one.start_s for one in spans) + _SYNC_START_UP_S
    steps = int((min(one.end_s for one in spans) - start_s + ROUNDING_S) / _SYNC_STEP_S)
    if steps < _SYNC_FEWEST_STEPS:
        least_s = _SYNC_FEWEST_STEPS * _SYNC_STEP_S
        raise NotAvailable("all flows run together for less than "
                           f"{least_s + _SYNC_START_UP_S:g} s, of which the first "
                           f"{_SYNC_START_UP_S:g} s are left out as start-up")
    edges = start_s + numpy.arange(steps + 1) * _SYNC_STEP_S
    return numpy.stack([numpy.diff(carried_mbit(flow, edges)) / _SYNC_STEP_S for flow in flows])


def drop_correlation(rates: NDArray[Any]) -> float:
    """Return the mean correlation, -1 to 1, between the drops of all pairs of flows. A flow's drop
    is the decrease of its throughput from one time to the next, 0 if it grew. Flows that don't drop
    are left out. Raises NotAvailable if fewer than two are left, or if rates are not finite.

    Args:
        rates: throughput of flows (rows) over time (columns, at least two), in any unit.
    """
    drops = numpy.maximum(-numpy.diff(rates, axis=1), 0.0)
    # Rates differ by rounding where nothing happens.
    drops = drops[numpy.ptp(drops, axis=1) > 1e-9 * max(float(numpy.abs(rates).max()), 1e-300)]
    if len(drops) < 2:
        raise NotAvailable("fewer than two flows lose throughput at any time")
    above = numpy.triu_indices(len(drops), 1)
    mean = float(numpy.corrcoef(drops)[above].mean())
    if not numpy.isfinite(mean):
        raise NotAvailable("the correlation of the flows' throughput is not a finite number")
    return min(max(mean, -1.0), 1.0)


def shared_window(flows: Sequence[Flow]) -> Window:
    """Return the time in which all flows ran, see flow_window(). Raises NotAvailable if it is
    shorter than 1 s, or if the throughput of a flow over time is not known."""
    spans = [flow_window(flow) for flow in flows]
    start_s, end_s = max(one.start_s for one in spans), min(one.end_s for one in spans)
    together_s = end_s - start_s
    if together_s < SHORTEST_S - ROUNDING_S:
        # Rounded down, so that it is never shown as what is needed.
        shown_s = math.floor(max(together_s, 0) * 1000) / 1000
        raise NotAvailable(f"all flows run together for {shown_s:g} s, and {SHORTEST_S:g} s are "
                           "needed to compare them")
    return Window(start_s, end_s)


def flow_window(flow: Flow) -> Window:
    """Return the time from the start of a flow's first interval to the end of its last one. If the
    intervals don't tell when it ran (`is_expected`), it is `start_s` to `end_s` of the flow. Raises
    NotAvailable without intervals, or if the length of none is known and the flow's time isn't an
    expected one."""
    if flow.at_s.size and flow.is_expected:
        return Window(flow.start_s, flow.end_s)
    if not flow.length_s.any():
        raise NotAvailable(f"the file has no throughput of {flow.name!r} in intervals with a "
                           "length")
    return Window(float((flow.at_s - flow.length_s).min()), float(flow.at_s.max()))


def mean_mbps(flow: Flow, window: Window, *, as_shown: bool = False) -> float:
    """Return a flow's mean throughput in a window, in Mbit/s. It counts as 0 while it didn't run.
    as_shown: with what its tool adds for headers (Tool.overhead_factor), which isn't data.

    If the flow ran for nearly the whole window and hardly longer, its `mean_mbps` is returned: for
    some uploads the intervals count what the sender wrote to its socket, and only the mean is the
    receiver's. Raises NotAvailable as flow_window() does, or if the window has no length.
    """
    if not window.length_s > 0:
        raise NotAvailable(no_time("load"))
    own = flow_window(flow)
    together_s = min(own.end_s, window.end_s) - max(own.start_s, window.start_s)
    if flow.mean_mbps is not None and together_s >= SAME_TIME * max(own.length_s, window.length_s):
        return flow.mean_mbps if as_shown else flow.mean_mbps / _overhead_factor(flow)
    start, end = carried_mbit(flow, numpy.array([window.start_s, window.end_s]))
    return float(end - start) / window.length_s


def _overhead_factor(flow: Flow) -> float:
    """Return the factor of the flow's tool for headers, 1 for a tool without one, and for one that
    isn't known."""
    client = str(flow.speedtest.get("client"))
    return TOOLS[client].overhead_factor if client in TOOLS else 1.0


def carried_mbit(flow: Flow, at_s: NDArray[Any]) -> Numbers:
    """Return how many megabits a flow had transferred at each time: 0 before its first interval,
    all after its last one, interpolated within intervals. Raises NotAvailable without intervals.

    Args:
        flow: the flow.
        at_s: times in epoch seconds.
    """
    if not flow.at_s.size:
        raise NotAvailable(f"the file has no throughput of {flow.name!r} over time")
    order = numpy.argsort(flow.at_s, kind="stable")
    ends_s = flow.at_s[order]
    # If intervals overlap, the later one is taken to begin at the end of the earlier one.
    starts_s = numpy.maximum(ends_s - flow.length_s[order],
                             numpy.concatenate([[-numpy.inf], ends_s[:-1]]))
    megabits = numpy.cumsum(flow.mbps[order] * flow.length_s[order])
    times_s = numpy.stack([starts_s, ends_s], axis=1).ravel()
    levels_mbit = numpy.stack([numpy.concatenate([[0.0], megabits[:-1]]), megabits], axis=1).ravel()
    carried: Numbers = numpy.interp(at_s, times_s, levels_mbit)
    return carried
