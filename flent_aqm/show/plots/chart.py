# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of plots that we draw ourselves, from raw samples of one or many runs.

Flent calls init(), plot() and save(), on the command line and in flent-gui, whose plots
are made in another process and pickled. A subclass has draw(). Flent's options for
titles, legends, labels, bounds, sizes, axes and notes hold here, too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import counted
from flent_aqm.results.combined import description_of
from flent_aqm.results.grouping import check_keys, parse_keys
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import digits
from flent_aqm.results.reading.series import Tool
from flent_aqm.results.result_set import data_file_of, once
from flent_aqm.show.grouping import Group, along_with, by_run, factors, groups, pooled_over
from flent_aqm.show.looks import QUIET
from flent_aqm.show.plots.frame import Framed
from flent_aqm.show.plots.paper import drop_untouched

Some = TypeVar("Some")

# More lines than this and their labels are no longer read.
MOST_LINES = 12


class ChartPlotter(Framed):
    """A plot of ours. A subclass draws on self.axes, which grid() makes."""

    can_subplot_combine = False
    can_highlight = True
    metric: str | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.axes: list[Any] = []

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        """Draw runs, whose result sets have the same places in results.

        Raises BadResult with the reason when nothing can be drawn; its text stands in the
        picture then. Raises ConfigError for an option that makes no sense: on the command line
        that is one line and exit status 2, and no picture.
        """
        raise NotImplementedError

    # Below: what subclasses use.

    def grid(self, rows: int = 1, columns: int = 1, **options: Any) -> list[Any]:
        """Make the axes, row by row. One axis that Flent gave for a part of a plot is used."""
        if self._part_axis is not None:
            self.axes = [self._part_axis]
        else:
            cells = self.figure.subplots(rows, columns, squeeze=False, **options)
            self.axes = [axis for row in cells for axis in row]
        self.config["axes"] = self.axes
        return self.axes

    def group_names(self, runs: Sequence[Run]) -> list[str]:
        """Return settings that the user wants runs grouped by; empty to leave it to the plot.

        Raises ConfigError for one that no run has.
        """
        names = list(parse_keys(self.override_group_by or ""))
        try:
            check_keys([run.settings for run in runs], names)
        except ConfigError as fault:
            raise ConfigError(f"--override-group-by: {fault}") from None
        return names

    def groups_of(self, runs: Sequence[Run], most: int = MOST_LINES, together: bool = False
                  ) -> list[Group]:
        """Return what to draw as one each, at most so many: by the settings that were asked for,
        else by all in which runs differ; runs that repeat each other apart if there is room,
        unless they belong together. What is pooled or left out is said below the plot."""
        requested = self.group_names(runs)
        names = requested or factors(runs)
        drawn = groups(runs, names) if requested or together else by_run(runs, most)
        self.note_pooled(runs, names)
        return self.first(drawn, most)

    def note_pooled(self, runs: Sequence[Run], used: Sequence[str]) -> None:
        """Say in what runs differ that are drawn as one, and what differs along with what is
        drawn apart."""
        rest, along = pooled_over(runs, used), along_with(runs, used)
        if rest:
            self.note(f"pooled over {', '.join(rest)}")
        if along:
            self.note(f"also different: {', '.join(along)}")

    def first(self, items: list[Some], most: int) -> list[Some]:
        """As many of them as there is room for; the rest is counted below the plot."""
        if len(items) > most:
            self.note(f"{most} of {len(items)} shown; --override-group-by pools runs by the "
                      "settings that it names")
        return items[:most]

    def note_first_runs(self, runs: Sequence[Run], drawn: int) -> None:
        """Say that of runs that repeat each other the first one is shown."""
        if drawn < len(runs):
            self.note(f"{drawn} of {len(runs)} runs shown: the first of those that repeat "
                      "each other" if drawn else "")

    def note_lost(self, label: str, samples_ms: Any) -> None:
        """Say how many probes were lost, and what that means for what is drawn."""
        lost = int(numpy.isinf(samples_ms).sum())
        if lost:
            self.note(f"{label}: {lost:,} of {samples_ms.size:,} probes lost "
                      f"({digits(100 * lost / samples_ms.size)} %), each slower than any")

    # Below: what Flent calls.

    def init(self, config: Any = None, axis: Any = None) -> None:
        super().init(config, axis)
        self.config.setdefault("axes", [])

    def plot(self, results: Sequence[Any], config: Any = None, axis: Any = None,
             connect_interactive: bool = True) -> None:
        if self.metadata is None:
            self.metadata = results[0].meta()
        self.description = description_of(results, self.description)
        usable, faults = [], []
        for result in results:
            try:
                usable.append((run_of(result), result))
            except BadResult as fault:
                faults.append(str(fault))
        with self._letters():
            try:
                if not usable:
                    raise BadResult(faults[0])
                self.draw([run for run, _ in usable], [result for _, result in usable])
            except BadResult as fault:
                self._say(str(fault))
            except ConfigError as mistake:
                if not (self.gui or self.in_worker):
                    sys.exit(_refuse(mistake, self.output))
                self._say(str(mistake))
        if faults:
            self.note(f"{len(faults)} of {len(results)} files left out: {faults[0]}")
        self._note_of_files([run for run, _ in usable])
        self._heed_options()
        if connect_interactive:
            self.connect_interactive()

    def verify(self) -> tuple[bool, list[int]]:
        parts = [len(axis.get_children()) for axis in self.figure.axes]
        return any(parts), parts

    def do_legend(self) -> list[Any]:
        return []

    # Below: ours.

    def _note_of_files(self, runs: Sequence[Run]) -> None:
        """Say below the plot what a reader has to know of its files."""
        noted = [run for run in runs if run.notes]
        if noted:
            among = "" if len(runs) == 1 else f"{len(noted)} of {len(runs)} files: "
            self.note(f"{among}{noted[0].notes[0]}")

    def _say(self, text: str) -> None:
        """Nothing but a reason stands where the plot would be."""
        self.handles = []
        self.notes = []
        if self._part_axis is None:
            self.figure.clear()
            self.figure.set_layout_engine("constrained")
        axis, = self.grid()
        axis.set_axis_off()
        axis.text(0.5, 0.5, f"This plot can't be given:\n{text}", ha="center", va="center",
                  color=QUIET, wrap=True, transform=axis.transAxes)

    def _heed_options(self) -> None:
        for axis, label in zip(self.axes, self.label_x, strict=False):
            axis.set_xlabel(label)
        for axis, label in zip(self.axes, self.label_y, strict=False):
            axis.set_ylabel(label)
        for axis in self.axes:
            if self.log_base and axis.get_yscale() == "linear" and axis.has_data():
                axis.set_yscale("log", base=self.log_base)
            if self.invert_y and "(ms)" in axis.get_ylabel():
                axis.invert_yaxis()
        for axis, bounds in zip(self.axes, self.bounds_x, strict=False):
            axis.set_xlim(*bounds)
        for axis, bounds in zip(self.axes, self.bounds_y, strict=False):
            axis.set_ylim(*bounds)
        # What a mouse over the legend lights up.
        self.data_artists = [line for axis in self.axes for line in axis.get_lines()
                             if not line.get_label().startswith("_")]


def _refuse(mistake: ConfigError, output: str) -> int:
    """Say it in one line; gives the exit status. Flent itself would end with 0."""
    print(f"flent-aqm: {mistake}", file=sys.stderr)
    drop_untouched(output)
    return 2


def run_of(results: Any) -> Run:
    """Return a result set's run, read once. Raises BadResult."""
    return once(results, "run", lambda: as_run(data_file_of(results)))


def about(runs: Sequence[Run], samples: int | None = None, what: str = "samples") -> str:
    """Return what a plot was made of, for its caption; the probe if it is another than irtt."""
    words = [counted(len(runs), "run")]
    if samples is not None:
        words.append(f"{samples:,} {what}")
    probes = sorted({str(run.settings["probe"]) for run in runs if "probe" in run.settings})
    if probes and probes != [Tool.IRTT.value]:
        words.append(f"probe {' and '.join(probes)}")
    models = sorted({str(run.settings["router_model"]) for run in runs
                     if "router_model" in run.settings})
    testbeds = sorted({str(run.settings["testbed"]) for run in runs if "testbed" in run.settings})
    if models:
        words.append(f"router model {', '.join(models)}")
    if testbeds:
        words.append(f"testbed {', '.join(testbeds)}")
    return ", ".join(words)
