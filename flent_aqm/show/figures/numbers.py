# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold the values of a figure as a table for its CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy

from flent_aqm.base.words import counted, for_spreadsheet, plain
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.table import LOST
from flent_aqm.show.row import Floats

QUANTILES = {"min": 0, "p5": 5, "q1": 25, "median": 50, "q3": 75, "p95": 95, "p99": 99, "max": 100}

Cell = str | int | float


@dataclass
class Table:
    """Values of a figure, for its CSV file.

    Attributes:
        columns: names of the columns.
        rows: cells of each row, in the order of the columns.
        runs: number of runs.
        missing: names of the figure's cells that have no run. In figures of distributions and over
            time, also of those whose runs have no value.
    """

    columns: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list)
    runs: int = 0
    missing: list[str] = field(default_factory=list)

    @property
    def counts_text(self) -> str:
        """Number of runs, and of cells in `missing` if there are any, as text: "3 runs; 2 cells
        without a value"."""
        missing = f"; {counted(len(self.missing), 'cell')} without a value" if self.missing else ""
        return f"{counted(self.runs, 'run')}{missing}"

    def write(self, path: Path) -> None:
        """Write the table as CSV. An existing file is overwritten. Raises OSError if it can't be
        written."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows([[_for_csv(cell) for cell in row] for row in self.rows])


def quantiles(values: Floats) -> list[Cell]:
    """Return ten cells for at least one value: the quantiles in QUANTILES (minimum, p5, lower
    quartile, median, upper quartile, p95, p99, maximum), mean and sample standard deviation.

    A quantile is infinite if it is a lost probe, or lies between an answered and a lost one. Mean
    and standard deviation are of the finite values, "" without any. The standard deviation of a
    single finite value is "".

    values: the values in any order, infinite for a lost probe.
    """
    cells: list[Cell] = [of_any(values, percent) for percent in QUANTILES.values()]
    finite = values[numpy.isfinite(values)]
    mean: Cell = float(finite.mean(dtype=float)) if finite.size else ""
    return [*cells, mean, deviation(finite) if finite.size > 1 else ""]


def deviation(values: Floats) -> float:
    """Return the sample standard deviation (with n - 1) of two or more finite values. The tables of
    the study's figures and the texts in their panels both use it."""
    return float(values.std(ddof=1, dtype=float))


def _for_csv(cell: Cell) -> Cell:
    """Return a cell as CSV has it: text as one printable line that a spreadsheet doesn't take for a
    formula, floats with six significant digits as text, and LOST for infinity. Integers are
    unchanged."""
    if isinstance(cell, str):
        return for_spreadsheet(plain(cell))
    if isinstance(cell, float):
        return LOST if math.isinf(cell) else f"{cell:.6g}"
    return cell
