# SPDX-License-Identifier: GPL-3.0-or-later
"""Define the base class of plots that this package draws from raw samples of one or many runs.

Flent calls init(), plot() and save(), on the command line and in flent-gui, whose plots are made in
another process and pickled. A subclass implements draw(). Flent's options for titles, legends,
labels, bounds, sizes, axes and notes apply to these plots, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy

from flent_aqm.base.errors import BadResult, ConfigError, NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.combined import description_of
from flent_aqm.results.grouping import (
    along_with,
    check_keys,
    factors,
    parse_keys,
    pooled_over,
    router_models,
)
from flent_aqm.results.many_files import counted_once
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run, as_run, probe_kind
from flent_aqm.results.metrics.table import digits
from flent_aqm.results.result_set import data_file_of, once
from flent_aqm.show.groups import (
    RunGroup,
    by_run,
    groups,
    settings_of,
    spread,
    with_own_colours,
)
from flent_aqm.show.looks import QUIET
from flent_aqm.show.plots.frame import Framed
from flent_aqm.show.plots.paper import drop_untouched

Some = TypeVar("Some")

# More lines in a plot can't be told apart.
MOST_LINES = 12


class ChartPlotter(Framed):
    """Base class of plots that this package draws. A subclass implements draw(): it calls grid() to
    make self.axes, and draws on them.

    Attributes:
        metric: value of the option --metric, None without it.
    """

    can_subplot_combine = False
    can_highlight = True
    metric: str | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.axes: list[Any] = []

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        """Draw runs. To be implemented by subclasses.

        Args:
            runs: the runs, at least one.
            results: Flent's result sets of the runs, in the same order.

        Raises BadResult with the reason if nothing can be drawn. In a window, the picture then
        shows the reason. On the command line, a line tells it, no picture is written, and the
        program ends with exit status 1.
        Raises ConfigError for a wrong option. On the command line, this prints one line and ends
        the program with exit status 2, without a picture. In flent-gui, the picture shows it.
        """
        raise NotImplementedError

    # Methods for subclasses.

    def grid(self, rows: int = 1, columns: int = 1, **options: Any) -> list[Any]:
        """Make the axes, keep them as self.axes, and return them row by row. For a part of a plot,
        that is the axis that Flent gives. Raises NotAvailable if a part needs several.

        Args:
            rows: number of rows.
            columns: number of columns.
            options: options of matplotlib's Figure.subplots(), such as sharex.
        """
        if self._part_axis is not None:
            if rows * columns > 1:
                raise NotAvailable("this plot has several panels, and a part of another plot has "
                                   "room for one; show it as a plot of its own")
            self.axes = [self._part_axis]
        else:
            cells = self.figure.subplots(rows, columns, squeeze=False, **options)
            self.axes = [axis for row in cells for axis in row]
        self.config["axes"] = self.axes
        return self.axes

    def group_names(self, runs: Sequence[Run]) -> list[str]:
        """Return the names of the settings by which the user wants to group runs
        (--override-group-by), empty to leave it to the plot. Raises ConfigError if one of them is a
        setting that no run has."""
        names = list(parse_keys(self.override_group_by or ""))
        try:
            check_keys([run.settings for run in runs], names)
        except ConfigError as fault:
            raise ConfigError(f"--override-group-by: {fault}") from None
        return names

    def groups_of(self, runs: Sequence[Run], most: int = MOST_LINES, together: bool = False,
                  own_colours: bool = False) -> list[RunGroup]:
        """Return the groups of runs to draw, at most `most`, see spread().

        If the user requests settings to group by, there is a group for each combination of their
        values. Otherwise runs are grouped by all settings in which they differ, and runs with the
        same settings have a group each if there are at most `most` runs, unless `together` is set.
        Notes below the plot tell which settings were pooled, and how many of how many groups are
        shown if some are left out.
        With `own_colours`, no two groups have the same colour as long as there are some, see
        with_own_colours(). Raises ConfigError if no run has a requested setting.
        """
        requested = self.group_names(runs)
        names = requested or factors(settings_of(runs))
        drawn = groups(runs, names) if requested or together else by_run(runs, most)
        self.note_pooled(runs, names)
        self._note_left_out(len(drawn), most)
        drawn = spread(drawn, most)
        return with_own_colours(drawn) if own_colours else drawn

    def note_pooled(self, runs: Sequence[Run], used: Sequence[str]) -> None:
        """Note below the plot the settings in which runs of a group differ, see pooled_over(), and
        further settings in which runs differ, but no runs of the same group and the same pooled
        settings, see along_with(). Nothing is noted if there are none.

        Args:
            runs: the runs.
            used: names of the settings by which runs are grouped.
        """
        settings = settings_of(runs)
        rest, along = pooled_over(settings, used), along_with(settings, used)
        if rest:
            self.note(f"pooled over {', '.join(rest)}")
        if along:
            self.note(f"also different: {', '.join(along)}")

    def first(self, items: list[Some], most: int) -> list[Some]:
        """Return the first `most` items. A note below the plot tells how many there are if some are
        left out."""
        self._note_left_out(len(items), most)
        return items[:most]

    def _note_left_out(self, count: int, most: int) -> None:
        """Note below the plot how many of `count` items are shown if that is more than `most`."""
        if count > most:
            self.note(f"{most} of {count} shown; --override-group-by pools runs by the "
                      "settings that it names")

    def read_each(self, runs: Sequence[Run], results: Sequence[Any],
                  read: Callable[[Any], Some]) -> list[tuple[Run, Some]]:
        """Return each run with what `read` returns for its result set. A run for which it raises
        BadResult is left out, with a note below the plot.

        Args:
            runs: the runs, at least one.
            results: Flent's result sets of the runs, in the same order.
            read: reads samples of a result set.

        Raises BadResult if no run is left: that of a single run, otherwise one with the reason of
        the first run.
        """
        made, faults = [], []
        for run, result in zip(runs, results, strict=True):
            try:
                made.append((run, read(result)))
            except BadResult as fault:
                faults.append(fault)
                self.note(f"left out: {run.path.name}: {fault}")
        if not made:
            raise faults[0] if len(runs) == 1 else BadResult(why_none(runs, str(faults[0])))
        return made

    def note_first_runs(self, runs: Sequence[Run], drawn: int) -> None:
        """Note below the plot that only the first run of each group is shown. Nothing is noted if
        all runs or none are drawn.

        Args:
            runs: all runs.
            drawn: number of runs that are drawn.
        """
        if drawn < len(runs):
            self.note(f"{drawn} of {len(runs)} runs shown: the first of those that repeat "
                      "each other" if drawn else "")

    def note_lost(self, label: str, samples_ms: Any) -> None:
        """Note below the plot how many probes of a line were lost, if any.

        Args:
            label: name of the line.
            samples_ms: array of RTTs, infinite for a lost probe.
        """
        lost = int(numpy.isinf(samples_ms).sum())
        if lost:
            self.note(f"{label}: {lost:,} of {samples_ms.size:,} probes lost "
                      f"({digits(100 * lost / samples_ms.size)} %), each slower than any")

    # Methods that Flent calls.

    def init(self, config: Any = None, axis: Any = None) -> None:
        """Prepare the figure. Called by Flent. axis: for a part of a plot, the axis that Flent
        gives, else None."""
        super().init(config, axis)
        self.config.setdefault("axes", [])

    def plot(self, results: Sequence[Any], config: Any = None, axis: Any = None,
             connect_interactive: bool = True) -> None:
        """Draw result sets, or the reason why nothing can be drawn. Damaged files, and files that
        repeat another one, are left out, which the caption says. Called by Flent. On the command
        line, a wrong option ends the program with exit status 2.

        Args:
            results: Flent's result sets, at least one.
            config: not used.
            axis: not used.
            connect_interactive: whether to connect the handlers of mouse events.
        """
        if self.metadata is None:
            self.metadata = results[0].meta()
        self.description = description_of(results, self.description)
        usable, faults = [], []
        for result in results:
            try:
                usable.append((run_of(result), result))
            except BadResult as fault:
                faults.append(str(fault))
        different, repeated = counted_once([run for run, _ in usable])
        kept = set(map(id, different))
        usable = [(run, result) for run, result in usable if id(run) in kept]
        with self._fonts():
            try:
                if not usable:
                    raise BadResult(faults[0])
                self.draw([run for run, _ in usable], [result for _, result in usable])
            except BadResult as fault:
                self._show_reason(str(fault))
            except ConfigError as mistake:
                if not (self.gui or self.in_worker):
                    sys.exit(_print_mistake(mistake, self.output))
                self._show_reason(str(mistake))
        self.note(repeated)
        if faults:
            self.note(f"{len(faults)} of {counted(len(results), 'file')} left out: {faults[0]}")
        self._note_measurement([run for run, _ in usable])
        self._apply_options()
        if connect_interactive:
            self.connect_interactive()

    def verify(self) -> tuple[bool, list[int]]:
        """Return whether the figure has axes, and for each of them the number of matplotlib's
        parts, of which frame and ticks are some. Called by Flent."""
        parts = [len(axis.get_children()) for axis in self.figure.axes]
        return any(parts), parts

    def do_legend(self) -> list[Any]:
        """Return an empty list, because _make_legend() makes the legend. Called by Flent."""
        return []

    # Private methods.

    def _note_measurement(self, runs: Sequence[Run]) -> None:
        """Note below the plot the first of a run's `notes` on how it was measured, of the first run
        that has any. Of several runs, the note also tells how many have notes. Nothing is noted if
        none has any."""
        noted = [run for run in runs if run.notes]
        if noted:
            among = "" if len(runs) == 1 else f"{len(noted)} of {len(runs)} files: "
            self.note(f"{among}{noted[0].notes[0]}")

    def _show_reason(self, text: str) -> None:
        """Show a text on why nothing can be drawn, in place of the plot, and tell it by
        tell_refused(). Notes and legend entries are removed, and so is all that has been drawn: in
        a part of a plot on its axis, otherwise in the figure."""
        self.handles = []
        self.notes = []
        if self._part_axis is None:
            self.figure.clear()
            self.figure.set_layout_engine("constrained")
        axis, = self.grid()
        axis.clear()
        axis.set_axis_off()
        axis.text(0.5, 0.5, f"Nothing to plot:\n{text}", ha="center", va="center",
                  color=QUIET, wrap=True, transform=axis.transAxes)
        self.tell_refused(f"Nothing to plot: {text}")

    def _apply_options(self) -> None:
        """Apply Flent's options for labels, logarithmic scale, inverted latency and bounds to
        self.axes, labels and bounds in their order. A value axis is one of latency if the plot's
        own label has its unit. List the lines that can be highlighted in self.data_artists."""
        of_latency = [axis for axis in self.axes if "(ms)" in axis.get_ylabel()]
        for axis, label in zip(self.axes, self.label_x, strict=False):
            axis.set_xlabel(label)
        for axis, label in zip(self.axes, self.label_y, strict=False):
            axis.set_ylabel(label)
        for axis in self.axes:
            if self.log_base and axis.get_yscale() == "linear" and axis.has_data():
                axis.set_yscale("log", base=self.log_base)
            if self.invert_y and axis in of_latency:
                axis.invert_yaxis()
        for axis, bounds in zip(self.axes, self.bounds_x, strict=False):
            axis.set_xlim(*bounds)
        for axis, bounds in zip(self.axes, self.bounds_y, strict=False):
            axis.set_ylim(*bounds)
        # Lines that are highlighted when the mouse is over their entry in the legend.
        self.data_artists = [line for axis in self.axes for line in axis.get_lines()
                             if not line.get_label().startswith("_")]


def _print_mistake(mistake: ConfigError, output: str) -> int:
    """Print an error in one line on standard error, as Flent does, remove the empty picture, and
    return exit status 2. Flent itself would exit with 0.

    Args:
        mistake: the error.
        output: path of the picture.
    """
    print(f"ERROR: {mistake}", file=sys.stderr)
    drop_untouched(output)
    return 2


def run_of(results: Any) -> Run:
    """Return the run of one of Flent's result sets, which is read once. Raises BadResult if the
    result set is damaged, or exceeds the limits for data files."""
    return once(results, "run", lambda: as_run(data_file_of(results)))


def why_none(runs: Sequence[Run], reason: str) -> str:
    """Return why none of the runs can be drawn: the reason of a single run, otherwise a text with
    the first one's.

    Args:
        runs: the runs, at least one.
        reason: why the first one can't.
    """
    return reason if len(runs) == 1 else (
        f"none of the {len(runs)} runs has the values, the first because {reason}")


def probes_of(runs: Iterable[Run]) -> Iterable[Probe]:
    """Return the probe of each run from which its metrics are computed. Runs without a probe are
    left out."""
    return [run.probe for run in runs if run.probes]


def about(runs: Sequence[Run], samples: int | None = None, what: str = "samples",
          probes: Iterable[Probe] = ()) -> str:
    """Return the caption's text on the data of a plot, as far as it is known: number of runs and
    samples, the tools whose probes measured latency, router model, testbed. "2 runs, 900 probes
    (irtt), testbed virtual".

    Args:
        runs: the runs of the plot.
        samples: number of samples, None to leave it out.
        what: name of the samples, plural.
        probes: the probes that the plot's latencies are from. Empty if it shows none.
    """
    words = [counted(len(runs), "run")]
    tools = " and ".join(sorted({probe_kind(probe) for probe in probes}))
    if samples is not None:
        words.append(f"{samples:,} {what}" + f" ({tools})" * bool(tools))
    elif tools:
        words.append(f"latency from {tools}")
    models = router_models(settings_of(runs))
    testbeds = sorted({str(run.settings["testbed"]) for run in runs if "testbed" in run.settings})
    if models:
        words.append(f"router model {', '.join(models)}")
    if testbeds:
        words.append(f"testbed {', '.join(testbeds)}")
    return ", ".join(words)
