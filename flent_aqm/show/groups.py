# SPDX-License-Identifier: GPL-3.0-or-later
"""Group runs for a plot: what is drawn together, its label and look, and the settings on the axes.

results/grouping.py decides by which settings runs are distinguished. Labels leave out settings that
are the same in all runs of a plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle

from flent_aqm.base.words import for_plot
from flent_aqm.results.grouping import (
    AQM,
    RATE,
    collect,
    factors,
    setting,
    setting_text,
    sort_key,
)
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.show.looks import (
    AQM_LOOKS,
    LINES,
    MOST_SHADES,
    OTHER_LOOKS,
    Look,
    looks_for,
    shades,
)

# Settings for an axis, in the order of preference.
ALONG = (RATE, "burst_shaping", "cross_traffic", "test", "base_delay_ms", "router_model")


@dataclass(frozen=True)
class RunGroup:
    """Runs that are drawn together, such as in one line.

    Attributes:
        label: text for the legend.
        look: colour, line style, marker and hatch.
        runs: the runs.
        key: values of the grouping settings that they share, in the order of these settings.
    """

    label: str
    look: Look
    runs: Sequence[Run]
    key: Sequence[Setting | None] = ()


def settings_of(runs: Sequence[Run]) -> list[Mapping[str, Setting]]:
    """Return the settings of each run, in the order of the runs."""
    return [run.settings for run in runs]


def groups(runs: Sequence[Run], names: Sequence[str]) -> list[RunGroup]:
    """Return a group for each combination of the settings' values that has runs, in the order of
    the values. Its label has the values (word()), with commas between them, without those that its
    runs don't record, unless they record none. Without settings it is the runs' queue if that is
    known and the same, otherwise "all runs".

    If runs are grouped by queue, queues have different colours, and if groups differ in other
    settings, these are shown by the style of the line. Otherwise each group has a look of its own.
    Looks repeat if there are more groups than looks. A single group has its queue's look with a
    solid line, if all of its runs have the same known queue.

    Args:
        runs: the runs.
        names: names of the settings to group by. If empty, all runs are one group.
    """
    members = collect(runs, lambda run: tuple(setting(run.settings, name) for name in names))
    keys = sorted(members, key=lambda key: [sort_key(name, value)
                                            for name, value in zip(names, key, strict=True)])
    labels = [_words(dict(zip(names, key, strict=True))) for key in keys]
    if len(keys) == 1 and (queue := look_of(runs)):
        return [RunGroup(labels[0] or str(runs[0].settings[AQM]), queue.lined("-"), runs, keys[0])]
    return [RunGroup(label or "all runs", look, members[key], key)
            for label, key, look in zip(labels, keys, _looks_of_groups(names, keys, labels),
                                        strict=True)]


def label_of(group: Sequence[Run], names: Sequence[str]) -> str:
    """Return a label for a group of runs: the values (word()) of the settings `names` that all of
    them share, with commas between them, or if they share none, title_of() the first run. A setting
    that none of them records is left out, but if there is no other, the label is NOT_TOLD. Values
    are those of setting(). The group must not be empty."""
    shared = {name: setting(group[0].settings, name) for name in names
              if len({setting(run.settings, name) for run in group}) == 1}
    return _words(shared) or title_of(group[0])


def _words(values: Mapping[str, Setting | None]) -> str:
    """Return the values of settings (name -> value) as text (word()), each text once, with commas
    between them. Values that are None are left out, but if all are None, return NOT_TOLD. "" if
    there are no settings."""
    known = {name: value for name, value in values.items() if value is not None}
    return ", ".join(dict.fromkeys(word(*pair) for pair in (known or values).items()))


def look_of(runs: Sequence[Run]) -> Look | None:
    """Return the look of the queue that all runs have, None if they have different queues, an
    unknown one, or none, or if there are no runs."""
    queues = {str(run.settings.get(AQM)) for run in runs}
    return AQM_LOOKS.get(queues.pop()) if len(queues) == 1 else None


def looks_within(run: Run, names: Sequence[str]) -> dict[str, Look]:
    """Return name -> look for parts of one run, such as its flows: shades() of its queue's look, or
    looks_for() the names if it has no known queue.

    Args:
        run: the run.
        names: names of the parts.
    """
    queue = look_of([run])
    if queue is None:
        return looks_for(names)
    return dict(zip(names, shades(queue, len(names)), strict=True))


def looks_of_files(runs: Sequence[Run]) -> list[Look]:
    """Return a look for each run, in their order: its queue's look with a solid line for the first
    run of a queue, and shades() of it for further ones. For runs without a queue, their title
    stands for it, or without a title their path."""
    names = [str(run.settings.get(AQM) or run.title or run.path) for run in runs]
    looks = looks_for(list(dict.fromkeys(names)))
    own = {name: iter(shades(looks[name], names.count(name))) for name in looks}
    return [next(own[name]) for name in names]


def by_run(runs: Sequence[Run], most: int) -> list[RunGroup]:
    """Return a group for each run, sorted as groups() does. If there are more than `most` runs,
    runs with the same settings (see factors()) are one group.

    Otherwise runs with the same settings are numbered from 1, as " #1" at the end of their labels,
    and have lines of different styles as long as there are some. A single run has its title as
    label.

    Runs that differ in one of factors() are never grouped, so there may still be more than `most`
    groups.
    """
    names = factors(settings_of(runs))
    pooled = groups(runs, names)
    if len(runs) > most:
        return pooled
    alone = []
    # Colours and line styles in use: another group may have the same queue.
    taken = {(group.look.colour, group.look.line) for group in pooled if len(group.runs) == 1}
    for group in pooled:
        for number, run in enumerate(group.runs, 1):
            label, look = group.label if len(runs) > 1 else title_of(run), group.look
            if len(group.runs) > 1:
                label += f" #{number}"
                free = [line for line in LINES if (look.colour, line) not in taken]
                look = look.lined(free[0] if free else LINES[(number - 1) % len(LINES)])
                taken.add((look.colour, look.line))
            alone.append(RunGroup(label, look, [run], group.key))
    return alone


def with_own_colours(groups: Sequence[RunGroup]) -> list[RunGroup]:
    """Return the groups with looks that differ in colour, for plots in which the style of a line
    means something else than the group. Groups that share a colour, such as several of one queue,
    get shades() of it. More than MOST_SHADES get OTHER_LOOKS, too, which repeat if they are too
    few."""
    others = cycle(OTHER_LOOKS)
    looks = {colour: chain(shades(same[0].look, min(len(same), MOST_SHADES))
                           if len(same) > 1 else [same[0].look], others)
             for colour, same in collect(groups, lambda group: group.look.colour).items()}
    return [replace(group, look=next(looks[group.look.colour])) for group in groups]


def spread(groups: Sequence[RunGroup], most: int) -> list[RunGroup]:
    """Return at most `most` groups in their order, as many of each colour as there is room for: the
    first groups of each queue, so that all queues stay in the plot as long as possible."""
    turns: dict[str, int] = {}
    by_turn = []
    for place, group in enumerate(groups):
        turn = turns[group.look.colour] = turns.get(group.look.colour, 0) + 1
        by_turn.append((turn, place))
    return [groups[place] for place in sorted(place for _, place in sorted(by_turn)[:most])]


def axes_of(runs: Sequence[Run], requested: Sequence[str]) -> tuple[list[str], str]:
    """Return how to arrange runs in a chart with one axis, or in a heat map: the names of the
    settings along the axis, at least one, and the name of the setting whose values stand side by
    side at each position (in a heat map: the rows).

    Runs differ in the settings that factors() returns. By default, queues stand side by side, and
    all others of these are along the axis, those in ALONG first, so that nothing is pooled. If the
    user requested settings, only the first of them is along the axis. The first other requested one
    in which runs differ stands side by side, else the queue or another setting in which they
    differ. If runs differ in too few settings, the rate, the queue or "test" fills the free place.
    Both may be "test".

    Args:
        runs: the runs.
        requested: names of the settings that the user requested. Empty for the default.
    """
    differing = factors(settings_of(runs))
    if requested:
        along = [requested[0]]
        rest = [*requested[1:], AQM, *differing]
    else:
        beside = AQM if AQM in differing else ""
        along = [name for name in ALONG if name in differing and name != beside]
        along += [name for name in differing if name not in (*along, beside)]
        along = along or [RATE if any(RATE in run.settings for run in runs) else "test"]
        rest = [AQM]
    beside = next((name for name in rest if name not in along and name in differing), "")
    if not beside:
        beside = AQM if AQM not in along and any(AQM in run.settings for run in runs) else "test"
    return along, beside


def key_of(run: Run, names: Sequence[str]) -> tuple[Setting | None, ...]:
    """Return a run's values of the settings `names`. For a setting that it doesn't record, that is
    the default in UNRECORDED_DEFAULTS, else None."""
    return tuple(setting(run.settings, name) for name in names)


def sorted_keys(runs: Sequence[Run], names: Sequence[str]) -> list[tuple[Setting | None, ...]]:
    """Return the different combinations of values of the settings `names` in the runs, sorted by
    the first setting, then the second, each as sorted_values() does: queues as in legends, numbers
    by size, None last."""
    return sorted({key_of(run, names) for run in runs}, key=lambda key: [
        sort_key(name, value) for name, value in zip(names, key, strict=True)])


def title_of(run: Run) -> str:
    """Return a run's title for a plot: its queue and rate if it records both, else the title in its
    data file or, without one, the test. Dollar signs are escaped."""
    if AQM in run.settings and RATE in run.settings:
        return f"{word(AQM, run.settings[AQM])}, {word(RATE, run.settings[RATE])}"
    return for_plot(run.title or run.test)


def word(name: str, value: Setting | None) -> str:
    """Return a setting's value as text for labels of matplotlib, with its unit or name if it needs
    one, such as "100 Mbit/s", as setting_text() does. Dollar signs are escaped, so that they are no
    formula. NOT_TOLD for None."""
    return for_plot(setting_text(name, value))


def _looks_of_groups(names: Sequence[str], keys: Sequence[Sequence[Setting | None]],
           labels: Sequence[str]) -> list[Look]:
    """Return a look for each group, in their order. Colours, markers and hatches show queues. If
    groups differ in other settings, line styles show these, and repeat if LINES are too few.
    Otherwise each queue has its own line. If runs are not grouped by queue, each label has a look
    of its own, as looks_for() gives it.

    Args:
        names: names of the settings by which runs are grouped.
        keys: values of these settings for each group.
        labels: label of each group.
    """
    if AQM not in names:
        by_label = looks_for(labels)
        return [by_label[label] for label in labels]
    place = list(names).index(AQM)
    colours = looks_for([str(key[place]) for key in keys])
    rests = [tuple(value for at, value in enumerate(key) if at != place) for key in keys]
    different = list(dict.fromkeys(rests))
    if len(different) == 1:
        return [colours[str(key[place])] for key in keys]
    return [colours[str(key[place])].lined(LINES[different.index(rest) % len(LINES)])
            for key, rest in zip(keys, rests, strict=True)]
