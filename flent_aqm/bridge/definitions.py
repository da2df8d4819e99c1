# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets Flent find this package's test definitions and plots.

Definitions are found by name: on the command line, in lists of tests, and when other definitions
include them. Every test that measures latency gets this package's plots.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.spec.definitions import is_only_ours, locate, our_tests, refuse_path

Function = Callable[..., Any]
# Ends of the names of pictures that Flent can draw.
PICTURES = (".png", ".pdf", ".svg", ".svgz", ".ps", ".eps")


def _has_search_list(stock: Function) -> bool:
    """Return whether this Flent has a search list of folders with tests (release/upstream). This
    package's folder is then in that list.

    stock: a function of Flent, whose module is looked at.
    """
    return hasattr(sys.modules[stock.__module__], "find_test")


def load_test_or_host(stock: Function) -> Function | None:
    """Return a replacement for the method that takes a word of the command line as the test to run,
    if there is a test of this name, and otherwise as a host. It also knows this package's tests,
    and raises RuntimeError if the command line has named a different test before. None, which keeps
    Flent's, if Flent finds this package's tests itself.

    stock: Flent's method.
    """
    @wraps(stock)
    def load_test_or_host(self: Any, test_name: str) -> None:
        if not is_only_ours(test_name, stock_dir()):
            stock(self, test_name)
        elif self.NAME not in (None, test_name):
            raise RuntimeError(f"Multiple test names specified: {self.NAME} and {test_name}; "
                               "a run is of one test; leave one out, or give a host with -H")
        else:
            self.NAME = test_name

    return None if _has_search_list(stock) else load_test_or_host


def get_tests(stock: Function) -> Any:
    """Return a replacement for the class method that lists tests, for --list-tests and the GUI's
    dialog. It returns name and description of this package's tests, too, sorted. Tests that can't
    be loaded are logged and left out. None, which keeps Flent's, if Flent finds this package's
    tests itself.

    stock: Flent's class method.
    """
    @wraps(stock)
    def get_tests(cls: Any, settings: Any) -> list[tuple[str, str]]:
        from flent.loggers import get_logger

        tests: list[tuple[str, str]] = stock(settings)
        for name in our_tests():
            if is_only_ours(name, stock_dir()):
                loaded = settings.copy()
                try:
                    loaded.load_test(name, informational=True)
                except Exception as error:  # the others are still listed, as in Flent
                    get_logger(__name__).exception(str(error))
                else:
                    tests.append((name, loaded.DESCRIPTION))
        return sorted(tests)

    return None if _has_search_list(stock) else classmethod(get_tests)


def load_test(stock: Function) -> Function:
    """Return a replacement for the method that loads a test definition, for the command line, data
    files and flent-gui.

    It defines plots for data files of tests that aren't installed, and adds this package's plots to
    all tests that measure a series in ms, except those whose names the test's own plots have.
    Before a test of this package runs, except on a testbed, it raises ConfigError for an unknown
    test parameter. For the test of the command line, a data file or a batch, it raises ConfigError
    if the plot, or the text of another format, can't be written to a file of the wanted name.

    stock: Flent's method.
    """
    from flent_aqm.bridge.unknown_test import define_from_series, is_unknown
    from flent_aqm.show.plots.catalogue import plots_for

    @wraps(stock)
    def load_test(self: Any, test_name: str | None = None, informational: bool = False) -> None:
        if test_name is None:
            _refuse_name_of_output(self)
        if informational and test_name is None and is_unknown(self, stock_dir()):
            define_from_series(self)
            return
        if not informational:
            _check_parameters(self, test_name or self.NAME)
        stock(self, test_name, informational)
        if hasattr(self, "PLOTS") and hasattr(self, "DATA_SETS"):
            for name, plot in plots_for(self.DATA_SETS).items():
                self.PLOTS.setdefault(name, plot)

    return load_test


def _refuse_name_of_output(settings: Any) -> None:
    """Raise ConfigError if a plot is to be written to a file whose name is none of a picture
    (PICTURES), or anything else to a file that is named so. Flent itself finds the first out after
    it has measured, and leaves an empty file; for the second, it writes text.

    settings: Flent's settings.
    """
    is_picture = str(settings.OUTPUT).endswith(PICTURES)
    if settings.FORMAT == "plot" and settings.OUTPUT != "-" and not is_picture:
        raise ConfigError(f"-o: {settings.OUTPUT!r} is no name of a picture; expected one that "
                          f"ends with {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    if settings.FORMAT != "plot" and is_picture:
        raise ConfigError(f"-o: {settings.OUTPUT!r} is the name of a picture, and what would be "
                          "written is text; give a plot (-p PLOT, and no -f), or another name")


def _check_parameters(settings: Any, test_name: str | None) -> None:
    """Raise ConfigError if a test parameter is unknown, and the test is this package's. Nothing is
    checked in runs on a testbed, whose batch was checked.

    Args:
        settings: Flent's settings.
        test_name: name of the test, None if none was given.
    """
    if test_name and is_only_ours(test_name, stock_dir()) \
            and not os.environ.get(environment.CELL):
        from flent_aqm.spec.keys import refuse_unknown_parameters

        refuse_unknown_parameters("--test-parameter", settings.TEST_PARAMETERS)


def execute(stock: Function) -> Function:
    """Return a replacement for the method that executes a test definition. The replacement also
    finds definitions in this package's folder, and raises RuntimeError for a name that is a path.

    For a Flent with a search list of folders, this call adds this package's folder to the
    environment variable with that list.

    stock: Flent's method.
    """
    module: Any = sys.modules[stock.__module__]
    has_list = hasattr(module, "test_paths")
    if has_list:  # a Flent of release/upstream: add this package's folder to its search list
        listed = os.environ.get(module.TEST_PATH_VAR, "").split(os.pathsep)
        ours = str(resource_dir("tests_defs"))
        if ours not in listed:
            os.environ[module.TEST_PATH_VAR] = os.pathsep.join([*filter(None, listed), ours])

    @wraps(stock)
    def execute(self: Any, filename: str) -> Any:
        if has_list:
            refuse_path(filename, module.test_paths())
            return stock(self, filename)
        return stock(self, locate(filename, module.TEST_PATH))

    return execute


def compile_once(_stock: Function) -> Function:
    """Return a replacement for compile() that takes source, file name and mode only, and keeps its
    results as long as the process runs. A definition includes many others, and Flent executes all
    of them for each data file and each run of a batch."""
    @cache
    def compiled(source: str, filename: str, mode: str) -> Any:
        return compile(source, filename, mode, dont_inherit=True)

    return compiled


def stock_dir() -> str:
    """Return the path of Flent's own folder of tests. A Flent with a search list has the path only
    in flent.testenv."""
    from flent import testenv

    return str(testenv.TEST_PATH)
