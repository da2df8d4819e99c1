# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrange many runs by condition along an axis, or in panels, with queues side by side at each.

A condition is the settings that the runs of one position on the axis, or of one panel, share. By
default, queues stand side by side, and all other settings in which runs differ are along the axis,
the rate first. --override-group-by "first,second" names two other settings. Then runs that differ
in the remaining settings are pooled, which the caption says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.results.grouping import NOT_TOLD, RATE, setting, sorted_values
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.show.groups import axes_of, key_of, sorted_keys, word
from flent_aqm.show.looks import letters_across, looks_for
from flent_aqm.show.plots.chart import ChartPlotter
from flent_aqm.show.plots.distributions import ComparedValue
from flent_aqm.show.plots.paper import is_height_open

# More places along an axis would have no room for their labels.
MOST_PLACES = 20
# Upright labels are cut to so many letters.
LONGEST_UPRIGHT = 70


@dataclass(frozen=True)
class ConditionGrid:
    """Runs, arranged by condition along an axis and by the compared setting side by side.

    Attributes:
        along: names of the settings that make up a condition.
        keys: for each condition, the values of these settings, in their order, as key_of() returns
            them.
        beside: name of the compared setting, whose values stand side by side.
        compared: label and look of each of its values.
        runs: (index of condition, index of compared value) -> runs, which may be none.
    """

    along: Sequence[str]
    keys: Sequence[Sequence[Setting | None]]
    beside: str
    compared: Sequence[ComparedValue]
    runs: Mapping[tuple[int, int], Sequence[Run]]

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the settings by which runs are grouped: those of a condition, then the compared
        one."""
        return (*self.along, self.beside)

    def groups(self) -> int:
        """Return the number of groups (condition and compared value) that have a run."""
        return sum(bool(members) for members in self.runs.values())


def condition_grid(chart: ChartPlotter, runs: Sequence[Run], most: int = MOST_PLACES
                   ) -> ConditionGrid:
    """Arrange a chart's runs in a grid, by the settings that axes_of() chooses. Conditions are
    sorted by their values, and only the first `most` are kept; a note below the chart tells if
    others are left out. Raises ConfigError if the user groups by a setting that no run has."""
    along, beside = axes_of(runs, chart.group_names(runs))
    keys = chart.first(sorted_keys(runs, along), most)
    values = sorted_values(beside, [setting(run.settings, beside) for run in runs])
    looks = looks_for([word(beside, value) for value in values])
    members = {(condition, index): [run for run in runs if key_of(run, along) == key
                               and setting(run.settings, beside) == value]
               for condition, key in enumerate(keys) for index, value in enumerate(values)}
    compared = [ComparedValue(word(beside, value), looks[word(beside, value)]) for value in values]
    return ConditionGrid(along, keys, beside, compared, members)


def fit_labels(chart: ChartPlotter, axis: Any) -> None:
    """Turn the labels of an axis of conditions upright if a line of one is wider than its place:
    with commas in place of their line breaks, and cut to LONGEST_UPRIGHT letters. The picture
    becomes higher by their length if the user left its height open, see is_height_open().

    Args:
        chart: the plot.
        axis: matplotlib axes, the lowest if several share the conditions.
    """
    texts = [label.get_text() for label in axis.get_xticklabels()]
    widest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    if (widest + 1) * len(texts) <= letters_across(chart.figure.get_figwidth()):
        return
    turn_upright(axis, LONGEST_UPRIGHT)
    if is_height_open(chart.fig_width, chart.fig_height) and not chart.in_window:
        longest = max(len(label.get_text()) for label in axis.get_xticklabels())
        width_inches = chart.figure.get_figwidth()
        chart.figure.set_figheight(chart.figure.get_figheight() + width_inches * longest
                                   / letters_across(width_inches))


def turn_upright(axis: Any, longest: int | None = None) -> None:
    """Turn the labels below an axis upright, with commas in place of their line breaks, in smaller
    print where there are many.

    Args:
        axis: matplotlib axes.
        longest: longer labels are cut to so many letters. None to cut none.
    """
    texts = [label.get_text().replace("\n", ", ") for label in axis.get_xticklabels()]
    if longest is not None:
        texts = [text if len(text) <= longest else f"{text[:longest - 1]}…" for text in texts]
    axis.set_xticks(axis.get_xticks(), texts, rotation=90,
                    fontsize="small" if len(texts) < 16 else "x-small")


def axis_label(along: Sequence[str]) -> str:
    """Return the label of an axis of conditions: the names of its settings, with commas between,
    such as "link rate (Mbit/s), base delay ms". Only the rate has a name of its own; of others, "_"
    becomes a blank."""
    return ", ".join({RATE: "link rate (Mbit/s)"}.get(name, name.replace("_", " "))
                     for name in along)


def short_labels(along: Sequence[str], conditions: Sequence[Sequence[Setting | None]]) -> list[str]:
    """Return the label of each condition: a line for each setting that its runs record, with its
    value and unit or name as word() gives it, but "Mbit/s" left out. NOT_TOLD if they record none.

    Args:
        along: names of the settings along the axis.
        conditions: values of these settings in each condition.
    """
    return ["\n".join(word(name, value).removesuffix(" Mbit/s")
                      for name, value in zip(along, key, strict=True) if value is not None)
            if any(value is not None for value in key) else NOT_TOLD for key in conditions]
