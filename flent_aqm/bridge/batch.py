# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent -B FILE` with the key `testbed` in the file is a sweep: sweep/plan/runner.py runs it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

from flent_aqm.base import environment
from flent_aqm.show.plots.catalogue import SEVERAL_TESTS

_TESTBED_KEY = re.compile(r"^\s*testbed\s*[=:]", re.MULTILINE | re.IGNORECASE)


def new(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Replace the function that makes Flent's runner of batches and tests."""
    @wraps(stock)
    def new(settings: Any) -> Any:
        # A test that is named runs by itself, as ever. In the lab's guest, where every import
        # costs, Flent runs its batch by itself.
        if settings.INPUT and settings.PLOT in SEVERAL_TESTS:
            runner = stock(settings)
            runner.load_input = _with_files_of_several_tests(runner.load_input)
            return runner
        if (settings.INPUT or not (settings.BATCH_NAMES or settings.NAME is None)
                or os.environ.get(environment.CELL) or not _has_testbed(settings)):
            return stock(settings)
        from flent_aqm.sweep.plan.runner import SweepRunner

        return SweepRunner(settings)

    return new


def _with_files_of_several_tests(load: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Flent warns of files of several tests, which a plot that compares them is for."""
    logger = logging.getLogger("flent.batch")

    @wraps(load)
    def load_input(settings: Any) -> Any:
        logger.addFilter(_says_more)
        try:
            return load(settings)
        finally:
            logger.removeFilter(_says_more)

    return load_input


def _says_more(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Result sets are not from the same test")


def _has_testbed(settings: Any) -> bool:
    """Whether the key stands in a file or an override. The files' text decides, as a file that
    can't be parsed is reported our way, too; base.batch beside a file is read with it."""
    return bool(settings.BATCH_FILES) and ("testbed" in settings.BATCH_OVERRIDE or any(
        _TESTBED_KEY.search(path.read_text("utf-8", errors="replace"))
        for file in settings.BATCH_FILES
        for path in (Path(file), Path(file).with_name("base.batch")) if path.is_file()))


def with_values_as_typed(parser: Any) -> Any:
    """Let --batch-override test_parameters=a=1;b=2 be one key, where Flent takes it for two."""
    if not os.environ.get(environment.CELL):
        from flent_aqm.sweep.plan.arguments import keys_and_values

        for action in parser._actions:
            if action.dest == "BATCH_OVERRIDE":
                action.type = partial(keys_and_values, action.type)
    return parser
