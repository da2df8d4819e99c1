#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A speed test in one file, as somebody else may have one: docs/scorecard.md scores it.

    tiny_speedtest.py serve PORT
    tiny_speedtest.py HOST PORT

One TCP connection each way for three seconds. Its latency is how long another connection takes to
be made in the middle of each.
"""

import json
import socket
import sys
import threading
import time

Place = tuple[str, int]

SECONDS, PIECE = 3.0, bytes(1 << 16)


def send_until(link: socket.socket, end_s: float) -> None:
    while time.monotonic() < end_s:
        link.sendall(PIECE)
    link.shutdown(socket.SHUT_WR)


def receive_all(link: socket.socket) -> int:
    total = 0
    while piece := link.recv(1 << 16):
        total += len(piece)
    return total


def serve_one(link: socket.socket) -> None:
    what = link.recv(1)
    if what == b"d":
        send_until(link, time.monotonic() + SECONDS)
    elif what == b"u":
        link.sendall(b"%d" % receive_all(link))
    link.close()


def serve(port: int) -> None:
    with socket.create_server(("", port)) as listener:
        while True:
            link, _ = listener.accept()
            threading.Thread(target=serve_one, args=(link,)).start()


def connect_ms(place: Place) -> float:
    began_s = time.monotonic()
    socket.create_connection(place).close()
    return (time.monotonic() - began_s) * 1000


def measure(place: Place, what: bytes) -> dict[str, float]:
    numbers: dict[str, float] = {}
    probe = threading.Timer(SECONDS / 2, lambda: numbers.update(ms=connect_ms(place)))
    with socket.create_connection(place) as link:
        link.sendall(what)
        began_s = time.monotonic()
        probe.start()
        if what == b"u":
            send_until(link, began_s + SECONDS)
            numbers["bytes"] = int(receive_text(link))
        else:
            numbers["bytes"] = receive_all(link)
        seconds = time.monotonic() - began_s
    probe.join()
    return {"mbps": numbers["bytes"] * 8e-6 / seconds, "ms": numbers["ms"]}


def receive_text(link: socket.socket) -> bytes:
    return b"".join(iter(lambda: link.recv(100), b""))


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    there = (sys.argv[1], int(sys.argv[2]))
    print(json.dumps({"down": measure(there, b"d"), "up": measure(there, b"u")}))
