# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for an acknowledgement, a retransmission and a socket's timeout, on the client of a lab.

Prints JSON: `lost_at_s`, when each segment was sent that was lost; `timeouts_ms`, how long each
receive call with a timeout of 1 ms took.
"""

import json
import socket
import struct
import subprocess
import sys
import time

_SERVER = """
import socket
connection, _ = socket.create_server(("", 7000)).accept()
while data := connection.recv(65536):
    connection.sendall(data[:1])
"""
_ON_ROUTER = ["ip", "netns", "exec", "router", "tc", "qdisc", "replace", "dev", "up", "parent",
              "1:1", "handle", "11:"]


def main() -> None:
    server = subprocess.Popen(["ip", "netns", "exec", "server", sys.executable, "-c", _SERVER])
    time.sleep(0.5)
    connection = socket.create_connection(("server", 7000))
    # TCP delays acknowledgements of a peer that it usually answers at once.
    for _ in range(10):
        for _ in range(5):
            connection.sendall(b"x")
            connection.recv(1)
        time.sleep(0.1)
    lost_at_s = []
    for number in range(5):
        subprocess.run([*_ON_ROUTER, "netem", "loss", "100%"], check=True)
        time.sleep(1 + number * 0.0037)
        lost_at_s.append(time.time())
        connection.sendall(b"x")
        time.sleep(0.4)
        subprocess.run([*_ON_ROUTER, "netem", "loss", "0%"], check=True)
        connection.recv(1)
        time.sleep(1)
        for _ in range(20):  # the round trip is known again
            connection.sendall(b"x")
            connection.recv(1)
    server.kill()
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 1000))
    timeouts_ms = []
    for _ in range(20):
        time.sleep(0.0037)
        began_ns = time.monotonic_ns()
        try:
            silent.recv(1)
        except BlockingIOError:
            timeouts_ms.append((time.monotonic_ns() - began_ns) / 1e6)
    print(json.dumps({"lost_at_s": lost_at_s, "timeouts_ms": timeouts_ms}))


if __name__ == "__main__":
    main()
