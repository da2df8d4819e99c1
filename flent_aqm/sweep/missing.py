# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a command that plans them itself, without a batch: those that aren't there are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.sweep import Stopped, Sweep


def make_missing(cells: Iterable[Cell], keys: Mapping[str, object]) -> int:
    """Make the runs whose data files aren't there; return how many failed. keys: of the sweep, such
    as jobs. A run that fails keeps no other from being made. Raises AqmError for what is found
    before the first one, KeyboardInterrupt."""
    sweep = Sweep(resumes=True)
    for cell in cells:
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
            raise KeyboardInterrupt from None
        sweep.drain()
    return len(sweep.failed)
