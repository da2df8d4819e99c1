# SPDX-License-Identifier: GPL-3.0-or-later
"""Open data files in stock Flent, and draw the plot that each shows first.

A program of its own, run with FLENT_AQM_DISABLE=1. Its arguments are the additional time in s for a
call that doesn't return, and the files. For each file it prints a line, "opened " and JSON: null,
or the reason why Flent can't open it. Each file is opened in a process of its own, so that a crash
does not affect the others, and the kernel's limit of processor time applies to each.
"""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import end_of

PLOT = "plot.png"  # name of a file that is never written
# Processor time that Flent may take for a file: twice its start-up time on this machine, of which
# usual plots take half. Large files may take more, by the bytes that Flent reads per second.
LEAST_S = 1.0
STARTS = 2
BYTES_PER_S = 10e6


def main() -> None:
    """Open each file of the command line, which is GRACE_S FILE…, and print a line for it:
    "opened " and JSON, null if Flent opens the file and draws its plot, else the reason as text.
    Forks a process for each file. GRACE_S is grace_s of _open_and_print(). Raises OSError if a file
    can't be read."""
    from flent import formatters, plotters, resultset, settings  # noqa: F401

    plotters.init_matplotlib(PLOT, False, False)
    limit_s = max(LEAST_S, STARTS * time.process_time())
    grace_s = int(sys.argv[1])
    for path in sys.argv[2:]:
        # The end of a gzip file has the size of the unpacked data.
        unpacked = int.from_bytes(Path(path).read_bytes()[-4:], "little")
        child = os.fork()
        file_s = limit_s + unpacked / BYTES_PER_S
        if not child:
            _open_and_print(path, file_s, grace_s)
        _, status, used = os.wait4(child, 0)
        if status:
            # The kernel may also have ended it for want of memory.
            why = (_too_slow(file_s) if used.ru_utime + used.ru_stime > file_s else
                   f"Flent ended with {end_of(os.waitstatus_to_exitcode(status))}")
            print("opened " + json.dumps(why), flush=True)


def _open_and_print(path: str, file_s: float, grace_s: int) -> NoReturn:
    """Open a file, print the line that main() promises, and end this process, which main() has
    forked for the file, with status 0.

    Args:
        path: the file.
        file_s: processor time in s that it may take.
        grace_s: additional processor time in s before the kernel kills the process. Then no line is
            printed here.
    """
    signal.signal(signal.SIGPROF, partial(_raise_timeout, file_s))
    signal.setitimer(signal.ITIMER_PROF, file_s)
    # Drawing a long text is a single call, which no signal handler can interrupt. The kernel ends
    # it. Only root may raise a hard limit, such as that of `ulimit -t`.
    hard_s = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit_s = int(file_s) + grace_s
    resource.setrlimit(resource.RLIMIT_CPU, (
        limit_s if hard_s == resource.RLIM_INFINITY else min(limit_s, hard_s), hard_s))
    try:
        _open_and_draw(path)
    except (TimeoutError, BadResult) as error:  # of this module
        fault: str | None = str(error)
    except Exception as error:  # Flent may raise any error
        fault = f"{type(error).__name__}: {error}"
    else:
        fault = None
    signal.setitimer(signal.ITIMER_PROF, 0)
    print("opened " + json.dumps(fault), flush=True)
    os._exit(0)


def _raise_timeout(file_s: float, *args: object) -> NoReturn:
    """Handler of SIGPROF, the timer of _open_and_print(): raise TimeoutError.

    Args:
        file_s: processor time in s that the file may take.
        args: signal number and frame, which are not used.
    """
    raise TimeoutError(_too_slow(file_s))


def _too_slow(file_s: float) -> str:
    """Return the reason for a file that takes more than `file_s` seconds of processor time."""
    return (f"it takes more than {file_s:.3g} s of processor time, the limit for its size on this "
            "machine")


def _open_and_draw(path: str) -> None:
    """Open a file as Flent does, and draw the plot that Flent shows first, in memory. main() must
    have prepared Flent's plots. Raises whatever Flent raises, and BadResult if the plot is empty.
    """
    from flent import formatters, plotters, resultset
    from flent.settings import new

    results = resultset.load(path)
    settings: Any = new()
    settings.update(results.meta())
    settings.OUTPUT = io.StringIO()
    settings.load_test(informational=True)
    settings.compute_missing_results(results)
    formatters.SummaryFormatter(settings).format([results])
    settings.OUTPUT = PLOT
    plotter = plotters.new(settings, results=[results])
    plotter.init()
    plotter.plot([results])
    # Like its save(), but without the layout, which would draw everything several times.
    plotter._annotate_plot(False)
    plotter.figure.savefig(io.BytesIO(), dpi=30)
    drawn = [line for axis in plotter.figure.axes for line in axis.get_lines()
             if len(line.get_xdata())]
    if not drawn:
        raise BadResult(f"its plot {settings.PLOT}, which Flent shows first, is empty")


if __name__ == "__main__":
    main()
