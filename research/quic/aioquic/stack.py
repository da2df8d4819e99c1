# SPDX-License-Identifier: GPL-3.0-or-later
"""Bulk download over QUIC by aioquic.

    stack.py server PORT            serves every client until it is killed
    stack.py client HOST PORT S     downloads for S seconds, prints a line of JSON

The server sends zeros for the seconds that the client asks for, then a line of JSON with its own
smoothed round trips, which it reads every 10 ms.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
import sys
import tempfile
import time

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

ALPN = "bulk"
BLOCK = bytes(65536)
# Bytes that the server has ready beyond those that it has sent.
AHEAD_BYTES = 1 << 20
ROUND_TRIP_STEP_S = 0.01


class Server(QuicConnectionProtocol):
    """Server's end of a connection. The client sends a number of seconds as text on a stream,
    and ends its side. The server then does what send() describes: zeros for so long, and a line
    of JSON at the end."""

    def quic_event_received(self, event: QuicEvent) -> None:
        """Start send() as a task when the client has ended its side of a stream, for the number of
        seconds that the stream's last data has. Raises ValueError if it is no number. aioquic calls
        this method for each event of the connection."""
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self.sending = asyncio.ensure_future(self.send(event.stream_id, float(event.data)))

    async def send(self, stream: int, seconds: float) -> None:
        """Send zeros for some seconds, then a line of JSON with the median (`rtt_median_ms`) and
        the 99th percentile (`rtt_p99_ms`) of the smoothed round trips in ms, and end the stream.
        The coroutine ends when all is handed to aioquic, which may have to send part of it later.

        Args:
            stream: number of the stream.
            seconds: how long to send, above 0.
        """
        trips_ms = []
        end_s = time.monotonic() + seconds
        sender = self._quic._streams[stream].sender
        while time.monotonic() < end_s:
            while sender._buffer_stop - sender._buffer_start < AHEAD_BYTES:
                self._quic.send_stream_data(stream, BLOCK)
            self.transmit()
            await asyncio.sleep(ROUND_TRIP_STEP_S)
            trips_ms.append(self._quic._loss._rtt_smoothed * 1000)
        self._quic.send_stream_data(
            stream, b"\n" + json.dumps(percentiles(trips_ms)).encode(), end_stream=True)
        self.transmit()


def percentiles(trips_ms: list[float]) -> dict[str, float]:
    """Return median (`rtt_median_ms`) and 99th percentile (`rtt_p99_ms`) of round trips in ms, of
    which there is at least one, rounded to 0.001 ms."""
    ordered = sorted(trips_ms)
    return {"rtt_median_ms": round(ordered[len(ordered) // 2], 3),
            "rtt_p99_ms": round(ordered[len(ordered) * 99 // 100], 3)}


class Client(QuicConnectionProtocol):
    """Client's end of a connection: counts the bytes that arrive.

    Attributes:
        count: number of bytes that arrived, with the last line.
        tail: the last 300 bytes, which hold the server's line of JSON.
        ended: future that is done when the server has ended the stream, and fails with a
            ConnectionError if the connection ends before. The caller assigns it before it sends the
            request.
    """

    count = 0
    tail = b""
    ended: asyncio.Future[None]

    def quic_event_received(self, event: QuicEvent) -> None:
        """Count the bytes that arrive and keep the last ones in `tail`. Finish `ended` when the
        server has ended the stream, or with a ConnectionError if the connection ends before.
        aioquic calls this method for each event of the connection."""
        if isinstance(event, StreamDataReceived):
            self.count += len(event.data)
            self.tail = (self.tail + event.data)[-300:]
            if event.end_stream:
                self.ended.set_result(None)
        elif isinstance(event, ConnectionTerminated) and not self.ended.done():
            self.ended.set_exception(ConnectionError(
                f"the connection ended before the download did: {event.reason_phrase or 'idle'}"))


async def run_client(host: str, port: int, seconds: str) -> None:
    """Download for `seconds`, a number as text, and print a line of JSON: `download_mbps` in
    Mbit/s, from the request to the end of the stream, and the server's round trips in ms,
    `rtt_median_ms` and `rtt_p99_ms`. The server's certificate isn't verified. Raises
    ConnectionError if the server can't be reached, or the connection ends before the download,
    another OSError if there is no such host."""
    configuration = QuicConfiguration(alpn_protocols=[ALPN], verify_mode=ssl.CERT_NONE,
                                      max_data=1 << 26, max_stream_data=1 << 26)
    async with connect(host, port, configuration=configuration,
                       create_protocol=Client) as connection:
        connection.ended = asyncio.get_running_loop().create_future()
        begin_s = time.monotonic()
        connection._quic.send_stream_data(0, seconds.encode(), end_stream=True)
        connection.transmit()
        await connection.ended
        took_s = time.monotonic() - begin_s
        print(json.dumps({"download_mbps": round(connection.count * 8e-6 / took_s, 3),
                          **json.loads(connection.tail.rpartition(b"\n")[2])}))


async def run_server(port: int) -> None:
    """Serve clients at a UDP port of all IPv4 addresses, until killed, with a self-signed
    certificate that is made now. Raises OSError if the port is in use."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=[ALPN])
    with tempfile.NamedTemporaryFile() as certificate, tempfile.NamedTemporaryFile() as key:
        write_certificate(certificate.name, key.name)
        configuration.load_cert_chain(certificate.name, key.name)
    await serve("0.0.0.0", port, configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


def write_certificate(certificate: str, key: str) -> None:
    """Write a self-signed certificate, which is valid for a day, and its key, which isn't
    encrypted. Existing files are overwritten.

    Args:
        certificate: path of the certificate's file, PEM.
        key: path of the key's file, PEM.
    """
    private = ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
              .public_key(private.public_key()).serial_number(x509.random_serial_number())
              .not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
              .sign(private, None))
    with open(certificate, "wb") as file:
        file.write(signed.public_bytes(serialization.Encoding.PEM))
    with open(key, "wb") as file:
        file.write(private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))


if __name__ == "__main__":
    if sys.argv[1] == "server":
        asyncio.run(run_server(int(sys.argv[2])))
    else:
        asyncio.run(run_client(sys.argv[2], int(sys.argv[3]), sys.argv[4]))
