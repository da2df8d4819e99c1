# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's runners of irtt and of fping or ping, watched, and with failures told as all ours do.

Flent's own of irtt gives nothing at all to its caller when that prints no JSON; that ends the
thread which collects results, and Flent then waits for ever.
"""

from __future__ import annotations

from typing import IO, Any

from flent_aqm.base.flent_api import IrttRunner, PingRunner
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner

WATCHDOG_MARGIN_S = 15
# For the answers to what was sent last.
ANSWERS_S = 1.0
# What is stopped after another tool's end would go on for so much longer than that tool may last:
# irtt that is stopped while it waits for its own last answers writes nothing.
SPARE_S = 90


class AqmIrttRunner(SupervisedRunner, IrttRunner):
    """UDP round-trip times; the keys of the data set are those of Flent's `irtt`.

    With kill_after it ends linger_s after that runner, and some time later than what it keeps
    was sent.
    """

    def __init__(self, *, length: float, linger_s: float | None = None, **kwargs: Any) -> None:
        if linger_s is not None:
            length += SPARE_S
        kwargs.setdefault("watchdog_timer", length + WATCHDOG_MARGIN_S)
        super().__init__(length=length, linger_s=None if linger_s is None
                         else linger_s + ANSWERS_S, **kwargs)

    def fork(self) -> int:
        if self.linger_s is not None:
            # Stopped, irtt writes into files, and nothing to standard output.
            self.args[self.args.index("-o") + 1] = self.open_written(".json")
        return super().fork()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        if self.linger_s is None:
            return super().read(output, error)
        with open(self.written, encoding="utf-8") as written:
            series, samples, metadata = super().read(written, error)
        end_s = max((one["t"] for one in samples), default=0.0) - ANSWERS_S
        if isinstance(series, dict):
            series = {name: _until(points, end_s) for name, points in series.items()}
        else:
            series = _until(series, end_s)
        return series, [one for one in samples if one["t"] <= end_s], metadata


class AqmPingRunner(SupervisedRunner, PingRunner):
    """ICMP round-trip times; the keys of the data set are those of Flent's `ping`."""

    # fping and ping end with status 1 when some replies are missing: no failure here,
    # as long as the output can be read.
    success_return = (0, 1)

    def check(self) -> None:
        super().check()
        # With a lost last packet fping waits for ever, and Flent's watchdog is how it
        # ends normally; its output is whole by then.
        self.run_for_s, self.watchdog_timer = self.watchdog_timer, None


def _until(points: list[list[float]], end_s: float) -> list[list[float]]:
    return [one for one in points if one[0] <= end_s]
