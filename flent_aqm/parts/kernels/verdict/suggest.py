# SPDX-License-Identifier: GPL-3.0-or-later
"""Find cells of batches/gate.batch that would reach changed lines which no recorded run reached.

Each cell that isn't among the runs is tried with the instrumented kernel, one seed each, until all
lines have run or no cell is left.
"""

from __future__ import annotations

import configparser
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from flent_aqm.base.errors import AqmError, LabError
from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.kernels.verdict.exercised import (
    Exercised,
    Recording,
    judge_lines,
    recorded_blocks,
)
from flent_aqm.parts.kernels.verdict.pairs import Pairs
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.sweep import Sweep

BATCH = "gate.batch"
_CHECK, _FLOWS, _RATES = "check", "flows", "rates"
_SETTINGS = {"length": ("LENGTH", int), "ip_version": ("IP_VERSION", int)}


def gate_cells() -> dict[str, dict[str, str]]:
    """Return the cells of gate.batch: name of the cell, as the batch key for_check takes it -> the
    keys and values of its section, as texts: batch keys, the cell's title (`check`), and `flows`
    and `rates`, from which the test's parameters are made."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(resource_dir("batches") / BATCH, encoding="utf-8")
    return {section.removeprefix("Arg::"): dict(parser[section]) for section in parser.sections()
            if section.startswith("Arg::") and _CHECK in parser[section]}


def suggest(cells: Sequence[Pairs], exercised: Exercised, recording: Recording) -> Iterator[str]:
    """Yield advice on how to reach the changed lines that so far ran fewer than 20 times (RARELY)
    in each cell, or never. A cell reaches a line if it runs it at least 20 times.

    There is a line of text for each cell of gate.batch that reaches some of those lines which no
    cell before it reaches, and for each cell whose run fails, with the reason. If lines are left
    that no successful run reached, the last text names them.

    Makes a run of each cell of gate.batch whose title (its key `check`) none of the recorded runs
    has, until all lines are reached.

    Args:
        cells: the recorded cells, at least one. The test side's run of the first pair gives the
            settings that gate.batch doesn't have.
        exercised: how often each changed line ran in the recorded cells.
        recording: the instrumented kernel.
    """
    wanted, failed = {*exercised.never, *exercised.rarely}, False
    there = {str(run.settings.get("title")) for cell in cells for run, _ in cell.pairs}
    for name, keys in gate_cells().items():
        if keys[_CHECK] in there or not wanted:
            continue
        with tempfile.TemporaryDirectory() as place:
            try:
                blocks = _run_gate_cell(cells[0], keys, Path(place), recording)
            except AqmError as fault:
                failed = True
                yield f"{name}: whether it reaches these lines is not known: {fault}"
                continue
        found = judge_lines(exercised.changes, recording.code, {name: blocks})
        reached = wanted & (found.ran.keys() - set(found.rarely))
        if reached:
            wanted -= reached
            yield f"{name} reaches " + "; ".join(
                found.ranges(sorted(reached))) + f": --batch-override for_check={name}"
    if wanted:
        yield f"no {'other ' if failed else ''}cell of gate.batch reaches " + "; ".join(
            exercised.ranges(sorted(wanted)))


def _run_gate_cell(model: Pairs, keys: Mapping[str, str], folder: Path, recording: Recording
                   ) -> dict[int, int]:
    """Run one cell with the instrumented kernel. Return address of a block -> how often it ran.

    Args:
        model: recorded cell. The test side's run of its first pair gives the settings that `keys`
            doesn't have, and the seed.
        keys: batch keys of the cell of gate.batch.
        folder: folder for the data file.
        recording: the instrumented kernel.

    Raises LabError if the run fails, ConfigError if its settings don't fit, BadResult if the
    recorded run can't be read or repeated, another AqmError if the run can't be prepared.
    """
    cell = _with_gate_keys(recorded.read(model.pairs[0][1].path, folder).cell, keys, recording)
    sweep = Sweep(resumes=True)
    sweep.plan(cell, {})
    with sweep:
        sweep.start()
        sweep.submit(cell)
        sweep.drain()
    if sweep.failed:
        raise LabError(f"its run failed: {sweep.failed[0][1]}")
    return recorded_blocks(cell.data_file)


def _with_gate_keys(model: Cell, keys: Mapping[str, str], recording: Recording) -> Cell:
    """Return a cell with the settings of the recorded run, changed by all batch keys of a cell of
    gate.batch, and with the instrumented kernel. Its name is the value of the key `check`. The test
    also records round trips.

    Args:
        model: cell of the recorded run.
        keys: batch keys of the cell of gate.batch and their values, see gate_cells(). `flows` and
            `check` are among them.
        recording: the instrumented kernel.

    Raises ConfigError if the settings don't fit together.
    """
    settings = dict(model.settings)
    scenario: dict[str, object] = {"kernel": recording.kernel.name}
    parameters = {_FLOWS: keys[_FLOWS], "round_trips": "yes"}
    for item in filter(None, keys.get(_RATES, "").split(";")):
        key, _, value = item.strip().partition("=")
        if key:
            parameters[key] = value
    for key, value in keys.items():
        if key in _SETTINGS:
            name, kind = _SETTINGS[key]
            settings[name] = kind(value)
        elif key not in (_CHECK, _FLOWS, _RATES):
            scenario[key] = value
    if "rate_mbps" in scenario:
        rate = scenario.pop("rate_mbps")
        scenario |= {"rate_down_mbps": rate, "rate_up_mbps": rate}
    settings["TEST_PARAMETERS"] = {**model.test_parameters, **parameters}
    return replace(model, scenario=model.scenario.from_settings(
        {**model.scenario.differing(), **scenario}), settings=settings, name=keys[_CHECK])
