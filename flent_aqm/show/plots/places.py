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

from flent_aqm.results.grouping import RATE, setting, sorted_values
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.show.groups import axes_of, key_of, sorted_keys, word
from flent_aqm.show.looks import looks_for
from flent_aqm.show.plots.chart import ChartPlotter
from flent_aqm.show.plots.distributions import ComparedValue

# More places along an axis would have no room for their labels.
MOST_PLACES = 20


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


def axis_label(along: Sequence[str]) -> str:
    """Return the label of an axis of conditions: the names of its settings, with commas between,
    such as "link rate (Mbit/s), base delay ms". Only the rate has a name of its own; of others, "_"
    becomes a blank."""
    return ", ".join({RATE: "link rate (Mbit/s)"}.get(name, name.replace("_", " "))
                     for name in along)


def short_labels(along: Sequence[str], conditions: Sequence[Sequence[Setting | None]]) -> list[str]:
    """Return the label of each condition: a line for each setting, with its value and unit or name
    as word() gives it, but "Mbit/s" left out.

    Args:
        along: names of the settings along the axis.
        conditions: values of these settings in each condition.
    """
    return ["\n".join(word(name, value).removesuffix(" Mbit/s")
                      for name, value in zip(along, key, strict=True)) for key in conditions]
