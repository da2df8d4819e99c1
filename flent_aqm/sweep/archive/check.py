# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an archive holds what makes its data again: runs of it are made again, out of it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import AqmError, BadResult
from flent_aqm.sweep.archive.folder import DATA, Packed
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.replay.again import again
from flent_aqm.sweep.replay.compare import differences


@dataclass(frozen=True)
class ReplayedRuns:
    """identical: files whose runs were made again with the same result; not_again: why the
    others that were tried can't be made again, by file."""

    identical: tuple[str, ...]
    not_again: dict[str, str]


def check(target: Path, packed: Sequence[Packed], most: int, traces: Sequence[Path]
          ) -> ReplayedRuns:
    """Make runs again, at most that many, each test at least once if that many allow it; traces:
    where those of their links may be.

    Raises BadResult for the first that comes out different.
    """
    identical: list[str] = []
    not_again: dict[str, str] = {}
    for one in _sample(packed, most):
        file = target / DATA / one.name
        with tempfile.TemporaryDirectory(prefix="flent-aqm-archive-") as folder:
            try:
                was = recorded.read(file, Path(folder), traces)
                print(f"making {one.name} again", file=sys.stderr, flush=True)
                now = again(was.cell)
            except AqmError as error:
                not_again[one.name] = str(error).removeprefix(f"{file}: ")
                continue
        if changes := differences(was.data, now):
            raise BadResult(f"{one.name}: made again it is different: {changes[0]}; an archive of "
                            "it would promise too much. flent-aqm replay shows more")
        identical.append(one.name)
    return ReplayedRuns(tuple(identical), not_again)


def _sample(packed: Sequence[Packed], most: int) -> list[Packed]:
    """Evenly spread ones, of every test and testbed first."""
    first = list({(one.test, one.testbed): one for one in reversed(packed)}.values())[::-1]
    rest = [one for one in packed if one not in first]
    missing = max(0, min(most - len(first), len(rest)))
    spread = [rest[index * len(rest) // missing] for index in range(missing)]
    return [*first, *spread][:most]
