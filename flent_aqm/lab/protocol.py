# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a testbed, as a sweep uses it. table.py lists the testbeds.

    testbed = open_testbed("netns")     one for all runs of a sweep on this testbed
    testbed.check(cells)                before anything changes: refuse what can't be done
    testbed.prepare()                   set up what all runs share
    testbed.facts()                     description for the data files
    with testbed.place(...) as place:   for each run: its network, in which Flent runs
        place.run()
    testbed.clean_up()                  always, also after errors and interrupts

All errors are AqmErrors with a message of one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from flent_aqm.base import environment
from flent_aqm.lab.place import RunEnvironment
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario


@dataclass(frozen=True)
class FlentRun:
    """Describes one run of Flent in a testbed."""

    # Text of a batch file with one batch of one run.
    batch: str
    # Name of that batch.
    batch_name: str
    # Further words for Flent's command line.
    options: Sequence[str]
    # Names of the servers that the test needs, see tools/table.py.
    servers: Sequence[str]
    # Length of the test in seconds.
    length_s: float
    # Further programs for the PATH inside, name -> path on the host.
    programs: Mapping[str, Path] = field(default_factory=dict)
    # True if one of the programs is a browser.
    browser: bool = False

    def argv(self, folder: str, results: str) -> list[str]:
        """Return Flent's command line. `folder` has the batch as cell.batch, and Flent writes to
        `results`. Both are paths inside."""
        return ["flent", "-B", f"{folder}/cell.batch", "-b", self.batch_name, "-D", results,
                *self.options]


# Environment variables of the Flent that measures: it runs its batch by itself and draws no plots.
CELL_ENVIRONMENT = {environment.CELL: "1", environment.WITHOUT_PLOTS: "1"}


@dataclass(frozen=True)
class Facts:
    """Describes the testbed in each data file, beside the requested settings."""

    # Of the kernel that runs the hosts: `version`, `hash` (None if it isn't built here), and `name`
    # if the user built it, with `tc`, the hash of the tc that was built with it, if there is one.
    kernel: Mapping[str, str | None]
    # Settings of the hosts, such as tcp_congestion_control.
    hosts: Mapping[str, object]


class Testbed(Protocol):
    """One kind of testbed, for the runs of one sweep."""

    # Name for messages such as "8 runs in the virtual lab".
    title: str
    # True if the testbed runs in real time: one run at a time, no router model, no seed. Runs may
    # use all cores.
    real_time: bool
    # Programs that the testbed needs, beside those of the tests.
    tools: Sequence[str]

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Raise ConfigError for cells that can't be run, before anything has changed. Return
        warnings, one line each."""
        ...

    def prepare(self) -> None:
        """Set up what all runs share, before the first run."""
        ...

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return the description of the testbed for data files of runs on this kernel. Call it
        after prepare()."""
        ...

    def place(self, scenario: Scenario, run: FlentRun) -> RunEnvironment:
        """Return the environment of one run, not started yet. Flent's files will be in its
        `results`."""
        ...

    def clean_up(self) -> None:
        """Restore the state from before prepare(). No run is active any more. It may be called
        without prepare(), or after prepare() failed."""
        ...
