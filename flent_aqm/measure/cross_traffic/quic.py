# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads or serves bulk data over QUIC, as cross traffic. Needs aioquic.

Objects are requested several ahead, so that the server always has data to send.

    python -m flent_aqm.measure.cross_traffic.quic HOST PORT        runs the client
    python -m flent_aqm.measure.cross_traffic.quic [PORT]           runs the server

The server uses aioquic's Cubic.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived

from flent_aqm.base.defaults import ED25519, QUIC_PORT
from flent_aqm.measure.cross_traffic.client import ResultPrinter, run
from flent_aqm.servers.certificate import self_signed_pem

ALPN = ["flent-aqm-bulk"]
OBJECT_BYTES = 1_000_000
# Number of objects that are requested ahead. They have 4 MB, which a link of 1 Gbit/s sends in 32
# ms.
AHEAD = 4
_OBJECT = bytes(OBJECT_BYTES)


class Sender(QuicConnectionProtocol):
    """The server's end of a connection. It sends an object of OBJECT_BYTES on each stream that the
    client has opened, once the client's request on it is complete."""

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, _OBJECT, end_stream=True)
            self.transmit()


class Receiver(QuicConnectionProtocol):
    """The client's end of a connection. The caller requests the first objects. Whenever one is
    complete, another one is requested, so that as many stay outstanding.

    Attributes:
        printer: counts the received bytes. It is set on the class before the first connection,
            because aioquic makes the objects.
        is_connected: whether a connection was made. It is set on the class.
    """

    printer: ResultPrinter
    is_connected = False

    def request_object(self) -> None:
        """Request another object."""
        self._quic.send_stream_data(self._quic.get_next_available_stream_id(), b"\n",
                                    end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived):
            self.printer.count_bytes(len(event.data))
            if event.end_stream:
                self.request_object()


def download(host: str, port: int, printer: ResultPrinter) -> None:
    """Download objects until KeyboardInterrupt, which is passed on to the caller. `printer` counts
    the received bytes. Return if the connection ends, also by a timeout. Raises OSError if no
    connection can be made, also if there is none until KeyboardInterrupt."""
    Receiver.printer = printer
    # It would print the exception of a connection that is given up.
    logging.getLogger("asyncio").disabled = True
    try:
        asyncio.run(_download(host, port))
    except KeyboardInterrupt:
        if Receiver.is_connected:
            raise
        raise ConnectionError("no answer by QUIC; is the server started?") from None


async def _download(host: str, port: int) -> None:
    """Download objects until the connection ends, with AHEAD requests outstanding. Receiver.printer
    has to be set before. Raises OSError if no connection can be made."""
    configuration = QuicConfiguration(alpn_protocols=ALPN, verify_mode=ssl.CERT_NONE,
                                      max_data=1 << 26, max_stream_data=1 << 23)
    async with connect(host, port, configuration=configuration,
                       create_protocol=Receiver) as connection:
        assert isinstance(connection, Receiver)
        Receiver.is_connected = True
        for _ in range(AHEAD):
            connection.request_object()
        await connection.wait_closed()


async def _serve(port: int) -> None:
    """Serve objects on this UDP port of all addresses, for ever, with a new self-signed
    certificate. Raises OSError if the port can't be used."""
    configuration = QuicConfiguration(alpn_protocols=ALPN, is_client=False,
                                      congestion_control_algorithm="cubic")
    with NamedTemporaryFile() as file:
        Path(file.name).write_bytes(self_signed_pem({"server"}, ED25519))
        configuration.load_cert_chain(file.name, file.name)
    await serve("::", port, configuration=configuration, create_protocol=Sender)
    await asyncio.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(run(download))
    asyncio.run(_serve(int(sys.argv[1]) if len(sys.argv) > 1 else QUIC_PORT))
