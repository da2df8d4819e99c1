# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the missing runs of a command that plans its runs itself, without a batch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.resumed import set_aside_unfinished
from flent_aqm.sweep.sweep import Stopped, Sweep


def make_missing(cells: Iterable[Cell], keys: Mapping[str, object]) -> int:
    """Make the runs that have no complete data file, and return how many of these failed, without
    those that are not made because several runs of their kernel had the same fault. 0 if no run is
    missing.

    A data file that is damaged or incomplete is renamed, and reported on standard error. A run that
    fails does not stop the others. The plan and the progress are printed.

    Args:
        cells: all runs that the command needs.
        keys: batch keys of the sweep, such as `jobs`.

    Raises an AqmError before the first run if the runs can't be made, or if a complete data file is
    of another run than the cell with this file, or of another build of its kernel. At the first ^C
    no more runs are started, and KeyboardInterrupt is raised once those that are running have
    ended. A second ^C, SIGTERM or SIGHUP kills them. Raises StorageError if results can't be
    written; no more runs are started then.
    """
    sweep = Sweep(resumes=True)
    by_file = {cell.data_file: cell for cell in cells}
    for line in set_aside_unfinished(by_file):
        print(f"flent-aqm: {line}", file=sys.stderr)
    for cell in by_file.values():
        if not cell.data_file.exists():
            sweep.plan(cell, keys)
    if not sweep.planned:
        return 0
    with sweep:
        sweep.start()
        try:
            for cell in sweep.planned.values():
                sweep.submit(cell)
        except Stopped:
            sweep.raise_storage_fault()
            raise KeyboardInterrupt from None
        sweep.drain()
        # It may have come with the last runs, after which nothing is submitted.
        sweep.raise_storage_fault()
        # The caller may have further runs to make.
        if sweep.was_interrupted:
            raise KeyboardInterrupt
    return len(sweep.failed)
