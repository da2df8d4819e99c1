# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test needs of the machine and of the server, by the beginning of its name."""

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
    """tools: programs of client and server; servers: those to start, of tools/table.py. A server
    that isn't started costs no time."""

    tools: tuple[str, ...]
    servers: tuple[str, ...]


# Tests of several tools, and Flent's.
NEEDS = {
    "ping_exp": Needs(("iperf3",), ("iperf3",)),
    "aqm_flows": Needs(("iperf3",), ("irtt", "iperf3", "iperf3-flows")),
    "speedtest": Needs(("netperf", "netserver"), ("irtt", "iperf3", "netserver")),
    "rrul": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "rtt_fair": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "tcp_": Needs(("netperf", "netserver"), ("irtt", "netserver")),
}
# What isn't listed: any server may be the one.
_ALL = Needs((), ("irtt", "iperf3", "netserver", "ndt7-cleartext"))


def needs_of_run(test_name: str, scenario: Scenario, parameters: Mapping[str, object]) -> Needs:
    """Return what one run needs, with all that its scenario and test parameters add."""
    needs = needs_of(test_name, parameters)
    if test_name.startswith("ndt7"):
        needs = _ndt7(needs, scenario, parameters)
    if kind := kind_of(scenario.hosts.cross_traffic):
        needs = replace(
            needs, servers=tuple(dict.fromkeys((*needs.servers, kind.server.name))),
            tools=(*needs.tools, *map(_name, kind.programs)))
    return needs


def refuse_servers_behind_ssh(needs: Needs, scenario: Scenario) -> None:
    """Raise ConfigError where server_testbed is to start what it can't."""
    for name in needs.servers if scenario.lab.server_testbed else ():
        if not SERVERS[name].behind_ssh:
            kind = kind_of(scenario.hosts.cross_traffic)
            asking = (f"ndt7_server: {scenario.hosts.ndt7_server}" if name.startswith("ndt-server")
                      else f"cross_traffic: {scenario.hosts.cross_traffic}"
                      if kind is not None and kind.server.name == name else
                      "http_version: 3" if name == "speedtest-http3" else "the test")
            raise ConfigError(f"{asking} needs a server that server_testbed can't start ({name}); "
                              "leave one of them out")


def _ndt7(needs: Needs, scenario: Scenario, parameters: Mapping[str, object]) -> Needs:
    """Return its client and server, of the maker asked for, in cleartext or not."""
    tls = bool(switch(parameters.get("ndt7_tls", "no")))
    client = defaults.MLAB_NDT7_CLIENT if parameters.get("ndt7_client") == "mlab" else "ndt7-client"
    return replace(
        needs,
        tools=(*(client if one == "ndt7-client" else one for one in needs.tools),
               *(("ndt-server",) if scenario.hosts.ndt7_server == "mlab" else ())),
        servers=("irtt", ndt7.SERVERS[scenario.hosts.ndt7_server, tls].name))


def needs_of(test_name: str, parameters: Mapping[str, object]) -> Needs:
    """Return what a test needs."""
    if tool := tool_of(test_name):
        server = tool.server_of(parameters)
        # A module that its server isn't without is the client's, too.
        tools = dict.fromkeys((*map(_name, tool.programs),
                               *((server.module,) if server.module else ())))
        return Needs(tuple(tools), ("irtt", server.name))
    for beginning, needs in NEEDS.items():
        if test_name.startswith(beginning):
            return needs
    return _ALL


def _name(program: Program | str) -> str:
    return program if isinstance(program, str) else program.name
