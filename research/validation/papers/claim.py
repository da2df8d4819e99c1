# SPDX-License-Identifier: GPL-3.0-or-later
"""Published numbers in a form that runs can be compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import BadResult
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import DASH

# Behind the quantity, by which a table begins.
HEAD = ("published", "bounds", "here")


@dataclass(frozen=True)
class Claim:
    """One published number.

    Attributes:
        cell: title of the run to compare.
        published: the number in the paper, or computed with its formula.
        lowest: least value that agrees.
        highest: greatest value that agrees.
        measure: function that measures the number in a run.
        digits: number of decimals in the table.
        name: name of the row, "" for the cell's.
    """

    cell: str
    published: float
    lowest: float
    highest: float
    measure: Callable[[Run], float]
    digits: int = 1
    name: str = ""

    def row(self, run: Run) -> list[str]:
        """Return the cells of its table row: its name, and those of HEAD (published number, bounds,
        measured number). The measured number is bold if it is outside of the bounds, all rounded as
        the table shows them. Raises what `measure` raises."""
        here = self.measure(run)
        numbers = (self.published, self.lowest, self.highest, here)
        published, lowest, highest, own = (f"{one:.{self.digits}f}" for one in numbers)
        # Compare as displayed: a number that rounds to a bound has reached it.
        agrees = float(lowest) <= float(own) <= float(highest)
        return [self.name or self.cell, published, f"{lowest}{DASH}{highest}",
                own if agrees else f"**{own}**"]


@dataclass(frozen=True)
class Paper:
    """A batch of batches/papers.batch, and the numbers of its paper.

    Attributes:
        batch: name of the batch.
        quantity: quantity of all its numbers, with the unit.
        golden: cell whose data file the tests use.
        claims: the published numbers.
    """

    batch: str
    quantity: str
    golden: str
    claims: tuple[Claim, ...]

    def lines(self, runs: Sequence[Run]) -> Iterator[str]:
        """Yield the lines of the Markdown table, a row for each claim. Of several runs of a cell
        the last one counts. Raises BadResult if a cell has no run, and what the claims' `measure`
        raises: NotAvailable, another BadResult or ValueError."""
        by_title = {run.title: run for run in runs}
        lacking = sorted({claim.cell for claim in self.claims} - set(by_title))
        if lacking:
            raise BadResult(f"no run has the title {lacking[0]!r}; make all by "
                            f"flent -B batches/papers.batch -b {self.batch}")
        yield f"| {self.quantity} | {' | '.join(HEAD)} |"
        yield "|" + "---|" * (len(HEAD) + 1)
        for claim in self.claims:
            yield f"| {' | '.join(claim.row(by_title[claim.cell]))} |"


def within(published: float, percent: float) -> tuple[float, float]:
    """Return the bounds (lower, upper) that are `percent` % below and above the number."""
    return published * (1 - percent / 100), published * (1 + percent / 100)
