# SPDX-License-Identifier: GPL-3.0-or-later
"""Serve a Follower's page to browsers on this machine.

There are three addresses. None of them names a file, so no path can lead out of the results. A page
of another site whose name resolves to this machine (DNS rebinding) is recognised by the Host
header: only numeric addresses, localhost and the given name are answered. A page of another site
that uses this server's own address is recognised by Fetch Metadata, which browsers send.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any, cast

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.words import bracketed
from flent_aqm.show.report.follow import Follower

# Value of a Host header: a name, or a numeric address, in brackets if it has colons. A port may
# follow.
_HOST = re.compile(r"(?:\[(?P<number>[0-9a-f:.%]+)\]|(?P<name>[^\[\]:/\s]+))(?::\d{1,5})?")
_HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}
# Values of Sec-Fetch-Site that are answered: the server's own page, or the user. Other programs
# send none.
_OUR_SITES = ("", "none", "same-origin")
# Time limits for a client that sends nothing, or that does not read the answer.
_IDLE_S = 30
_LONGEST_S = 300.0
# More connections than a person's browsers open. If there are more, the oldest is closed, because
# an answer takes only a moment unless the client doesn't read it.
MOST_CLIENTS = 32
_MOST_HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 18


# A sweep writes a file every few seconds.
LOOK_EVERY_S = 2.0


def serve(follower: Follower, host: str, port: int) -> None:
    """Serve a page until ^C, then return. Meanwhile, another thread looks for new files, at once
    and every LOOK_EVERY_S. The address is printed, with a warning on standard error unless it is a
    loopback address (127.x.x.x or ::1). Raises ConfigError if the server can't listen.

    Args:
        follower: makes the answers.
        host: name or address to listen on.
        port: port to listen on, 0 for any free port.
    """
    server = ReportServer(follower, host, port)
    ended = threading.Event()

    def look_until_ended() -> None:
        """Look for new files at once, and then every LOOK_EVERY_S, until the server ends."""
        while not ended.is_set():
            follower.look()
            ended.wait(LOOK_EVERY_S)

    try:
        print(f"serving the results at {server.address}; press ^C to end", flush=True)
        if not ipaddress.ip_address(str(server.server_address[0])).is_loopback:
            print("warning: this server is not restricted to this machine: anybody who can "
                  f"reach {server.address} can see the results", file=sys.stderr)
        threading.Thread(target=look_until_ended, daemon=True).start()
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        ended.set()
        server.server_close()


class ReportServer(ThreadingHTTPServer):
    """HTTP server of the page, with a thread for each connection. It listens from its creation.
    serve_forever() answers requests, and server_close() frees the port.

    Args:
        follower: makes the answers.
        host: name or address to listen on.
        port: port to listen on, 0 for any free port.

    Raises ConfigError if it can't listen there.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, follower: Follower, host: str, port: int) -> None:
        self.follower, self.host = follower, host
        # Connection -> its start in monotonic seconds, the oldest first.
        self._clients: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        try:
            family, _, _, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            self.address_family = family
            super().__init__(cast(tuple[str, int], address), _Handler)  # IPv6: with its device
        except (OSError, OverflowError, UnicodeError) as error:
            why = ("this is not a host name" if isinstance(error, UnicodeError) else
                   "a link-local address needs its device, such as fe80::1%eth0"
                   if host.lower().startswith("fe80:") and "%" not in host else cause_of(error))
            usable = ("that this user may use, as those from 1024 on"
                      if isinstance(error, PermissionError) else "that is free")
            raise ConfigError(f"--host {shlex.quote(host)} --port {port}: can't listen there: "
                              f"{why}; give an address of this machine, and a port {usable}, 0 "
                              "for any") from None

    @property
    def address(self) -> str:
        """URL of the page, "http://HOST:PORT/", with the host as it was given and the port that is
        used."""
        return f"http://{bracketed(self.host)}:{self.server_address[1]}/"

    def answers_to(self, host: str) -> bool:
        """Return whether requests with this Host header are answered: localhost, the name or
        address on which the server listens, or any numeric address, an IPv6 address in brackets.
        Letters' case, and a port behind it, don't matter."""
        match = _HOST.fullmatch(host.strip().lower())
        if match is None:
            return False
        name = match["number"] or match["name"]
        if name in ("localhost", self.host.lower()):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # a numeric address is not the name of another site

    def process_request(self, request: Any, client_address: Any) -> None:
        """Record a new connection, and start its thread. The oldest connection is closed if there
        are MOST_CLIENTS already. Called by serve_forever()."""
        with self._lock:
            if len(self._clients) >= MOST_CLIENTS:
                self._end(next(iter(self._clients)))
            self._clients[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection, and close it. Called at the end of its thread."""
        with self._lock:
            self._clients.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Close connections that exist longer than _LONGEST_S. Called by serve_forever() after each
        new connection, otherwise twice a second."""
        before_s = time.monotonic() - _LONGEST_S
        with self._lock:
            for one in [one for one, since_s in self._clients.items() if since_s < before_s]:
                self._end(one)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of the error that ended a connection's thread on standard error,
        unless it is an OSError. Called in that thread."""
        if not isinstance(sys.exception(), OSError):  # such as a browser that has gone
            super().handle_error(request, client_address)

    def _end(self, client: socket.socket) -> None:
        """Shut a connection down and forget it, so that its thread ends when it next reads or
        writes. The thread closes it. Called with the lock held."""
        del self._clients[client]
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


class _Head:
    """Reads the lines of a request, in place of its file. After _MOST_HEAD_BYTES, readline()
    returns b"", as at the end of the file. `left_bytes` is the number of bytes that may still be
    read.

    Args:
        file: the connection's file, open for reading. close() closes it.
    """

    def __init__(self, file: BufferedIOBase) -> None:
        self._file, self.left_bytes = file, _MOST_HEAD_BYTES
        self.close = file.close

    def readline(self, limit: int = -1) -> bytes:
        """Wait for a line and return it with its line feed, cut if the head has no more room, b""
        at the end or without room.

        Args:
            limit: return at most this many bytes, -1 for no limit of the caller's.
        """
        line = self._file.readline(min(limit, self.left_bytes) if limit >= 0 else self.left_bytes)
        self.left_bytes -= len(line)
        return line


class _Handler(BaseHTTPRequestHandler):
    """Answers the request of a connection: there is only one, because it speaks HTTP/1.0.

    Attributes:
        server: the server, whose follower makes the answers.
    """

    server: ReportServer
    server_version, sys_version = "flent-aqm", ""
    timeout = _IDLE_S

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        pass  # requests are not logged, because there is one every few seconds

    def setup(self) -> None:
        """Prepare the connection, and limit the size of a request's head to _MOST_HEAD_BYTES."""
        super().setup()
        self._head = _Head(self.rfile)
        self.rfile = self._head  # type: ignore[assignment]

    def _answer(self) -> None:
        """Answer a request for the follower's page ("/"), data ("/data") or state ("/state"), or
        refuse it with an error status: 431 if its head is too long, 421 unless it has a single Host
        header, which answers_to() accepts, 403 if it comes from another site (Sec-Fetch-Site), 404
        for any other path, also one with a query."""
        if not self._head.left_bytes:
            self._send(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "text/plain",
                       f"A request of more than {_MOST_HEAD_BYTES} bytes.\n".encode())
            return
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not self.server.answers_to(hosts[0]):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain",
                       b"This name isn't this server's; use its address.\n")
            return
        if self.headers.get("Sec-Fetch-Site", "") not in _OUR_SITES:
            self._send(HTTPStatus.FORBIDDEN, "text/plain",
                       b"Another site asked for this page. To see it, type its address.\n")
            return
        answers: dict[str, tuple[str, Callable[[], bytes]]] = {
            "/": ("text/html", self.server.follower.page),
            "/state": ("application/json", self.server.follower.state),
            "/data": ("application/json", self.server.follower.data)}
        page = answers.get(self.path)
        if page is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"There is /, and nothing else.\n")
        else:
            self._send(HTTPStatus.OK, page[0], page[1]())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        """Send a response. A HEAD request gets no body. If the client has gone, or doesn't read for
        _IDLE_S, the rest is dropped without an error.

        Args:
            status: HTTP status.
            kind: media type of the body, without its character set.
            body: the body, text in UTF-8.
        """
        try:
            self.send_response(status)
            for name, value in {**_HEADERS, "Content-Type": f"{kind}; charset=utf-8",
                                "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                whole = memoryview(body)
                # The time-out applies to each part, so that a slow browser gets the whole body.
                for start in range(0, len(body), _CHUNK_BYTES):
                    self.wfile.write(whole[start:start + _CHUNK_BYTES])
        except OSError:
            pass  # the browser has gone
