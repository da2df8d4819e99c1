# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the progress of set-up on standard error.

On a terminal it is a line that changes, otherwise a few lines.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO

# Seconds between two lines of a step if the output isn't a terminal.
LOG_INTERVAL_S = 15


class Progress:
    """Reports the progress of setting up one part. On a terminal, a line changes, otherwise lines
    are added.

    step() prints a line at once. count() may be called as often as wanted.

    Args:
        part: name of the part for the user.
        stream: where to print, by default standard error.
    """

    def __init__(self, part: str, stream: TextIO | None = None) -> None:
        self.part = part
        self._stream = stream or sys.stderr
        self._moving = self._stream.isatty()
        self._last_log_s = 0.0
        self._begun_s = time.monotonic()

    def step(self, text: str) -> None:
        """Print a line that says which step begins.

        text: the step, such as "unpacking linux-source-7.3".
        """
        self._write_line(f"{self.part}: {text}")
        self._last_log_s = time.monotonic()

    def count(self, text: str, done: int, expected: int) -> None:
        """Show how much of a step's work is done. If the stream isn't a terminal, a line is printed
        at most every LOG_INTERVAL_S.

        Args:
            text: the work, such as "compiling".
            done: number of finished pieces.
            expected: number of all pieces. It may be an estimate, so less than 100 % is shown.
        """
        percent = min(99, 100 * done // max(expected, 1))
        line = (f"{self.part}: {text} {percent:3d} % ({done} of about {expected})"
                if done < expected else f"{self.part}: {text}, nearly done ({done})")
        now_s = time.monotonic()
        if self._moving:
            self._write(f"\r{line}\x1b[K", end="")
        elif now_s - self._last_log_s >= LOG_INTERVAL_S:
            self._last_log_s = now_s
            self._write(line, end="\n")

    def finish(self, text: str) -> None:
        """Print a line with the result and the time in s since the object was created.

        text: the result, such as "version 7.3 built".
        """
        self._write_line(f"{self.part}: {text} ({time.monotonic() - self._begun_s:.0f} s)")

    def _write_line(self, text: str) -> None:
        """Print a line that stays, in place of a changing line."""
        # It replaces a changing line, which may be that of a part made in parallel (beside.py).
        self._write(f"\r{text}\x1b[K" if self._moving else text, end="\n")

    def _write(self, text: str, end: str) -> None:
        """Write a text to the stream at once."""
        print(text, end=end, file=self._stream, flush=True)
