# SPDX-License-Identifier: GPL-3.0-or-later
"""Check which of the servers that tests need can be reached, before a sweep changes anything."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from flent_aqm.base.errors import CommandFailed, TestbedError, cause_of
from flent_aqm.base.shell import run
from flent_aqm.base.words import bracketed
from flent_aqm.setup.tools import find_tool
from flent_aqm.tools.irtt import SERVER as IRTT
from flent_aqm.tools.own import UNSET
from flent_aqm.tools.table import SERVERS, TOOLS
from flent_aqm.tools.tool import Server

LIMIT_S = 2.0
_AT_ONCE = 16
# What may keep a machine from answering, for a message.
CHECK_REACH = "that the machine is on, the route to it, and its firewall"
# A port that refuses connections.
_CLOSED = " closed"
# Parts of a server's start command that only the lab's shell understands -> replacement for other
# shells.
_OF_THE_LAB = ((r" --\S+ \$\{[^}]*\}", ""), (r"^env -u \S+ ", ""), (r'"\$PYTHON" -P', "python3"),
               ("^serve ", "flent-aqm serve "), (r" &$", ""))


@dataclass(frozen=True)
class ServerAnswer:
    """Result of the check of one server.

    Attributes:
        server: name of the server.
        tests: names of the tools (tests, loads, cross traffic) whose usual server it is, without
            a direction at their end. Empty for irtt's server, which the probe of all tests needs.
        why: the first port that can't be reached and its fault, such as "5201 closed", or why the
            check can't be made. "" if all ports of the server can be reached.
        start: command that starts it on its machine.
        ports: ports on which it listens.
        found: whether a machine answered: irtt's server, or a port that accepted or refused the
            connection. False if that port comes after one with another fault.
    """

    server: str
    tests: Sequence[str]
    why: str
    start: str
    ports: frozenset[int] = frozenset()
    found: bool = False


def answers(address: str) -> list[ServerAnswer]:
    """Check at this address the usual server of each test and load, up to 16 at the same time, and
    irtt's by a probe. Return a ServerAnswer for each, irtt's first. Other servers that are reached
    by UDP only are left out, and those that tests need only with certain settings, and the server
    of the user's own test while that is not defined. Raises ToolMissing if irtt can't be started.
    """
    tests: dict[str, list[str]] = {IRTT.name: []}
    servers: dict[str, Server] = {IRTT.name: IRTT}
    for tool in TOOLS.values():
        # A test that the user defines has no server until its file exists.
        if tool.server.protocol == "tcp" and tool is not UNSET:
            servers[tool.server.name] = tool.server
            tests.setdefault(tool.server.name, []).append(tool.name)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        results = pool.map(lambda one: _check_ports(one, address), servers.values())
        return [ServerAnswer(name, tests[name], why, _start_command(server),
                             frozenset(server.every_port), found)
                for (name, server), (why, found) in zip(servers.items(), results, strict=True)]


def server_testbed(host: str) -> str:
    """Return "server_testbed=ssh://root@HOST", the setting for --batch-override with which a sweep
    starts the servers on `host` itself, as root over ssh. An IPv6 address is put in brackets."""
    return f"server_testbed=ssh://root@{bracketed(host)}"


def is_there(server_answers: Sequence[ServerAnswer]) -> bool:
    """Return whether any check found a machine, see ServerAnswer.found. If none did, the address
    may be wrong."""
    return any(one.found for one in server_answers)


def refuse_unreachable(names: Collection[str], address: str, host: str, testbed: str) -> None:
    """Raise TestbedError with the first server that can't be reached at any of its ports, and what
    to do: iperf3's listens on two, of which most tests need one. Servers that are reached by UDP
    only, such as irtt's, are not checked.

    Args:
        names: names of servers that a sweep needs and doesn't start itself.
        address: IP address of their machine.
        host: the machine as the user named it.
        testbed: address of the router, for the message.
    """
    servers = [SERVERS[name] for name in sorted(names) if SERVERS[name].protocol == "tcp"]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = pool.map(
            lambda one: [_check_port(port, address) for port in one.every_port], servers)
        for server, faults in zip(servers, reasons, strict=True):
            if all(faults):
                # A port that refuses shows that the machine is there.
                why = next((fault for fault in faults if fault.endswith(_CLOSED)), faults[0])
                by_sweep = (f", or let the sweep start it with {server_testbed(host)}"
                            if server.behind_ssh else "")
                mend = (f"start it there (or, if it runs, let firewalls accept the port), name its "
                        f"machine with hosts{by_sweep}; flent-aqm doctor --testbed {testbed} "
                        f"--server {host} says how to start it"
                        if why.endswith(_CLOSED) else
                        f"check its address in hosts, {CHECK_REACH}")
                raise TestbedError(f"hosts: the server {server.name} does not answer on {host} "
                                   f"({why}), and the runs need it; {mend}")


def _check_ports(server: Server, address: str) -> tuple[str, bool]:
    """Return why a server can't be reached, "" if it can, and whether a machine was found, see
    ServerAnswer.found. Of irtt, the reason is why it can't be probed, such as "UDP 2112: no valid
    response". Otherwise it is the first TCP port with a fault, such as "5201 closed" (it refuses
    connections), "5201 silent" (no answer within 2 s) or "5201: No route to host". Later ports are
    not tried. Raises ToolMissing if irtt can't be started."""
    if server is IRTT:
        why = irtt_answer(address)
        return why, not why
    for number, port in enumerate(server.every_port):
        if why := _check_port(port, address):
            return why, number > 0 or why.endswith(_CLOSED)
    return "", True


def _check_port(port: int, address: str) -> str:
    """Return why a TCP port can't be reached, as _check_ports() does, "" if it can."""
    try:
        socket.create_connection((address, port), LIMIT_S).close()
    except TimeoutError:
        return f"{port} silent"
    except ConnectionRefusedError:
        return f"{port}{_CLOSED}"
    except OSError as error:
        return f"{port}: {cause_of(error)}"
    return ""


def irtt_answer(address: str) -> str:
    """Probe irtt's server at this address. Return "" if it responds, otherwise the reason: irtt
    isn't installed here, or "no valid response" for any failure of its client. Raises ToolMissing
    if the irtt that was found can't be started."""
    program = find_tool("irtt")  # the irtt that a sweep would use
    if program is None:
        return "irtt is not installed here; run: flent-aqm setup"
    try:
        run([program, "client", "-n", f"--timeouts={LIMIT_S / 2:g}s,{LIMIT_S / 2:g}s",
             f"{bracketed(address)}:{IRTT.port}"])
    except CommandFailed:
        return f"UDP {IRTT.port}: no valid response"
    return ""


def _start_command(server: Server) -> str:
    """Return the shell command with which the user can start the server on another machine: the
    lab's start commands without the lab's options and variables. Several are joined by " & ". It is
    displayed, not run."""
    lines = server.start.splitlines()
    for seen, instead in _OF_THE_LAB:
        lines = [re.sub(seen, instead, line) for line in lines]
    return " & ".join(lines)
