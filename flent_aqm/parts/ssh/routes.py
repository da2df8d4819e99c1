# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of client and server, as the router will see them."""

from __future__ import annotations

import socket

from flent_aqm.base.errors import ConfigError


def address_of(host: str) -> str:
    """Return the first address of a host name, IPv4 or IPv6, as connections to it take.

    Raises ConfigError for a name that has none.
    """
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)[0][4][0])
    except (OSError, UnicodeError):
        raise ConfigError(f"hosts: {host!r} has no address; "
                          "name the server as the client reaches it") from None


def own_address_towards(address: str) -> str:
    """Return the address that this machine sends from when it sends there. Sends nothing.

    Raises ConfigError where there is no route.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return str(probe.getsockname()[0])
    except OSError as error:
        raise ConfigError(f"hosts: this machine has no route to {address}: "
                          f"{error.strerror}") from None
