# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit status of `flent`: Flent reports an error and ends with 0, with this package it ends with 1.

Flent's run_flent() swallows RuntimeErrors after it has logged them, and so does a batch with the
errors of its tests: the log tells of both. Tools of this package's tests log why they gave no data.
Errors of this package are no RuntimeErrors. The GUI's processes never return from run_flent(): they
stay as they are.
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

# Whose errors mean that a test has no data, or not all: Flent's own, its batches', our tools'.
_TELL_OF_FAILURES = frozenset({
    "flent", "flent.batch", "flent_aqm.bridge.collect", "flent_aqm.measure.runners.process"})

_looking = False


def looking_at_files() -> None:
    """Tell that data files are shown, and no test is run."""
    global _looking
    _looking = True


def tell(error: Exception, text: str = "") -> int:
    """Report an error as Flent does, in one line, with --debug-error after where it came from;
    gives the exit status."""
    if "--debug-error" in sys.argv:
        traceback.print_exception(error)
    print(f"ERROR: {text or ' '.join(str(error).split())}", file=sys.stderr)
    return 1


def run_flent(stock: Callable[[bool], int]) -> Callable[[bool], int]:
    """Replace the function behind the commands flent and flent-gui."""
    @wraps(stock)
    def run_flent(gui: bool = False) -> int:
        failures = _Failures()
        # In the lab's guest the file of a run tells how it went.
        if not gui and not os.environ.get(environment.CELL):
            for name in ("flent", "flent_aqm"):
                logging.getLogger(name).addHandler(failures)
        try:
            return stock(gui) or int(failures.happened)
        except AqmError as error:
            return tell(error)
        except Exception as error:
            if "--debug-error" in sys.argv or not _looking:
                raise
            return tell(error, _stumbled(error))

    return run_flent


class _Failures(logging.Handler):
    """Notices errors in the log after which there is no data, or not all."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.happened = False

    def emit(self, record: Any) -> None:
        """Take up one message of the log."""
        if record.name in _TELL_OF_FAILURES:
            self.happened = True


def _stumbled(error: Exception) -> str:
    """Return what to say of a data file that passed all checks and that Flent can't show."""
    from flent_aqm.base.crash_log import write_crash_log
    from flent_aqm.base.words import plain

    where = write_crash_log(sys.argv, error)
    return (f"Flent can't show it ({type(error).__name__}: {plain(error)[:200]}); "
            f"{where} has the details")
