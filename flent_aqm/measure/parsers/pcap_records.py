# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the file header of a capture, and finds the packets' records in it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from flent_aqm.base.errors import ParseError
from flent_aqm.base.words import counted

FILE_HEADER_BYTES = 24
RECORD_HEADER_BYTES = 16
# Bytes that are read at once, so that little memory is used.
PIECE_BYTES = 4 << 20

# First word of the file -> ticks of its time stamps per second. Only this machine's byte order is
# supported, because a capture is read on the machine that made it.
_TICKS_PER_S = {0xA1B2C3D4: 1_000_000, 0xA1B23C4D: 1_000_000_000}

# Link type of the capture -> length of the link's header in bytes: Ethernet (and loopback), raw IP
# twice, Linux "cooked" captures of both versions.
_LINK_HEADER_BYTES = {1: 14, 12: 0, 101: 0, 113: 16, 276: 20}

# Number of captured bytes, in a record's header.
_CAPTURED = struct.Struct("=8xI")


def read_file_header(header: bytes) -> tuple[int, int, int]:
    """Parse the header of a pcap file. Return the ticks per second of its time stamps, the length
    of the link's header in bytes, and the most bytes that are kept of a packet. Raises ParseError
    if the header is cut off, or isn't that of a pcap file with this machine's byte order and a
    known link type.

    Args:
        header: the first FILE_HEADER_BYTES bytes of the file, or all if it has fewer.
    """
    if len(header) < FILE_HEADER_BYTES:
        raise ParseError(f"the capture has {counted(len(header), 'byte')}; expected at least the "
                         f"{FILE_HEADER_BYTES} bytes of a pcap file's header: tcpdump did not "
                         "start to capture, or the file is cut off")
    magic, snap_bytes, link_type = struct.unpack("=I12xII", header)
    if magic not in _TICKS_PER_S:
        raise ParseError(f"the capture starts with {magic:#010x}; expected a pcap file (not "
                         "pcapng) that was written on a machine with this byte order")
    if link_type not in _LINK_HEADER_BYTES:
        raise ParseError(f"the capture has pcap's link type {link_type}; expected that of Ethernet "
                         "(1), raw IP (12, 101) or Linux' cooked capture (113, 276): the test has "
                         "to leave through a device with one of these")
    return _TICKS_PER_S[magic], _LINK_HEADER_BYTES[link_type], snap_bytes


def whole_records(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each record of a capture begins and ends in `data`, without the last one if its
    end is missing.

    Args:
        data: bytes from the capture that begin with a record's header.
    """
    begin = 0
    while begin + RECORD_HEADER_BYTES <= len(data):
        end = begin + RECORD_HEADER_BYTES + _CAPTURED.unpack_from(data, begin)[0]
        if end > len(data):
            return
        yield begin, end
        begin = end


def walk(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Yield each whole record of a capture, in the order of the file: a piece of the file, and
    where in it the record begins and ends.

    Args:
        file: the capture, after its header.
    """
    rest = b""
    while piece := file.read(PIECE_BYTES):
        data = rest + piece
        used = 0
        for begin, used in whole_records(data):
            yield data, begin, used
        rest = data[used:]
