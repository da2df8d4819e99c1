# SPDX-License-Identifier: GPL-3.0-or-later
"""Arranges many runs at places along an axis, or in panels, with queues side by side at each place.

By default, queues stand side by side, and all other settings in which runs differ are along the
axis, the rate first. --override-group-by "first,second" names two other settings. Then runs that
differ in the remaining settings are pooled, which the caption says.
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
from flent_aqm.show.plots.distributions import Side

# More places along an axis would have no room for their labels.
MOST_PLACES = 20


@dataclass(frozen=True)
class Places:
    """Runs, arranged at places along an axis and side by side. runs: (index of place, index of
    side) -> runs."""

    # Settings along the axis.
    along: Sequence[str]
    # Values of these settings at each place.
    keys: Sequence[Sequence[Setting | None]]
    # Setting whose values stand side by side.
    beside: str
    sides: Sequence[Side]
    # (index of place, index of side) -> runs, which may be none.
    runs: Mapping[tuple[int, int], Sequence[Run]]

    @property
    def used(self) -> tuple[str, ...]:
        """Settings by which runs are grouped."""
        return (*self.along, self.beside)

    def groups(self) -> int:
        """Return the number of groups that have a run."""
        return sum(bool(members) for members in self.runs.values())


def places_of(chart: ChartPlotter, runs: Sequence[Run], most: int = MOST_PLACES) -> Places:
    """Arrange a chart's runs at no more than `most` places. Raises ConfigError if the user groups
    by a setting that no run has."""
    along, beside = axes_of(runs, chart.group_names(runs))
    keys = chart.first(sorted_keys(runs, along), most)
    values = sorted_values(beside, [setting(run.settings, beside) for run in runs])
    looks = looks_for([word(beside, value) for value in values])
    members = {(place, side): [run for run in runs if key_of(run, along) == key
                               and setting(run.settings, beside) == value]
               for place, key in enumerate(keys) for side, value in enumerate(values)}
    sides = [Side(word(beside, value), looks[word(beside, value)]) for value in values]
    return Places(along, keys, beside, sides, members)


def axis_label(along: Sequence[str]) -> str:
    """Return the label of an axis of places: the names of its settings."""
    return ", ".join({RATE: "link rate (Mbit/s)"}.get(name, name.replace("_", " "))
                     for name in along)


def short_labels(along: Sequence[str], places: Sequence[Sequence[Setting | None]]) -> list[str]:
    """Return the label of each place: a line for each setting.

    Args:
        along: settings along the axis.
        places: values of these settings at each place.
    """
    return ["\n".join(word(name, value).removesuffix(" Mbit/s")
                      for name, value in zip(along, key, strict=True)) for key in places]
