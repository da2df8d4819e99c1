# SPDX-License-Identifier: GPL-3.0-or-later
"""Passes on what a command in the lab writes into its output files, while it runs."""

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
# How long a reader has to take what is left when the lab was stopped.
_GRACE_S = 1.0
# What a pipe takes without making its writer wait, once poll() has said that it takes any.
_PIECE = select.PIPE_BUF


class Follower:
    """A context manager, around the lab's run, that copies files to open descriptors as they
    grow. What was written until its end is copied before it returns, however long the reader
    takes; but not when it is left by an error, as a reader may never read.

    A file counts only while it is a regular one: whoever writes it may put a pipe there.
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
        position = 0
        while True:
            # Looked at before reading: what comes later than the end can't exist.
            last_round = self._ended.is_set()
            try:
                position = self._copy(path, position, output)
            except OSError:  # nobody reads any more
                return
            if last_round or self._given_up.is_set():
                return
            self._ended.wait(_POLL_S)

    def _copy(self, path: Path, position: int, output: int) -> int:
        """Copy what follows that position; gives the one reached."""
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
        ready = select.poll()
        ready.register(output, select.POLLOUT)
        while data and not self._given_up.is_set():
            if ready.poll(_POLL_S * 1000):
                data = data[os.write(output, data[:_PIECE]):]
