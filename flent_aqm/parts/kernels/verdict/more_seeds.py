# SPDX-License-Identifier: GPL-3.0-or-later
"""Make further runs, with new seeds, of the cells that a verdict can't decide.

The settings are those of recorded runs, as with `replay`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import plain
from flent_aqm.parts.kernels.verdict.pairs import Pairs
from flent_aqm.results.data_file import a_number
from flent_aqm.setup.kernel.locate import kernel_called
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.sweep import Sweep

# Below a side's folder.
FOLDER = "more-seeds"


def add_seeds(cells: Sequence[Pairs], folders: Sequence[Path], most: int, until_s: float) -> bool:
    """Run these cells on both sides with new seeds: as many as each cell lacks of `most`, or fewer
    if only these fit into the time, by the wall times of the recorded runs. The data files go into
    the folder `more-seeds` of each side.

    Args:
        cells: the cells.
        folders: folder of the base side, folder of the test side.
        most: number of seeds that each cell is to have.
        until_s: end of the time, on the clock of time.monotonic().

    Returns:
        True if runs were started, even if they failed. False if there was no time, or no need, for
            any run.

    Raises ConfigError if a kernel was built again since the recorded runs, other AqmErrors if the
    runs can't be made.
    """
    models = [(_read_model(pairs.pairs[0][side].path, folder), pairs)
              for pairs in cells for side, folder in enumerate(folders)]
    for model, _ in models:
        _refuse_another_kernel(model)
    took_s = sum(a_number(model.data["metadata"]["AQM"].get("wall_s")) or 0 for model, _ in models)
    rounds = int((until_s - time.monotonic()) * len(os.sched_getaffinity(0)) // max(took_s, 1))
    sweep = Sweep(resumes=True)
    for model, pairs in models:
        wanted = min(most - len(pairs.pairs), rounds)
        for seed in _new_seeds(pairs, wanted):
            sweep.plan(_with_seed(model.cell, seed), {})
    if not sweep.planned:
        return False
    with sweep:
        sweep.start()
        for cell in sweep.planned.values():
            sweep.submit(cell)
        sweep.drain()
    return True


def _read_model(path: Path, folder: Path) -> recorded.RecordedRun:
    """Return a recorded run of a side's folder. Its cell writes to the folder `more-seeds`, under a
    name that begins with those of the subfolders, in which data files may have the same name.
    Raises BadResult if the run can't be repeated."""
    run = recorded.read(path, folder / FOLDER)
    below = [part for part in path.parent.relative_to(folder).parts if part != FOLDER]
    return replace(run, cell=replace(run.cell, name="-".join([*below, run.cell.name])))


def _new_seeds(pairs: Pairs, count: int) -> Iterator[int]:
    """Yield `count` seeds, from 1 above the largest of the cell's runs, also of those without a
    partner, whose files are in the way. Nothing if `count` is below 1."""
    last = max(int(seed) for seed in pairs.seeds if seed.isdecimal())
    yield from range(last + 1, last + 1 + count)


def _with_seed(cell: Cell, seed: int) -> Cell:
    """Return the cell with another seed, and with -seedN at the end of its name."""
    return replace(cell, scenario=cell.scenario.but(seed=seed), name=f"{cell.name}-seed{seed}")


def _refuse_another_kernel(model: recorded.RecordedRun) -> None:
    """Raise ConfigError if the name of the recorded run's kernel now stands for another build,
    ToolMissing or SetupError if there is no usable kernel of that name."""
    name = model.cell.scenario.lab.kernel
    kernel, now = model.data["metadata"]["AQM"].get("kernel"), kernel_called(name).hash
    then = kernel.get("hash") if isinstance(kernel, dict) else None
    if then != now:
        raise ConfigError(f"--until-decided: the kernel {name} on this machine, of build {now}, is "
                          f"not that of these runs ({f'build {plain(then)}' if then else 'unknown'}"
                          "); make the runs of both sides again")

