# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice on a line from a speed test of it, loaded and idle."""

from __future__ import annotations

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.advice.advice import advise
from flent_aqm.results.advice.measured import (
    FEWEST_PROBES,
    Tried,
    loads,
    of_samples,
    throughput,
)
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.metrics.run import as_run
from flent_aqm.sweep.home_line.numbers import pings

NO_IDLE = ("To be told what to do, measure the idle line, too: flent-aqm speedtest -i -s")
TOO_SHORT = (f"No advice: it takes {FEWEST_PROBES} pings of the idle line and of each direction; "
             "measure for longer.")


def advice(idle: DataFile | None, loaded: DataFile) -> list[str]:
    """Return sentences that advise what to do about the line.

    Args:
        idle: data of the same line without load, None if the user did not measure it.
        loaded: data of the line under load.
    """
    if idle is None:
        return [NO_IDLE]
    run = as_run(loaded)
    try:
        measured = of_samples(pings(as_run(idle), None),
                              {busy: pings(run, way) for busy, way in loads(run).items()},
                              throughput(run))
    except NotAvailable:
        measured = None
    if measured is None:
        return [TOO_SHORT]
    return [" ".join(advise({"": [Tried("the line", [measured])]}))]
