# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of tests on places, by the machinery of sweeps: side by side, resumed, on a cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.parts.scorecard.contestant import Contestant
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.results import status
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario

# In real time a sweep tells how long it will take; the virtual lab's clock needs none.
_LENGTH_S = 40.0
# Of tests that take a length, for each direction.
_LOAD_S = 10


def cell_of(one: Contestant, place: Place, folder: Path, testbed: str) -> Cell:
    """Return the run of a test on a place, whose data file goes into folder. Raises ConfigError."""
    scenario = Scenario.from_settings({
        "testbed": testbed, **place.settings(),
        # Without it a single late timer costs throughput: docs/netns.md.
        **({} if testbed == "virtual" else {"burst_shaping": True, "seed": None})})
    parameters = {"round_trips": "yes", **one.parameters,
                  **({"cross_traffic": "yes"} if place.beside else {})}
    return Cell(
        name=place.name, folder=folder, test_name=one.test, scenario=scenario,
        settings={"HOSTS": ["server"], "LENGTH": _LOAD_S, "TEST_PARAMETERS": parameters},
        commands=ROUTER_COMMAND,
        metadata={"BATCH_NAME": "scorecard", "TITLE": f"{one.label}: {place}"},
        length_s=_LENGTH_S)


# What a run's runners say of the test itself, beside what they say of its capture.
_OF_TEST = re.compile(r"TCP \w+: (?:\w+ ended with status 1: error: )?(.*)", re.DOTALL)


def failures(folder: Path, cells: Sequence[Cell]) -> dict[str, str]:
    """Return why runs have no data file, by the name of their place."""
    folder_status = status.read(folder)
    causes = dict(folder_status.failed) if folder_status else {}
    causes_by_place = {}
    for cell in cells:
        if not cell.data_file.exists():
            cause = causes.get(cell.data_file.name, "it was not made")
            of_test = _OF_TEST.search(cause)
            causes_by_place[cell.name] = of_test[1] if of_test else cause
    return causes_by_place
