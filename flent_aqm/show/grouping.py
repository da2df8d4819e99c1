# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runs belong together, what to call them, and how they look.

Runs are told apart by their settings (Run.settings): what was asked of the testbed, and
test parameters. What is the same in all runs of a plot is left out of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import AQM_LOOKS, LINES, Look, looks_for

AQM = "aqm"
RATE = "rate_mbps"
# By these, in this order, runs are told apart; by any other setting after them.
KNOWN = ("test", AQM, RATE, "burst_shaping", "cross_traffic", "base_delay_ms", "router_model",
         "testbed")
# Differs between runs that repeat each other, or is said by others.
NEVER = ("seed", "batch", "title", "rate_up_mbps", "rate_down_mbps", "start_jitter_ms",
         "cross_jitter_ms")
MISSING = "not told"

Value = str | float | bool
Member = TypeVar("Member")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Group:
    """Runs that are drawn as one. key: the values that they share, as of `factors`."""

    label: str
    look: Look
    runs: Sequence[Run]
    key: Sequence[Value | None] = ()


def factors(runs: Sequence[Run]) -> list[str]:
    """The settings in which some of the runs differ, the most telling first.

    Files of tests that know no settings differ by their titles.
    """
    names = dict.fromkeys((*KNOWN, *(name for run in runs for name in run.settings)))
    differing = [name for name in names if name not in NEVER
                 and len({run.settings.get(name) for run in runs}) > 1]
    if not differing and len({run.title for run in runs}) > 1:
        return ["title"]
    return differing


def check_factors(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Why runs can't be grouped by these names; empty if they can."""
    known = sorted({name for run in runs for name in run.settings})
    unknown = [name for name in names if name not in known]
    if not unknown:
        return ""
    return f"can't group by {', '.join(map(repr, unknown))}; known: {', '.join(known)}"


def groups(runs: Sequence[Run], names: Sequence[str]) -> list[Group]:
    """One group for each combination of values of the settings that there are runs of.

    Colours tell queues apart where they differ; then lines tell the rest.
    """
    members = collect(runs, lambda run: tuple(run.settings.get(name) for name in names))
    keys = sorted(members, key=lambda key: [_rank(name, value)
                                            for name, value in zip(names, key, strict=True)])
    labels = [", ".join(word(name, value) for name, value in zip(names, key, strict=True))
              for key in keys]
    return [Group(label or "all runs", look, members[key], key)
            for label, key, look in zip(labels, keys, _looks(names, keys, labels), strict=True)]


def by_run(runs: Sequence[Run], most: int) -> list[Group]:
    """A group for each run, or for all that share their settings if that were too many."""
    names = factors(runs)
    if len(runs) > most:
        while names and len(groups(runs, names)) > most:
            names = names[:-1]
        return groups(runs, names)
    found = groups(runs, names)
    alone = []
    for group in found:
        for number, run in enumerate(group.runs, 1):
            label = group.label if len(runs) > 1 else title_of(run)
            if len(group.runs) > 1:
                label += f" #{number}"
            alone.append(Group(label, group.look.lined(LINES[(number - 1) % len(LINES)])
                               if len(group.runs) > 1 else group.look, [run], group.key))
    return alone


def title_of(run: Run) -> str:
    """A run alone: its queue and rate, or else its title."""
    if AQM in run.settings and RATE in run.settings:
        return f"{run.settings[AQM]}, {word(RATE, run.settings[RATE])}"
    return run.title or run.test


def word(name: str, value: Value | None) -> str:
    """A setting's value as it stands in labels."""
    if value is None:
        return MISSING
    if name == RATE:
        return f"{value:g} Mbit/s" if isinstance(value, (int, float)) else f"{value} Mbit/s"
    if name in ("burst_shaping", "cross_traffic"):
        on = str(value).lower() in ("true", "1", "1.0", "yes", "on")
        return f"{'with' if on else 'no'} {name.split('_')[0]}"
    if name == "base_delay_ms":
        return f"+{value:g} ms" if isinstance(value, (int, float)) else f"+{value} ms"
    if name in ("test", AQM, "title", "router_model", "testbed"):
        return str(value)
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def collect(members: Sequence[Member], key: Callable[[Member], Key]) -> dict[Key, list[Member]]:
    """Members by key, in the order in which keys are first met."""
    found: dict[Key, list[Member]] = {}
    for member in members:
        found.setdefault(key(member), []).append(member)
    return found


def sorted_values(name: str, values: Sequence[Value | None]) -> list[Value | None]:
    """Different values of a setting in the order of an axis: numbers by size."""
    return sorted(set(values), key=lambda value: _rank(name, value))


def _rank(name: str, value: Value | None) -> tuple[int, float, str]:
    if value is None:
        return (2, 0.0, "")
    if name == AQM:
        known = list(AQM_LOOKS)
        return (0, float(known.index(value) if value in known else len(known)), str(value))
    if isinstance(value, (bool, int, float)):
        return (0, float(value), "")
    return (1, 0.0, str(value))


def _looks(names: Sequence[str], keys: Sequence[Sequence[Value | None]],
           labels: Sequence[str]) -> list[Look]:
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
