# SPDX-License-Identifier: GPL-3.0-or-later
"""Send UDP as a Poisson process, without regard to losses.

    python poisson.py ADDRESS PACKETS_PER_S SECONDS SEED [SOURCE_PORT]

Runs in the lab, where sleeping is exact to the nanosecond and sending takes no time. Frames have
114 bytes, and each begins with its number.
"""

from __future__ import annotations

import ctypes
import random
import socket
import sys
import time

FRAME_BYTES = 114
_PAYLOAD_BYTES = FRAME_BYTES - 14 - 20 - 8
_PORT = 9  # discard
_PR_SET_TIMERSLACK = 29


def main() -> None:
    """Send packets to the discard port of the command line's address, at random times with its mean
    rate and seed, and return after the last one. That is the first one that is due at the end of
    the time or later. Raises ValueError if a word is missing or no number, OSError if a packet
    can't be sent."""
    address, per_s, seconds, seed, *port = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
    drawn = random.Random(int(seed))
    padding = bytes(_PAYLOAD_BYTES - 4)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        if port:
            sender.bind(("", int(port[0])))
        begin = due = time.monotonic()
        number = 0
        # Reading the clock advances it, so read it only once per packet.
        while due < begin + float(seconds):
            due += drawn.expovariate(float(per_s))
            left = due - time.monotonic()
            if left > 0:
                time.sleep(left)
            sender.sendto(number.to_bytes(4, "big") + padding, (address, _PORT))
            number += 1


if __name__ == "__main__":
    main()
