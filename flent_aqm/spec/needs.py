# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs and servers that a test needs, by the beginning of its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import switch
from flent_aqm.spec.cross_traffic import kind_of
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools import ndt7
from flent_aqm.tools.table import SERVERS, tool_of
from flent_aqm.tools.tool import Program


@dataclass(frozen=True)
class Needs:
    """Requirements of a test."""

    # Names of programs and Python modules, of client and server.
    tools: tuple[str, ...]
    # Names of the servers to start, in tools/table.py. Servers that aren't needed aren't started,
    # because each costs time.
    servers: tuple[str, ...]


# Beginning of a test's name -> requirements, for tests of several tools and Flent's own tests.
NEEDS = {
    "ping_exp": Needs(("iperf3",), ("iperf3",)),
    "aqm_flows": Needs(("iperf3",), ("irtt", "iperf3", "iperf3-flows")),
    "speedtest": Needs(("netperf", "netserver"), ("irtt", "iperf3", "netserver")),
    "rrul": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "rtt_fair": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "tcp_": Needs(("netperf", "netserver"), ("irtt", "netserver")),
}
# Requirements of unknown tests, which may use any of these servers.
_ALL = Needs((), ("irtt", "iperf3", "netserver", "ndt7-cleartext"))


def needs_of_run(test_name: str, scenario: Scenario, parameters: Mapping[str, object]) -> Needs:
    """Return the requirements of one run, including those of its scenario and test parameters."""
    needs = needs_of(test_name, parameters)
    if test_name.startswith("ndt7"):
        needs = _ndt7(needs, scenario, parameters)
    if kind := kind_of(scenario.hosts.cross_traffic):
        needs = replace(
            needs, servers=tuple(dict.fromkeys((*needs.servers, kind.server.name))),
            tools=(*needs.tools, *map(_name, kind.programs)))
    return needs


def refuse_servers_behind_ssh(needs: Needs, scenario: Scenario) -> None:
    """Raise ConfigError if server_testbed would have to start a server that it can't start."""
    for name in needs.servers if scenario.lab.server_testbed else ():
        if not SERVERS[name].behind_ssh:
            kind = kind_of(scenario.hosts.cross_traffic)
            asking = (f"ndt7_server: {scenario.hosts.ndt7_server}" if name.startswith("ndt-server")
                      else f"cross_traffic: {scenario.hosts.cross_traffic}"
                      if kind is not None and kind.server.name == name else
                      "http_version: 3" if name == "speedtest-http3" else "the test")
            raise ConfigError(f"{asking} needs the server {name}, which flent-aqm can't start on "
                              "server_testbed; start it by hand and leave server_testbed out, or "
                              "choose another test")


def _ndt7(needs: Needs, scenario: Scenario, parameters: Mapping[str, object]) -> Needs:
    """Return the requirements of an NDT7 test with the requested client and server, with or without
    TLS."""
    tls = bool(switch(parameters.get("ndt7_tls", "no")))
    client = defaults.MLAB_NDT7_CLIENT if parameters.get("ndt7_client") == "mlab" else "ndt7-client"
    return replace(
        needs,
        tools=(*(client if one == "ndt7-client" else one for one in needs.tools),
               *(("ndt-server",) if scenario.hosts.ndt7_server == "mlab" else ())),
        servers=("irtt", ndt7.SERVERS[scenario.hosts.ndt7_server, tls].name))


def needs_of(test_name: str, parameters: Mapping[str, object]) -> Needs:
    """Return the requirements of a test with these test parameters."""
    if tool := tool_of(test_name):
        server = tool.server_of(parameters)
        # The client needs the server's Python module as well.
        tools = dict.fromkeys((*map(_name, tool.programs),
                               *((server.module,) if server.module else ())))
        return Needs(tuple(tools), ("irtt", server.name))
    for beginning, needs in NEEDS.items():
        if test_name.startswith(beginning):
            return needs
    return _ALL


def _name(program: Program | str) -> str:
    """Return the name of a program."""
    return program if isinstance(program, str) else program.name
