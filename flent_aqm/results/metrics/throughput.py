# SPDX-License-Identifier: GPL-3.0-or-later
"""Throughput, utilisation and fairness of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.base.switch import switch
from flent_aqm.results.data_file import a_number
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.shared_time import flow_window, mean_mbps, shared_window
from flent_aqm.results.metrics.window import Window
from flent_aqm.spec.queues.table import CAKE_OVERHEAD
from flent_aqm.spec.queues.values import Framing

# Sizes of a full-sized IPv4 packet with TCP's time stamps: its payload, the packet, and its
# Ethernet frame.
PAYLOAD_BYTES, IP_BYTES, FRAME_BYTES = 1448, 1500, 1514
# Share of most shapers' rate that TCP can carry.
PAYLOAD_SHARE = PAYLOAD_BYTES / FRAME_BYTES
_RATE = {"download": "rate_down_mbps", "upload": "rate_up_mbps"}


def throughput_mbps(run: Run, direction: str) -> float:
    """Return the sum of the throughput of the test's flows in a direction, in Mbit/s.

    It is the mean that the tool reports for the whole test. For flows that come and go, it is their
    mean over the time in which any of them ran. Raises NotAvailable.
    """
    flows = run.way(direction)
    means = [flow.mean_mbps for flow in flows if flow.mean_mbps is not None]
    if len(means) < len(flows):
        raise NotAvailable("a flow's throughput is not known")
    if any(not flow.at_s.size for flow in flows):
        return sum(means)
    window = _while_any_ran(flows)
    return sum(mean_mbps(flow, window) for flow in flows)


def _while_any_ran(flows: Sequence[Flow]) -> Window:
    """Return the time from the start of the first flow to the end of the last one."""
    spans = [flow_window(flow) for flow in flows]
    return Window(min(one.start_s for one in spans), max(one.end_s for one in spans))


def total_mbps(run: Run, direction: str) -> float:
    """Return the throughput of all flows in a direction together, including cross traffic, while
    the test loaded it, in Mbit/s. This is what a queue may cost if the line is shared. Raises
    NotAvailable."""
    flows = run.sharing(direction)
    own = run.way(direction)
    if len(flows) == len(own):
        return throughput_mbps(run, direction)
    window = _while_any_ran(own)
    return sum(mean_mbps(flow, window) for flow in flows)


def shares_line(settings: Mapping[str, object]) -> bool:
    """Return whether a run's flows share the line with cross traffic. Then the test's own
    throughput shows how the line was divided, and not the cost of the queue."""
    value = settings.get("cross_traffic")
    return value not in (None, "") and switch(value) is not False


def utilisation_pct(run: Run, direction: str) -> float:
    """Return the throughput of all flows in a direction, including cross traffic, while the test
    loaded it, in percent of the one that full-sized TCP packets can have at the link's rate.

    Source: arithmetic, see payload_share(). Raises NotAvailable.
    """
    flows = run.sharing(direction)
    rate_mbps = link_rate_mbps(run, direction)
    window = _while_any_ran(run.way(direction))
    carried_mbps = sum(mean_mbps(flow, window) for flow in flows)
    return carried_mbps / (rate_mbps * payload_share(run, direction)) * 100


def link_rate_mbps(run: Run, direction: str) -> float:
    """Return the rate in Mbit/s of the link that all flows share. Raises NotAvailable if there is
    no single link or rate."""
    rate = _RATE[direction]
    if run.settings.get("shaper") == "none":
        # Nothing is shaped to rate_mbps. A modem, if any, has the rate of the link.
        rate = rate.replace("rate_", "modem_")
        if not a_number(run.settings.get(rate)):
            raise NotAvailable("shaper=none: nothing in the run has the rate of rate_mbps")
    before = run.aqm.get("before")
    if isinstance(before, dict) and before.get("routers"):
        raise NotAvailable("the run has several bottlenecks, and not all flows go through the same")
    if run.settings.get("rates_mbps"):
        raise NotAvailable("the rate of the link changed in the run")
    rate_mbps = a_number(run.settings.get(rate))
    if not rate_mbps or rate_mbps < 0:
        raise NotAvailable("the file doesn't tell the rate of the link")
    return rate_mbps


def payload_share(run: Run, direction: str) -> float:
    """Return TCP's payload in a full-sized IPv4 packet, as a share of the bytes that the shaper
    counts for it.

    HTB, TBF and CAKE count 1514 bytes: the packet with its Ethernet header. HTB and TBF add an
    overhead to these. CAKE with an overhead counts the packet without that header, and the
    overhead. All of them can count cells of ATM, and CAKE also PTM's code. Sources: Linux
    net/sched/sch_cake.c, cake_calc_overhead(), and include/net/sch_generic.h, psched_l2t_ns().
    """
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
    return PAYLOAD_BYTES / size


def _framing(overhead: object) -> Framing | None:
    """Return the framing for an overhead, which is a number of bytes or CAKE's keywords. None for
    other text."""
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
    and 1/n if one has all.

    Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984. Raises NotAvailable.
    """
    flows = run.sharing(direction)
    if len(flows) < 2:
        raise NotAvailable(f"there is only one {direction} flow")
    window = shared_window(flows)
    return jain([mean_mbps(flow, window) for flow in flows])


def jain(rates: Sequence[float]) -> float:
    """Return Jain's index of two or more rates. Raises NotAvailable if all are 0."""
    squares = sum(rate * rate for rate in rates)
    if not squares > 0:
        raise NotAvailable("no flow transferred any data")
    return sum(rates) ** 2 / (len(rates) * squares)


def _as_number(value: object) -> object:
    """Return text as a number, None if it is not one, because a file may have a parameter as text.
    Other values are returned unchanged."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None
