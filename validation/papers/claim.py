# SPDX-License-Identifier: GPL-3.0-or-later
"""What a paper says, as something that a run can be held against."""

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

    cell: the title of the run that it is held against; published: the number, as the paper has
    it or as follows from its formula; lowest, highest: what agrees, both included.
    """

    cell: str
    quantity: str
    published: float
    lowest: float
    highest: float
    measure: Callable[[Run], float]
    digits: int = 1

    def row(self, run: Run) -> list[str]:
        """The cells of its line of the table, below HEAD."""
        here = self.measure(run)
        numbers = (self.published, self.lowest, self.highest, here)
        published, lowest, highest, own = (f"{one:.{self.digits}f}" for one in numbers)
        # By what the reader sees: a number that is rounded up to a bound has reached it.
        agrees = float(lowest) <= float(own) <= float(highest)
        return [self.cell, self.quantity, published, lowest, highest, own,
                "yes" if agrees else "**no**"]


@dataclass(frozen=True)
class Paper:
    """A batch of batches/papers.batch. tolerance: why these bounds (Markdown); golden: the cell
    of which tests keep a data file."""

    batch: str
    tolerance: str
    golden: str
    claims: tuple[Claim, ...]

    def lines(self, runs: Sequence[Run]) -> Iterator[str]:
        """Its table, the reason of the tolerance, and what the runs were made with. Raises
        BadResult where a cell has no run."""
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
    """So many percent below the number to as many above it."""
    return published * (1 - percent / 100), published * (1 + percent / 100)
