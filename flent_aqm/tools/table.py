# SPDX-License-Identifier: GPL-3.0-or-later
"""Every tool, and what follows from all of them: servers, optional programs, test parameters.

A tool is added by a line here, or in its part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from flent_aqm.base.part import load, parts
from flent_aqm.tools import call, fetching, iperf3, irtt, ndt7, netperf, own, quic
from flent_aqm.tools.tool import Program, Server, Tool

# In the order of the figure.
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (
    iperf3.TOOL,
    ndt7.TOOL,
    ndt7.BROWSER,
    *(load(place) for part in parts().values() for place in part.tools),
    netperf.TOOL,
    irtt.TOOL,
    call.TOOL,
    fetching.VIDEO,
    fetching.WEB,
    quic.TOOL,
    own.tool(),
)}

# Those that tell numbers of their own.
SPEED_TESTS: Mapping[str, Tool] = {name: tool for name, tool in TOOLS.items() if tool.numbers}
SERVERS: Mapping[str, Server] = {
    server.name: server for tool in TOOLS.values() for server in (tool.server, *tool.servers)}
# By the name that runs find them by.
PROGRAMS: Mapping[str, Program] = {
    program.name: program for tool in TOOLS.values()
    for program in (*tool.programs, *tool.sometimes) if isinstance(program, Program)}
# By what `flent-aqm setup --speedtests` calls them.
OPTIONAL: Mapping[str, Program] = {
    program.setup_name: program for program in PROGRAMS.values() if program.source}


def tool_of(test_name: str) -> Tool | None:
    """Return the tool of a test, None where the test is none's."""
    tools = [tool for name, tool in TOOLS.items() if tool.has_test and test_name.startswith(name)]
    return max(tools, key=lambda tool: len(tool.name), default=None)


def port_variables(names: Collection[str]) -> dict[str, str]:
    """Return the variables of the servers of these names, blanks between several ports."""
    return {variable: " ".join(map(str, ports))
            for name, server in SERVERS.items() if name in names
            for variable, ports in server.ports.items()}


def listening(names: Iterable[str]) -> str:
    """Return what has to listen when they all run, as a script reads it: NAME:PROTOCOL:PORT …"""
    return " ".join(f"{name}:{SERVERS[name].protocol}:{port}"
                    for name in names for port in SERVERS[name].every_port)


def start_script(names: Iterable[str]) -> str:
    """Return the lines of shell that start these servers in the lab."""
    lines: list[str] = []
    for server in (SERVERS[name] for name in names):
        log = server.log or f"/run/{server.name}.log"
        lines += [server.before] * bool(server.before)
        lines += [f"{_of_package(command)} >{log} 2>&1 &" for command in server.start.splitlines()]
        lines += [server.after] * bool(server.after)
    return "".join(f"{line}\n" for line in lines)


def _of_package(command: str) -> str:
    first, _, rest = command.partition(" ")
    return f'"$PYTHON" -P -m flent_aqm.measure.serve {rest}' if first == "serve" else command
