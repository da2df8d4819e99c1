# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolve the addresses of client and server that the router will see."""

from __future__ import annotations

import socket

from flent_aqm.base.errors import ConfigError


def address_of(host: str) -> str:
    """Return the address of a host name that connections to it use, IPv4 or IPv6.

    Raises ConfigError if the name can't be resolved.
    """
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)[0][4][0])
    except (OSError, UnicodeError):
        raise ConfigError(f"hosts: no address is known for {host!r}; "
                          "name the server as the client reaches it") from None


def own_address_towards(address: str) -> str:
    """Return this machine's source address for packets to this address. Nothing is sent.

    Raises ConfigError if there is no route.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return str(probe.getsockname()[0])
    except OSError as error:
        raise ConfigError(f"hosts: this machine has no route to {address}: "
                          f"{error.strerror}") from None
