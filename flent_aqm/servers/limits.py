# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of the server's resources that a client may use, over any protocol."""

from __future__ import annotations

import threading
import time

# Largest number of connections at once. Others wait in the kernel until one ends.
MOST_CONNECTIONS = 1000
# Largest number of connections whose TLS handshake isn't complete. If there is one more, the oldest
# of them is ended. A handshake takes a round trip or two, and costs as much as a connection in use.
MOST_HANDSHAKES = 200
# Seconds from the connection to the end of its first request, including the TLS handshake. The same
# holds for each later request from its first byte to the end of its head.
REQUEST_TIMEOUT_S = 10.0
# Seconds without any data after which a connection is ended. It is longer than the 30 s for which
# clients wait for a response, and than the delay of any queue.
IDLE_TIMEOUT_S = 60.0
# Bytes of responses that a client may leave unread, beyond those in the kernel. With more, nothing
# is read from this client any more.
UNREAD_BYTES = 1 << 18
# Bytes that are kept for all connections together: incomplete requests, and responses that wait for
# their client. A thousand connections in use wait with 64 KiB each.
MOST_HELD_BYTES = 128 << 20
# Largest number of streams on a connection of HTTP/2: responsiveness sends 100 probes a second, and
# one may wait for seconds.
MOST_STREAMS = 1000
# Number of frames and requests that a client may send ahead of its content, and in each second.
CREDIT, CREDIT_PER_S = 1000, 200
# Bytes of content, in any direction, that earn a credit of one frame. Clients open windows about
# that often.
CREDIT_BYTES = 1024
MOST_CREDIT = 10 * CREDIT
# Credit for a request that its client resets. It costs as much as some responses, for which nobody
# waits.
RESET_COST = 5
# Seconds for which an address isn't served after it has used up its credit.
QUIET_S = 10.0
# Largest number of such addresses that are remembered.
_MOST_QUIET = 1000


class TooLarge(ValueError):
    """Raised if a client sent valid HTTP that exceeds what this package's server takes. It is a
    ValueError."""


class Flood(ValueError):
    """Raised if a client has used up its credit. It is a ValueError."""


class Credit:
    """Work that one connection may still cause without transferring content. It is counted in
    frames or requests: 1000 at first, and 200 more a second and 1 more for each 1024 bytes of
    content. At most 10,000 are saved up by content, and 1000 by time.

    A measurement must not be slowed down silently, so a client that exceeds its credit is ended by
    the callers.
    """

    def __init__(self) -> None:
        self._left = float(CREDIT)
        self._filled_s = time.monotonic()

    def earn(self, content_bytes: int) -> None:
        """Add credit for bytes of content that were received or sent: 1 for 1024 bytes, and for
        fewer in proportion. The credit that is left never exceeds 10,000."""
        self._left = min(self._left + content_bytes / CREDIT_BYTES, MOST_CREDIT)

    def spend(self, count: float = 1) -> None:
        """Subtract credit for frames or requests. Raises Flood if less than `count` is left, also
        with the credit that time has earned: 200 a second since it was last needed, 1000 at most.
        Also after Flood, `count` is subtracted."""
        self._left -= count
        if self._left >= 0:
            return
        # Credit by time is added only here, because reading the clock costs more than counting.
        now_s = time.monotonic()
        self._left += min((now_s - self._filled_s) * CREDIT_PER_S, CREDIT)
        self._filled_s = now_s
        if self._left < 0:
            raise Flood(f"more than {CREDIT_PER_S} requests or frames a second without content (a "
                        "reset request counts as several, a datagram of QUIC as half of one)")


class Held:
    """Counts the bytes that a server keeps for its connections, which may be any hashable objects.
    For use by one thread.

    Args:
        most_bytes: largest number of bytes for all connections together.
    """

    def __init__(self, most_bytes: int = MOST_HELD_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes: dict[object, int] = {}
        self._total_bytes = 0

    def note(self, connection: object, held_bytes: int) -> object | None:
        """Record how many bytes are kept for a connection now. With 0, the connection is forgotten.
        If the number has changed, and all connections together have more than most_bytes, return
        the connection for which most bytes are kept. Otherwise return None."""
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
    """Addresses that have flooded the server and aren't served for 10 s. `host in quiet` says
    whether an address is one of them. At most 1000 are remembered. Thread-safe."""

    def __init__(self) -> None:
        self._until_s: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, host: str) -> None:
        """Exclude this address for 10 s from now on. If the list is full, the address that flooded
        the server longest ago is served again."""
        with self._lock:
            self._until_s.pop(host, None)  # it becomes the newest of the list
            if len(self._until_s) >= _MOST_QUIET:
                del self._until_s[next(iter(self._until_s))]
            self._until_s[host] = time.monotonic() + QUIET_S

    def __contains__(self, host: str) -> bool:
        """Return whether an address isn't served now."""
        if not self._until_s:
            return False
        with self._lock:
            until_s = self._until_s.get(host)
            if until_s is None or until_s > time.monotonic():
                return until_s is not None
            del self._until_s[host]
            return False
