# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the programs and servers that a run needs, from its test, scenario and cross traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.cross_traffic import kind_of
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.table import SERVERS, TOOLS, tool_of


@dataclass(frozen=True)
class Needs:
    """Requirements of a test.

    Attributes:
        tools: names of programs and Python modules that client and server need.
        servers: names in tools/table.SERVERS of the servers to start. Others aren't started,
            because each costs time.
        is_known: False if the test is unknown, and may need some of the servers or none.
    """

    tools: tuple[str, ...]
    servers: tuple[str, ...]
    is_known: bool = True


# Requirements of unknown tests, which may use any of these servers.
_OF_UNKNOWN_TESTS = Needs((), ("irtt", "iperf3", "netserver", "ndt7-cleartext"),
                           is_known=False)


def needs_of_run(test_name: str, scenario: Scenario, parameters: Mapping[str, object]) -> Needs:
    """Return the requirements of one run: those of its test, then the programs and the server of
    its cross traffic, if it has any. No server is listed twice.

    Args:
        test_name: name of the test definition.
        scenario: the run's scenario, which has the cross traffic and the kind of NDT7 server.
        parameters: the run's test parameters.
    """
    needs = _needs_of_test(
        test_name, {**parameters, "ndt7_server": scenario.hosts.ndt7_server})
    if kind := kind_of(scenario.hosts.cross_traffic):
        needs = replace(needs, tools=(*needs.tools, *kind.program_names({})),
                        servers=tuple(dict.fromkeys((*needs.servers, kind.server.name))))
    return needs


def refuse_servers_behind_ssh(needs: Needs, scenario: Scenario) -> None:
    """Raise ConfigError if the key server_testbed is given, but flent-aqm can't start one of the
    needed servers on another machine. The message names the first such server, and what asks for
    it."""
    for name in needs.servers if scenario.lab.server_testbed else ():
        if not SERVERS[name].behind_ssh:
            kind = kind_of(scenario.hosts.cross_traffic)
            key, value = (
                ("ndt7_server", scenario.hosts.ndt7_server) if name.startswith("ndt-server") else
                ("cross_traffic", scenario.hosts.cross_traffic)
                if kind is not None and kind.server.name == name else
                ("http_version", "3") if name == "speedtest-http3" else ("", ""))
            asking = f"{key}: {value}" if key else "the test"
            raise ConfigError(f"{asking} needs the server {name}, which flent-aqm can't start on "
                              "server_testbed; start it by hand and leave server_testbed out, or "
                              f"choose another {key or 'test'}")


def _needs_of_test(test_name: str, settings: Mapping[str, object]) -> Needs:
    """Return the requirements of a test without its cross traffic. For a test that isn't in the
    tools' table, they are the common servers, of which it may need any, and no tools; `is_known` is
    then False.

    settings: the test parameters, and the key `ndt7_server`.
    """
    if tool := tool_of(test_name):
        server = tool.server_of(settings)
        # The client needs the server's Python module as well.
        tools = dict.fromkeys((*tool.program_names(settings),
                               *((server.module,) if server.module else ())))
        return Needs(tuple(tools), ("irtt", server.name))
    for tool in TOOLS.values():
        for tests in tool.other_tests:
            if test_name.startswith(tests.prefix):
                return Needs(tool.program_names(settings),
                             tuple(server.name for server in tests.servers))
    return _OF_UNKNOWN_TESTS
