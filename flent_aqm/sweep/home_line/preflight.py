# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks programs, server and ping host before a speed test loads the line."""

from __future__ import annotations

import socket

from flent_aqm.base import defaults
from flent_aqm.base.errors import CommandFailed, ConfigError, TestbedError, ToolMissing
from flent_aqm.base.shell import find_program, run

CONNECT_LIMIT_S = 10
PINGS = 4
PING_LIMIT_MS = 1000

_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


def check_tools() -> None:
    """Raise ToolMissing if netperf, or both fping and ping, are not installed."""
    if find_program("netperf") is None:
        raise ToolMissing("netperf is not installed; see flent-aqm doctor")
    if not (find_program("fping") or find_program("ping")):
        raise ToolMissing("neither fping nor ping is installed; see flent-aqm doctor")


def check_server(host: str, ip_version: int) -> None:
    """Check that a netperf server answers. Raises ConfigError if the name has no address of that IP
    version, TestbedError if no connection can be made."""
    address = _address(host, ip_version, "-H")
    try:
        socket.create_connection((address, defaults.NETPERF_PORT), CONNECT_LIMIT_S).close()
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else error.strerror
        raise TestbedError(
            f"-H: no netperf server at {host} (IPv{ip_version}, port {defaults.NETPERF_PORT}): "
            f"{why}; start netserver there, or name another host") from None


def check_ping(host: str, ip_version: int) -> None:
    """Check that a host answers pings. Raises ConfigError if the name has no address of that IP
    version, TestbedError if none of 4 pings is answered."""
    address = _address(host, ip_version, "-p")
    try:
        if find_program("fping"):
            run(["fping", f"-{ip_version}", "-q", "-r", str(PINGS - 1), "-B", "1",
                 "-t", str(PING_LIMIT_MS), address])
        else:
            run(["ping", f"-{ip_version}", "-q", "-c", str(PINGS), "-i", "0.2",
                 "-W", str(PING_LIMIT_MS // 1000), address])
    except CommandFailed:
        raise TestbedError(f"-p: {host} (IPv{ip_version}) doesn't answer pings; "
                           "name another host with -p") from None


def _address(host: str, ip_version: int, option: str) -> str:
    """Return an address of a host. option: the command-line option that named it, for the message.
    Raises ConfigError if it has no address of that IP version."""
    try:
        addresses = socket.getaddrinfo(host, None, _FAMILIES[ip_version], socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise ConfigError(f"{option}: {host!r} has no IPv{ip_version} address here; give "
                          f"another host, or -{10 - ip_version}") from None
    return str(addresses[0][4][0])
