# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit status of `flent`: Flent reports an error and ends with 0, ours end with 1.

Flent's run_flent() swallows RuntimeErrors after it has logged them; errors of ours are none. The
GUI's processes never return from it: they stay as they are.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import wraps

from flent_aqm.base.errors import AqmError

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
        try:
            return stock(gui)
        except AqmError as error:
            return tell(error)
        except Exception as error:
            if "--debug-error" in sys.argv or not _looking:
                raise
            return tell(error, _stumbled(error))

    return run_flent


def _stumbled(error: Exception) -> str:
    """Return what to say of a data file that passed all checks and that Flent can't show."""
    from flent_aqm.base.crash_log import write_crash_log
    from flent_aqm.base.words import plain

    where = write_crash_log(sys.argv, error)
    return (f"Flent can't show it ({type(error).__name__}: {plain(error)[:200]}); "
            f"{where} has the details")
