# SPDX-License-Identifier: GPL-3.0-or-later
"""From a data file of anybody's to the cell that it came from.

Nothing in the file is trusted: known names and checked values go on, all else is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.results.data_file import SUFFIX as DATA_SUFFIX
from flent_aqm.results.data_file import read_data_file
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.definitions import SUFFIX, our_tests
from flent_aqm.spec.flent_settings import check_from_data
from flent_aqm.spec.keys import refuse_unknown_scenario_keys
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.finish import SCHEMA_VERSION
from flent_aqm.sweep.replay.files import without_paths


@dataclass(frozen=True)
class RecordedRun:
    """A data file's content, and the cell that it was made from."""

    data: Mapping[str, Any]
    cell: Cell


def read(path: Path, folder: Path, traces: Sequence[Path] = ()) -> RecordedRun:
    """Read a data file; its cell's new data file goes into folder.

    traces: files and folders where traces of links may be, besides the file's own folder.
    Raises BadResult for a file that is damaged or can't be run again, with the reason.
    """
    file = read_data_file(path)
    metadata = file.metadata
    aqm = metadata.get("AQM")
    if not isinstance(aqm, dict):
        raise BadResult(f"{path}: not made by flent-aqm: it has no AQM in its metadata")
    if "schema" not in aqm and aqm.get("testbed") == "virtual":
        raise BadResult(f"{path}: written by `flent` inside `flent-aqm lab`, which doesn't record "
                        "how it was called; replay works on files of batches (flent -B). To make "
                        f"this run again, call flent-aqm lab as before, with --seed "
                        f"{str(aqm.get('seed'))[:20]}")
    if aqm.get("schema") != SCHEMA_VERSION:
        raise BadResult(f"{path}: its schema is {str(aqm.get('schema'))[:40]}, this version knows "
                        f"{SCHEMA_VERSION}; use the version of flent-aqm that made it")
    if aqm.get("testbed") != "virtual":
        raise BadResult(f"{path}: measured on {str(aqm.get('testbed'))[:60]!r}; only runs of the "
                        "virtual lab can be made again")
    run, requested = aqm.get("run"), aqm.get("requested")
    if not isinstance(run, dict) or not isinstance(requested, dict):
        raise BadResult(f"{path}: it doesn't say how it was run; files have that "
                        "since flent-aqm has `replay`, and not from `flent` in `flent-aqm lab`")
    try:
        _refuse_odd_form(file.whole)
        requested = without_paths(requested, aqm, [*traces, path.parent])
        return RecordedRun(file.whole, _cell(run, requested, metadata, path, folder))
    except (BadResult, ConfigError) as error:
        raise BadResult(f"{path}: {error}") from None


def _cell(run: Mapping[str, Any], requested: Mapping[str, Any], metadata: Mapping[str, Any],
          path: Path, folder: Path) -> Cell:
    test, settings = run.get("test"), run.get("settings")
    if not isinstance(test, str) or test not in _test_names():
        raise ConfigError(f"unknown test {str(test)[:60]!r}; flent --list-tests shows those that "
                          "are here")
    if not isinstance(settings, dict):
        raise ConfigError("its settings are no JSON object")
    check_from_data(settings)
    if run.get("commands") != "router":
        raise ConfigError("its batch ran commands of its own, which no data file holds")
    # A file of a newer version may ask for what this one doesn't know.
    refuse_unknown_scenario_keys("AQM.requested", map(str, requested))
    scenario = Scenario.from_settings(requested)
    if scenario.lab.seed is None:
        raise ConfigError("it has no seed")
    if scenario.router.router_program:
        raise ConfigError("it ran a program on the router, and no data file may choose one; put "
                          "router_program into a batch")
    if scenario.lab.testbed != "virtual":
        raise ConfigError(f"it asks for the testbed {scenario.lab.testbed!r}")
    return Cell(
        name=path.name.removesuffix(DATA_SUFFIX),
        folder=folder,
        test_name=test,
        scenario=scenario,
        settings=settings,
        commands=ROUTER_COMMAND,
        metadata={key: metadata.get(key) for key in (
            "BATCH_NAME", "BATCH_TIME", "BATCH_UUID", "BATCH_TITLE", "TITLE", "NOTE")},
        length_s=0,  # nobody waits for the clock
    )


def _test_names() -> set[str]:
    """Return names of all test definitions, ours and Flent's."""
    spec = find_spec("flent")
    assert spec is not None, "Flent is a requirement of this package"
    folders = [Path(place) / "tests" for place in spec.submodule_search_locations or ()]
    return {*our_tests(), *(name.removesuffix(SUFFIX) for folder in folders if folder.is_dir()
                            for name in os.listdir(folder) if name.endswith(SUFFIX))}


def _refuse_odd_form(data: Mapping[str, Any]) -> None:
    """Raise BadResult where the comparison could not walk through all of it."""
    results = data.get("results")
    if (data.get("version") != 4 or not isinstance(data.get("x_values"), list)
            or not isinstance(results, dict)
            or not all(isinstance(series, list) for series in results.values())):
        raise BadResult("x_values or results are missing, or have another form than in version 4")
