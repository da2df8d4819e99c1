# SPDX-License-Identifier: GPL-3.0-or-later
"""Test definitions of ours on the command line and in lists of tests; plots of ours in
every test that measures latency."""

from __future__ import annotations

import os
from functools import partial, wraps
from typing import Any

from flent_aqm.asked.test_files import is_only_ours, our_tests
from flent_aqm.base import environment
from flent_aqm.bridge.exit_status import reported
from flent_aqm.bridge.unknown_test import define, is_unknown
from flent_aqm.show.plots.catalogue import plots_for


def patch(module: Any) -> None:
    """Patch flent.settings."""
    if not hasattr(module, "find_test"):  # which a Flent with a search list has (docs/upstream)
        _patch_words(module)
        _patch_list(module)
    _patch_plots(module)
    if not os.environ.get(environment.CELL):
        from flent_aqm.bridge import definitions, overrides

        definitions.patch(module.Settings)
        # --batch-override test_parameters=a=1;b=2, which Flent would take for two keys
        for action in module.parser._actions:
            if action.dest == "BATCH_OVERRIDE":
                action.type = partial(overrides.keys_and_values, action.type)


def _patch_words(module: Any) -> None:
    """Words of the command line that are no file: a test's name, or else a host's."""
    stock = module.Settings.load_test_or_host

    @wraps(stock)
    def load_test_or_host(self: Any, test_name: str) -> None:
        if not is_only_ours(test_name, _stock_dir()):
            stock(self, test_name)
        elif self.NAME not in (None, test_name):
            raise RuntimeError(f"Multiple test names specified: {self.NAME} and {test_name}.")
        else:
            self.NAME = test_name

    module.Settings.load_test_or_host = load_test_or_host


def _patch_list(module: Any) -> None:
    """--list-tests, and the list in the GUI's dialog for a new test."""
    stock = module.ListTests.get_tests.__func__

    @wraps(stock)
    def get_tests(cls: Any, settings: Any) -> list[tuple[str, str]]:
        tests: list[tuple[str, str]] = stock(cls, settings)
        for name in our_tests():
            if is_only_ours(name, _stock_dir()):
                loaded = settings.copy()
                try:
                    loaded.load_test(name, informational=True)
                except Exception as error:  # as Flent does: the others are still listed
                    module.logger.exception(str(error))
                else:
                    tests.append((name, loaded.DESCRIPTION))
        return sorted(tests)

    module.ListTests.get_tests = classmethod(get_tests)


def _patch_plots(module: Any) -> None:
    """Every way to a test's plots: the command line, a data file, flent-gui."""
    stock = module.Settings.load_test

    @wraps(stock)
    def load_test(self: Any, test_name: str | None = None, informational: bool = False) -> None:
        if informational and test_name is None and is_unknown(self, _stock_dir()):
            define(self)
            return
        if not informational:
            _check_parameters(self, test_name or self.NAME, _stock_dir())
        stock(self, test_name, informational)
        if hasattr(self, "PLOTS") and hasattr(self, "DATA_SETS"):
            for name, plot in plots_for(self.DATA_SETS).items():
                self.PLOTS.setdefault(name, plot)

    module.Settings.load_test = load_test


def _check_parameters(settings: Any, test_name: str | None, stock_dir: str) -> None:
    """Before a test of ours runs. For a run on a testbed the batch was checked."""
    if test_name and is_only_ours(test_name, stock_dir) and not os.environ.get(environment.CELL):
        from flent_aqm.asked.keys import refuse_unknown_parameters

        with reported():
            refuse_unknown_parameters("--test-parameter", settings.TEST_PARAMETERS)


def _stock_dir() -> str:
    """Flent's own folder of tests. A Flent with a search list names it in flent.testenv alone."""
    from flent import testenv

    return str(testenv.TEST_PATH)
