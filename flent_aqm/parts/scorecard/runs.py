# SPDX-License-Identifier: GPL-3.0-or-later
"""Make runs of tests on places as cells of a sweep: several at a time, resumable, on a cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.parts.scorecard.contestant import Contestant
from flent_aqm.parts.scorecard.places import BBR, Place
from flent_aqm.results import status
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.testbeds import VIRTUAL

# Length by which a sweep in real time estimates its duration.
_LENGTH_S = 40.0
# Length in s of each direction's load, for tests with a variable length.
_LOAD_S = 10


def cell_of(contestant: Contestant, place: Place, folder: Path, testbed: str) -> Cell:
    """Return the settings of a test's run on a place. In real time (netns) bursts are shaped, and
    there is no seed.

    Args:
        contestant: the test.
        place: the place.
        folder: folder for the data file.
        testbed: `virtual` or `netns`.

    Raises ConfigError if the settings don't fit together.
    """
    scenario = Scenario.from_settings({
        "testbed": testbed, **place.settings(),
        # Without burst shaping, a single late timer costs throughput: docs/netns.md.
        **({} if testbed == VIRTUAL else {"burst_shaping": True, "seed": None})})
    parameters = {"round_trips": "yes", **contestant.parameters,
                  **({"cross_traffic": "yes"} if place.beside else {}),
                  **({"cross_cong_control": BBR} if place.beside == BBR else {})}
    return Cell(
        name=place.name, folder=folder, test_name=contestant.test, scenario=scenario,
        settings={"HOSTS": ["server"], "LENGTH": _LOAD_S, "TEST_PARAMETERS": parameters},
        commands=ROUTER_COMMAND,
        metadata={"BATCH_NAME": "scorecard", "TITLE": f"{contestant.label}: {place}"},
        length_s=_LENGTH_S)


# What stands before each failure of the test itself among a run's failures, such as that of its
# capture.
_OF_TEST = re.compile(
    r"(?:^|; )(?:[^;:]* and )?TCP \w+: (?:\w+ ended with status 1: error: )?")


def failures(folder: Path, cells: Sequence[Cell]) -> dict[str, str]:
    """Return name of a place -> why its run has no data file. Runs with a data file are left out.
    If a cause has errors of the test's own client, all that stands before the first is left out,
    and so are the series' names before each. "it was not made" if the sweep's status has no cause.

    Args:
        folder: folder of the runs, with the sweep's status.
        cells: the runs.
    """
    folder_status = status.read(folder)
    causes = dict(folder_status.failed) if folder_status else {}
    causes_by_place = {}
    for cell in cells:
        if not cell.data_file.exists():
            cause = causes.get(cell.data_file.name, "it was not made")
            _, *of_test = _OF_TEST.split(cause)
            causes_by_place[cell.name] = "; ".join(of_test) or cause
    return causes_by_place
