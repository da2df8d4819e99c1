# SPDX-License-Identifier: GPL-3.0-or-later
"""One connection of a client, from accept to close, on a thread of its own."""

from __future__ import annotations

import socket
import time
import traceback
from typing import TYPE_CHECKING

from websockets.frames import CloseCode

from flent_aqm.measure.ndt7.buffers import set_receive_timeout
from flent_aqm.measure.ndt7.download import Download
from flent_aqm.measure.ndt7.frames import Violation, close_frame
from flent_aqm.measure.ndt7.handshake import Refused, Upgrade, upgrade
from flent_aqm.measure.ndt7.session import ClientClosed, ClientGone, Session, set_no_delay
from flent_aqm.measure.ndt7.spec import CUT_OFF_AFTER_END_S
from flent_aqm.measure.ndt7.tcp_info import socket_cookie, use_congestion_control
from flent_aqm.measure.ndt7.transport import PlainTransport, Transport
from flent_aqm.measure.ndt7.upload import Upload
from flent_aqm.measure.serve.log import log

if TYPE_CHECKING:
    from flent_aqm.measure.ndt7.spec import Settings
    from flent_aqm.measure.serve.acceptor import Client

# How long a client that was refused has for reading why.
_LINGER_S = 1.0


def serve(client: Client, settings: Settings, uuid_prefix: str) -> None:
    """Run the test that a client asks for. Ends with a log line; raises nothing."""
    try:
        transport = _open(client)
        try:
            _test(client, transport, settings, uuid_prefix)
        finally:
            transport.close()
    except Refused as refusal:
        log("refused", client=client.address, status=refusal.status, reason=refusal.reason)
    except OSError as error:
        log("failed", client=client.address, reason=_in_words(client, error))
    except Exception:
        # A defect of ours must neither be silent nor end the tests of others.
        log("defect", client=client.address, traceback=traceback.format_exc())
    finally:
        client.sock.close()


def _open(client: Client) -> Transport:
    set_no_delay(client.sock)
    if client.tls is None:
        return PlainTransport(client.sock)
    # ssl is needed by servers with TLS alone.
    from flent_aqm.measure.ndt7.tls import TlsTransport

    # OpenSSL takes 100 kB for a connection: only for one that says something.
    client.sock.recv(1, socket.MSG_PEEK)
    transport = TlsTransport(client.sock, client.tls())
    transport.handshake()
    client.in_handshake = False
    return transport


def _test(client: Client, transport: Transport, settings: Settings, uuid_prefix: str) -> None:
    # From the beginning, so that the kernel needn't change it on a live connection.
    congestion_control = use_congestion_control(client.sock, settings.congestion_control)
    try:
        requested = upgrade(transport)
    except Refused:
        _linger(transport)
        raise
    uuid = f"{uuid_prefix}_{socket_cookie(client.sock):016X}"
    session = Session(transport, requested.test, _connection_info(client, uuid), settings)
    client.deadline_s = time.monotonic() + settings.duration_s + CUT_OFF_AFTER_END_S
    load = (Download(session, requested.enough_bytes) if requested.test == "download"
            else Upload(session))
    outcome = _outcome(client, session, load, requested)
    log(
        "test",
        test=requested.test,
        uuid=uuid,
        client=client.address,
        server=client.server_address,
        tls=client.tls is not None,
        congestion_control=congestion_control,
        bytes=load.bytes,
        seconds=round(session.measured_s or session.elapsed_s(), 6),
        outcome=outcome,
        client_metadata=requested.client_metadata,
        client_measurements=session.client_texts.measurements,
        last_client_measurement=session.client_texts.last,
        unreadable_texts=session.client_texts.unreadable,
        ignored_texts=session.client_texts.ignored,
    )


def _outcome(client: Client, session: Session, load: Download | Upload, requested: Upgrade) -> str:
    """Run the test; how it ended, in words."""
    transport = session.transport
    try:
        if requested.early:
            session.take(memoryview(requested.early))
        load.run()
    except ClientClosed:
        _try_to_send(transport, close_frame(CloseCode.NORMAL_CLOSURE, ""))
        return "closed by the client"
    except Violation as violation:
        _try_to_send(transport, close_frame(violation.code, violation.reason))
        _linger(transport)
        return f"protocol violation: {violation.reason}"
    except (ClientGone, OSError) as error:
        return f"connection lost: {_in_words(client, error)}"
    return "complete"


def _connection_info(client: Client, uuid: str) -> dict[str, str]:
    now_s = time.time()
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s))
    return {
        "Client": client.address,
        "Server": client.server_address,
        "UUID": uuid,
        "StartTime": f"{start}.{int(now_s % 1 * 1_000_000):06d}Z",
    }


def _try_to_send(transport: Transport, data: bytes) -> None:
    try:
        transport.send(data)
    except OSError:
        pass  # the client is gone: nobody is left to tell


def _linger(transport: Transport) -> None:
    """Let the client read our last words before the connection closes.

    Closing a socket with unread data in it resets the connection, and what was sent last
    is lost.
    """
    sock = transport.sock
    try:
        sock.shutdown(socket.SHUT_WR)
        set_receive_timeout(sock, _LINGER_S)
        while sock.recv(1 << 16):
            pass
    except OSError:
        pass  # the time is over, or the client left; either will do


def _in_words(client: Client, error: Exception) -> str:
    """Return why it failed; what the watchdog did explains more than the error that followed."""
    return client.cut_off or str(error) or type(error).__name__
