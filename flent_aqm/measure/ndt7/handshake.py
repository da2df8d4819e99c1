# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the HTTP request for a test, and answers it."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl

from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from flent_aqm.measure.ndt7.spec import (
    EARLY_EXIT,
    EARLY_EXIT_MB,
    MAX_QUERY_BYTES,
    SUBPROTOCOL,
    TEST_OF_PATH,
)
from flent_aqm.measure.ndt7.transport import Transport

_END_OF_HEAD = b"\r\n\r\n"
_MAX_HEAD_BYTES = 1 << 16
_TLS_HANDSHAKE_RECORD = b"\x16"
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Refused(Exception):
    """The request for a test was refused. The client has got the answer with this HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Upgrade(NamedTuple):
    """A test that was granted to a client."""

    # "download" or "upload".
    test: str
    # Parameters of the request's query.
    client_metadata: dict[str, str]
    # Bytes that arrived directly after the request.
    early: bytes

    @property
    def enough_bytes(self) -> int | None:
        """Acknowledged bytes after which the client wants the download to end. None if it wants the
        full duration."""
        requested = self.client_metadata.get(EARLY_EXIT)
        return None if requested is None else int(requested) * 1_000_000


def upgrade(transport: Transport) -> Upgrade:
    """Read the request for a test and answer it. Return the test.

    Raises Refused after an answer with an error status, ConnectionError if the client left before
    its request was complete.
    """
    head, early = _read_head(transport)
    protocol = ServerProtocol(subprotocols=[Subprotocol(SUBPROTOCOL)])
    protocol.receive_data(head)
    events = protocol.events_received()
    if not events or not isinstance(events[0], Request):
        # Newer versions of websockets prepare an answer for some of these errors.
        answer = b"".join(protocol.data_to_send())
        raise _refuse(transport, protocol, 400, str(protocol.handshake_exc), answer)
    path, _, query = events[0].path.partition("?")
    if path not in TEST_OF_PATH:
        paths = " and ".join(TEST_OF_PATH)
        raise _refuse(transport, protocol, 404, f"unknown path {path}; known: {paths}")
    try:
        metadata = parse_query(query)
    except ValueError as fault:
        raise _refuse(transport, protocol, 400, str(fault)) from None
    response = protocol.accept(events[0])
    if response.status_code != 101:
        raise _refuse_with(transport, response, str(protocol.handshake_exc))
    protocol.send_response(response)
    transport.send(b"".join(protocol.data_to_send()))
    return Upgrade(TEST_OF_PATH[path], metadata, early)


def parse_query(query: str) -> dict[str, str]:
    """Return the client's metadata: the first value of each key, "" for a key without a value.

    Raises ValueError if the query is too long, isn't URL-encoded UTF-8, or has an unknown value of
    early_exit.
    """
    if len(query) > MAX_QUERY_BYTES:
        raise ValueError(f"query of {len(query)} bytes; at most {MAX_QUERY_BYTES} are allowed")
    if _BAD_ESCAPE.search(query):
        raise ValueError("query is not URL-encoded")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("query is not UTF-8") from None
    metadata: dict[str, str] = {}
    for key, value in pairs:
        metadata.setdefault(key, value)
    early_exit = metadata.get(EARLY_EXIT, EARLY_EXIT_MB)
    if early_exit != EARLY_EXIT_MB:
        raise ValueError(f"{EARLY_EXIT}={early_exit!r:.60}; only {EARLY_EXIT_MB} is known")
    return metadata


def _read_head(transport: Transport) -> tuple[bytes, bytes]:
    """Read the request. Return its bytes with the empty line, and the bytes that arrived after it.
    Raises ConnectionError or Refused."""
    head = bytearray()
    buffer = memoryview(bytearray(1 << 13))
    while True:
        count = transport.recv_into(buffer)
        if not count:
            raise ConnectionError("the client left before its request was whole")
        head += buffer[:count]
        if head.startswith(_TLS_HANDSHAKE_RECORD):
            raise _refuse(transport, ServerProtocol(), 400, "TLS request on the cleartext port")
        end = head.find(_END_OF_HEAD)
        if end >= 0:
            end += len(_END_OF_HEAD)
            return bytes(head[:end]), bytes(head[end:])
        if len(head) > _MAX_HEAD_BYTES:
            raise _refuse(transport, ServerProtocol(), 431, f"request over {_MAX_HEAD_BYTES} bytes")


def _refuse(
    transport: Transport, protocol: ServerProtocol, status: int, reason: str, answer: bytes = b""
) -> Refused:
    """Send an answer with an error status, and return the Refused to raise. answer: bytes that
    websockets has prepared. If it is empty, an answer with `status` and `reason` is made."""
    if answer:
        transport.send(answer)
        return Refused(int(answer.split(b" ", 2)[1]), reason)
    return _refuse_with(transport, protocol.reject(status, reason + "\n"), reason)


def _refuse_with(transport: Transport, response: Response, reason: str) -> Refused:
    """Send this response, and return the Refused to raise."""
    transport.send(response.serialize())
    return Refused(response.status_code, reason)
