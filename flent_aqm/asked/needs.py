# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test needs of the machine and of the server, by the beginning of its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Needs:
    """tools: programs of client and server; servers: those to start, as testbed/guest/server.sh
    names them; cross_servers: further ones for cross traffic. A server that isn't started
    costs no time."""

    tools: tuple[str, ...]
    servers: tuple[str, ...]
    cross_servers: tuple[str, ...] = ()

    def servers_with(self, *, cross_traffic: bool) -> tuple[str, ...]:
        """All servers to start."""
        return (*self.servers, *(self.cross_servers if cross_traffic else ()))


NEEDS = {
    "ndt7": Needs(("ndt7-client",), ("irtt", "ndt7-cleartext"), ("iperf3",)),
    "iperf3": Needs(("iperf3",), ("irtt", "iperf3")),
    "ping_exp": Needs(("iperf3",), ("iperf3",)),
    "aqm_flows": Needs(("iperf3",), ("irtt", "iperf3", "iperf3-flows")),
    "speedtest": Needs(("netperf", "netserver"), ("irtt", "iperf3", "netserver")),
    "rrul": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "rtt_fair": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "tcp_": Needs(("netperf", "netserver"), ("irtt", "netserver")),
}
# What isn't listed: any server may be the one.
_ALL = Needs((), ("irtt", "iperf3", "netserver", "ndt7-cleartext"))


def needs_of(test_name: str) -> Needs:
    """The entry of a test."""
    for beginning, needs in NEEDS.items():
        if test_name.startswith(beginning):
            return needs
    return _ALL
