# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's irtt runner, watched, and with failures told as all our runners do.

Flent's own gives nothing at all to its caller when irtt prints no JSON; that ends the
thread which collects results, and Flent then waits for ever.
"""

from __future__ import annotations

from typing import Any

from flent_aqm.base.flent_api import IrttRunner
from flent_aqm.measure.runners.process import SupervisedRunner

WATCHDOG_MARGIN_S = 15


class AqmIrttRunner(SupervisedRunner, IrttRunner):
    """UDP round-trip times; the keys of the data set are those of Flent's `irtt`."""

    def __init__(self, *, length: float, **kwargs: Any) -> None:
        kwargs.setdefault("watchdog_timer", length + WATCHDOG_MARGIN_S)
        super().__init__(length=length, **kwargs)
