# SPDX-License-Identifier: GPL-3.0-or-later
"""Pair the runs of two sides, base and test, by cell and seed.

A cell is the set of all settings of a run except its seed and the compared settings, which have one
value on the whole base side and another one on the whole test side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.kernels.verdict.chance import failed_more
from flent_aqm.results.grouping import NEVER, TITLE, setting, shown
from flent_aqm.results.score.shown import ScoredFile
from flent_aqm.spec.scenario import KEYS

SEED = "seed"
# Settings that name a queue: that of both directions, or of the download, and that of the upload.
QUEUE_KEYS = ("aqm", "up_aqm")
# A setting that every run of a sweep records.
TESTBED = "testbed"
NOTHING = "-"  # of a setting that a run doesn't have


class TooFewPairs(ConfigError):
    """Too few runs of one side have a partner on the other side for any verdict on samples."""


@dataclass(frozen=True)
class Pairs:
    """The pairs of runs that differ only in seed and side.

    Attributes:
        name: the runs' title if all have one title and no other cell has it. Otherwise the settings
            in which cells differ, as far as this one has them, such as "flows 4xcubic, rate_mbps
            20". "all runs" if it has none of them, or if all runs of both sides are of one cell.
        pairs: (run of the base side, run of the test side), one pair for each seed.
        seeds: seeds of all its runs, as texts, also of those without a partner.
    """

    name: str
    pairs: Sequence[tuple[ScoredFile, ScoredFile]]
    seeds: Collection[str] = ()

    @property
    def identical(self) -> int:
        """Number of pairs whose runs have identical samples. Runs whose samples aren't recorded
        don't count."""
        return sum(bool(base.samples) and base.samples == test.samples
                   for base, test in self.pairs)


@dataclass(frozen=True)
class PairedSides:
    """The runs of two sides in pairs.

    Attributes:
        compared: setting that has one value on the whole base side and another one on the whole
            test side -> (value of the base side, value of the test side), as texts, "-" for none.
        cells: the cells with pairs, sorted by name.
        alone: (side, name of the cell) -> number of runs without a partner, also of cells without
            any pair. Sides are "base" and "test".
        failed: side -> number of runs that failed.
        programs: name of a program -> its versions on both sides, as a text, if they differ.
    """

    compared: Mapping[str, tuple[str, str]]
    cells: Sequence[Pairs]
    alone: Mapping[tuple[str, str], int]
    failed: Mapping[str, int] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """Number of pairs in all cells."""
        return sum(len(cell.pairs) for cell in self.cells)

    @property
    def failed_alone_at_most(self) -> tuple[int, int]:
        """Largest possible number of pairs in which only the base run failed, and in which only the
        test run failed. Which partner a failed run had is not known, so each is the smaller of two
        numbers: failed runs of the side, and runs of the other side without a partner."""
        alone = Counter[str]()
        for (side, _), count in self.alone.items():
            alone[side] += count
        return failed_alone_at_most(self.failed, alone)

    @property
    def fails_more(self) -> bool:
        """Whether more runs failed on the test side alone than chance explains."""
        return failed_more(*self.failed_alone_at_most)

    @property
    def identical(self) -> int:
        """Number of pairs in all cells whose runs have identical samples. Runs whose samples aren't
        recorded don't count."""
        return sum(cell.identical for cell in self.cells)


def failed_alone_at_most(failed: Mapping[str, int], alone: Mapping[str, int]) -> tuple[int, int]:
    """Return the largest possible number of pairs in which only the base run failed, and in which
    only the test run failed.

    Args:
        failed: side -> number of its runs that failed.
        alone: side -> number of its runs that have no partner.
    """
    return (min(failed.get("base", 0), alone.get("test", 0)),
            min(failed.get("test", 0), alone.get("base", 0)))


def pair(base: Sequence[ScoredFile], test: Sequence[ScoredFile]) -> PairedSides:
    """Pair the runs of the two sides that have the same seed and the same settings, except for
    settings that have one value on the whole base side and another one on the whole test side.
    Settings by which runs are never distinguished (NEVER), such as title and batch, don't count.
    Of runs without a partner only the number and the seeds are returned. `failed` and `programs` of
    the result are empty, for the caller to fill.

    Raises TooFewPairs if there is no pair, ConfigError if a side has two runs with the same
    settings and seed.
    """
    names = sorted({name for run in (*base, *test) for name in run.settings} - set(NEVER))
    compared = {name: (next(iter(ours)), next(iter(theirs))) for name in names
                if len(ours := _values(base, name)) == len(theirs := _values(test, name)) == 1
                and ours != theirs}
    kept = [name for name in names if name not in compared]
    of_base, of_test = (_runs_by_settings(side, kept) for side in (base, test))
    both = [place for place in of_base if place in of_test]
    if not both:
        raise TooFewPairs(
            "no run of the test side has the settings and the seed of one of the base side: run "
            "the same batch for both sides, with seeds in it, such as for_seed = 1, 2, 3, as "
            "batches/gate.batch has")
    name_of = _cell_names(kept, {**of_base, **of_test})
    cells: dict[str, list[tuple[ScoredFile, ScoredFile]]] = {}
    for place in both:
        cells.setdefault(name_of[place[0]], []).append((of_base[place], of_test[place]))
    alone = Counter((side, name_of[place[0]])
                    for side, there, other in (("base", of_base, of_test),
                                               ("test", of_test, of_base))
                    for place in there if place not in other)
    seeds: dict[str, set[str]] = {}
    for values, seed in (*of_base, *of_test):
        seeds.setdefault(name_of[values], set()).add(seed)
    return PairedSides(compared, [Pairs(name, pairs, seeds[name])
                                 for name, pairs in sorted(cells.items())], alone)


Values = tuple[str, ...]
Key = tuple[Values, str]


def _cell_names(kept: Sequence[str], runs: Mapping[Key, ScoredFile]) -> dict[Values, str]:
    """Return values of the settings -> name of their cell: the title of its runs, if there are
    several cells and only this one has it and no other title. Otherwise the settings that differ
    between cells, as "name value, …", without those that aren't set ("all runs" if none is left).

    Args:
        kept: names of the settings whose values make a cell.
        runs: (values of these settings, seed) -> run.
    """
    titles: dict[Values, set[str]] = {}
    for (values, _), run in runs.items():
        titles.setdefault(values, set()).add(_format_setting(run, TITLE))
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


def _runs_by_settings(runs: Sequence[ScoredFile], names: Sequence[str]) -> dict[Key, ScoredFile]:
    """Map (values of the settings `names`, seed) to the run that has them. Raises ConfigError if
    two runs have the same."""
    placed: dict[Key, ScoredFile] = {}
    for run in runs:
        # Settings are shown with six digits, and seeds that a batch leaves open have sixteen.
        place = (tuple(_format_setting(run, name) for name in names),
                 str(run.settings.get(SEED, NOTHING)))
        if place in placed:
            seed = "no seed" if place[1] == NOTHING else "the same seed"
            raise ConfigError(f"{run.path} and {placed[place].path} have the same settings and "
                              f"{seed}; expected one run of each seed in a cell: give one of them, "
                              "and write the runs of each build of a kernel to a folder of their "
                              "own (output_path)")
        placed[place] = run
    return placed


def _values(runs: Sequence[ScoredFile], name: str) -> set[str]:
    """Return the values of the setting `name` in these runs, as texts. For runs that don't record
    it, it is the default of a batch key, or "-" (NOTHING)."""
    return {_format_setting(run, name) for run in runs}


def _format_setting(run: ScoredFile, name: str) -> str:
    """Return a run's value of a setting as text. For a batch key that a run of a sweep doesn't
    record, because its version didn't have it, return the key's default. "-" (NOTHING) if there is
    no value, or if that default is none of a switch, number or text."""
    value = setting(run.settings, name)
    if value is None and TESTBED in run.settings and name in KEYS:
        # A run of a version that did not have the key yet.
        default = KEYS[name].default
        value = default if isinstance(default, bool | int | float | str) else None
    return NOTHING if value is None else shown(value)
