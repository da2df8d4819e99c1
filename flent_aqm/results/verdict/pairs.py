# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of two sides, base and test, paired by cell and seed.

A cell is everything that was asked of a run but its seed and what is compared: the settings
that have one value on the whole base side and another one on the whole test side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.grouping import NEVER, setting, shown
from flent_aqm.results.score.shown import ScoredFile

SEED = "seed"
NOTHING = "-"  # of a setting that a run doesn't have


@dataclass(frozen=True)
class Cell:
    """name: the settings in which cells differ; pairs: (base, test), a seed each."""

    name: str
    pairs: Sequence[tuple[ScoredFile, ScoredFile]]


@dataclass(frozen=True)
class Comparison:
    """compared: setting -> (base's value, test's); alone: runs without a partner."""

    compared: Mapping[str, tuple[str, str]]
    cells: Sequence[Cell]
    alone: int


def pair(base: Sequence[ScoredFile], test: Sequence[ScoredFile]) -> Comparison:
    """Return runs in pairs. Raise ConfigError where there is none, or a cell has two runs of
    a seed on one side."""
    names = sorted({name for run in (*base, *test) for name in run.settings} - set(NEVER))
    compared = {name: (next(iter(ours)), next(iter(theirs))) for name in names
                if len(ours := _values(base, name)) == len(theirs := _values(test, name)) == 1
                and ours != theirs}
    kept = [name for name in names if name not in compared]
    of_base, of_test = (_by_place(side, kept) for side in (base, test))
    both = [place for place in of_base if place in of_test]
    if not both:
        raise ConfigError(
            "no run of the test side has the settings and the seed of one of the base side: give "
            "both sides the same batch and the same seeds, as batches/gate.batch does")
    differing = [name for at, name in enumerate(kept)
                 if len({place[0][at] for place in both}) > 1]
    cells: dict[str, list[tuple[ScoredFile, ScoredFile]]] = {}
    for place in both:
        told = dict(zip(kept, place[0], strict=True))
        name = ", ".join(f"{one} {told[one]}" for one in differing if told[one] != NOTHING)
        name = name or "all runs"
        cells.setdefault(name, []).append((of_base[place], of_test[place]))
    alone = len(base) + len(test) - 2 * len(both)
    return Comparison(compared, [Cell(name, pairs) for name, pairs in sorted(cells.items())],
                      alone)


Place = tuple[tuple[str, ...], str]


def _by_place(runs: Sequence[ScoredFile], names: Sequence[str]) -> dict[Place, ScoredFile]:
    found: dict[Place, ScoredFile] = {}
    for run in runs:
        place = (tuple(_shown(run, name) for name in names), _shown(run, SEED))
        if place in found:
            raise ConfigError(f"{run.path} and {found[place].path} have the same settings and the "
                              "same seed; expected one run of each seed in a cell")
        found[place] = run
    return found


def _values(runs: Sequence[ScoredFile], name: str) -> set[str]:
    return {_shown(run, name) for run in runs}


def _shown(run: ScoredFile, name: str) -> str:
    value = setting(run.settings, name)
    return NOTHING if value is None else shown(value)
