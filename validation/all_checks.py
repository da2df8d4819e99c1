# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks, in the page's order."""

from __future__ import annotations

from validation.check import Check
from validation.checks import codel_law, goodput, pfifo_delay

CHECKS: tuple[Check, ...] = (
    goodput.CHECK,
    pfifo_delay.CHECK,
    codel_law.CHECK,
)
