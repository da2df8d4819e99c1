# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that tests one direction at a time, for a length of one's choice."""

from __future__ import annotations

from typing import Any, ClassVar

from flent_aqm.measure.runners.process import SupervisedRunner

# Connecting, and the last data, through a full queue.
WATCHDOG_MARGIN_S = 30


class OneWayRunner(SupervisedRunner):
    """Keys of the data set: host, direction ("download" or "upload"), length (s), port."""

    usual_port: ClassVar[int]

    def __init__(self, *, host: str, direction: str, length: int, port: int | None = None,
                 **kwargs: Any) -> None:
        kwargs.setdefault("watchdog_timer", length + WATCHDOG_MARGIN_S)
        super().__init__(**kwargs)
        self.host, self.direction, self.length = host, direction, length
        self.port = self.usual_port if port is None else port
