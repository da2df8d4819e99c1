# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves a Follower's page to browsers on this machine.

Three addresses and no others; none of them names a file, so no path can lead out of the
results. A page of somebody else's whose name resolves to this machine (DNS rebinding) is
told apart by the Host header: only numbers, localhost and the name given are answered.
"""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.show.browse.follow import Follower

_HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}
# A client that says nothing doesn't hold a thread for ever.
_IDLE_S = 30


class Server(ThreadingHTTPServer):
    """host: name or address to listen at; port 0: any that is free. Raises ConfigError."""

    daemon_threads = True

    def __init__(self, follower: Follower, host: str, port: int) -> None:
        self.follower, self.host = follower, host
        try:
            family, _, _, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            self.address_family = family
            super().__init__((str(address[0]), port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(f"--host {host} --port {port}: can't listen there: {error}") from None

    @property
    def address(self) -> str:
        """What to type into a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_address[1]}/"

    def answers_to(self, host: str) -> bool:
        """Whether a Host header is one of ours."""
        name = host.strip().lower()
        name = name[1:name.find("]")] if name.startswith("[") else name.split(":")[0]
        if name in ("localhost", self.host.lower()):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # a number is nobody's name


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "flent-aqm", ""
    timeout = _IDLE_S

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        pass  # requests each few seconds are no news

    def _answer(self) -> None:
        if not self.server.answers_to(self.headers.get("Host", "")):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain",
                       "This name isn't this server's; use its address.\n")
            return
        answers: dict[str, tuple[str, Callable[[], str]]] = {
            "/": ("text/html", self.server.follower.page),
            "/state": ("application/json", lambda: _json(self.server.follower.state())),
            "/data": ("application/json", lambda: _json(self.server.follower.data()))}
        known = answers.get(self.path)
        if known is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is /, and nothing else.\n")
        else:
            self._send(HTTPStatus.OK, known[0], known[1]())

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode("utf-8", "replace")
        try:
            self.send_response(status)
            for name, value in {**_HEADERS, "Content-Type": f"{kind}; charset=utf-8",
                                "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except OSError:
            pass  # the browser has gone


def _json(whole: Any) -> str:
    return json.dumps(whole, allow_nan=False, separators=(",", ":"))
