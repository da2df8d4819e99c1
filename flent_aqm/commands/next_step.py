# SPDX-License-Identifier: GPL-3.0-or-later
"""Suggests the next command: set up the lab, run a sweep, follow it, or look at its results."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from flent_aqm.base.errors import ToolMissing
from flent_aqm.base.paths import resource_dir
from flent_aqm.base.words import counted, plain
from flent_aqm.results import status
from flent_aqm.setup.kernel.locate import VARIABLE, find_kernel


def next_step(here: Path) -> str:
    """Return a suggestion for the user, with the command to type: set up the lab if it has no
    kernel (if FLENT_AQM_KERNEL is set: mend it if it names no program), run a first sweep if there
    are no results, follow the newest sweep if it isn't complete, or else look at its results.

    Args:
        here: the user's current folder, whose subfolder `results` is searched.
    """
    try:
        find_kernel()
    except ToolMissing as fault:
        if os.environ.get(VARIABLE):
            return f"The lab has no kernel: {fault}."
        return ("The lab is not set up yet. Set it up once; it compiles for some 10 minutes:\n"
                "  flent-aqm setup")
    newest = status.newest_folder(here / status.RESULTS)
    if newest is None:
        there = str(resource_dir("batches") / "aqm_sweep.batch")
        batch = min(os.path.relpath(there, here), there, key=len)
        return ("The lab is set up. Next, eight runs in about a minute:\n"
                f"  flent -B {shlex.quote(batch)} -b quick")
    name = shlex.quote(str(newest.relative_to(here)))
    done, sweep = status.count_done(newest), status.read(newest)
    summary = f"The newest results are {counted(done, 'run')} in {plain(name)}"
    if sweep is not None and done + len(sweep.failed) < sweep.planned:
        return (f"{summary}, of {sweep.planned:,} planned. Next, follow the sweep; if it was "
                f"interrupted, start it again {sweep.resumed_with(plain(name))}:\n"
                f"  flent-aqm report --follow {plain(name)}")
    return (f"{summary}. Next, write them as a report, or open them in a window:\n"
            f"  flent-aqm report {plain(name)} -o report.html\n"
            f"  flent-gui {plain(name)}/*.flent.gz")
