# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client may take of the server, whatever it speaks."""

from __future__ import annotations

import threading
import time

# At once. Those beyond wait in the kernel until one ends.
MOST_CONNECTIONS = 1000
# Of them, those whose TLS handshake isn't done, which takes a round trip or two and costs as much
# as a connection that is used: with one more, the oldest of them is ended.
MOST_HANDSHAKES = 200
# From the connection to the end of its first request, TLS' handshake included; and for each later
# request from its first byte to the end of its head.
REQUEST_TIMEOUT_S = 10.0
# A connection over which nothing has gone for so long is ended: longer than the 30 s for which
# clients wait for an answer, and than any queue.
IDLE_TIMEOUT_S = 60.0
# Of answers that a client doesn't read, beyond what the kernel holds. With more than that, nothing
# more is read from that client.
UNREAD_BYTES = 1 << 18
# Of all connections together: requests that aren't whole, and answers that wait for their client.
# A thousand connections that are used wait with 64 KiB each.
MOST_HELD_BYTES = 128 << 20
# Streams at once on a connection of HTTP/2: responsiveness sends 100 probes a second, and one may
# wait for seconds.
MOST_STREAMS = 1000
# Frames and requests that a client may send ahead of its content, and in each second.
CREDIT, CREDIT_PER_S = 1000, 200
# One more for so many bytes of content, whichever way: clients open windows about that often.
CREDIT_BYTES = 1024
MOST_CREDIT = 10 * CREDIT
# A request that its client resets costs as much as some answers, for which nobody waits.
RESET_COST = 5
# An address that has used up its credit isn't served for so long.
QUIET_S = 10.0
# Addresses that are remembered for that.
_MOST_QUIET = 1000


class Flood(ValueError):
    """A client has used up its credit."""


class Credit:
    """Of one connection: how much work it may make that brings no content forward.

    A measurement must not be slowed down without a word, so a client that goes beyond is
    ended.
    """

    def __init__(self) -> None:
        self._left = float(CREDIT)
        self._filled_s = time.monotonic()

    def earn(self, content_bytes: int) -> None:
        """Count content that has been received or sent."""
        self._left = min(self._left + content_bytes / CREDIT_BYTES, MOST_CREDIT)

    def spend(self, count: float = 1) -> None:
        """Count frames or requests. Raises Flood."""
        self._left -= count
        if self._left >= 0:
            return
        # Only here, as looking at the clock costs more than counting.
        now_s = time.monotonic()
        self._left += min((now_s - self._filled_s) * CREDIT_PER_S, CREDIT)
        self._filled_s = now_s
        if self._left < 0:
            raise Flood(f"more than {CREDIT_PER_S} requests or frames a second without content")


class Held:
    """How many bytes a server keeps for its connections, which are of any hashable kind. For one
    thread."""

    def __init__(self, most_bytes: int = MOST_HELD_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes: dict[object, int] = {}
        self._total_bytes = 0

    def note(self, connection: object, held_bytes: int) -> object | None:
        """Note how much is held for a connection now. Return the connection for which most is
        held if it is too much for all together, else None."""
        before = self._bytes.get(connection, 0)
        if held_bytes == before:
            return None
        self._total_bytes += held_bytes - before
        if held_bytes:
            self._bytes[connection] = held_bytes
        else:
            del self._bytes[connection]
        if self._total_bytes <= self._most_bytes:
            return None
        return max(self._bytes, key=lambda one: self._bytes[one])


class Quiet:
    """Addresses that have flooded the server, and aren't served for a while. Fit for threads."""

    def __init__(self) -> None:
        self._until_s: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, host: str) -> None:
        """From now on."""
        with self._lock:
            if len(self._until_s) >= _MOST_QUIET:
                del self._until_s[next(iter(self._until_s))]
            self._until_s[host] = time.monotonic() + QUIET_S

    def __contains__(self, host: str) -> bool:
        if not self._until_s:
            return False
        with self._lock:
            until_s = self._until_s.get(host)
            if until_s is None or until_s > time.monotonic():
                return until_s is not None
            del self._until_s[host]
            return False
