# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens asyncio's connections with small TLS buffers, which keep no more data than cleartext does.

By default, asyncio's TLS has a write buffer of 64 kB and more, and no request can overtake the data
in it. Its read buffer takes 256 kB as long as the connection lasts.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from functools import partial

from flent_aqm.servers.protocols.watermarks import stop_at_once


class _Tls(SSLProtocol):
    """asyncio's TLS with a read buffer of 32 KiB. Writing is paused as soon as the kernel doesn't
    take all data, so that hardly any data wait in this process."""

    max_size = 1 << 15

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make the connection below TLS pause writing as soon as the kernel doesn't take all data.
        Then begin the handshake. Called by asyncio."""
        assert isinstance(transport, asyncio.Transport)
        stop_at_once(transport)
        super().connection_made(transport)


async def adopt(sock: socket.socket, protocol: asyncio.BaseProtocol,
                context: ssl.SSLContext | None, *, server_side: bool = False) -> None:
    """Give a connected socket to a protocol, after the TLS handshake if there is a context. The
    protocol's connection_made() is called.

    Args:
        sock: the connected socket.
        protocol: the protocol of asyncio.
        context: the TLS context. None for cleartext.
        server_side: True at the server's end.

    Raises OSError if the handshake fails. The caller then has to close the socket.
    """
    loop = asyncio.get_running_loop()
    if context is None:
        await loop.create_connection(lambda: protocol, sock=sock)
        return
    shaken = loop.create_future()
    make = partial(_Tls, loop, protocol, context, shaken, server_side=server_side)
    transport, tls = await loop.create_connection(make, sock=sock)
    try:
        await shaken
    except BaseException:
        transport.abort()
        raise
    finally:
        # The traceback of a failure would keep these alive until the next garbage collection.
        del make, transport, tls, shaken
