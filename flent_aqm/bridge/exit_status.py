# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit status of `flent`: Flent reports an error and ends with 0, ours end with 1.

Flent's run_flent() swallows RuntimeErrors after it has logged them. So whoever raises
one that has to be seen from outside goes through reported(), and run_flent() returns 1
afterwards. The GUI's processes never return from run_flent(): they stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from flent_aqm.base.errors import AqmError

_failed = False
_looking = False


def looking_at_files() -> None:
    """Tell that data files are shown, and no test is run."""
    global _looking
    _looking = True


@contextmanager
def reported(*also: type[Exception]) -> Iterator[None]:
    """Let an AqmError, or one of the types given, out as Flent reports errors.

    It leaves as a RuntimeError of one line, which Flent writes to standard error with
    ERROR: before it (and with --debug-error the traceback); the exit status will be 1.
    """
    global _failed
    try:
        yield
    except Exception as error:
        if not isinstance(error, (AqmError, *also)):
            raise
        _failed = True
        raise RuntimeError(" ".join(str(error).split())) from error


def _stumbled(error: Exception) -> str:
    """Return what to say of a data file that passed all checks and that Flent can't show."""
    from flent_aqm.base.crash_log import write_crash_log
    from flent_aqm.base.words import plain

    where = write_crash_log(sys.argv, error)
    return (f"ERROR: Flent can't show it ({type(error).__name__}: {plain(error)[:200]}); "
            f"{where} has the details")


def patch(module: Any) -> None:
    """Patch flent itself, where the command's entry points are."""
    stock = module.run_flent

    @wraps(stock)
    def run_flent(gui: bool = False) -> int:
        global _failed
        _failed = False
        try:
            status: int = stock(gui)
        except Exception as error:
            if "--debug-error" in sys.argv or not _looking:
                raise
            print(_stumbled(error), file=sys.stderr)
            return 1
        return 1 if _failed else status

    module.run_flent = run_flent
