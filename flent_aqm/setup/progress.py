# SPDX-License-Identifier: GPL-3.0-or-later
"""What set-up is doing, on standard error: a line that moves on a terminal, few lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

# A log (CI's) gets one line per this many seconds and step: enough to see it live.
LOG_INTERVAL_S = 15


class Progress:
    """Reports one step of set-up.

    part: what is being set up, as the user knows it. A step's text is shown at once;
    `count` is called as often as wanted with work done and expected.
    """

    def __init__(self, part: str, stream: TextIO | None = None) -> None:
        self.part = part
        self._stream = stream or sys.stderr
        self._moving = self._stream.isatty()
        self._last_log_s = 0.0
        self._begun_s = time.monotonic()

    def step(self, text: str) -> None:
        """A new step begins."""
        self._write_line(f"{self.part}: {text}")
        self._last_log_s = time.monotonic()

    def count(self, text: str, done: int, expected: int) -> None:
        """Work done so far. `expected` may be an estimate: below 100 % until `done` is final."""
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
        """The part is there; adds how long it took."""
        self._write_line(f"{self.part}: {text} ({time.monotonic() - self._begun_s:.0f} s)")

    def _write_line(self, text: str) -> None:
        # in the place of a moving line, which may be that of a part made beside (beside.py)
        self._write(f"\r{text}\x1b[K" if self._moving else text, end="\n")

    def _write(self, text: str, end: str) -> None:
        print(text, end=end, file=self._stream, flush=True)
