# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of a check and of its results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Finding:
    """A measured number, and what it should be.

    lowest, highest: the values that pass, inclusive; theory: the exact value, or None if theory
    gives only a bound.
    """

    what: str
    unit: str
    measured: float
    lowest: float = -math.inf
    highest: float = math.inf
    theory: float | None = None

    @property
    def passed(self) -> bool:
        """Return whether the measured value passes; NaN never does."""
        return self.lowest <= self.measured <= self.highest


def close_to(what: str, unit: str, theory: float, measured: float, *, percent: float = 0.0,
             absolute: float = 0.0) -> Finding:
    """Return a finding that passes within percent of theory or within absolute (in unit), whichever
    is wider."""
    margin = max(abs(theory) * percent / 100, absolute)
    return Finding(what, unit, measured, theory - margin, theory + margin, theory)


def at_most(what: str, unit: str, bound: float, measured: float) -> Finding:
    """Return a finding that passes up to the bound."""
    return Finding(what, unit, measured, highest=bound)


def at_least(what: str, unit: str, bound: float, measured: float) -> Finding:
    """Return a finding that passes from the bound on."""
    return Finding(what, unit, measured, lowest=bound)


@dataclass(frozen=True)
class Outcome:
    """The results of a check. draw: draws the check's picture; remarks: sentences for the page that
    depend on the numbers."""

    findings: tuple[Finding, ...]
    draw: Callable[[Figure], None]

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)


@dataclass(frozen=True)
class Check:
    """A measurement with a known result.

    name: also the name of the picture; theory: the formula and its meaning (Markdown); source:
    where it comes from; set_up: what is measured, and how (Markdown); tolerance: the allowed
    deviation, and why; discussion: what explains differences between theory and kernel (Markdown);
    caption: what the picture shows; size: of the picture in inches.
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
