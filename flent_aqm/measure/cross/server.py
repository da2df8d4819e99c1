# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends as many bytes as each line of a client asks for, one answer behind the other, as a web
server does on a connection that stays.

    python -m flent_aqm.measure.cross.server [PORT]
"""

from __future__ import annotations

import socket
import sys
import threading

from flent_aqm.base.defaults import FETCH_PORT
from flent_aqm.measure.ndt7.listeners import listen

# No object of ours is larger; a client can't keep a thread busy for ever.
MOST_BYTES = 100_000_000
_PIECE = bytes(1 << 18)


def main() -> int:
    """Serve until a signal."""
    for listener in listen([], int(sys.argv[1]) if len(sys.argv) > 1 else FETCH_PORT):
        threading.Thread(target=_accept, args=(listener,)).start()
    return 0


def _accept(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    try:
        with connection, connection.makefile("rb") as asked:
            while line := asked.readline(20):
                left = int(line)
                if not 0 < left <= MOST_BYTES:
                    return
                while left:
                    piece = memoryview(_PIECE)[:left]
                    connection.sendall(piece)
                    left -= len(piece)
    except (OSError, ValueError):
        pass  # the client has left, or isn't one of ours


if __name__ == "__main__":
    sys.exit(main())
