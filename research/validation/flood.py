# SPDX-License-Identifier: GPL-3.0-or-later
"""Send UDP at a steady rate, without regard to losses.

    python flood.py ADDRESS MBPS SECONDS [SOURCE_ADDRESS]

Runs in the lab, where the client's qdisc fq paces the packets, so this program reads no clock.
Frames have 1514 bytes; MBPS is the rate of frames. Each packet's payload begins with its number,
which identifies it in a capture. No program needs to listen.
"""

from __future__ import annotations

import socket
import sys

FRAME_BYTES = 1514
_PAYLOAD_BYTES = FRAME_BYTES - 14 - 20 - 8
_SO_MAX_PACING_RATE = 47  # Linux's asm-generic/socket.h; Python 3.11 has no name for it
_PORT = 9  # discard


def main() -> None:
    """Send UDP packets to the address, at the rate and for the time that the command line gives,
    each in a frame of FRAME_BYTES and with its number, from 0, in its first four bytes. Return when
    the kernel has accepted the last one, which may wait in a queue then."""
    address, mbps, seconds, *rest = sys.argv[1:]
    bytes_per_s = float(mbps) * 1e6 / 8
    padding = bytes(_PAYLOAD_BYTES - 4)
    # Unconnected, so that the server's `port unreachable` raises no error.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, round(bytes_per_s))
        if rest:
            sender.bind((rest[0], 0))
        for number in range(round(float(seconds) * bytes_per_s / FRAME_BYTES)):
            sender.sendto(number.to_bytes(4, "big") + padding, (address, _PORT))


if __name__ == "__main__":
    main()
