# SPDX-License-Identifier: GPL-3.0-or-later
"""Many runs in places along an axis, or in panels, and side by side in each.

Side by side stand the queues, along the axis all else in which the runs differ (the rate
first). --override-group-by "first,second" names two settings instead, any that the runs know:
then the rest is pooled, and the caption says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.results.grouping import RATE, setting
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.grouping import Value, axes_of, key_of, sorted_keys, sorted_values, word
from flent_aqm.show.looks import looks_for
from flent_aqm.show.plots.chart import ChartPlotter
from flent_aqm.show.plots.distributions import Side

# More places than this along an axis have no room for their labels.
MOST_PLACES = 20


@dataclass(frozen=True)
class Places:
    """along: the settings of which each place has one combination of values, in keys. beside: the
    setting that tells the sides apart. runs[place, side]: the runs there, perhaps none."""

    along: Sequence[str]
    keys: Sequence[Sequence[Value | None]]
    beside: str
    sides: Sequence[Side]
    runs: Mapping[tuple[int, int], Sequence[Run]]

    @property
    def used(self) -> tuple[str, ...]:
        """Return the settings that tell groups apart."""
        return (*self.along, self.beside)

    def groups(self) -> int:
        """Return how many groups have a run."""
        return sum(bool(members) for members in self.runs.values())


def places_of(chart: ChartPlotter, runs: Sequence[Run], most: int = MOST_PLACES) -> Places:
    """Return the places of a chart's runs, at most so many. Raises ConfigError for a setting to
    group by that no run has."""
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
    """Return what stands below an axis of places: the names of their settings."""
    return ", ".join({RATE: "link rate (Mbit/s)"}.get(name, name.replace("_", " "))
                     for name in along)


def short_labels(along: Sequence[str], places: Sequence[Sequence[Value | None]]) -> list[str]:
    """Return the places of an axis: a line for each of their settings."""
    return ["\n".join(word(name, value).removesuffix(" Mbit/s")
                      for name, value in zip(along, key, strict=True)) for key in places]
