# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks, in the page's order."""

from __future__ import annotations

from validation.check import Check
from validation.checks import (
    bbr_drain,
    codel_law,
    fq_codel_sparse,
    goodput,
    pfifo_delay,
    red_thresholds,
)

CHECKS: tuple[Check, ...] = (
    goodput.CHECK,
    pfifo_delay.CHECK,
    codel_law.CHECK,
    fq_codel_sparse.CHECK,
    red_thresholds.CHECK,
    bbr_drain.CHECK,
)
