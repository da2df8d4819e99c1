# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies the output files of a command in the lab to open file descriptors while they grow."""

from __future__ import annotations

import os
import select
import stat
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

_POLL_S = 0.05
# Seconds that a reader has to take the rest of the output after the lab was stopped by an error.
_GRACE_S = 1.0
# Number of bytes that can be written to a pipe without blocking once poll() reports it writable.
_PIECE = select.PIPE_BUF


class Follower:
    """A context manager around the lab's run that copies files to file descriptors as they grow.

    If the block ends normally, its end waits until all output is copied, however slow the reader
    is. If it ends by an exception, it waits at most _GRACE_S seconds, because a reader may never
    read.

    Only regular files are read, because the command may put a pipe in the place of a file.

    outputs: pairs of a file and the file descriptor to copy it to.
    """

    def __init__(self, outputs: Iterable[tuple[Path, int]]) -> None:
        self._ended = threading.Event()
        self._given_up = threading.Event()
        self._threads = [threading.Thread(target=self._follow, args=output, daemon=True)
                         for output in outputs]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(None if kind is None else _GRACE_S)
        self._given_up.set()

    def _follow(self, path: Path, output: int) -> None:
        """Copy a file to the descriptor `output` until the block has ended. Runs in a thread for
        each file."""
        position = 0
        while True:
            # Read the flag before the file: after the end of the block the file grows no more, so
            # one round after it copies everything.
            last_round = self._ended.is_set()
            try:
                position = self._copy(path, position, output)
            except OSError:  # nobody reads any more
                return
            if last_round or self._given_up.is_set():
                return
            self._ended.wait(_POLL_S)

    def _copy(self, path: Path, position: int, output: int) -> int:
        """Copy the bytes of the file from `position` on, and return the position after the last
        copied byte."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # not there, or a link
            return position
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                while piece := os.pread(handle, 1 << 16, position):
                    position += len(piece)
                    self._write(piece, output)
        finally:
            os.close(handle)
        return position

    def _write(self, data: bytes, output: int) -> None:
        """Write `data` to a descriptor, in pieces that don't block, until the reader is given
        up."""
        ready = select.poll()
        ready.register(output, select.POLLOUT)
        while data and not self._given_up.is_set():
            if ready.poll(_POLL_S * 1000):
                data = data[os.write(output, data[:_PIECE]):]
