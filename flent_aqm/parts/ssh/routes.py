# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolve the addresses of client and server that the router will see."""

from __future__ import annotations

import errno
import socket

from flent_aqm.base.errors import ConfigError


def address_of(host: str, source: str) -> str:
    """Return the address of a host name that connections to it use, IPv4 or IPv6.

    Args:
        host: name or address.
        source: the batch key or option that names the host, for messages.

    Raises ConfigError if the name is empty or can't be resolved.
    """
    if not host:
        raise ConfigError(f"{source}: no server is named; give the name or address by which this "
                          "machine reaches it")
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)[0][4][0])
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{source}: no address is known for {host!r} ("
                          f"{getattr(error, 'strerror', None) or 'not a valid name'}); give the "
                          "name or address by which this machine reaches the server") from None


def own_address_towards(address: str, source: str) -> str:
    """Return this machine's source address for packets to this address. Nothing is sent.

    Args:
        address: IPv4 or IPv6 address.
        source: the batch key or option that names the host, for messages.

    Raises ConfigError if there is no route, or packets can't be sent there for another reason.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return str(probe.getsockname()[0])
    except OSError as error:
        what = ("this machine has no route" if error.errno in (errno.ENETUNREACH,
                                                               errno.EHOSTUNREACH)
                else "this machine can't send packets")
        raise ConfigError(f"{source}: {what} to {address}: {error.strerror}; check the address, "
                          f"and the routes with: ip route get {address}") from None
