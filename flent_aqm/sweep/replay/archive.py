# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that an archive is enough to repeat its runs, by repeating some of them from it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError, BadResult
from flent_aqm.results.grouping import collect
from flent_aqm.results.share.archive import DATA, Packed, ReplayedRuns
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.replay.again import again
from flent_aqm.sweep.replay.compare import differences, other_versions


def repeat_some(target: Path, packed: Sequence[Packed], most: int, traces: Sequence[Path]
                ) -> ReplayedRuns:
    """Repeat some of the archive's runs, and compare the results.

    The sample has each test on each testbed at least once if `most` allows it. Each repetition is
    reported on standard error.

    Args:
        target: folder of the archive.
        packed: the archive's data files.
        most: largest number of runs to repeat.
        traces: files and folders in which the traces of links may be.

    Returns the names of the files whose runs were repeated with the same result, and of those that
    can't be read or repeated, with the reasons. Raises BadResult for the first run that gives
    another result.
    """
    identical: list[str] = []
    not_again: dict[str, str] = {}
    for data_file in _sample(packed, most):
        file = target / DATA / data_file.name
        with tempfile.TemporaryDirectory(prefix="flent-aqm-archive-") as folder:
            try:
                was = recorded.read(file, Path(folder), traces)
                print(f"repeating the run of {data_file.name}", file=sys.stderr, flush=True)
                now = again(was.cell)
            except AqmError as error:
                not_again[data_file.name] = str(error).removeprefix(f"{file}: ")
                continue
        if changes := differences(was.data, now):
            versions = other_versions(was.data["metadata"], now["metadata"])
            advice = (f"the file was made with other versions ({versions[0]}); install those, or "
                      "leave the file out of the archive" if versions
                      else "leave the file out of the archive")
            raise BadResult(f"{data_file.name}: repeating the run gave other data: "
                            f"{changes[0]}; {advice}. flent-aqm replay shows all differences")
        identical.append(data_file.name)
    return ReplayedRuns(tuple(identical), not_again)


def _sample(packed: Sequence[Packed], most: int) -> list[Packed]:
    """Choose up to `most` files: first one of each combination of test and testbed, then others,
    evenly spread over the rest."""
    first = [alike[0] for alike in collect(packed, lambda one: (one.test, one.testbed)).values()]
    rest = [data_file for data_file in packed if data_file not in first]
    missing = max(0, min(most - len(first), len(rest)))
    # Neighbours are repetitions of one cell.
    spread = [rest[(2 * index + 1) * len(rest) // (2 * missing)] for index in range(missing)]
    return [*first, *spread][:most]
