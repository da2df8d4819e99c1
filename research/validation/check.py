# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of a check and of its results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Finding:
    """A measured number, and the values that it should have.

    Attributes:
        what: description of the number.
        unit: its unit, "" for none.
        measured: the measured value.
        lowest: least value that passes.
        highest: greatest value that passes.
        theory: the exact value, None if theory gives only a bound.
    """

    what: str
    unit: str
    measured: float
    lowest: float = -math.inf
    highest: float = math.inf
    theory: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the measured value is from `lowest` to `highest`, both included. NaN never is."""
        return self.lowest <= self.measured <= self.highest


def close_to(what: str, unit: str, theory: float, measured: float, *, percent: float = 0.0,
             absolute: float = 0.0) -> Finding:
    """Return a finding that passes if `measured` differs from `theory` by at most the allowed
    deviation, the larger of `percent` and `absolute`.

    Args:
        what: description of the number.
        unit: its unit.
        theory: the exact value.
        measured: the measured value.
        percent: allowed deviation relative to theory, in %.
        absolute: allowed deviation in `unit`.
    """
    margin = max(abs(theory) * percent / 100, absolute)
    return Finding(what, unit, measured, theory - margin, theory + margin, theory)


def at_most(what: str, unit: str, bound: float, measured: float) -> Finding:
    """Return a finding that passes if `measured` is at most `bound`. `what`: description of the
    number."""
    return Finding(what, unit, measured, highest=bound)


def at_least(what: str, unit: str, bound: float, measured: float) -> Finding:
    """Return a finding that passes if `measured` is at least `bound`. `what`: description of the
    number."""
    return Finding(what, unit, measured, lowest=bound)


@dataclass(frozen=True)
class Outcome:
    """The results of a check.

    Attributes:
        findings: the measured numbers.
        draw: function that draws the check's picture into an empty figure of Matplotlib.
    """

    findings: tuple[Finding, ...]
    draw: Callable[[Figure], None]

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)


@dataclass(frozen=True)
class Check:
    """A measurement with a known result. Texts are Markdown.

    Attributes:
        name: name of the check and of its picture.
        title: heading on the page.
        theory: the formula and its meaning.
        source: source of the theory.
        set_up: what is measured, and how.
        tolerance: the allowed deviation, and why.
        caption: what the picture shows.
        measure: function that makes the measurement. It raises AqmError if it can't.
        discussion: what explains differences between theory and kernel, "" for nothing.
        size: width and height of the picture in inches.
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
