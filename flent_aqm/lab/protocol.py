# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kind of testbed has to do for a sweep; table.py lists the kinds.

    testbed = open_testbed("netns")     one for all runs of a sweep that name it
    testbed.check(cells)                before anything changes: what can be refused
    testbed.prepare()                   what all runs need
    testbed.facts()                     for the data files
    with testbed.place(...) as place:   each run: its network is there, Flent runs inside
        place.run()
    testbed.clean_up()                  always, after errors and interrupts too

All errors are AqmErrors of one line.
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
    """What Flent is to do in one run.

    batch: the text of a batch file with one batch of one run; batch_name: that batch's;
    options: further words for Flent's command line; servers: those that the test needs
    (names of guest/serving.sh); length_s: how long the test lasts; programs: tools to be on
    PATH inside, by name; browser: one of them is.
    """

    batch: str
    batch_name: str
    options: Sequence[str]
    servers: Sequence[str]
    length_s: float
    programs: Mapping[str, Path] = field(default_factory=dict)
    browser: bool = False

    def argv(self, folder: str, results: str) -> list[str]:
        """Flent's command line, with the batch in folder as cell.batch, as seen inside."""
        return ["flent", "-B", f"{folder}/cell.batch", "-b", self.batch_name, "-D", results,
                *self.options]


# Of the Flent that measures: it runs its batch by itself, and draws nothing.
CELL_ENVIRONMENT = {environment.CELL: "1", environment.WITHOUT_PLOTS: "1"}


@dataclass(frozen=True)
class Facts:
    """What each data file tells about the testbed, beside what was asked of it.

    kernel: `version`, and `hash` or None, of the kernel that ran the hosts, and the `name` of
    one that the user built; hosts: how they are set up.
    """

    kernel: Mapping[str, str | None]
    hosts: Mapping[str, object]


class Testbed(Protocol):
    """One kind of testbed, for the runs of one sweep."""

    # In "8 runs in the virtual lab".
    title: str
    # Real time: one run at a time, no router model, no seed; runs may use all cores.
    real_time: bool
    # Programs that it needs beside those of the tests.
    tools: Sequence[str]

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Refuse what can't be done, before anything has run or changed. Returns warnings,
        each a line for the user."""
        ...

    def prepare(self) -> None:
        """Get ready for the first run."""
        ...

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return what data files tell of runs on the kernel of that name; asked after prepare()."""
        ...

    def place(self, scenario: Scenario, run: FlentRun) -> RunEnvironment:
        """Return a place for one run, not started yet; what Flent writes will be in its results."""
        ...

    def clean_up(self) -> None:
        """Leave everything as it was found. No run is on any more. May come without prepare(),
        or after one that failed."""
        ...
