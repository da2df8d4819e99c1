# SPDX-License-Identifier: GPL-3.0-or-later
"""The repetitions of a cell, and tables of cells: measured, and predicted by the lab."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.results.grouping import collect
from flent_aqm.results.metrics.latency import STATISTICS
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.table import LOST, METRICS, Unavailable, ranked
from flent_aqm.show.looks import DASH

QUANTITIES = {"goodput": "goodput, Mbit/s", "median": "median RTT, ms", "p99": "p99 RTT, ms"}
CALIBRATION = "calibration_"
# A prediction explains a measurement if its relative error is at most this.
NEAR = 0.1


@dataclass(frozen=True)
class Cell:
    """The runs of one cell of batches/prediction.batch.

    Attributes:
        runs: its repetitions, at least one, with the same settings.
    """

    runs: Sequence[Run]

    @property
    def name(self) -> str:
        """Description of the cell, as in the table: "`fq_codel`, 50 Mbit/s", with ", burst shaping"
        or ", one Cubic download beside it" or both behind it if it has them."""
        one = self.runs[0].settings
        burst = ", burst shaping" if one["burst_shaping"] else ""
        cross = ", one Cubic download beside it" if one["cross_traffic"] else ""
        return f"`{one['aqm']}`, {float(str(one['rate_up_mbps'])):g} Mbit/s{burst}{cross}"

    @property
    def is_for_calibration(self) -> bool:
        """Whether a model is fitted to this cell."""
        return str(self.runs[0].settings["batch"]).startswith(CALIBRATION)

    def values(self, quantity: str) -> list[float]:
        """Return the value of a quantity for each run: "goodput" in Mbit/s, or "median" or "p99" of
        the round-trip time under load in ms. A percentile that falls on lost probes is infinite.
        Raises ConfigError if a run has no throughput, NotAvailable if it has no probes under load.
        """
        return [self._value(run, quantity) for run in self.runs]

    @cached_property
    def idle_ms(self) -> float:
        """Median over the runs of each run's median round-trip time before the load, in ms. Raises
        NotAvailable if a run has no or too few probes before the load, or lost half or more of
        them."""
        return float(numpy.median([STATISTICS["median"](run.idle()) for run in self.runs]))

    def point(self) -> str:
        """Return the cell as an argument of `flent-aqm calibrate`, RATE=GOODPUT/RISE or
        RATE+burst=GOODPUT/RISE: the rate and the median goodput in Mbit/s, and how far the median
        round-trip time under load is above the idle one, in ms, at least 0. Raises ConfigError if a
        run has no throughput, NotAvailable where values() or idle_ms do."""
        one = self.runs[0].settings
        rise_ms = max(0.0, float(numpy.median(self.values("median"))) - self.idle_ms)
        return (f"{float(str(one['rate_up_mbps'])):g}{'+burst' if one['burst_shaping'] else ''}="
                f"{float(numpy.median(self.values('goodput'))):.2f}/{rise_ms:.3f}")

    @staticmethod
    def _value(run: Run, quantity: str) -> float:
        if quantity == "goodput":
            mbps = ranked(METRICS["throughput_upload_mbps"].of(run))
            if mbps is None or isinstance(mbps, Unavailable):
                raise ConfigError(f"{run.path}: the run has no throughput; measure it again")
            return float(mbps)
        # Not the metric, which omits p99 for short runs. Here the repetitions show how
        # uncertain it is.
        return float(of_any(run.loaded().rtt_ms, {"median": 50, "p99": 99}[quantity]))


def load(folder: Path) -> dict[str, Cell]:
    """Return the cells of a folder by name. Raises ConfigError if it has no data files, BadResult
    if one is damaged."""
    runs = [load_run(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    if not runs:
        raise ConfigError(f"{folder}: no data files (*{SUFFIX}) there; measure again, without "
                          "--only predict")
    cells = [Cell(members) for members in collect(runs, lambda run: Cell([run]).name).values()]
    return {cell.name: cell for cell in cells}


def table(measured: Mapping[str, Cell], ideal: Mapping[str, Cell], model: Mapping[str, Cell],
          *, calibration: bool) -> Iterator[str]:
    """Yield the lines of a Markdown table: its head, and a row for each cell and quantity. It has
    the measured median with the least and the greatest value, the prediction of the ideal lab, that
    of the model, and the model's error in %. A predicted round-trip time is the lab's, plus the
    difference between the idle router and the idle lab. Raises KeyError if a cell is missing in the
    lab, ConfigError and NotAvailable as Cell.values() and Cell.idle_ms do.

    Args:
        measured: name -> measured cell.
        ideal: name -> cell of the lab with an ideal router.
        model: name -> cell of the lab with the fitted model.
        calibration: True: only cells that were fitted. False: only those that were predicted.
    """
    yield "| cell | | measured: median, least to greatest | ideal lab | model | error |"
    yield "|---|---|---|---|---|---|"
    for name, cell in measured.items():
        if cell.is_for_calibration != calibration:
            continue
        for quantity, words in QUANTITIES.items():
            values = cell.values(quantity)
            truth = float(numpy.median(values))
            by_ideal, by_model = (predicted(cell, lab[name], quantity) for lab in (ideal, model))
            yield (f"| {name if quantity == 'goodput' else ''} | {words} | "
                   f"{_digits(truth)} ({_digits(min(values))}{DASH}{_digits(max(values))}) | "
                   f"{_digits(by_ideal)} | {_digits(by_model)} | "
                   f"{_error(by_model, truth)} |")


def by_cell(rows: Iterable[str]) -> Iterator[str]:
    """Convert the lines of table() to those of a Markdown table with one row per cell, and yield
    them, its head included. Each row has a column per quantity: the measured value with its range,
    the ideal lab's value and the model's, with commas between them."""
    yield f"| measured, ideal lab, model | {' | '.join(QUANTITIES.values())} |"
    yield "|---|" + "---|" * len(QUANTITIES)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows][2:]
    for first in range(0, len(cells), len(QUANTITIES)):
        of_cell = cells[first:first + len(QUANTITIES)]
        yield f"| {of_cell[0][0]} | {' | '.join(', '.join(one[2:5]) for one in of_cell)} |"


def unexplained(measured: Mapping[str, Cell], model: Mapping[str, Cell]) -> Iterator[str]:
    """Yield a text for each prediction that lies outside of the range of the cell's measured
    repetitions and is off by more than 10 % (NEAR) from their median: the quantity, the cell, that
    median and the prediction.

    Args:
        measured: name -> measured cell.
        model: name -> cell of the lab with the fitted model. Raises KeyError if a measured cell is
            missing.
    """
    for name, cell in measured.items():
        for quantity, words in QUANTITIES.items():
            values, by_model = cell.values(quantity), predicted(cell, model[name], quantity)
            truth = float(numpy.median(values))
            inside = min(values) <= by_model <= max(values)
            # A lost probe counts as infinitely slow, so a percentile may be infinite.
            if not inside and not abs(by_model / truth - 1) <= NEAR:
                yield f"{words} of {name}: {_digits(truth)}, by the model {_digits(by_model)}"


def predicted(measured: Cell, lab: Cell, quantity: str) -> float:
    """Return the lab's prediction of a quantity for the cell: its median over the lab's runs, and
    for a round-trip time the difference between the idle router and the idle lab added. Infinite if
    it falls on lost probes. Raises ConfigError and NotAvailable as Cell.values() and Cell.idle_ms
    do.

    Args:
        measured: the measured cell.
        lab: the lab's cell.
        quantity: "goodput" (Mbit/s), or "median" or "p99" of the round-trip time (ms).
    """
    value = float(numpy.median(lab.values(quantity)))
    return value if quantity == "goodput" else value + measured.idle_ms - lab.idle_ms


def _error(value: float, truth: float) -> str:
    return (f"{100 * (value / truth - 1):+.0f} %" if math.isfinite(value) and math.isfinite(truth)
            else DASH)


def _digits(value: float) -> str:
    if math.isinf(value):
        return LOST
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
