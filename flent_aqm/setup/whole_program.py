# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks whether a program's file is complete, without starting it.

After a power cut or on a full disk, a file may be empty, filled with zeros, or truncated.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_ELF_64 = b"\x7fELF\x02\x01"  # little-endian, as x86-64 is
# Offset and format of fields in the ELF header: offset of the segments' headers; their size and
# number.
_SEGMENTS, _SIZE_AND_NUMBER = (32, "<Q"), (54, "<HH")
# Offset and format of fields in a segment's header: offset in the file, two addresses, bytes in the
# file.
_PLACE = (8, "<QQQQ")
_HEADER_BYTES = 64


def is_whole(program: Path) -> bool:
    """Return whether a program's file is executable and complete: a little-endian 64-bit ELF file
    with all its segments, or any script. Of a script, only the first two bytes are checked. False
    if there is no such file, or if it can't be read."""
    if not os.path.isfile(program) or not os.access(program, os.X_OK):
        return False
    try:
        with program.open("rb") as file:
            head = file.read(_HEADER_BYTES)
            if head.startswith(b"#!"):
                return True
            if not head.startswith(_ELF_64):
                return False
            start, = _unpack_fields(head, *_SEGMENTS)
            size, number = _unpack_fields(head, *_SIZE_AND_NUMBER)
            file.seek(start)
            headers = file.read(size * number)
            segments = [_unpack_fields(headers, size * index + _PLACE[0],
                                       _PLACE[1]) for index in range(number)]
            end = max(offset + length for offset, _, _, length in segments)
            return end <= os.fstat(file.fileno()).st_size
    except (OSError, OverflowError, ValueError, struct.error):
        return False


def _unpack_fields(data: bytes, offset: int, form: str) -> tuple[int, ...]:
    """Return the fields at an offset. Raises struct.error if the data ends before.

    Args:
        data: content of the file or header.
        offset: position of the fields in `data`.
        form: format of the fields for `struct`.
    """
    return struct.unpack_from(form, data, offset)
