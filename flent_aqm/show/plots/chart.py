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
from flent_aqm.base.flent_plotting import Plotter
from flent_aqm.base.words import counted
from flent_aqm.results.combined import description_of
from flent_aqm.results.grouping import check_known, parse_keys
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import digits
from flent_aqm.results.raw_samples import data_file_of, packed_of
from flent_aqm.show.grouping import Group, along_with, by_run, factors, groups, pooled_over
from flent_aqm.show.looks import QUIET, caption, legend_columns, wrapped
from flent_aqm.show.plots.paper import drop_untouched, letters, write_caption

Some = TypeVar("Some")

# More lines than this and their labels are no longer read.
MOST_LINES = 12


class ChartPlotter(Plotter):
    """A plot of ours. A subclass draws on self.axes, which grid() makes."""

    can_subplot_combine = False
    can_highlight = True
    metric: str | None
    caption_apart: bool
    metadata: Any
    description: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.axes: list[Any] = []
        self.heading = ""  # in place of the plot's description
        self.notes: list[str] = []
        self.handles: list[Any] = []
        self._given: Any = None

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        """Draw runs, whose result sets have the same places in results.

        Raises BadResult with the reason when nothing can be drawn; its text stands in the
        picture then. Raises ConfigError for an option that makes no sense: on the command line
        that is one line and exit status 2, and no picture.
        """
        raise NotImplementedError

    def settle(self) -> str:
        """Fit what is drawn to its room, when all that is around it is there; give what is to be
        said of that below the plot."""
        return ""

    # Below: what subclasses use.

    def grid(self, rows: int = 1, columns: int = 1, **options: Any) -> list[Any]:
        """Make the axes, row by row. One axis that Flent gave for a part of a plot is used."""
        if self._given is not None:
            self.axes = [self._given]
        else:
            found = self.figure.subplots(rows, columns, squeeze=False, **options)
            self.axes = [axis for row in found for axis in row]
        self.config["axes"] = self.axes
        return self.axes

    def note(self, text: str) -> None:
        """Add to what stands below the plot."""
        if text and text not in self.notes:
            self.notes.append(text)

    def group_names(self, runs: Sequence[Run]) -> list[str]:
        """Return settings that the user wants runs grouped by; empty to leave it to the plot.

        Raises ConfigError for one that no run has.
        """
        names = list(parse_keys(self.override_group_by or ""))
        try:
            check_known([run.settings for run in runs], names)
        except ConfigError as fault:
            raise ConfigError(f"--override-group-by: {fault}") from None
        return names

    def groups_of(self, runs: Sequence[Run], most: int = MOST_LINES, together: bool = False
                  ) -> list[Group]:
        """Return what to draw as one each, at most so many: by the settings that were asked for,
        else by all in which runs differ; runs that repeat each other apart if there is room,
        unless they belong together. What is pooled or left out is said below the plot."""
        asked = self.group_names(runs)
        names = asked or factors(runs)
        found = groups(runs, names) if asked or together else by_run(runs, most)
        self.note_pooled(runs, names)
        return self.first(found, most)

    def note_pooled(self, runs: Sequence[Run], used: Sequence[str]) -> None:
        """Say in what runs differ that are drawn as one, and what differs along with what is
        drawn apart."""
        rest, along = pooled_over(runs, used), along_with(runs, used)
        if rest:
            self.note(f"pooled over {', '.join(rest)}")
        if along:
            self.note(f"also different: {', '.join(along)}")

    def first(self, found: list[Some], most: int) -> list[Some]:
        """As many of them as there is room for; the rest is counted below the plot."""
        if len(found) > most:
            self.note(f"{most} of {len(found)} shown; --override-group-by pools runs by the "
                      "settings that it names")
        return found[:most]

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
        self._given = axis
        self.config.setdefault("axes", [])
        if axis is None:
            self.figure.set_layout_engine("constrained")

    def _letters(self) -> Any:
        from matplotlib import rc_context

        return rc_context(letters(self.figure.get_figwidth()))

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
        self._heed_options()
        if connect_interactive:
            self.connect_interactive()

    def verify(self) -> tuple[bool, list[int]]:
        parts = [len(axis.get_children()) for axis in self.figure.axes]
        return any(parts), parts

    def do_legend(self) -> list[Any]:
        return []

    def size_legends(self, event: Any = None) -> None:
        """Leave the layout to matplotlib, which does it when a window changes."""

    def save(self, results: Sequence[Any]) -> None:
        with self._letters():  # ticks get their letters when they are drawn
            self._save(results)

    def _save(self, results: Sequence[Any]) -> None:
        from matplotlib import pyplot

        if self._given is None:
            self._annotate_plot(skip_title=len(results) > 1)
            if not self._make_legend() and self.title:
                self.figure.suptitle(self.title, fontsize="medium", x=0.02, ha="left")
            self._caption()
            if more := self.settle():
                self.note(more)
                self._caption()
        if self.output != "-":
            try:
                if pyplot.get_backend() == "pdf":
                    self.figure.set_dpi(72)
                    self.save_pdf(self.output, results[0].meta("DATA_FILENAME"), {})
                else:
                    self.figure.savefig(self.output, dpi=self.fig_dpi)
            except OSError as fault:
                raise RuntimeError(f"Unable to save output plot: {fault}") from None
        elif not self.gui and not self.in_worker:
            pyplot.show()

    # Below: ours.

    def _caption(self) -> None:
        if self.caption_apart and self.output != "-":
            write_caption(self.output, [self.heading or self.config.get("description", ""),
                                        *self.notes])
        else:
            caption(self.figure, self.notes)

    def _annotate_plot(self, skip_title: bool = False) -> list[Any]:
        lines = []
        if self.override_title:
            lines = [self.override_title]
        elif self.print_title:
            lines = [self.heading or self.config.get("description", ""), self.description]
            if self.metadata.get("TITLE") and not skip_title:
                lines[1:] = [": ".join(filter(None, (self.description, self.metadata["TITLE"])))]
        self.title = wrapped("\n".join(filter(None, lines)), self.figure.get_figwidth())
        if self.annotate:
            self.note(f"{self.metadata['LOCAL_HOST']} to {self.metadata['HOST']}, "
                      f"{self.metadata['TIME']:%Y-%m-%d %H:%M}")
        self.note(self.fig_note)
        return []

    def _make_legend(self) -> bool:
        """Return whether the plot's title is that of the legend, as both are above the axes."""
        handles = self.handles
        if not self.print_legend or not handles:
            return False
        labels = self._filter_labels([handle.get_label() for handle in handles])
        for number, label in enumerate(self.override_labels[:len(labels)]):
            labels[number] = labels[number] if label is None else label
        options: dict[str, Any] = {"fontsize": "small", "handlelength": 3.2}
        above = False
        if self.legend_placement and self.axes:
            legend = self.axes[0].legend(handles, labels, loc=self.legend_placement,
                                         ncols=self.legend_columns or 1,
                                         title=self.legend_title, **options)
        else:
            above = across = self.horizontal_legend or not self._is_long(labels)
            legend = self.figure.legend(
                handles, labels, loc="outside upper center" if across else "outside right center",
                ncols=self.legend_columns or (
                    min(4, legend_columns(labels, self.figure.get_figwidth())) if across else 1),
                frameon=False, **options, title="\n".join(filter(None, (
                    self.title if above else "", self.legend_title))),
                title_fontsize="medium" if above else "small")
        self.legends = [legend]
        return bool(above)

    def _is_long(self, labels: Sequence[str]) -> bool:
        return len(labels) > 8 or (len(labels) > 4 and sum(map(len, labels)) > 60)

    def _say(self, text: str) -> None:
        """Nothing but a reason stands where the plot would be."""
        self.handles = []
        self.notes = []
        if self._given is None:
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
    return packed_of(results).once("run", lambda: as_run(data_file_of(results)))


def about(runs: Sequence[Run], samples: int | None = None, what: str = "samples") -> str:
    """Return what a plot was made of, for its caption."""
    words = [counted(len(runs), "run")]
    if samples is not None:
        words.append(f"{samples:,} {what}")
    models = sorted({str(run.settings["router_model"]) for run in runs
                     if "router_model" in run.settings})
    testbeds = sorted({str(run.settings["testbed"]) for run in runs if "testbed" in run.settings})
    if models:
        words.append(f"router model {', '.join(models)}")
    if testbeds:
        words.append(f"testbed {', '.join(testbeds)}")
    return ", ".join(words)
