# SPDX-License-Identifier: GPL-3.0-or-later
"""Define the study's figures, and the grid of rates and queues that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.grouping import AQM, RATE, collect, sorted_values
from flent_aqm.show.figures.gather import BASE_DELAY, FigureRow
from flent_aqm.show.looks import order

AQMS = ("no_aqm", "codel", "sfq", "fq_codel")


@dataclass(frozen=True)
class Figure:
    """A figure of the study.

    Attributes:
        number: number of the figure.
        kind: "throughput", "latency", "instant" (throughput over time) or "verdicts".
        burst: whether its runs have burst shaping.
        cross: whether its runs have cross traffic.
        title: title without number and conditions.
        rates_mbps: for "instant", the rates at which it is drawn, or the nearest of the grid. Empty
            for other kinds: distributions are drawn at all rates, verdicts at one that the user
            chooses.
    """

    number: int
    kind: str
    burst: bool
    cross: bool
    title: str
    rates_mbps: tuple[float, ...] = ()

    @property
    def heading(self) -> str:
        """Number, title and, except for verdicts, conditions: "Figure 1: Throughput, without burst
        shaping, without cross traffic"."""
        return (f"Figure {self.number}: {self.title}"
                + ("" if self.kind == "verdicts" else f", {self.conditions}"))

    @property
    def conditions(self) -> str:
        """Burst shaping and cross traffic as text: "with burst shaping, without cross traffic"."""
        return (f"{'with' if self.burst else 'without'} burst shaping, "
                f"{'with' if self.cross else 'without'} cross traffic")


FIGURES = (
    Figure(1, "throughput", False, False, "Throughput"),
    Figure(2, "latency", False, False, "Latency under load"),
    Figure(3, "throughput", True, False, "Throughput"),
    Figure(4, "latency", True, False, "Latency under load"),
    Figure(5, "throughput", True, True, "Throughput"),
    Figure(6, "latency", True, True, "Latency under load"),
    # The study doesn't say at which rate. The rates of the next two figures allow a comparison.
    Figure(7, "instant", False, False, "Upload throughput over time", (100, 900)),
    Figure(8, "instant", True, True, "Upload throughput over time", (100,)),
    Figure(9, "instant", True, True, "Upload throughput over time", (900,)),
    Figure(10, "verdicts", False, False, "What each speed test and score says of the same link"),
)


@dataclass(frozen=True)
class Grid:
    """Rates and queues that all figures share, see grid().

    Attributes:
        rates_mbps: different rates of the runs, ascending.
        aqms: the study's queues, and those of the runs, in the order of legends.
        model: router model and testbed as text for the caption, "" if the runs have no router
            model.
    """

    rates_mbps: Sequence[float]
    aqms: Sequence[str]
    model: str


def on_grid(rows: Sequence[FigureRow]) -> list[FigureRow]:
    """Return the runs that record a queue and the same rate for both directions. Others have no
    place in a grid. Raises ConfigError if there are none."""
    usable = [row for row in rows if AQM in row.settings
              and isinstance(row.settings.get(RATE), (int, float))]
    if not usable and (others := dict.fromkeys(
            str(row.settings[RATE]) for row in rows if AQM in row.settings and row.settings.get(
                RATE))):
        raise ConfigError("none of the runs has a link with one constant rate in Mbit/s for both "
                          f"directions ({', '.join(list(others)[:3])}), and these figures compare "
                          "rates")
    if not usable:
        raise ConfigError("none of the runs records both its queue and one rate for both "
                          "directions; expected runs of flent-aqm's batches, with the same rate "
                          "for download and upload")
    return usable


def grid(rows: Sequence[FigureRow]) -> Grid:
    """Return the grid of all figures, from the runs of on_grid(). Raises ConfigError if they are of
    different testbeds or router models."""
    # A setting that isn't recorded is None for --where, too.
    models = collect(rows, lambda row: (str(row.settings.get("router_model")),
                                        str(row.settings.get("testbed"))))
    if len(models) > 1:
        names = "; ".join(f"{len(members)} with router_model={model}, testbed={testbed}"
                          for (model, testbed), members in models.items())
        raise ConfigError(f"these runs can't be drawn in one figure: {names}. "
                          "Choose by --where router_model=NAME or --where testbed=NAME")
    (model, testbed), = models
    return Grid(
        rates_mbps=[float(str(rate)) for rate in
                    sorted_values(RATE, [row.settings[RATE] for row in rows])],
        aqms=order([*AQMS, *(str(row.settings[AQM]) for row in rows)]),
        model="" if model == "None" else f"router model {model}, testbed {testbed}")


def rows_of(figure: Figure, rows: Sequence[FigureRow], test: str) -> list[FigureRow]:
    """Return the runs of a test whose settings burst_shaping and cross_traffic are the figure's, at
    any rate. Runs that don't record one of them, or whose cross traffic is a word, are left out.
    test: name of the test."""
    return [row for row in rows if row.has(test=test, burst_shaping=figure.burst,
                                           cross_traffic=figure.cross)]


def of_least_delay(rows: Sequence[FigureRow]) -> list[FigureRow]:
    """Return the runs with the smallest base delay of all. It is zero in the study. A run that
    doesn't record its base delay counts as 0 ms."""
    delays_ms = [float(row.settings.get(BASE_DELAY, 0.0)) for row in rows]
    return [row for row, delay_ms in zip(rows, delays_ms, strict=True)
            if delay_ms == min(delays_ms)]


def nearest(rates_mbps: Sequence[float], wanted_mbps: float) -> float:
    """Return the rate that is closest to the wanted rate, the first of two that are equally close.
    There must be at least one."""
    return min(rates_mbps, key=lambda rate: abs(rate - wanted_mbps))
