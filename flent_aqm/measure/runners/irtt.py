# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's irtt runner, watched, and with failures told as all our runners do.

Flent's own gives nothing at all to its caller when irtt prints no JSON; that ends the
thread which collects results, and Flent then waits for ever.
"""

from __future__ import annotations

from typing import Any

from flent_aqm.base.flent_api import IrttRunner
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner

WATCHDOG_MARGIN_S = 15


class AqmIrttRunner(SupervisedRunner, IrttRunner):
    """UDP round-trip times; the keys of the data set are those of Flent's `irtt`; and cut_after,
    the name of a runner: what was sent later than linger_s after its end is left out. irtt can't
    be ended early, as it then prints nothing.
    """

    def __init__(self, *, length: float, cut_after: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("watchdog_timer", length + WATCHDOG_MARGIN_S)
        super().__init__(length=length, **kwargs)
        self.cut_after = cut_after

    def recv_result(self, res: Parsed) -> None:
        if self.cut_after is not None and res[1]:
            end_s = self.ended_s[self.cut_after] + (self.linger_s or 0.0)
            series = res[0]
            if isinstance(series, dict):
                series = {name: _until(points, end_s) for name, points in series.items()}
            else:
                series = _until(series, end_s)
            res = series, [one for one in res[1] if one["t"] <= end_s], res[2]
        super().recv_result(res)


def _until(points: list[list[float]], end_s: float) -> list[list[float]]:
    return [one for one in points if one[0] <= end_s]
