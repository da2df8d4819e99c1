# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches with a testbed: Flent's loop goes on as it is, its runs go to the testbed.

Flent expands the matrix, shuffles, skips what is there already, and calls run_test() for
each run. With the key `testbed` that only hands the run to a worker, and the hook
commands run there, around the test, by another Flent. All runs are checked while
Flent adds up their lengths, before the first one starts.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.bridge import definitions, places
from flent_aqm.bridge.exit_status import reported
from flent_aqm.bridge.overrides import (
    kernel_arguments,
    refuse_unknown_arguments,
    restore_zeros,
    restrict,
)

if TYPE_CHECKING:
    from flent_aqm.asked.cell import Cell
    from flent_aqm.sweep.sweep import Sweep

_TIME_IN_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}")


def patch(module: Any) -> None:
    """Patch flent.batch's BatchRunner. In the Flent that measures, everything stays."""
    if os.environ.get(environment.CELL):
        return
    places.patch(module)
    _read_base_first(module.BatchRunner)
    _apply_overrides_to_arguments(module.BatchRunner)
    _give_cross_traffic(module.BatchRunner)
    _plan_while_expanding(module.BatchRunner, module)
    _name_kernels(module.BatchRunner, module)
    _run_on_testbeds(module.BatchRunner, module)


def _read_base_first(runner: Any) -> None:
    """A file base.batch holds the arguments and commands that its neighbours share. Beside
    it there is an argument for each queue, by its name, and the command that sets the router;
    those that a file defines go first."""
    stock = runner.read

    @wraps(stock)
    def read(self: Any, filename: str) -> None:
        from flent_aqm.asked.cell import ROUTER_COMMAND, ROUTER_HOOK

        self.commands.setdefault(ROUTER_HOOK, dict(ROUTER_COMMAND[ROUTER_HOOK]))
        base = Path(filename).with_name("base.batch")
        # Read once, as a second reading would undo what a file before this one changed.
        if base.is_file() and base != Path(filename) and getattr(self, "aqm_base", "") != base:
            from flent_aqm.asked.queues.table import QUEUES

            self.aqm_base = base
            for name in QUEUES:
                self.args.setdefault(name, {"aqm": name})
            stock(self, str(base))
        stock(self, filename)

    runner.read = read


def _apply_overrides_to_arguments(runner: Any) -> None:
    """`--batch-override aqm=codel` picks from the matrix, where Flent lets arguments win."""
    stock = runner.get_argsets

    @wraps(stock)
    def get_argsets(self: Any, batch: Any) -> Any:
        if "testbed" not in batch:
            return stock(self, batch)
        refuse_unknown_arguments(batch, self.args)
        argsets = stock(self, batch)
        kernels = kernel_arguments(str(batch.get("kernel", "")), self.args)
        overrides = {key: value for key, value in self.settings.BATCH_OVERRIDE.items()
                     if key != "kernel" or not kernels}
        return [*restrict(argsets[:-1], self.args, overrides), *([kernels] if kernels else []),
                argsets[-1]]

    runner.get_argsets = get_argsets


def _name_kernels(runner: Any, module: Any) -> None:
    """A run on a kernel of the user's has its name at the end of its file's, where the batch
    doesn't put it there: batches needn't know of kernels."""
    stock = runner.gen_filename

    @wraps(stock)
    def gen_filename(self: Any, settings: Any, batch: Any, argset: Any, rep: Any) -> Any:
        from flent_aqm.asked.kernel import STOCK

        name, kernel = stock(self, settings, batch, argset, rep), str(batch.get("kernel") or STOCK)
        given = str(self.batches.get(settings.BATCH_NAME, {}).get("filename_extra", ""))
        if "testbed" not in batch or kernel == STOCK or "${kernel}" in given:
            return name
        return module.clean_path(f"{name}-{kernel}")

    runner.gen_filename = gen_filename


def _give_cross_traffic(runner: Any) -> None:
    stock = runner.apply_args

    @wraps(stock)
    def apply_args(self: Any, *args: Any, **kwargs: Any) -> Any:
        section = stock(self, *args, **kwargs)
        if "testbed" in section and "exec" not in section and "test_name" in section:
            from flent_aqm.bridge.cells import give_cross_traffic

            give_cross_traffic(section)
        return section

    runner.apply_args = apply_args


def _plan_while_expanding(runner: Any, module: Any) -> None:
    stock = runner.expand_argsets

    @wraps(stock)
    def expand_argsets(self: Any, batch: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        if "testbed" in batch:
            definitions.remember(self.settings)
        for section, settings in stock(self, batch, *args, **kwargs):
            if "testbed" in section:
                from flent_aqm.bridge.batch_keys import refuse_unread_keys
                from flent_aqm.bridge.cells import make_cell

                folder = (module.clean_path(section["output_path"], allow_dirs=True)
                          if "output_path" in section else settings.DATA_DIR)
                with places.told_of_run(self):
                    refuse_unread_keys(self, section, f"batch {settings.BATCH_NAME}",
                                       module.SETTINGS_PARSER)
                    settings.AQM_CELL = make_cell(
                        section, settings, self.commands_for(section, settings), Path(folder),
                        module.SETTINGS_PARSER)
                section["debug_log"] = False  # the Flent that measures writes it
                _sweep(self).plan(settings.AQM_CELL, section)
                # Flent loads the test once more before it runs; then host names are looked
                # up, which only the testbed knows.
                settings.load_test = _loaded_on_testbed
            yield section, settings

    runner.expand_argsets = expand_argsets


def _loaded_on_testbed(*args: Any, **kwargs: Any) -> None:
    """Stands in for Settings.load_test() of a run that goes to a testbed."""


def _run_on_testbeds(runner: Any, module: Any) -> None:
    stock_run, stock_run_batch = runner.run, runner.run_batch
    stock_run_test, stock_run_commands = runner.run_test, runner.run_commands

    @wraps(stock_run)
    def run(self: Any) -> Any:
        if not self.settings.BATCH_NAMES or self.settings.INPUT:
            return stock_run(self)
        from flent_aqm.sweep.sweep import Stopped

        restore_zeros(self.settings.BATCH_OVERRIDE)
        _take_time_of_resumed(self.settings, module)
        result, sweep = True, _sweep(self)
        try:
            with sweep:
                result = stock_run(self)
        except Stopped:
            pass  # report() says why
        sweep.report()
        return result

    @wraps(stock_run_batch)
    def run_batch(self: Any, batch_name: str) -> Any:
        sweep = _sweep(self)
        resume = self.settings.BATCH_RESUME
        # A folder to resume that isn't there is for Flent to refuse, not for us to make.
        if not self.settings.BATCH_DRY and (resume is None or Path(resume).is_dir()):
            # reported() as Flent's run() takes other exceptions for its own defects
            with reported(), places.told_of_batch(self, batch_name):
                sweep.start(resume=resume is not None)
            if sweep.planned and not self.settings.BATCH_VERBOSE:
                # Flent's line per run would tear up the progress bar.
                module.loggers.set_console_level(module.loggers.WARNING)
        nothing_there = resume and Path(resume).is_dir() and not _data_files(resume, module)
        if nothing_there and sweep.planned:
            _refuse_to_leave(Path(resume), sweep.planned)
            self.settings.BATCH_RESUME = None  # which Flent would refuse
        try:
            result = stock_run_batch(self, batch_name)
        finally:
            self.settings.BATCH_RESUME = resume
        sweep.drain()
        self.tests_run += sweep.take_count()
        return result

    @wraps(stock_run_test)
    def run_test(self: Any, settings: Any, *args: Any, **kwargs: Any) -> Any:
        cell = getattr(settings, "AQM_CELL", None)
        if cell is None:
            return stock_run_test(self, settings, *args, **kwargs)
        return _sweep(self).submit(cell)

    @wraps(stock_run_commands)
    def run_commands(self: Any, commands: Any, *args: Any, **kwargs: Any) -> Any:
        # Each command carries its batch section's keys.
        if self.settings.BATCH_DRY or not any("testbed" in command for command in commands):
            return stock_run_commands(self, commands, *args, **kwargs)
        return None

    runner.run, runner.run_batch = run, run_batch
    runner.run_test, runner.run_commands = run_test, run_commands


def _take_time_of_resumed(settings: Any, module: Any) -> None:
    """File names hold the batch's time. Flent takes over that of a resumed batch, but only
    when it runs; ours are planned before. Where no run was done yet, and Flent sees nothing
    to go on with, the names of logs and folder tell it."""
    folder = settings.BATCH_RESUME
    if folder is None or not Path(folder).is_dir():
        return  # Flent says so
    for file in _data_files(folder, module):
        try:
            settings.TIME = module.resultset.load(str(file)).meta("BATCH_TIME")
        except (RuntimeError, KeyError):
            continue  # not a data file, or not of a batch
        return
    names = [*(file.name for file in sorted(Path(folder).rglob("*.log"))),
             Path(folder).resolve().name]
    for found in filter(None, map(_TIME_IN_NAME.search, names)):
        with contextlib.suppress(ValueError):  # digits that are no time
            # Names have local time, settings that of UTC without saying so.
            local = datetime.strptime(found.group(), "%Y-%m-%dT%H%M%S")
            settings.TIME = local.astimezone(UTC).replace(tzinfo=None)
            return


def _data_files(folder: str, module: Any) -> list[Path]:
    return sorted(Path(folder).rglob(f"*{module.resultset.SUFFIX}"))


def _refuse_to_leave(folder: Path, planned: Mapping[Path, Cell]) -> None:
    """Flent's own check of what is resumed, for a folder in which no run was done."""
    for path in planned:
        if not path.resolve().is_relative_to(folder.resolve()):
            with reported():
                raise ConfigError(f"--batch-resume {folder}: no run was done there, and this "
                                  f"batch writes to {path.parent}; leave the option out")


def _sweep(runner: Any) -> Sweep:
    if not hasattr(runner, "aqm_sweep"):
        # Loaded when it is needed, which it isn't for stock Flent's own tests.
        from flent_aqm.sweep.sweep import Sweep

        runner.aqm_sweep = Sweep()
    sweep: Sweep = runner.aqm_sweep
    return sweep
