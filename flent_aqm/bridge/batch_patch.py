# SPDX-License-Identifier: GPL-3.0-or-later
"""Batch runs: what `flent -B FILE` runs without -b, and how errors of ours end."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.bridge.exit_status import reported

# Characters of what a command printed that are kept as the cause of a failed run: a
# router's answer may have a million.
LONGEST_CAUSE = 1000

_TESTBED_KEY = re.compile(r"^\s*testbed\s*[=:]", re.MULTILINE | re.IGNORECASE)


def patch(module: Any) -> None:
    """Patch flent.batch."""
    # In the guest, where every import costs, Flent runs its batch by itself.
    if os.environ.get(environment.CELL):
        _let_commands_tell_why(module.BatchRunner)
    else:
        from flent_aqm.bridge import sweep_patch

        sweep_patch.patch(module)
    stock_init, stock_run = module.BatchRunner.__init__, module.BatchRunner.run
    stock_runtime = module.BatchRunner.get_batch_runtime

    @wraps(stock_init)
    def init(self: Any, settings: Any) -> None:
        with _reported(settings):
            stock_init(self, settings)

    @wraps(stock_run)
    def run(self: Any) -> Any:
        with _reported(self.settings):
            _name_batches(self, module.logger)
            return stock_run(self)

    @wraps(stock_runtime)
    def get_batch_runtime(self: Any, batch_name: str) -> Any:
        seconds, count = stock_runtime(self, batch_name)
        # Flent adds up runs one after the other in real time, and says so where that is more
        # than 0. A sweep of ours tells its own time, from the first run that ends.
        return (0 if uses_testbed(self.settings) else seconds), count

    module.BatchRunner.get_batch_runtime = get_batch_runtime
    module.BatchRunner.__init__ = init
    module.BatchRunner.run = run


def _let_commands_tell_why(runner: Any) -> None:
    """What a failed command printed is the error. Flent prints it too, but below the whole
    command line and over several lines, of which the sweep would show the first."""
    stock = runner.run_command

    @wraps(stock)
    def run_command(self: Any, command: Any) -> Any:
        try:
            return stock(self, command)
        except RuntimeError as error:
            said = " ".join(str(getattr(error.__context__, "output", "")).split())
            if not said:
                raise  # Flent's own text, which names the command
            raise RuntimeError(said[:LONGEST_CAUSE]) from error

    runner.run_command = run_command


def batches_to_run(
    batches: Mapping[str, Mapping[str, object]], files: Sequence[str]
) -> list[str]:
    """Return the batches that run when none is named: those named like their file, or else all.

    batches: keys by batch name, as read from the files. Abstract and disabled ones are
    never among them. Raises ConfigError when nothing is left.
    """
    runnable = [
        name for name, keys in batches.items()
        if not keys.get("abstract") and not keys.get("disabled") and keys.get("enabled", True)
    ]
    if not runnable:
        raise ConfigError(
            f"{', '.join(files)}: no batch to run: all are abstract or disabled; batches: "
            f"{', '.join(batches) or 'none'}")
    # Flent keeps batch names in lower case.
    stems = {Path(file).stem.lower() for file in files}
    return [name for name in runnable if name in stems] or runnable


def uses_testbed(settings: Any) -> bool:
    """Return whether a batch run is one of ours: the key `testbed` stands in a file or override.

    The files' text decides, as a file that can't be parsed is reported our way too.
    """
    return bool(settings.BATCH_FILES) and (
        "testbed" in settings.BATCH_OVERRIDE or any(map(_names_testbed, settings.BATCH_FILES)))


def _names_testbed(file: str) -> bool:
    # base.batch beside a batch file is read with it.
    for path in (Path(file), Path(file).with_name("base.batch")):
        try:
            if _TESTBED_KEY.search(path.read_text("utf-8", errors="replace")):
                return True
        except OSError:
            pass  # Flent reports a file that can't be read; the base may be missing
    return False


def _reported(settings: Any) -> AbstractContextManager[None]:
    """reported() with the errors that are the user's in a batch run of ours."""
    if settings.INPUT or not uses_testbed(settings):
        return reported()
    return reported(RuntimeError, configparser.Error, UnicodeDecodeError)


def _name_batches(runner: Any, logger: Any) -> None:
    """Fill in BATCH_NAMES where the user gave a file only; check those given for ours."""
    settings = runner.settings
    if settings.INPUT or not settings.BATCH_FILES:
        return
    if settings.BATCH_NAMES:
        _check_names(runner)
    elif settings.NAME is None:
        batches = {name: {**keys, **settings.BATCH_OVERRIDE}
                   for name, keys in runner.batches.items()}
        settings.BATCH_NAMES = batches_to_run(batches, settings.BATCH_FILES)
        logger.info("No -b given, running: %s.", ", ".join(settings.BATCH_NAMES))


def _check_names(runner: Any) -> None:
    names = runner.settings.BATCH_NAMES
    unknown = [name for name in names if name not in runner.batches]
    if unknown and names != ["ALL"] and uses_testbed(runner.settings):
        raise ConfigError(
            f"{', '.join(runner.settings.BATCH_FILES)}: unknown batch {', '.join(unknown)}; "
            f"batches: {', '.join(runner.batches) or 'none'}")
