# SPDX-License-Identifier: GPL-3.0-or-later
"""Published numbers in a form that runs can be compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import BadResult
from flent_aqm.results.metrics.run import Run
from validation.numbers import made_with

HEAD = ("cell", "quantity", "published", "agrees from", "to", "here", "agrees")


@dataclass(frozen=True)
class Claim:
    """One published number.

    cell: the title of the run to compare; published: the number in the paper, or computed with its
    formula; lowest, highest: the values that agree, inclusive.
    """

    cell: str
    quantity: str
    published: float
    lowest: float
    highest: float
    measure: Callable[[Run], float]
    digits: int = 1

    def row(self, run: Run) -> list[str]:
        """Return the cells of its table row, in the order of HEAD."""
        here = self.measure(run)
        numbers = (self.published, self.lowest, self.highest, here)
        published, lowest, highest, own = (f"{one:.{self.digits}f}" for one in numbers)
        # Compare as displayed: a number that rounds to a bound has reached it.
        agrees = float(lowest) <= float(own) <= float(highest)
        return [self.cell, self.quantity, published, lowest, highest, own,
                "yes" if agrees else "**no**"]


@dataclass(frozen=True)
class Paper:
    """A batch of batches/papers.batch. tolerance: the reason for the bounds (Markdown); golden: the
    cell whose data file the tests use."""

    batch: str
    tolerance: str
    golden: str
    claims: tuple[Claim, ...]

    def lines(self, runs: Sequence[Run]) -> Iterator[str]:
        """Yield the table, the reason for the tolerance, and what the runs were made with. Raises
        BadResult if a cell has no run."""
        found = {run.title: run for run in runs}
        lacking = sorted({claim.cell for claim in self.claims} - set(found))
        if lacking:
            raise BadResult(f"no run has the title {lacking[0]!r}; make all by "
                            f"flent -B batches/papers.batch -b {self.batch}")
        yield f"| {' | '.join(HEAD)} |"
        yield "|" + " --- |" * len(HEAD)
        for claim in self.claims:
            yield f"| {' | '.join(claim.row(found[claim.cell]))} |"
        yield ""
        yield f"Bounds: {self.tolerance}"
        yield ""
        yield made_with([found[cell] for cell in dict.fromkeys(one.cell for one in self.claims)]
                        ).replace("`make docs`", "`python -m validation.papers`")


def within(published: float, percent: float) -> tuple[float, float]:
    """Return the bounds that are percent below and above the number."""
    return published * (1 - percent / 100), published * (1 + percent / 100)
