# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles one connection of a client, from accept to close, in a thread."""

from __future__ import annotations

import socket
import time
import traceback
from typing import TYPE_CHECKING

from websockets.frames import CloseCode

from flent_aqm.servers.log import log
from flent_aqm.servers.ndt7.session import (
    ClientClosed,
    ClientGone,
    DownloadSender,
    Session,
    Upload,
    set_no_delay,
)
from flent_aqm.servers.ndt7.spec import CUT_OFF_AFTER_END_S
from flent_aqm.servers.ndt7.tcp import set_receive_timeout, socket_cookie, use_congestion_control
from flent_aqm.servers.ndt7.transport import PlainTransport, Transport
from flent_aqm.servers.ndt7.websocket import Refused, Upgrade, Violation, close_frame, upgrade

if TYPE_CHECKING:
    from flent_aqm.servers.acceptor import Client
    from flent_aqm.servers.ndt7.spec import Settings

# Seconds that a refused client has to read the reason.
_LINGER_S = 1.0


def serve(client: Client, settings: Settings, uuid_prefix: str) -> None:
    """Run the test that a client requests, write a log line, and close the connection. All errors
    are logged, none are raised. The caller has to call client.done().

    Args:
        client: the client.
        settings: the server's settings.
        uuid_prefix: beginning of the test's UUID.
    """
    try:
        transport = _open_transport(client)
        try:
            _run_test(client, transport, settings, uuid_prefix)
        finally:
            transport.close()
    except Refused as refusal:
        log("refused", client=client.address, status=refusal.status, reason=refusal.reason)
    except OSError as error:
        log("failed", client=client.address, reason=_failure_reason(client, error))
    except Exception:
        # A defect of this program must be logged, and must not end the tests of other clients.
        log("defect", client=client.address, traceback=traceback.format_exc())
    finally:
        client.sock.close()


def _open_transport(client: Client) -> Transport:
    """Return the transport of a client's connection. If it uses TLS, do the handshake first, and
    then set client.in_handshake to False. Sets TCP_NODELAY. Raises OSError if the handshake fails
    or the connection is broken."""
    set_no_delay(client.sock)
    if client.tls is None:
        return PlainTransport(client.sock)
    # Only servers with TLS need ssl.
    from flent_aqm.servers.ndt7.tls import TlsTransport

    # OpenSSL takes 100 kB for a connection, so wait until the client has sent something.
    client.sock.recv(1, socket.MSG_PEEK)
    transport = TlsTransport(client.sock, client.tls())
    transport.handshake()
    client.in_handshake = False
    return transport


def _run_test(client: Client, transport: Transport, settings: Settings, uuid_prefix: str) -> None:
    """Answer the client's request, run its test and log the result. The client's deadline is moved
    to a while after the test's end. Raises Refused if the request is no valid one, OSError if the
    connection ends before the test."""
    # Set it before the request, so that the kernel needn't change it while data flows.
    congestion_control = use_congestion_control(client.sock, settings.congestion_control)
    try:
        requested = upgrade(transport)
    except Refused:
        _linger(transport)
        raise
    uuid = f"{uuid_prefix}_{socket_cookie(client.sock):016X}"
    session = Session(transport, requested.test, _connection_info(client, uuid), settings)
    client.deadline_s = time.monotonic() + settings.duration_s + CUT_OFF_AFTER_END_S
    load = (DownloadSender(session, requested.enough_bytes) if requested.test == "download"
            else Upload(session))
    outcome = _run_load(client, session, load, requested)
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


def _run_load(client: Client, session: Session, load: DownloadSender | Upload,
              requested: Upgrade) -> str:
    """Run the test. Return how it ended, as text for the log: "complete" or the reason of an early
    end, such as an error of the connection, which isn't raised. If the client closes the test or
    breaks a rule, it is sent a close frame.

    Args:
        client: the client.
        session: the test's session.
        load: sends or receives the test's load.
        requested: the client's request. Bytes that arrived with it are processed first.
    """
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
        return f"connection lost: {_failure_reason(client, error)}"
    return "complete"


def _connection_info(client: Client, uuid: str) -> dict[str, str]:
    """Return the ConnectionInfo of the specification: "Client" and "Server" (ADDRESS:PORT), "UUID",
    and "StartTime", which is now (ISO 8601, UTC)."""
    now_s = time.time()
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s))
    return {
        "Client": client.address,
        "Server": client.server_address,
        "UUID": uuid,
        "StartTime": f"{start}.{int(now_s % 1 * 1_000_000):06d}Z",
    }


def _try_to_send(transport: Transport, data: bytes) -> None:
    """Send data. An error is ignored, because then the client has disconnected."""
    try:
        transport.send(data)
    except OSError:
        pass  # the client is gone: nobody is left to tell


def _linger(transport: Transport) -> None:
    """Let the client read the last message before the connection is closed: send an end of stream,
    and discard what the client sends until it closes the connection, is silent for 1 s, or the main
    thread ends the connection at its deadline. Errors of the connection are ignored.

    Closing a socket with unread data resets the connection, and the last message would be lost.
    """
    sock = transport.sock
    try:
        sock.shutdown(socket.SHUT_WR)
        set_receive_timeout(sock, _LINGER_S)
        while sock.recv(1 << 16):
            pass
    except OSError:
        pass  # the time is over, or the client has closed the connection


def _failure_reason(client: Client, error: Exception) -> str:
    """Return the reason of a failure as text: the error's text, or the name of its type if it has
    none. If the main thread ended the connection, return the main thread's reason, because the
    error is only its consequence."""
    return client.cut_off or str(error) or type(error).__name__
