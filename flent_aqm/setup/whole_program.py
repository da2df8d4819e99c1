# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a program's file is whole, told without starting it: what a power cut or a full disk
leaves behind is empty, zeros, or ends early."""

from __future__ import annotations

import os
import struct
from pathlib import Path

_ELF_64 = b"\x7fELF\x02\x01"  # little-endian, as x86-64 is
# Offset in the file's header, and format, of: where the segments' headers are; their size, number.
_SEGMENTS, _SIZE_AND_NUMBER = (32, "<Q"), (54, "<HH")
# In a segment's header: offset in the file, two addresses, bytes in the file.
_PLACE = (8, "<QQQQ")
_HEADER_BYTES = 64


def is_whole(program: Path) -> bool:
    """Tell whether a program can be started: a script, or an ELF file with all its segments."""
    if not os.path.isfile(program) or not os.access(program, os.X_OK):
        return False
    try:
        with program.open("rb") as file:
            head = file.read(_HEADER_BYTES)
            if head.startswith(b"#!"):
                return True
            if not head.startswith(_ELF_64):
                return False
            start, = _at(head, *_SEGMENTS)
            size, number = _at(head, *_SIZE_AND_NUMBER)
            file.seek(start)
            headers = file.read(size * number)
            places = [_at(headers, size * index + _PLACE[0], _PLACE[1]) for index in range(number)]
            end = max(offset + length for offset, _, _, length in places)
            return end <= os.fstat(file.fileno()).st_size
    except (OSError, OverflowError, ValueError, struct.error):
        return False


def _at(data: bytes, offset: int, form: str) -> tuple[int, ...]:
    return struct.unpack_from(form, data, offset)
