# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the servers that tests need answer, asked before a sweep loads anything."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from flent_aqm.base.errors import CommandFailed
from flent_aqm.base.shell import run
from flent_aqm.setup.tools import find_tool
from flent_aqm.tools.irtt import SERVER as IRTT
from flent_aqm.tools.own import UNSET
from flent_aqm.tools.table import TOOLS
from flent_aqm.tools.tool import Server

LIMIT_S = 2.0
_AT_ONCE = 16
# What only the lab's shell fills in, or needs -> in words for any other.
_OF_THE_LAB = ((r" --\S+ \$\{[^}]*\}", ""), (r"^env -u \S+ ", ""), (r'"\$PYTHON" -P', "python3"),
               ("^serve ", "flent-aqm serve "), (r" &$", ""))


@dataclass(frozen=True)
class Answer:
    """Of a server. tests: names that tests of it begin with; why: of no answer, the port and what
    it did, "" if there was one;
    start: command that starts it on its machine."""

    server: str
    tests: Sequence[str]
    why: str
    start: str


def answers(address: str) -> list[Answer]:
    """Ask all servers at an address; those that only QUIC reaches aren't asked."""
    tests: dict[str, list[str]] = {IRTT.name: []}
    servers: dict[str, Server] = {IRTT.name: IRTT}
    for tool in TOOLS.values():
        # A test of the user's has no server before there is a file of it.
        if tool.server.protocol == "tcp" and tool is not UNSET:
            servers[tool.server.name] = tool.server
            tests.setdefault(tool.server.name, []).append(tool.name)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = pool.map(lambda one: _why(one, address), servers.values())
        return [Answer(name, tests[name], why, _start(server))
                for (name, server), why in zip(servers.items(), reasons, strict=True)]


def _why(server: Server, address: str) -> str:
    if server is IRTT:
        return irtt_answer(address)
    for port in server.every_port:
        try:
            socket.create_connection((address, port), LIMIT_S).close()
        except TimeoutError:
            return f"{port} silent"
        except ConnectionRefusedError:
            return f"{port} closed"
        except OSError as error:
            return f"{port}: {error.strerror or error}"
    return ""


def irtt_answer(address: str) -> str:
    """Return why irtt's server at an address doesn't answer, "" if it does."""
    program = find_tool("irtt")  # where a sweep finds it, too
    if program is None:
        return "irtt is not installed here; run: flent-aqm setup"
    host = f"[{address}]" if ":" in address else address
    try:
        run([program, "client", "-n", f"--timeouts={LIMIT_S / 2:g}s,{LIMIT_S / 2:g}s",
             f"{host}:{IRTT.port}"])
    except CommandFailed:
        return f"UDP {IRTT.port} silent"
    return ""


def _start(server: Server) -> str:
    lines = server.start.splitlines()
    for seen, instead in _OF_THE_LAB:
        lines = [re.sub(seen, instead, line) for line in lines]
    return " & ".join(lines)
