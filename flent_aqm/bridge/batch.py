# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes `flent -B FILE` run a sweep (sweep/plan/runner.py) if the file has the key `testbed`."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

from flent_aqm.base import environment
from flent_aqm.base.paths import base_batch
from flent_aqm.show.plots.catalogue import SEVERAL_TESTS

_TESTBED_KEY = re.compile(r"^\s*testbed\s*[=:]", re.MULTILINE | re.IGNORECASE)
_SECTION = re.compile(r"^\s*\[", re.MULTILINE)


def new(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a replacement for the function that makes Flent's runner of batches and tests from
    Flent's settings.

    The replacement makes a SweepRunner to run batches if a batch file has a testbed
    (_has_testbed()), and Flent's own runner for all other calls: to show data files, to run a test
    that is named without -b, and in a Flent that the sweep has started for a run. For a plot that
    compares files of several tests, Flent's runner doesn't warn about that. Raises ConfigError if a
    SweepRunner's batch file is wrong.

    stock: Flent's function.
    """
    @wraps(stock)
    def new(settings: Any) -> Any:
        # Flent runs tests that are named on the command line. In the lab's guest it also runs
        # batches, because each import takes time there.
        if settings.INPUT and settings.PLOT in SEVERAL_TESTS:
            runner = stock(settings)
            runner.load_input = _without_warning_of_several_tests(runner.load_input)
            return runner
        if (settings.INPUT or not (settings.BATCH_NAMES or settings.NAME is None)
                or os.environ.get(environment.CELL) or not _has_testbed(settings)):
            return stock(settings)
        from flent_aqm.sweep.plan.runner import SweepRunner

        return SweepRunner(settings)

    return new


def _without_warning_of_several_tests(load: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a replacement for load_input() that does not log Flent's warning about files of
    several tests. It is for plots that compare tests.

    load: Flent's method load_input().
    """
    logger = logging.getLogger("flent.batch")

    @wraps(load)
    def load_input(settings: Any) -> Any:
        logger.addFilter(_is_other_message)
        try:
            return load(settings)
        finally:
            logger.removeFilter(_is_other_message)

    return load_input


def _is_other_message(record: logging.LogRecord) -> bool:
    """Return False for the log record of Flent's warning about files of several tests, True for all
    other records."""
    return not record.getMessage().startswith("Result sets are not from the same test")


def _has_testbed(settings: Any) -> bool:
    """Return whether a batch file, its base_batch(), or an override has the key `testbed`, or one
    of these files has no section or can't be read. False without batch files. Files that don't
    exist are passed over.

    The files' text is searched, so that errors of files that can't be parsed are also reported by
    this package.

    settings: Flent's settings.
    """
    return bool(settings.BATCH_FILES) and ("testbed" in settings.BATCH_OVERRIDE or any(
        _may_have_testbed(path) for file in settings.BATCH_FILES
        for path in (Path(file), base_batch(Path(file)))
        if path is not None and os.path.isfile(path)))


def _may_have_testbed(path: Path) -> bool:
    """Return whether a batch file has a line with the key `testbed`, in any section. True for a
    file that has no section or can't be read, so that the sweep's runner reports that."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError:
        return True
    return _TESTBED_KEY.search(text) is not None or _SECTION.search(text) is None


def with_values_as_typed(parser: Any) -> Any:
    """Change Flent's argument parser so that --batch-override takes values that Flent refuses
    because of their =, such as test_parameters=a=1;b=2 and link_trace=seeded+mean_mbps=20 (see
    keys_and_values()). Return the parser. In a Flent that measures a run on a testbed, it is not
    changed."""
    if not os.environ.get(environment.CELL):
        from flent_aqm.sweep.plan.arguments import keys_and_values

        for action in parser._actions:
            if action.dest == "BATCH_OVERRIDE":
                action.type = partial(keys_and_values, action.type)
    return parser
