# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of two sides, base and test, paired by cell and seed.

A cell is everything that was asked of a run but its seed and what is compared: the settings
that have one value on the whole base side and another one on the whole test side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.kernels.verdict.chance import failed_more
from flent_aqm.results.grouping import NEVER, TITLE, setting, shown
from flent_aqm.results.score.shown import ScoredFile
from flent_aqm.spec.scenario import KEYS

SEED = "seed"
# A setting that every run of a sweep records.
TESTBED = "testbed"
NOTHING = "-"  # of a setting that a run doesn't have


@dataclass(frozen=True)
class Cell:
    """name: its runs' title, where no other cell has it, or the settings in which cells differ;
    pairs: (base, test), a seed each."""

    name: str
    pairs: Sequence[tuple[ScoredFile, ScoredFile]]

    @property
    def identical(self) -> int:
        """How many pairs have the same samples, each of them."""
        return sum(bool(base.samples) and base.samples == test.samples
                   for base, test in self.pairs)


@dataclass(frozen=True)
class Comparison:
    """compared: setting -> (base's value, test's); alone: of runs without a partner, how many
    each side has, by side and the name of their cell; failed: how many runs of a side failed."""

    compared: Mapping[str, tuple[str, str]]
    cells: Sequence[Cell]
    alone: Mapping[tuple[str, str], int]
    failed: Mapping[str, int] = field(default_factory=dict)
    # Name of a program -> its versions on both sides, where they differ.
    programs: Mapping[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """Return how many there are in all cells."""
        return sum(len(cell.pairs) for cell in self.cells)

    @property
    def failed_alone(self) -> tuple[int, int]:
        """Return how many runs of the base side and of the test side failed whose partner didn't.
        """
        alone = Counter[str]()
        for (side, _), count in self.alone.items():
            alone[side] += count
        return (min(self.failed.get("base", 0), alone["test"]),
                min(self.failed.get("test", 0), alone["base"]))

    @property
    def fails_more(self) -> bool:
        """True if more runs fail on the test side than chance explains."""
        return failed_more(*self.failed_alone)

    @property
    def identical(self) -> int:
        """Return how many pairs of all cells have the same samples."""
        return sum(cell.identical for cell in self.cells)


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
    name_of = _names(kept, {**of_base, **of_test})
    cells: dict[str, list[tuple[ScoredFile, ScoredFile]]] = {}
    for place in both:
        cells.setdefault(name_of[place[0]], []).append((of_base[place], of_test[place]))
    alone = Counter((side, name_of[place[0]])
                    for side, there, other in (("base", of_base, of_test),
                                               ("test", of_test, of_base))
                    for place in there if place not in other)
    return Comparison(compared, [Cell(name, pairs) for name, pairs in sorted(cells.items())],
                      alone)


Values = tuple[str, ...]
Place = tuple[Values, str]


def _names(kept: Sequence[str], runs: Mapping[Place, ScoredFile]) -> dict[Values, str]:
    """Return what each cell is called."""
    titles: dict[Values, set[str]] = {}
    for (values, _), run in runs.items():
        titles.setdefault(values, set()).add(_shown(run, TITLE))
    times = Counter(title for own in titles.values() for title in own)
    differing = [at for at in range(len(kept)) if len({values[at] for values in titles}) > 1]
    names = {}
    for values, own in titles.items():
        title = min(own)
        if len(own) == 1 and times[title] == 1 and len(titles) > 1 and title not in ("", NOTHING):
            names[values] = title
        else:
            names[values] = ", ".join(f"{kept[at]} {values[at]}" for at in differing
                                      if values[at] != NOTHING) or "all runs"
    return names


def _by_place(runs: Sequence[ScoredFile], names: Sequence[str]) -> dict[Place, ScoredFile]:
    placed: dict[Place, ScoredFile] = {}
    for run in runs:
        place = (tuple(_shown(run, name) for name in names), _shown(run, SEED))
        if place in placed:
            raise ConfigError(f"{run.path} and {placed[place].path} have the same settings and the "
                              "same seed; expected one run of each seed in a cell")
        placed[place] = run
    return placed


def _values(runs: Sequence[ScoredFile], name: str) -> set[str]:
    return {_shown(run, name) for run in runs}


def _shown(run: ScoredFile, name: str) -> str:
    value = setting(run.settings, name)
    if value is None and TESTBED in run.settings and name in KEYS:
        # A run of a version that did not have the key yet.
        default = KEYS[name].default
        value = default if isinstance(default, bool | int | float | str) else None
    return NOTHING if value is None else shown(value)
