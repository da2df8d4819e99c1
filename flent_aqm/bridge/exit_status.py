# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets the exit status of `flent` to 1 after errors, for which Flent itself exits with 0.

Flent's run_flent() logs RuntimeErrors and ignores them, and so does a batch with the errors of its
tests. This package finds both in the log, and also its own tools' errors and plots without content.
Errors of this package are not RuntimeErrors. The processes of the GUI are not changed, because they
never return from run_flent().
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any

from flent_aqm.base import environment
from flent_aqm.base.errors import AqmError

# Loggers whose errors mean that a test has no data or not all, or that a plot shows nothing: of
# Flent, its batches, the tools and the plots of this package.
_TELL_OF_FAILURES = frozenset({
    "flent", "flent.batch", "flent.resultset", "flent_aqm.bridge.collect",
    "flent_aqm.measure.runners.process", "flent_aqm.show.plots.frame"})

# True if data files are shown and no test is run.
_shows_files = False


def looking_at_files() -> None:
    """Record for this process that data files are shown, and no test is run."""
    global _shows_files
    _shows_files = True


def tell(error: Exception, text: str = "") -> int:
    """Print "ERROR: " and an error in one line to standard error, as Flent does. Return 1, the exit
    status.

    With --debug-error, a traceback is printed before it.

    Args:
        error: the error.
        text: a line that is printed instead of the error's own text, "" for that text.
    """
    if "--debug-error" in sys.argv:
        traceback.print_exception(error)
    print(f"ERROR: {text or ' '.join(str(error).split())}", file=sys.stderr)
    return 1


def run_flent(stock: Callable[[bool], int]) -> Callable[[bool], int]:
    """Return a replacement for the function behind the commands flent and flent-gui. The
    replacement returns Flent's exit status if that isn't 0. It returns 1 after an AqmError, which
    is printed in one line, also if numpy is switched off (environment.WITHOUT_PLOTS), and if Flent,
    its batches or this package's tools or plots logged an error. Logged errors don't count in
    flent-gui, nor in a run on a testbed.

    Any other exception is raised further, unless data files are shown and --debug-error isn't
    given: then it is printed in one line, details are written to a crash log, and 1 is returned.

    stock: Flent's function.
    """
    @wraps(stock)
    def run_flent(gui: bool = False) -> int:
        failures = _Failures()
        # In the lab's guest, the data file of a run tells whether the run succeeded.
        if not gui and not os.environ.get(environment.CELL):
            for name in ("flent", "flent_aqm"):
                logging.getLogger(name).addHandler(failures)
        try:
            return stock(gui) or int(failures.happened)
        except AqmError as error:
            return tell(error)
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and environment.WITHOUT_PLOTS in str(error):
                return tell(error)
            if "--debug-error" in sys.argv or not _shows_files:
                raise
            return tell(error, _report_unshown_file(error))

    return run_flent


class _Failures(logging.Handler):
    """A log handler that records errors after which the test's data are missing or incomplete, or a
    plot shows nothing.

    Attributes:
        happened: True if such an error was logged.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.happened = False

    def emit(self, record: Any) -> None:
        """Set `happened` if the record comes from a logger in _TELL_OF_FAILURES. The handler's
        level is ERROR."""
        if record.name in _TELL_OF_FAILURES:
            self.happened = True


def _report_unshown_file(error: Exception) -> str:
    """Write a crash log about an error with which Flent ended while it showed data files. Return
    the message for the user, with the error and the log's path. If no log can be written, the
    message says so, and nothing is raised."""
    from flent_aqm.base.crash_log import write_crash_log
    from flent_aqm.base.words import plain

    where = write_crash_log(["flent", *sys.argv[1:]], error)
    details = f"; {where} has the details" if where.is_file() else f" {where}"
    return (f"Flent can't show the data files ({type(error).__name__}: {plain(error)[:200]})"
            f"{details}")
