# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client says of its own measurements: counted, and the newest one kept for the log.

Reading JSON holds up all other tests of this process meanwhile, and some hundred bytes of it can
become a hundred times as much in memory. So no more texts are read than the specification
lets a client send.
"""

from __future__ import annotations

import json
from typing import Any

from flent_aqm.measure.ndt7.spec import MEASUREMENT_INTERVAL_S

# A client may be ahead of its time by this many, which is a second's.
_BURST = 10


class ClientTexts:
    """measurements, unreadable, ignored: how many texts were one of these; ignored: sent
    faster than ten a second on the average, and not read. last: the newest measurement."""

    def __init__(self) -> None:
        self.measurements = self.unreadable = self.ignored = 0
        self.last: dict[str, Any] | None = None

    def take(self, text: bytes, elapsed_s: float) -> None:
        """Take in a text message that came elapsed_s after the start of the test."""
        read = self.measurements + self.unreadable
        if read >= _BURST + elapsed_s / MEASUREMENT_INTERVAL_S:
            self.ignored += 1
            return
        try:
            self.last = parse_measurement(text)
            self.measurements += 1
        except ValueError:
            self.unreadable += 1


def parse_measurement(text: bytes) -> dict[str, Any]:
    """Return a measurement message: an object of plain values and of objects of those.

    Raises ValueError for all else, also for what Python reads and JSON doesn't have: infinite
    numbers (NaN, Infinity, 1e999) and halves of surrogate pairs.
    """
    try:
        message = json.loads(text)
        json.dumps(message, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError("no object")
    for value in message.values():
        inner = value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(one, dict | list) for one in inner):
            raise ValueError("not flat")
    return message
