# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the measurements that a client sends, and keeps the newest one for the log.

Parsing JSON blocks all other tests of this process, and some hundred bytes of JSON can become a
hundred times as much in memory. So no more messages are parsed than the specification lets a client
send.
"""

from __future__ import annotations

import json
from typing import Any

from flent_aqm.measure.ndt7.spec import MEASUREMENT_INTERVAL_S

# Messages that a client may send ahead of the allowed rate: one second's.
_BURST = 10


class ClientTexts:
    """Counts the text messages of one client.

    Attributes:
        measurements: number of valid measurements.
        unreadable: number of messages that aren't valid measurements.
        ignored: number of messages that weren't parsed, because they arrived faster than ten per
            second on average.
        last: the newest measurement, None if there is none.
    """

    def __init__(self) -> None:
        self.measurements = self.unreadable = self.ignored = 0
        self.last: dict[str, Any] | None = None

    def take(self, text: bytes, elapsed_s: float) -> None:
        """Count a text message that arrived elapsed_s seconds after the start of the test."""
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
    """Parse a measurement message: a JSON object of plain values, and of objects of plain values.

    Raises ValueError for anything else, and for JSON that only Python accepts: infinite numbers
    (NaN, Infinity, 1e999) and unpaired surrogates.
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
