# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the first bad one of many versions of a kernel: commits of a repository, patches of a
series, or versions in Debian's suites. Each step halves what is left; a version that can't be
tested is gone round."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.shell import run
from flent_aqm.setup.apt import Package
from flent_aqm.setup.kernel.sources import commit_of


class History(Protocol):
    """Versions in an order that may have branches."""

    good: str
    bad: str

    def suspects(self, good: Collection[str], bad: str) -> list[str]:
        """Return all versions that may be the first bad one, the best to test next first. bad is
        among them."""
        ...

    def title(self, version: str) -> str:
        """Return what people call it."""
        ...


@dataclass(frozen=True)
class BisectResult:
    """first_bad: one version, or several where those between could not be tested; steps: how
    many were tested."""

    first_bad: Sequence[str]
    steps: int


def search(history: History, is_bad: Callable[[str], bool | None],
           tell: Callable[[str], None]) -> BisectResult:
    """Return the first bad version. is_bad: None for one that can't be tested.

    Raises ConfigError where the good one is bad, or the bad one good: then what is tested for
    is not what differs.
    """
    for version, wanted, word in ((history.good, False, "good"), (history.bad, True, "bad")):
        tell(f"{history.title(version)}, which is said to be {word}")
        found = is_bad(version)
        if found is not wanted:
            what = "can't be tested" if found is None else f"is {'bad' if found else 'good'}"
            raise ConfigError(f"bisect: {history.title(version)} was given as {word}, and {what}; "
                              "nothing to search for")
    good, bad, skipped, steps = {history.good}, history.bad, set[str](), 0
    while True:
        suspects = history.suspects(good, bad)
        left = [version for version in suspects if version != bad and version not in skipped]
        if not left:
            return BisectResult([bad, *(one for one in suspects if one in skipped)], steps)
        steps += 1
        more = math.ceil(math.log2(len(left) + 1))
        tell(f"step {steps}, {len(suspects)} suspects, {more} steps at most: "
             f"{history.title(left[0])}")
        found = is_bad(left[0])
        if found is None:
            skipped.add(left[0])
        elif found:
            bad = left[0]
        else:
            good.add(left[0])


class Commits:
    """Of a repository, by git's own choice of the next one (git rev-list --bisect-all)."""

    def __init__(self, repository: Path, good: str, bad: str) -> None:
        """Raises ConfigError for a ref that isn't there, or isn't older than the other."""
        self._repository = repository
        self.good, self.bad = (commit_of(f"bisect: {name}", repository, ref)
                               for name, ref in (("--good", good), ("--bad", bad)))
        if not self._git("rev-list", "--max-count=1", self.bad, f"^{self.good}").strip():
            raise ConfigError(f"bisect: --bad {bad} has nothing that --good {good} lacks")

    def suspects(self, good: Collection[str], bad: str) -> list[str]:
        lines = self._git("rev-list", "--bisect-all", bad,
                          *(f"^{one}" for one in sorted(good))).splitlines()
        return [line.split()[0] for line in lines]

    def title(self, version: str) -> str:
        return self._git("log", "-1", "--format=%h %s", version).strip()

    def _git(self, *words: str) -> str:
        return run(["git", "-C", self._repository, *words])


class Series:
    """Versions in their order, such as a source with one patch after the other; a version is
    called by its number."""

    def __init__(self, names: Sequence[str], first: str = "the source without patches") -> None:
        """first: what version 0 is, which is good; names: of those after it."""
        self._names, self._first = names, first
        self.good, self.bad = "0", str(len(names))

    def suspects(self, good: Collection[str], bad: str) -> list[str]:
        first, last = max(map(int, good)) + 1, int(bad)
        middle = (first + last - 1) // 2
        return sorted(map(str, range(first, last + 1)), key=lambda one: abs(int(one) - middle))

    def title(self, version: str) -> str:
        return self._names[int(version) - 1] if int(version) else self._first


def between(packages: Sequence[Package], good: str, bad: str) -> list[Package]:
    """Return the packages from one version to the other, the good one first.

    packages: the newest first. Raise ConfigError where one isn't among them, or isn't older than
    the other.
    """
    oldest_first = list(reversed(packages))
    versions = [each.version for each in oldest_first]
    for option, version in (("--good", good), ("--bad", bad)):
        if version not in versions:
            raise ConfigError(f"bisect: {option}: Debian's suites have no kernel source of version "
                              f"{version!r}; they have {', '.join(versions)}")
    first, last = versions.index(good), versions.index(bad)
    if first >= last:
        raise ConfigError(f"bisect: --good {good} is not older than --bad {bad}")
    return oldest_first[first:last + 1]
