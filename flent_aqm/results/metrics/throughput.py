# SPDX-License-Identifier: GPL-3.0-or-later
"""What the flows carried."""

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

# A full-sized IPv4 packet with TCP's time stamps: payload, with IP's header, with Ethernet's.
PAYLOAD_BYTES, IP_BYTES, FRAME_BYTES = 1448, 1500, 1514
# What most shapers let TCP carry of their rate.
PAYLOAD_SHARE = PAYLOAD_BYTES / FRAME_BYTES
_RATE = {"download": "rate_down_mbps", "upload": "rate_up_mbps"}


def throughput_mbps(run: Run, direction: str) -> float:
    """Return the sum over the test's flows in a direction of what their tool reports as the mean
    of the whole test; of flows that come and go, of what they carried while there was any, over
    that time. Raises NotAvailable."""
    flows = run.way(direction)
    means = [flow.mean_mbps for flow in flows if flow.mean_mbps is not None]
    if len(means) < len(flows):
        raise NotAvailable("a flow's throughput is not known")
    if any(not flow.at_s.size for flow in flows):
        return sum(means)
    window = _while_any_ran(flows)
    return sum(mean_mbps(flow, window) for flow in flows)


def _while_any_ran(flows: Sequence[Flow]) -> Window:
    """From the start of the first flow to the end of the last one."""
    spans = [flow_window(flow) for flow in flows]
    return Window(min(one.start_s for one in spans), max(one.end_s for one in spans))


def total_mbps(run: Run, direction: str) -> float:
    """Return what all flows in a direction carried together while the test loaded it, cross traffic
    included: what a queue that shares a line may cost. Raises NotAvailable."""
    flows = run.sharing(direction)
    own = run.way(direction)
    if len(flows) == len(own):
        return throughput_mbps(run, direction)
    window = _while_any_ran(own)
    return sum(mean_mbps(flow, window) for flow in flows)


def shares_line(settings: Mapping[str, object]) -> bool:
    """Return whether a run's flows share the line with cross traffic. Then the throughput of the
    test alone tells how the line was divided, and not what the queue cost."""
    value = settings.get("cross_traffic")
    return value not in (None, "") and switch(value) is not False


def utilisation_pct(run: Run, direction: str) -> float:
    """Return what all flows in a direction, cross traffic too, carried while the test loaded it,
    of what the rate lets full-sized TCP packets carry.

    Source: arithmetic; see payload_share(). Raises NotAvailable.
    """
    flows = run.sharing(direction)
    rate_mbps = link_rate_mbps(run, direction)
    window = _while_any_ran(run.way(direction))
    carried_mbps = sum(mean_mbps(flow, window) for flow in flows)
    return carried_mbps / (rate_mbps * payload_share(run, direction)) * 100


def link_rate_mbps(run: Run, direction: str) -> float:
    """Return the rate of the one link that all flows share. Raises NotAvailable where there is none
    such."""
    rate = _RATE[direction]
    if run.settings.get("shaper") == "none":
        # rate_mbps shapes nothing then, and a modem, if any, has the rate.
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
    """TCP's payload in a full-sized IPv4 packet, of the bytes that the shaper counts for it.

    HTB, TBF and CAKE count 1514 bytes: the packet with its Ethernet header. HTB and TBF add an
    overhead to these. CAKE that was given an overhead counts the packet without that header and the
    overhead. All of them can reckon in cells of ATM, and CAKE in PTM's code. Sources: Linux
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
    # HTB's overhead is a number, which CAKE's reader takes as well
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
    """Return what an overhead stands for, a number of bytes or CAKE's words, None for other text of
    a file."""
    number = a_number(_as_number(overhead)) if overhead is not None else 0.0
    if number is not None:
        return Framing(round(number))
    try:
        return CAKE_OVERHEAD.framing(CAKE_OVERHEAD(str(overhead)))
    except ConfigError:
        return None


def fairness(run: Run, direction: str) -> float:
    """Jain's index over what all flows in a direction, cross traffic too, carried in the time
    in which all of them ran: (sum x)^2 / (n sum x^2), 1 when all get the same, 1/n when one
    gets all.

    Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984. Raises NotAvailable.
    """
    flows = run.sharing(direction)
    if len(flows) < 2:
        raise NotAvailable(f"there is only one {direction} flow")
    window = shared_window(flows)
    return jain([mean_mbps(flow, window) for flow in flows])


def jain(rates: Sequence[float]) -> float:
    """Jain's index of two or more rates. Raises NotAvailable when all are 0."""
    squares = sum(rate * rate for rate in rates)
    if not squares > 0:
        raise NotAvailable("no flow transferred any data")
    return sum(rates) ** 2 / (len(rates) * squares)


def _as_number(value: object) -> object:
    """A file may have a parameter as text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None
