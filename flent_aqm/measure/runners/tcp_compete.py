# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines parameters and data sets of the test tcp_compete.

It imports little, because it is read whenever the test is loaded, also in the guest. Flent's own
tests of this kind (cubic_bbr, cubic_reno, ...) have a file for each pair, and set the congestion
control at the sender only. DCTCP needs it at the receiver, too, for its kind of ECN.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from flent_aqm.base.words import counted

# Function that reports an error. It may return.
Refuse = Callable[[str], object]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
_MOST_NAMES, _MOST_STREAMS = 8, 64


def congestion_controls(parameter: Callable[..., Any], refuse: Refuse) -> list[str]:
    """Return the congestion control of each flow, by the parameters `ccs` (default: cubic,reno) and
    `streams` (default: 2): each name in turn, as often as `streams` requests. Wrong values are
    reported. Wrong names are returned nevertheless, and a wrong number of streams counts as 1.

    Args:
        parameter: Flent's get_test_parameter().
        refuse: Flent's test_error(), which reports a text and may return.
    """
    text = str(parameter("ccs", default="cubic,reno"))
    names = [name.strip() for name in text.split(",")]
    if not 2 <= len(names) <= _MOST_NAMES:
        refuse(f"ccs: {text!r} has {counted(len(names), 'name')}; expected a list of 2 to "
               f"{_MOST_NAMES} congestion controls, such as cubic,bbr")
    elif wrong := [name for name in names if not _NAME.fullmatch(name)]:
        refuse(f"ccs: {wrong[0]!r} is no name of a congestion control; expected up to 15 "
               "lower-case letters, digits and underscores, the first a letter, such as bbr")
    streams = str(parameter("streams", default="2"))
    if not re.fullmatch("[0-9]{1,2}", streams) or not 1 <= int(streams) <= _MOST_STREAMS:
        refuse(f"streams: {streams!r}; expected a whole number from 1 to {_MOST_STREAMS}")
        streams = "1"
    return [name for name in names for _ in range(int(streams))]


def data_sets(names: list[str], host: str | None, ip_version: int | None, length_s: float,
              delay_s: float, total_s: float, step_s: float) -> list[tuple[str, dict[str, Any]]]:
    """Return the data sets of the test, as pairs of name and keys: a download for each entry of
    `names`, and a ping by UDP and by ICMP.

    Args:
        names: congestion control of each download.
        host: the server.
        ip_version: 4, 6 or None.
        length_s: length of the downloads.
        delay_s: seconds from the test's start to that of the downloads.
        total_s: length of the pings.
        step_s: interval of the ICMP ping.
    """
    sets: list[tuple[str, dict[str, Any]]] = [
        (f"TCP download {name} {number}", {
            "runner": "netperf_demo", "test": "TCP_MAERTS", "host": host, "length": length_s,
            "delay": delay_s, "ip_version": ip_version, "units": "Mbits/s",
            # netperf's -K takes the congestion controls of this end and of the other.
            "cong_control": f"{name},{name}"})
        for number, name in enumerate(names, 1)]
    return sets + [
        ("Ping (ms) UDP", {"runner": "udp_rtt", "host": host, "length": total_s, "units": "ms",
                           "ip_version": ip_version, "id": f"{host} UDP"}),
        ("Ping (ms) ICMP", {"runner": "ping", "host": host, "length": total_s, "units": "ms",
                            "interval": step_s, "ip_version": ip_version,
                            "id": f"{host} ICMP"})]
