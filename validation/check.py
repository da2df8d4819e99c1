# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check is, and what comes out of one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Finding:
    """One number beside what it should be.

    lowest, highest: the measured values that pass, both included; theory: the exact value,
    or None where theory gives a bound alone.
    """

    what: str
    unit: str
    measured: float
    lowest: float = -math.inf
    highest: float = math.inf
    theory: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the measured value is one that passes; NaN never is."""
        return self.lowest <= self.measured <= self.highest


def close_to(what: str, unit: str, theory: float, measured: float, *, percent: float = 0.0,
             absolute: float = 0.0) -> Finding:
    """Passes within percent of theory, or within absolute (in unit), whichever is wider."""
    margin = max(abs(theory) * percent / 100, absolute)
    return Finding(what, unit, measured, theory - margin, theory + margin, theory)


def at_most(what: str, unit: str, bound: float, measured: float) -> Finding:
    """Passes up to the bound."""
    return Finding(what, unit, measured, highest=bound)


def at_least(what: str, unit: str, bound: float, measured: float) -> Finding:
    """Passes from the bound on."""
    return Finding(what, unit, measured, lowest=bound)


@dataclass(frozen=True)
class Outcome:
    """What a check measured. draw: fills the check's picture; remarks: sentences for the
    page that follow from the numbers."""

    findings: tuple[Finding, ...]
    draw: Callable[[Figure], None]

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)


@dataclass(frozen=True)
class Check:
    """A measurement with a known outcome.

    name: also the picture's file name; theory: the formula and what it says (Markdown);
    source: where it comes from; set_up: what is measured, and how (Markdown); tolerance:
    what is allowed, and why; discussion: what was learned where theory and kernel differ
    (Markdown); caption: what the picture shows; size: of the picture in inches.
    """

    name: str
    title: str
    theory: str
    source: str
    set_up: str
    tolerance: str
    caption: str
    measure: Callable[[], Outcome]
    discussion: str = ""
    size: tuple[float, float] = (8.0, 3.2)
