# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines parameters and data sets of the test ping_exp, for tests_defs/ping_exp.conf.

It imports little, because it is read whenever the test is loaded, also in the guest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.nearest import unknown_value

# Value of the parameter `load` -> directions that are loaded.
LOADS = {"empty": (), "upload": ("upload",), "download": ("download",),
         "both": ("upload", "download")}
# Values of the original experiment: 400 pings, five per second, beginning a minute after the load;
# 2 uploads, 3 downloads.
PING_COUNT, PING_INTERVAL_S, LEAD_TIME_S = 400, 0.2, 60.0
STREAMS = {"upload": 2, "download": 3}
MAX_STREAMS = 128

# Function that reports an error. It may return.
Refuse = Callable[[str], object]


@dataclass(frozen=True)
class PingExp:
    """Parameters of the test.

    Attributes:
        streams: number of TCP connections by direction, "upload" and "download". Directions without
            load are missing.
        ping_count: number of pings to each host.
        ping_interval_s: seconds between two pings to a host.
        lead_time_s: seconds from the start of the load to the first ping.
    """

    streams: dict[str, int]
    ping_count: int
    ping_interval_s: float
    lead_time_s: float

    @property
    def length_s(self) -> float:
        """Duration of the pings in seconds."""
        return self.ping_count * self.ping_interval_s


def settings_from(parameter: Callable[..., Any], refuse: Refuse) -> PingExp:
    """Return the test's parameters after checking them. A wrong value is reported and replaced by
    its default. With a wrong value of `load`, no direction is loaded.

    Args:
        parameter: Flent's get_test_parameter().
        refuse: Flent's test_error(), which reports a text and may return.
    """
    load = str(parameter("load", default="empty"))
    if load not in LOADS:
        refuse(f"load: {unknown_value(load, LOADS)}")
    return PingExp(
        streams={direction: int(_checked_number(
            refuse, parameter, f"{direction}s", STREAMS[direction], 1, MAX_STREAMS))
            for direction in LOADS.get(load, ())},
        ping_count=int(_checked_number(refuse, parameter, "ping_count", PING_COUNT, 1, 1_000_000)),
        ping_interval_s=_checked_number(
            refuse, parameter, "ping_interval", PING_INTERVAL_S, 0.01, 60),
        lead_time_s=_checked_number(refuse, parameter, "lead_time", LEAD_TIME_S, 0, 3600),
    )


def _checked_number(refuse: Refuse, parameter: Callable[..., Any], name: str, default: float,
                    lowest: float, highest: float) -> float:
    """Return a numeric parameter, or its default after reporting a value that is no number or out
    of range. The value has to be a whole number if the default is an int, otherwise it is a number
    of seconds.

    Args:
        refuse: reports a text and may return.
        parameter: returns the text of a parameter by its name, or its default.
        name: name of the parameter.
        default: default of the parameter.
        lowest: smallest allowed value.
        highest: largest allowed value.
    """
    text = str(parameter(name, default=default))
    try:
        value = float(text)
        if lowest <= value <= highest and (value.is_integer() or not isinstance(default, int)):
            return value
    except ValueError:
        pass
    kind = "whole number" if isinstance(default, int) else "number of seconds"
    refuse(f"{name}: {text!r}; expected a {kind} from {lowest:g} to {highest:.7g}")
    return default


def data_sets(requested: PingExp, hosts: Sequence[str],
              ip_version: int | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the data sets of the test, as pairs of name and keys: a ping for each different host,
    and a load for each direction of `requested.streams`.

    Each direction has an iperf3 server of its own, because a server serves one test at a time. The
    load ends with the first host's pings: if it went on, metrics would count pings that were never
    sent as lost. Other hosts' pings end up to an interval later.

    The pings of several hosts are spread over the interval. Of two pings at one instant, the second
    would meet a queue that the first has just filled. (The original's pings, of iputils, drift
    apart by themselves.)

    Args:
        requested: parameters of the test.
        hosts: hosts to ping, of which the first has the iperf3 servers. If empty, there are no
            pings, and the loads have the host None.
        ip_version: IP version of the pings, 4 or 6, None for either. The loads' data sets don't
            have it.
    """
    names = list(dict.fromkeys(hosts))
    sets: list[tuple[str, dict[str, Any]]] = [
        (f"Ping (ms) ICMP {host}", {
            "runner": "aqm_ping", "host": host, "ip_version": ip_version,
            "delay": requested.lead_time_s + requested.ping_interval_s * number / len(names),
            # Flent's runner makes it a number of pings, and would add one at the very end.
            "length": requested.length_s - requested.ping_interval_s / 2,
            "interval": requested.ping_interval_s, "units": "ms", "id": host})
        for number, host in enumerate(names)]
    ports = {"upload": defaults.IPERF3_PORT, "download": defaults.IPERF3_CROSS_PORT}
    for direction, streams in requested.streams.items():
        sets.append((f"TCP {direction}", {
            "runner": "aqm_iperf3", "host": hosts[0] if hosts else None, "port": ports[direction],
            "length": requested.lead_time_s + requested.length_s, "direction": direction,
            "streams": streams, "units": "Mbits/s"}))
    return sets
