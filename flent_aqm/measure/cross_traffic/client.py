# SPDX-License-Identifier: GPL-3.0-or-later
"""What both clients have in common: getting an object, and what is printed of it."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable

# Of the lines with bytes; iperf3's intervals are as long.
STEP_S = 0.2
_BUFFER_BYTES = 1 << 18
_HEAD_BYTES = 1 << 10


class Line:
    """Standard output, and how many bytes came in each step of time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start_s = time.time()
        self._step, self._bytes = 0, 0
        self.tell(start=self._start_s, step_s=STEP_S)

    def tell(self, **values: float) -> None:
        """Print a line. Times are seconds of the epoch."""
        with self._lock:
            self._print(values)

    def came(self, count: int) -> None:
        """Count bytes that have arrived now."""
        step = int((time.time() - self._start_s) / STEP_S)
        with self._lock:
            if step != self._step:
                self._print({"step": self._step, "bytes": self._bytes})
                self._step, self._bytes = step, 0
            self._bytes += count

    def end(self) -> None:
        """Print what was counted last."""
        with self._lock:
            self._print({"step": self._step, "bytes": self._bytes})

    def _print(self, values: dict[str, float]) -> None:
        sys.stdout.write(json.dumps(values) + "\n")
        sys.stdout.flush()


class Connection:
    """To the server; a buffer of its own."""

    def __init__(self, host: str, port: int, line: Line) -> None:
        self._socket = socket.create_connection((host, port))
        self._buffer = bytearray(_BUFFER_BYTES)
        self._line = line

    def get(self, size: int) -> None:
        """Ask for an object of so many bytes, and take it. Raises OSError."""
        self._socket.sendall(b"GET /download?bytes=%d HTTP/1.1\r\nHost: server\r\n\r\n" % size)
        head = b""
        while b"\r\n\r\n" not in head:
            # Byte by byte would be a system call each; what is behind the head counts already.
            piece = self._socket.recv(_HEAD_BYTES)
            if not piece:
                raise ConnectionError("the server ended the connection")
            head += piece
        head, _, begun = head.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 ") or b"content-length: %d\r" % size not in head:
            raise ConnectionError(f"it answers {head[:60]!r}; is it `flent-aqm serve`?")
        self._line.came(len(begun))
        size -= len(begun)
        while size:
            count = self._socket.recv_into(self._buffer, min(size, _BUFFER_BYTES))
            if not count:
                raise ConnectionError("the server ended the connection")
            self._line.came(count)
            size -= count

    def close(self) -> None:
        """End it."""
        self._socket.close()


def run(use: Callable[[str, int, Line], None]) -> int:
    """Let a client go on until SIGINT, as HOST and PORT on the command line say."""
    line = Line()
    try:
        use(sys.argv[1], int(sys.argv[2]), line)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        print(f"{sys.argv[1]} port {sys.argv[2]}: {error.strerror or error}", file=sys.stderr)
        return 1
    finally:
        line.end()
    return 0
