# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads objects and prints the results, for all cross-traffic clients."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable

# Length in seconds of the intervals in which bytes are counted, the same as iperf3's.
STEP_S = 0.2
_BUFFER_BYTES = 1 << 18
# Bytes to read at once while the head of a response isn't complete.
_HEAD_BYTES = 1 << 10


class ResultPrinter:
    """Prints the client's results to standard output as lines of JSON. Bytes are counted in
    intervals of STEP_S, with a line for at least those intervals in which bytes arrived. A first
    line, with the start in epoch seconds and STEP_S, is printed when the object is made. Call end()
    after the last bytes. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start_s = time.time()
        self._step, self._bytes = 0, 0
        self.print_values(start=self._start_s, step_s=STEP_S)

    def print_values(self, **values: float) -> None:
        """Print a line of JSON with these values by their names. `t` and `start` are epoch seconds.
        Other units are in the names. Raises ValueError for NaN or infinity."""
        with self._lock:
            self._print(values)

    def count_bytes(self, count: int) -> None:
        """Count bytes that have just arrived. If the last call was in another interval, first print
        a line with that interval's index (step) and number of bytes. Before the first call, that is
        interval 0 with 0 bytes."""
        with self._lock:
            # Inside: a thread that had to wait would count in an interval that is over.
            step = int((time.time() - self._start_s) / STEP_S)
            if step != self._step:
                self._print({"step": self._step, "bytes": self._bytes})
                self._step, self._bytes = step, 0
            self._bytes += count

    def end(self) -> None:
        """Print a line with the index of the interval in which the last bytes arrived (step), and
        the number of its bytes: both 0 if none arrived. Call it once, at the end."""
        with self._lock:
            self._print({"step": self._step, "bytes": self._bytes})

    def _print(self, values: dict[str, float]) -> None:
        """Print the values as a line of JSON, and flush it. The caller holds the lock. Raises
        ValueError for NaN or infinity."""
        sys.stdout.write(json.dumps(values, allow_nan=False) + "\n")
        sys.stdout.flush()


class CrossConnection:
    """An HTTP connection to this package's server, which it opens at once. Raises OSError if the
    server can't be reached.

    Args:
        host: name or address of the server.
        port: TCP port of the server.
        printer: counts the received bytes.
    """

    def __init__(self, host: str, port: int, printer: ResultPrinter) -> None:
        self._socket = socket.create_connection((host, port))
        self._buffer = bytearray(_BUFFER_BYTES)
        self._printer = printer

    def get(self, size: int) -> None:
        """Request an object of `size` bytes and receive it. Its bytes are counted by the printer
        and discarded. Raises OSError if the connection fails or ends before the last byte, or the
        server answers anything else."""
        self._socket.sendall(b"GET /download?bytes=%d HTTP/1.1\r\nHost: server\r\n\r\n" % size)
        head = b""
        while b"\r\n\r\n" not in head:
            # A larger piece than the head: single bytes would take a system call each. Bytes after
            # the head belong to the object.
            piece = self._socket.recv(_HEAD_BYTES)
            if not piece:
                raise ConnectionError("the server ended the connection before the end of "
                                      "its response header")
            head += piece
        head, _, begun = head.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 ") or b"content-length: %d\r" % size not in head:
            raise ConnectionError(f"unexpected answer {head[:120].decode('latin-1')!r}; expected "
                                  f"HTTP/1.1 200 with content-length: {size}, as a server started "
                                  "with `flent-aqm serve` gives")
        self._printer.count_bytes(len(begun))
        size -= len(begun)
        while size:
            count = self._socket.recv_into(self._buffer, min(size, _BUFFER_BYTES))
            if not count:
                raise ConnectionError("the server ended the connection before the last "
                                      f"{size} bytes of an object")
            self._printer.count_bytes(count)
            size -= count

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def run(use: Callable[[str, int, ResultPrinter], None]) -> int:
    """Run a cross-traffic client until SIGINT, or until `use` returns, and print its first and last
    line of results. The command-line arguments are HOST and PORT. Return the exit status: 1 after
    an OSError, such as a failed connection, which is printed on standard error, otherwise 0. Raises
    IndexError if an argument is missing, ValueError if PORT is no whole number.

    Args:
        use: the client, called with host, port and the printer for its results. It passes
            KeyboardInterrupt on.
    """
    printer = ResultPrinter()
    try:
        use(sys.argv[1], int(sys.argv[2]), printer)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        print(f"{sys.argv[1]} port {sys.argv[2]}: {error.strerror or error}", file=sys.stderr)
        return 1
    finally:
        printer.end()
    return 0
