# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and unpack a data file: regular files only, and not more than is allowed."""

from __future__ import annotations

import bz2
import os
import time
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Protocol

import numpy

from flent_aqm.base.errors import BadResult
from flent_aqm.base.regular_file import open_regular
from flent_aqm.results.reading.limits import (
    BYTES_PER_CHARACTER,
    BYTES_PER_OBJECT,
    BeyondLimitsError,
    Limits,
)

# zlib's window size for a gzip header.
_WITH_GZIP_HEADER = 31
# Sizes in which data are read and unpacked. They are small, because the data after a member are
# copied.
_PACKED_BYTES, _UNPACKED_BYTES = 1 << 15, 1 << 20
# Largest number of zeros after an archive. Tapes and tar pad with some kB, but a sparse file may
# have any number.
_PADDING_BYTES = 1 << 20


def unpack_file(path: Path, limits: Limits) -> bytearray:
    """Return the JSON text of a .gz or .tgz (gzip), .bz2 or .flnt (bzip2) file, or the content of a
    file with any other suffix.

    Raises BadResult if it exceeds the limits or is damaged. Raises OSError if it can't be read or
    is not a regular file, and ValueError if the path has a NUL.
    """
    with open_regular(path) as file:
        return unpack_member(file, path.name, limits)


def unpack_member(file: IO[bytes], name: str, limits: Limits) -> bytearray:
    """Return the text of an open file, unpacked according to the suffix of its name. Raises
    BadResult if it exceeds the limits or is damaged, and OSError if it can't be read.

    Args:
        file: the open file.
        name: its name, with the suffix .gz or .tgz for gzip, .bz2 or .flnt for bzip2. Any other is
            of a file that is not compressed.
        limits: limits of size, memory and time.
    """
    return _unpack(file, KINDS.get(os.path.splitext(name)[1]), limits)


def unpack_text(text: bytes, limits: Limits) -> bytearray:
    """Return a JSON text in memory, if it is within the limits. Raises BadResult if it exceeds
    them."""
    return _unpack(BytesIO(text), None, limits)


class _Member(Protocol):
    """Interface of a decompressor for one member of an archive.

    unpack() takes the next packed bytes and returns up to 1 MiB (_UNPACKED_BYTES) of unpacked data,
    b"" if it needs more input. Called with b"", it returns further data of the earlier input. It
    raises zlib.error, OSError or ValueError for damaged data.
    `ended` is the packed data that were passed beyond the member's end, None before its end.
    """

    def unpack(self, packed: bytes) -> bytes: ...

    @property
    def ended(self) -> bytes | None: ...


class _Gzip:
    """Decompressor for a member of a gzip file. unpack() raises zlib.error for damaged data."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_WITH_GZIP_HEADER)

    def unpack(self, packed: bytes) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + packed, _UNPACKED_BYTES)

    @property
    def ended(self) -> bytes | None:
        return self._member.unused_data if self._member.eof else None


class _Bzip2:
    """Decompressor for a member of a bzip2 file. unpack() raises OSError for damaged data."""

    def __init__(self) -> None:
        self._member = bz2.BZ2Decompressor()

    def unpack(self, packed: bytes) -> bytes:
        return self._member.decompress(packed, _UNPACKED_BYTES)

    @property
    def ended(self) -> bytes | None:
        return self._member.unused_data if self._member.eof else None


# .tgz is the suffix of M-Lab's archives.
KINDS: dict[str, Callable[[], _Member]] = {
    ".gz": _Gzip, ".tgz": _Gzip, ".bz2": _Bzip2, ".flnt": _Bzip2}


def _unpack(file: IO[bytes], kind: Callable[[], _Member] | None, limits: Limits) -> bytearray:
    """Return the unpacked text of a file, of all its members one after the other. Raises BadResult
    if it exceeds the limits or is damaged, also if a packed file is empty, OSError if it can't be
    read.

    Args:
        file: the open file.
        kind: makes the decompressor of a member, None for a plain file.
        limits: limits of size, memory and time.
    """
    text = _Text(limits)
    if kind is None:
        while part := file.read(_UNPACKED_BYTES):
            text.add(part)
        return text.content
    packed = file.read(_PACKED_BYTES)
    if not packed:
        raise BadResult("damaged (the file is empty)")
    members = 0
    while packed:
        members += 1
        if members > limits.members:
            raise BeyondLimitsError(f"it consists of more than {limits.members:,} parts that "
                                    "were compressed separately: unpack it and pack it again")
        packed = _unpack_member(kind(), packed, file, text, first=members == 1)
    return text.content


def _unpack_member(member: _Member, packed: bytes, file: IO[bytes], text: _Text, *, first: bool
                   ) -> bytes:
    """Unpack a member of an archive to `text`, and return the packed data after it, without the
    zeros before them, with which some tools pad. Empty at the end of the file. Raises BadResult if
    the member is damaged or exceeds the limits, or if more than about 1 MiB (_PADDING_BYTES) of
    zeros follow it. Raises OSError if the file can't be read.

    Args:
        member: decompressor of the member.
        packed: packed data that were read already.
        file: the open file, of which more is read.
        text: receives the unpacked data.
        first: whether no other member stands before it.
    """
    # Text editors and broken transfers add bytes to whole archives.
    or_other = "" if first else ", or other bytes follow the archive"
    ended = None
    while ended is None:
        try:
            part = member.unpack(packed)
        except (zlib.error, OSError, ValueError) as error:
            if first and not text.content:
                if packed.lstrip().startswith(b"{"):  # such as a browser stores it
                    raise BadResult("the end of its name says that it is compressed, and it is "
                                    "not; rename it without that end") from None
                or_other = ", or not compressed as the end of its name says"
            raise BadResult(f"damaged{or_other} ({error})") from None
        text.add(part)
        ended = member.ended
        packed = b""
        # If something was unpacked, more may follow from the same input. Otherwise, read more.
        if ended is None and not part:
            packed = file.read(_PACKED_BYTES)
            if not packed:
                raise BadResult(f"damaged{or_other} (the file ends too early)")
    rest = ended.lstrip(b"\0")
    padding = 0
    while not rest and (more := file.read(_PACKED_BYTES)):
        rest = more.lstrip(b"\0")
        padding += len(more) - len(rest)
        if padding > _PADDING_BYTES:
            raise BadResult(f"damaged (more than {_PADDING_BYTES:,} zeros follow the archive: "
                            "unpack it and pack it again)")
    return rest


class _Text:
    """Collects unpacked text in `content`, part by part, within limits of its size, of the memory
    that parsing it will take, and of processor time since this object was made. Memory is
    estimated."""

    def __init__(self, limits: Limits) -> None:
        self.content = bytearray()
        self._limits = limits
        self._memory_bytes = 0
        self._began_s = time.thread_time()

    def add(self, part: bytes) -> None:
        """Add a part of the text. Raises BadResult if size, estimated memory, or processor time
        since this object was made exceed the limits."""
        self.content += part
        limits = self._limits
        if len(self.content) > limits.unpacked_bytes:
            raise BeyondLimitsError("its content, unpacked, has more than "
                                    f"{limits.unpacked_bytes >> 20} MiB{limits.hint}")
        if part:  # many small members also give empty parts
            characters: Any = numpy.frombuffer(part, numpy.uint8)
            self._memory_bytes += BYTES_PER_CHARACTER * len(part) + sum(
                cost * int(numpy.count_nonzero(characters == ord(one)))
                for one, cost in BYTES_PER_OBJECT.items())
        if self._memory_bytes > limits.memory_bytes:
            raise BeyondLimitsError("has so many values or so much text that reading it may "
                                    f"take more than {limits.memory_bytes >> 20} MiB of "
                                    f"memory{limits.hint}")
        if time.thread_time() - self._began_s > limits.unpack_s:
            raise BeyondLimitsError(
                f"takes more than {limits.unpack_s:g} s to unpack{limits.hint}")
