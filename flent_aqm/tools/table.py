# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the table of tools, and tables that follow from it: servers, programs, speed tests.

A core tool is added by a line in TOOLS, a part's tool in the PART of its __init__.py.
"""

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

# Tools that show numbers of their own.
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
    """Return the tool whose name the test's name begins with, that with the longest name if there
    are several. None if there is none. Tools without tests of their own are left out.

    test_name: name of the test definition.
    """
    tools = [tool for name, tool in TOOLS.items() if tool.has_test and test_name.startswith(name)]
    return max(tools, key=lambda tool: len(tool.name), default=None)


def port_variables(names: Collection[str]) -> dict[str, str]:
    """Return the port variables of servers for the lab's scripts: name of the variable -> ports,
    separated by blanks.

    names: names in SERVERS. Others are ignored.
    """
    return {variable: " ".join(map(str, ports))
            for name, server in SERVERS.items() if name in names
            for variable, ports in server.ports.items()}


def listening(names: Iterable[str]) -> str:
    """Return the ports on which servers have to listen, as words NAME:PROTOCOL:PORT, one for each
    port of each server, separated by blanks. Raises KeyError for an unknown name.

    names: names in SERVERS.
    """
    return " ".join(f"{name}:{SERVERS[name].protocol}:{port}"
                    for name in names for port in SERVERS[name].every_port)


def start_script(names: Iterable[str]) -> str:
    """Return the shell script that starts servers in the lab, in the order of `names`. Their
    commands run in the background, and print to the servers' logs. Raises KeyError for an unknown
    name.

    names: names in SERVERS.
    """
    lines: list[str] = []
    for server in (SERVERS[name] for name in names):
        log = server.log or f"/run/{server.name}.log"
        lines += [server.before] * bool(server.before)
        lines += [f"{_expand_serve(command)} >{log} 2>&1 &"
                  for command in server.start.splitlines()]
        lines += [server.after] * bool(server.after)
    return "".join(f"{line}\n" for line in lines)


def _expand_serve(command: str) -> str:
    """Return one of a server's commands for the shell. `serve …` becomes a call of this package's
    servers by the interpreter $PYTHON, any other command stays as it is."""
    first, _, rest = command.partition(" ")
    return f'"$PYTHON" -P -m flent_aqm.servers {rest}' if first == "serve" else command
