# SPDX-License-Identifier: GPL-3.0-or-later
"""Give plots that Flent draws the colours of queues.

Flent gives all files the same colours as soon as a plot has two series, distinguishes files by dash
patterns only, and colours files in turn in box plots. Here a file has its queue's colour, as in
every other plot, and each series has a line style.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import cycle
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_plotting import COLOURS, Plotter, new_combiner
from flent_aqm.results.combined import MEMBERS, description_of, members_of
from flent_aqm.results.grouping import factors
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.groups import label_of, looks_of_files, looks_within, settings_of
from flent_aqm.show.looks import OTHER_LOOKS, Look
from flent_aqm.show.plots.chart import run_of

# Line style of each series. The second and later series have gaps, through which the first is seen.
LINE_STYLES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


class QueueColours(Plotter):
    """Mixin for Flent's plotters, placed before them: each file gets the colour of its queue,
    further files of the same queue shades of it. Colours that the user requests win. Several files
    are labelled with the settings in which they differ, see label_by_settings().

    Attributes:
        metadata: metadata of a result set, for title and annotation.
        colours: colours that Flent gives to the result sets, or series, in turn.
        description: text on the result sets, for the title.
        config: the plot's definition.
    """

    metadata: Any
    colours: Sequence[str]
    description: str
    config: dict[str, Any]

    def plot(self, results: Sequence[Any], config: Any = None, *args: Any,
             **kwargs: Any) -> None:
        """Draw result sets, for combined plots the combined ones. Before that, label them by their
        settings if there are several, and choose colours unless the user requests other ones.
        Called by Flent.

        Args:
            results: Flent's result sets, at least one.
            config: the plot's definition, None for that of the plotter itself.
        """
        self.description = description_of(results, self.description)
        if len(results) > 1:
            label_by_settings([members_of(result) for result in results], results)
        if list(self.colours) == list(COLOURS):
            self.choose_colours(results, config or self.config)
        super().plot(results, config, *args, **kwargs)

    def choose_colours(self, results: Sequence[Any], config: Any) -> None:
        """Set self.colours, which Flent gives to the result sets in turn, to the colours of
        looks_of().

        Args:
            results: Flent's result sets.
            config: the plot's definition, not used here, but by a subclass.
        """
        self.colours = [look.colour for look in looks_of(results)]


class Comparing(QueueColours):
    """Mixin for Flent's plotters that draw lines, placed before them. Of several files, each gets
    the colour of its queue, and each series a line style. The series of a single file have shades
    of its queue's colour, or Flent's own colours if the file can't be read."""

    def choose_colours(self, results: Sequence[Any], config: Any) -> None:
        if len(results) > 1:
            super().choose_colours(results, config)
            return
        with suppress(BadResult):  # then Flent's own colours do
            names = [str(number) for number, _ in enumerate(config["series"])]
            looks = looks_within(run_of(results[0]), names)
            self.colours = [looks[name].colour for name in names]

    def combine(
        self, results: Sequence[Any], config: dict[str, Any] | None = None, axis: Any = None,
        always_colour: bool = False,
    ) -> None:
        """Draw several result sets in one plot, each in its colour. Series in the definition that
        have no line style get one, in place. Called by Flent's plot().

        Args:
            results: Flent's result sets.
            config: the plot's definition, None for that of the plotter itself.
            axis: axis to draw on, None for that of the plot.
            always_colour: not used, because each result set has a colour of its own anyway.
        """
        config = config or self.config
        for series, style in zip(config["series"], cycle(LINE_STYLES), strict=False):
            series.setdefault("linestyle", style)
        labels = self._filter_labels([result.label() for result in results])
        for label, colour, result in zip(labels, cycle(self.colours), results, strict=False):
            # The axis is scaled to the result sets of the last call. Flent passes all of them in
            # every call, which takes a time that grows with the square of their number.
            others = results if result is results[-1] else []
            self._plot(result, config=config, axis=axis, postfix=f" - {label}",
                       extra_kwargs={"color": colour}, extra_scale_data=others)


class Combined(QueueColours):
    """Mixin for Flent's plotters, placed before them, for plots in which Flent combines many files
    into one result set per group. A single group is labelled with its settings, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.combined = True  # as Flent's CombineManyPlotter

    def plot(self, results: Sequence[Any], config: Any = None, *args: Any,
             **kwargs: Any) -> None:
        """Combine result sets as Flent does, label the combined ones, see label_by_settings(), and
        draw them. Called by Flent. Its combiner changes `config` in place: `cutoff` becomes None,
        and some groupings replace `series`. Raises RuntimeError for an unknown grouping, or if
        Flent's combiner refuses the result sets.

        Args:
            results: Flent's result sets of the files, at least one.
            config: the plot's definition, None for that of the plotter itself.
        """
        if self.metadata is None:
            self.metadata = results[0].meta()
        config = config or self.config
        combiner = new_combiner(
            self.override_group_by or config.get("group_by", "groups"),
            print_n=self.combine_print_n, filter_regexps=self.filter_regexp,
            filter_series=self.filter_series, save_dir=self.combine_save_dir,
            data_cutoff=self.data_cutoff)
        stock_group = combiner.group

        def group(groups: Mapping[str, Sequence[Any]], config: Any) -> Any:
            """Return Flent's combined result sets. If each is of one group, it gets the list of the
            group's result sets as attribute MEMBERS. Called by the combiner in place of its own
            method.

            Args:
                groups: name of a group -> its result sets.
                config: the plot's definition.
            """
            series = config["series"]
            made = stock_group(groups, config)
            # Other groupings turn the groups into the series of each result set.
            if config["series"] is series:
                for one, members in zip(made, groups.values(), strict=True):
                    one.__dict__[MEMBERS] = list(members)
            return made

        combiner.group = group
        combined = combiner(results, config)
        label_by_settings([members_of(result) for result in combined], combined)
        super().plot(combined, config, *args, **kwargs)


def looks_of(results: Sequence[Any]) -> list[Look]:
    """Return a look for each result set, in their order: that of its queue for the first one of a
    queue, and shades of it for further ones, see looks_of_files(). A combined result set has its
    first member's queue. Result sets whose file can't be read have looks that no queue has, in
    turn."""
    runs: list[Run | None] = []
    for result in results:
        try:
            runs.append(run_of(members_of(result)[0]))
        except BadResult:
            runs.append(None)
    readable = looks_of_files([run for run in runs if run is not None])
    used = {look.colour for look in readable}
    free = cycle([look for look in OTHER_LOOKS if look.colour not in used] or OTHER_LOOKS)
    own = iter(readable)
    return [next(free) if run is None else next(own) for run in runs]


def label_by_settings(members: Sequence[Sequence[Any]], results: Sequence[Any]) -> None:
    """Label each result set, in place, with the values of the settings in which the runs differ and
    which all of its members share, see label_of(); if there are none, with its first member's
    title. " (n=3)" with the number of members is appended if that is above one. Nothing is changed
    if a file is damaged or doesn't record its queue, or if two labels would be equal.

    Args:
        members: for each result set, those from which it was made.
        results: the result sets, in the same order.
    """
    try:
        grouped = [[run_of(one) for one in group] for group in members]
    except BadResult:  # Flent draws such files with its own labels
        return
    runs = [run for group in grouped for run in group]
    names = factors(settings_of(runs))
    labels = [label_of(group, names) for group in grouped]
    if len(set(labels)) < len(labels) or not all(run.settings.get("aqm") for run in runs):
        return
    for result, label, group in zip(results, labels, grouped, strict=True):
        result.set_label(label + (f" (n={len(group)})" if len(group) > 1 else ""))
