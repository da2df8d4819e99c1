# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles signals that end a sweep: ^C once and twice, SIGTERM, SIGHUP."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Context manager that handles signals in the main thread.

    The first ^C calls once(). A second ^C, and SIGTERM or SIGHUP at any time, raise
    KeyboardInterrupt. It is raised only once, because further signals would interrupt the clean-up
    and leave temporary folders behind. A signal that was ignored before (nohup, a shell's
    background job) stays ignored.
    """

    def __init__(self, once: Callable[[], None]) -> None:
        self._once = once
        self._came = self._raised = False
        self._old: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        # Only the main thread can set handlers.
        if threading.current_thread() is threading.main_thread():
            for number, handler in ((signal.SIGINT, self._interrupt), (signal.SIGTERM, self._now),
                                    (signal.SIGHUP, self._now)):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._old[number] = signal.signal(number, handler)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old.clear()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Signal handler of SIGINT: call once() the first time, raise KeyboardInterrupt after
        that."""
        if self._came:
            self._now(number, frame)
            return
        self._came = True
        self._once()

    def _now(self, number: int, frame: FrameType | None) -> None:
        """Signal handler of SIGTERM and SIGHUP: raise KeyboardInterrupt the first time."""
        if not self._raised:
            self._raised = True
            raise KeyboardInterrupt
