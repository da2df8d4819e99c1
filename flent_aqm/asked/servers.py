# SPDX-License-Identifier: GPL-3.0-or-later
"""Every server that runs can need: its ports, and what it takes to start it.

testbed/guest/serving.sh starts them by these names; a script finds each port in the variable of
that name, where the server is one of the run's. router_hooks/server.sh starts them behind ssh.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from flent_aqm.base import defaults


@dataclass(frozen=True)
class Server:
    """ports: variable -> the ports that it listens on; protocol: of all of them; program: of
    others, to be on PATH, module: a Python module that isn't everywhere; None for what this
    package brings. behind_ssh: server_testbed can start it. words: of a command in the lab that
    needs it, as it takes time to start; of the others none."""

    ports: Mapping[str, tuple[int, ...]]
    protocol: str = "tcp"
    program: str | None = None
    module: str | None = None
    behind_ssh: bool = True
    words: tuple[str, ...] = ()


_NDT7 = {"NDT7_PORT": (defaults.NDT7_PORT,)}
_NDT7_BOTH = {**_NDT7, "NDT7_TLS_PORT": (defaults.NDT7_TLS_PORT,)}
_SPEEDTEST = {"SPEEDTEST_PORT": (defaults.SPEEDTEST_PORT,)}
SERVERS: Mapping[str, Server] = {
    "iperf3": Server({"IPERF3_PORT": (defaults.IPERF3_PORT,),
                      "IPERF3_CROSS_PORT": (defaults.IPERF3_CROSS_PORT,)}, program="iperf3"),
    "iperf3-flows": Server({"IPERF3_FLOW_PORTS": defaults.IPERF3_FLOW_PORTS}, program="iperf3"),
    "irtt": Server({"IRTT_PORT": (defaults.IRTT_PORT,)}, "udp", program="irtt"),
    "netserver": Server({"NETPERF_PORT": (defaults.NETPERF_PORT,)}, program="netserver"),
    "ndt7": Server(_NDT7_BOTH),
    "ndt7-cleartext": Server(_NDT7),
    "ndt-server": Server(_NDT7_BOTH, program="ndt-server", behind_ssh=False),
    "ndt-server-cleartext": Server(_NDT7, program="ndt-server", behind_ssh=False),
    "speedtest-cleartext": Server(_SPEEDTEST),
    "speedtest": Server(
        {**_SPEEDTEST, "SPEEDTEST_TLS_PORT": (defaults.SPEEDTEST_TLS_PORT,)},
        words=("responsiveness", "goresponsiveness", "networkQuality", "librespeed", "cloudflare",
               "ookla_style", "speedtest", str(defaults.SPEEDTEST_PORT),
               str(defaults.SPEEDTEST_TLS_PORT))),
    "speedtest-http3": Server(
        {"SPEEDTEST_HTTP3_PORT": (defaults.SPEEDTEST_HTTP3_PORT,)}, "udp", module="aioquic",
        behind_ssh=False, words=("http_version=3",)),
    "nuttcp": Server({"NUTTCP_PORT": (defaults.NUTTCP_PORT,)}, program="nuttcp"),
    "iperf2": Server({"IPERF2_PORT": (defaults.IPERF2_PORT,)}, program="iperf"),
    "msak": Server({"MSAK_PORT": (defaults.MSAK_PORT,)}, program="msak-server", behind_ssh=False),
    "ethr": Server({"ETHR_PORT": (defaults.ETHR_PORT,)}, program="ethr", behind_ssh=False),
    "crusader": Server({"CRUSADER_PORT": (defaults.CRUSADER_PORT,)}, program="crusader",
                       behind_ssh=False),
    "webrtc": Server({"WEBRTC_PORT": (defaults.WEBRTC_PORT,)}, module="aiortc", behind_ssh=False,
                     words=("webrtc_call", str(defaults.WEBRTC_PORT))),
    "irtt-call": Server({"CALL_PORT": (defaults.CALL_PORT,)}, "udp", program="irtt"),
    "fetch": Server({"FETCH_PORT": (defaults.FETCH_PORT,)},
                    words=("video", "web", str(defaults.FETCH_PORT))),
    "quic": Server({"QUIC_PORT": (defaults.QUIC_PORT,)}, "udp", module="aioquic",
                   behind_ssh=False, words=("quic", str(defaults.QUIC_PORT))),
}


def port_variables(names: Collection[str]) -> dict[str, str]:
    """Return the variables of the servers of these names, blanks between several ports."""
    return {variable: " ".join(map(str, ports))
            for name, server in SERVERS.items() if name in names
            for variable, ports in server.ports.items()}


def ports_of(name: str) -> list[int]:
    """Return all that one server listens on."""
    return [port for ports in SERVERS[name].ports.values() for port in ports]


def listening(names: Iterable[str]) -> str:
    """Return what has to listen when they all run, as a script reads it: NAME:PROTOCOL:PORT …"""
    return " ".join(f"{name}:{SERVERS[name].protocol}:{port}"
                    for name in names for port in ports_of(name))
