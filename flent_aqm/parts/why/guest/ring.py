# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures the packets of all devices of this network namespace into memory, and writes them to a
file at SIGTERM.

    ring.py FILE BLOCKS DEVICES

The kernel writes the packets into a ring of BLOCKS blocks that is as large as the whole run needs
(packet_mmap.rst, TPACKET_V2), so this process sleeps from the ring's set-up to its end. A program
such as tcpdump wakes up for each block, and where it woke in the same nanosecond as a probe's
client, the probe's time stamp became 1 us later: the run was another one.

FILE gets the blocks that hold packets. DEVICES gets a line for each device, its index and name, and
the line `dropped N`: packets for which the ring had no room.
"""

import mmap
import os
import signal
import socket
import struct
import sys

SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, TPACKET_V2 = 263, 5, 6, 10, 1
ETH_P_ALL = 3
# As in flent_aqm/parts/why/ledger.py.
BLOCK_BYTES, FRAME_BYTES = 1 << 20, 160


def main(file: str, blocks: int, devices: str) -> None:
    """Capture the packets of all devices until SIGTERM, and write both files then.

    Args:
        file: path of the capture.
        blocks: number of blocks of the ring, of 1 MiB (BLOCK_BYTES) each.
        devices: path of the list of devices and of the number of dropped packets. If it ends with
            ".part", the finished file loses that ending.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    packets.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
    frames = BLOCK_BYTES // FRAME_BYTES * blocks
    packets.setsockopt(SOL_PACKET, PACKET_RX_RING,
                       struct.pack("=IIII", BLOCK_BYTES, blocks, FRAME_BYTES, frames))
    ring = mmap.mmap(packets.fileno(), BLOCK_BYTES * blocks)
    signal.sigwait({signal.SIGTERM})
    _, dropped = struct.unpack("=II", packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    with open(file, "wb") as target:
        for block in range(blocks):
            at = block * BLOCK_BYTES
            if not struct.unpack_from("=I", ring, at)[0]:  # the kernel has not filled its first
                break
            target.write(ring[at:at + BLOCK_BYTES])
    with open(devices, "w") as target:
        target.writelines(f"{index} {name}\n" for index, name in socket.if_nameindex())
        target.write(f"dropped {dropped}\n")
    os.rename(devices, devices.removesuffix(".part"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
