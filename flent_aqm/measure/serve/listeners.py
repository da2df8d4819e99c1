# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens the server's listening sockets."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence

from flent_aqm.base.errors import ConfigError

# One socket for each family, so that an IPv4 client has its IPv4 address.
EVERYWHERE = ("0.0.0.0", "::")
_BACKLOG = 1024


def listen(addresses: Sequence[str], port: int, option: str) -> list[socket.socket]:
    """Return listening sockets on these addresses, or on all of this machine if there are none.

    Args:
        addresses: addresses to listen on.
        port: port of all sockets. 0 for any free port, the same for all addresses.
        option: name of the option for the port, for messages.

    Raises:
        ConfigError: if a socket can't be opened.
    """
    sockets: list[socket.socket] = []
    try:
        for address in addresses or EVERYWHERE:
            try:
                sockets.append(_listen(address, port))
            except OSError as error:
                if not addresses and error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                    continue  # a machine without one of the two families
                raise ConfigError(
                    f"cannot listen on {address} port {port}: {error.strerror}; "
                    f"choose others with --bind, {option}"
                ) from None
            port = port or sockets[0].getsockname()[1]
    except ConfigError:
        for sock in sockets:
            sock.close()
        raise
    if not sockets:
        raise ConfigError("cannot listen: this machine has neither IPv4 nor IPv6")
    return sockets


def _listen(address: str, port: int) -> socket.socket:
    """Return a listening socket on one address. Raises OSError."""
    family, kind, protocol, _, name = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(name)
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock
