# SPDX-License-Identifier: GPL-3.0-or-later
"""asyncio's connections, of which TLS keeps no more than cleartext does.

asyncio gives TLS 64 kB and more between itself and the socket, and no request can overtake what
waits there; and 256 kB to read into, for as long as the connection lasts.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from functools import partial

from flent_aqm.measure.http.unsent import stop_at_once


class _Tls(SSLProtocol):
    max_size = 1 << 15

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        stop_at_once(transport)
        super().connection_made(transport)


async def adopt(sock: socket.socket, protocol: asyncio.BaseProtocol,
                context: ssl.SSLContext | None, *, server_side: bool = False) -> None:
    """Give a connected socket to a protocol, after the handshake if there is a context. Raises
    OSError; the socket is the caller's to close then."""
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
        del make, transport, tls, shaken  # which a failure's traceback would keep until the next gc
