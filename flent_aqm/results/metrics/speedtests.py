# SPDX-License-Identifier: GPL-3.0-or-later
"""Return results that speed tests' clients showed their users.

Metrics of the same names without a client are estimates from a run's probe. Source: the SPEEDTEST
objects in the file, which the runners of measure/runners write. AIM's tables are in grades.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import a_number
from flent_aqm.results.metrics.flows import DIRECTIONS, Flow
from flent_aqm.results.metrics.grades import aim_points
from flent_aqm.results.metrics.run import Run


def reported(run: Run, client: str, name: str) -> float:
    """Return a number that a speed test's client reported, from the first of the test's flows that
    has it. Its unit is that of Number.unit for the name. Raises NotAvailable if the test did not
    run the client, or if the client didn't report the number.

    Args:
        run: the run.
        client: name of the speed test, such as "cloudflare".
        name: name of the number (Number.name), such as "latency_ms". In older files, "_percent"
            stands for "_pct" at its end.
    """
    names = (name, re.sub("_pct$", "_percent", name))
    reports = [one.get("numbers") for one in (flow.speedtest for flow in run.speed_test)
               if one.get("client") == client]
    if not reports:
        failed = run.why_failed(None, cross=False)
        raise NotAvailable(f"the test did not run {client}, or its client gave no results"
                           + (f"; {failed}" if failed else ""))
    for numbers in reports:
        found = map(numbers.get, names) if isinstance(numbers, dict) else ()
        value = next((number for one in found if (number := a_number(one)) is not None), None)
        if value is not None:
            return value
    raise NotAvailable(f"{client} didn't report {name} in this run")


def cloudflare_points(run: Run, experience: str) -> float:
    """Return AIM's points from the values that Cloudflare's client reported. The increase of
    latency is that of the direction in which it is higher. Raises NotAvailable if the test did not
    run the client, or if the client did not report a value that the experience needs: latency
    without load and under load in both directions for each.

    Loss is that of the run's probe before the load. Cloudflare's engine sends its own UDP packets
    to a TURN server, when it sends nothing else, and there is no such server in the lab. Without
    such probes, or if they can't tell losses, loss gets 0 points.

    Args:
        run: the run.
        experience: "streaming", "gaming" or "rtc".
    """
    latency_ms = reported(run, "cloudflare", "latency_ms")
    increase_ms = max(reported(run, "cloudflare", f"loaded_latency_{direction}_ms")
                      for direction in DIRECTIONS) - latency_ms
    return aim_points(
        latency_ms, increase_ms, _idle_loss(run),
        download_mbps=(reported(run, "cloudflare", "download_mbps")
                       if experience == "streaming" else None),
        jitter_ms=reported(run, "cloudflare", "jitter_ms") if experience == "rtc" else None)


def _idle_loss(run: Run) -> float | None:
    """Return the share of the run's own probes, not the speed test's, that were lost before the
    load, 0 to 1. None without such probes, or if they can't tell losses."""
    try:
        idle = run.idle()
    except NotAvailable:
        return None
    return None if idle.loss_unknown else float(numpy.isinf(idle.rtt_ms).mean())


def ndt7_archived_rtt_ms(run: Run, direction: str) -> float:
    """Return the median of the RTTs in ms (TCPInfo.RTT) in the measurements of one direction that
    the server sent, as NDT7's archive keeps them, over all NDT7 flows of this direction. Clients
    show the smallest RTT only. direction: "download" or "upload". Raises NotAvailable if the test
    has no NDT7 flow in that direction, or if its server sent no RTTs."""
    rtts = [flow.tcp["tcp_rtt"].values for flow in _ndt7_flows(run, direction)
            if "tcp_rtt" in flow.tcp]
    if not rtts:
        raise NotAvailable(f"the file has no RTTs of the NDT7 {direction}, which need the server's "
                           "TCPInfo")
    return float(numpy.median(numpy.concatenate(rtts)))


def ndt7(run: Run, direction: str, field: str) -> float:
    """Return a result of NDT7 for a direction, of the first flow that has it. Raises NotAvailable
    if the test has no NDT7 flow in that direction, or if the client didn't report the result.

    Source: the ndt7 protocol, version 0.11, section on what clients should show. Throughput is 8 x
    bytes / elapsed time at the receiver, latency is TCP's MinRTT, retransmission is BytesRetrans /
    BytesSent. measure/parsers/ndt7.py computes them from the client's messages.

    Args:
        run: the run.
        direction: "download" or "upload".
        field: "throughput_mbps", "latency_ms" or "retransmission_pct".
    """
    for flow in _ndt7_flows(run, direction):
        if (value := a_number(flow.ndt7.get(field))) is not None:
            return value
    raise NotAvailable(_why_ndt7_lacks(direction, field))


def _ndt7_flows(run: Run, direction: str) -> Sequence[Flow]:
    """Return the test's flows in a direction for which NDT7's client gave results, at least one.
    Raises NotAvailable if there are none. direction: "download" or "upload"."""
    flows = [flow for flow in run.flows_of(direction) if flow.ndt7]
    if not flows:
        raise NotAvailable(f"the {direction} is not NDT7's, or its client gave no results")
    return flows


def _why_ndt7_lacks(direction: str, field: str) -> str:
    """Return the reason why the client of a completed NDT7 test has no value of a result.

    Args:
        direction: "download" or "upload".
        field: "throughput_mbps", "latency_ms" or "retransmission_pct".
    """
    if field == "retransmission_pct" and direction == "upload":
        return ("NDT7 reports retransmissions of downloads only: they are the server's, which in "
                "an upload is the receiver")
    if field == "retransmission_pct":
        return ("the file has no retransmissions of the NDT7 download, which need BytesRetrans "
                "and a BytesSent above 0 from the server")
    if field == "latency_ms":
        return f"the file has no latency of the NDT7 {direction}, which needs the server's MinRTT"
    return f"the file has no {field} of the NDT7 {direction}"
