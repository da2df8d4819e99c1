# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the cell of a recorded run from any data file.

Nothing in the file is trusted: known names and checked values are used, all others are refused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import plain
from flent_aqm.results.data_file import SUFFIX as DATA_SUFFIX
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.share.allowed import GONE
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.definitions import SUFFIX, our_tests
from flent_aqm.spec.flent_settings import check_from_data
from flent_aqm.spec.keys import refuse_unknown_scenario_keys
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.sweep.replay.files import without_paths
from flent_aqm.sweep.replay.run_programs import RUN_PROGRAMS
from flent_aqm.sweep.run import SCHEMA_VERSION

# Keys whose values are commands, which run with the user's rights.
PROGRAMS = ("router_program", "server_program", "client_program")


class _NamesPrograms(BadResult):
    """BadResult that is told whole: what is anywhere in a command decides whether to trust it."""

    LONGEST = sys.maxsize


@dataclass(frozen=True)
class RecordedRun:
    """A data file's run.

    Attributes:
        data: the data file's whole content, parsed: version, metadata, x_values, results and
            others.
        cell: the cell that repeats the run.
    """

    data: Mapping[str, Any]
    cell: Cell


def read(path: Path, folder: Path, traces: Sequence[Path] = (), *, run_programs: bool = False
         ) -> RecordedRun:
    """Read a data file, and return its content and the cell that repeats its run. Nothing is run.

    Args:
        path: the data file.
        folder: where the repeated run's data file is written.
        traces: files and folders in which traces of links are looked for before the data file's own
            folder.
        run_programs: True if the user allows the commands of client, server and router that the
            file names. A file may be of somebody else, and they run with the user's rights. If
            False, a file that names any is refused.

    Raises BadResult, with the path and the reason, if the file can't be read or its run can't be
    repeated.
    """
    file = read_data_file(path)
    metadata = file.metadata
    aqm = metadata.get("AQM")
    if not isinstance(aqm, dict):
        raise BadResult(f"{path}: its metadata have no object AQM: another program made it, or "
                        "flent or flent-aqm speedtest without the key testbed, as on a real line, "
                        "or it was changed; only runs of flent-aqm's virtual lab can be repeated")
    if "schema" not in aqm and aqm.get("testbed") == VIRTUAL:
        seed = aqm.get("seed")
        raise BadResult(f"{path}: written by Flent or flent-aqm speedtest inside `flent-aqm lab`, "
                        "which doesn't record how it was called; replay works on files of batches "
                        "(flent -B). To make this run again, call flent-aqm lab as before"
                        + (f", with --seed {str(seed)[:20]}" if seed is not None else ""))
    if "schema" not in aqm:
        raise BadResult(f"{path}: its AQM.schema is missing, which flent-aqm writes in each file "
                        "of a batch (flent -B with the key testbed): another program wrote the "
                        "file, or it was changed; replay the original file")
    if aqm["schema"] != SCHEMA_VERSION:
        raise BadResult(f"{path}: its AQM.schema is {str(aqm.get('schema'))[:40]}; expected "
                        f"{SCHEMA_VERSION}; use the version of flent-aqm that made it")
    if aqm.get("testbed") != VIRTUAL:
        measured = (f"measured on {str(aqm['testbed'])[:60]!r}" if "testbed" in aqm else
                    "it has no AQM.testbed, which says where it was measured")
        raise BadResult(f"{path}: {measured}; only runs of the virtual lab can be repeated")
    run, requested = aqm.get("run"), aqm.get("requested")
    if not isinstance(run, dict) or not isinstance(requested, dict):
        raise BadResult(f"{path}: its metadata do not have both objects AQM.run and "
                        "AQM.requested, the settings of its run, so the run can't be repeated: it "
                        "was made by a version without `replay`, or was changed")
    try:
        _refuse_odd_form(file.whole)
        requested = without_paths(requested, aqm, [*traces, path.parent])
        return RecordedRun(file.whole, _make_cell(run, requested, metadata, path, folder,
                                                  run_programs=run_programs))
    except _NamesPrograms:
        raise
    except (BadResult, ConfigError) as error:
        raise BadResult(f"{path}: {error}") from None


def looks_repeatable(aqm: Mapping[str, Any], *, run_programs: bool = False) -> bool:
    """Return whether a file's object AQM is that of a run which read() takes, as far as that can be
    told without its settings' values: of a batch in the virtual lab, by this version, without
    commands of its user, and without programs of its user or the mark of one that was removed.

    run_programs: whether programs of the user count as no obstacle, as for read().
    """
    run, requested = aqm.get("run"), aqm.get("requested")
    return (aqm.get("schema") == SCHEMA_VERSION and aqm.get("testbed") == VIRTUAL
            and isinstance(run, dict) and run.get("commands") == "router"
            and isinstance(requested, dict)
            and not any(requested.get(key) and (not run_programs or requested[key] == GONE)
                        for key in PROGRAMS))


def _make_cell(run: Mapping[str, Any], requested: Mapping[str, Any], metadata: Mapping[str, Any],
               path: Path, folder: Path, *, run_programs: bool) -> Cell:
    """Make the cell that repeats a run from metadata, and check the values it takes from them. The
    cell's length_s is 0, because files don't record it.

    Args:
        run: the file's AQM.run: test, settings, commands.
        requested: the requested settings, with paths of this machine's traces.
        metadata: all of the file's metadata, of which batch, title and note are kept.
        path: the data file. The new file gets its name (without DATA_SUFFIX, if it has that).
        folder: folder in which the new file is written.
        run_programs: False to refuse a run that started programs of its user.

    Raises ConfigError if the run can't be repeated, or if its test, a setting or a key is unknown
    or has a wrong value, _NamesPrograms for a run of its user's programs that is refused.
    """
    _refuse_removed(run, requested)
    test, settings = run.get("test"), run.get("settings")
    if not isinstance(test, str) or test not in _test_names():
        raise ConfigError(f"AQM.run.test in its metadata is {test!r:.60}, which is no installed "
                          "test; flent --list-tests lists them; for the file of a newer flent-aqm, "
                          "use its version")
    if not isinstance(settings, dict):
        raise ConfigError("AQM.run.settings in its metadata is not a JSON object, so the file was "
                          "changed; replay the original file")
    check_from_data(settings)
    if run.get("commands") != "router":
        raise ConfigError(f"AQM.run.commands in its metadata is {run.get('commands')!r:.60}; only "
                          "runs with the command 'router' alone can be repeated, because a data "
                          "file does not record other commands of a batch")
    # A file of a newer version may ask for what this one doesn't know.
    try:
        refuse_unknown_scenario_keys("AQM.requested", map(str, requested))
    except ConfigError as fault:
        raise ConfigError(f"{fault}; for the file of a newer flent-aqm, use its version") from None
    try:
        scenario = Scenario.from_settings(requested)
    except ConfigError as fault:
        raise ConfigError(f"AQM.requested in its metadata: {fault}; for the file of a newer "
                          "flent-aqm, use its version; if it was changed, replay the original file"
                          ) from None
    programs = _programs_of(scenario)
    if programs and not run_programs:
        raise _NamesPrograms(
            f"{path}: the file names programs, which would run with your rights: "
            f"{_listed(programs)}; if they are yours, and you trust the file, flent-aqm replay and "
            f"why repeat the run with {RUN_PROGRAMS}; other commands don't")
    if scenario.lab.testbed != VIRTUAL:
        raise ConfigError(f"AQM.requested.testbed in its metadata is {scenario.lab.testbed!r}, but "
                          f"AQM.testbed is {VIRTUAL!r}. flent-aqm writes the same in both, so the "
                          "file was changed; replay the original file")
    if scenario.lab.seed is None:
        raise ConfigError("the file records no seed (AQM.requested.seed in its metadata). Each run "
                          "of the virtual lab has one, so the file was changed; replay the "
                          "original file")
    return Cell(
        name=path.name.removesuffix(DATA_SUFFIX),
        folder=folder,
        test_name=test,
        scenario=scenario,
        settings=settings,
        commands=ROUTER_COMMAND,
        metadata={key: metadata.get(key) for key in (
            "BATCH_NAME", "BATCH_TIME", "BATCH_UUID", "BATCH_TITLE", "TITLE", "NOTE")},
        length_s=0,  # not recorded; runs in virtual time are repeated without it
    )


def _refuse_removed(run: Mapping[str, Any], requested: Mapping[str, Any]) -> None:
    """Raise ConfigError, which names the key, if a value of AQM.run, of its settings or test
    parameters, or of the requested settings is GONE, the mark of a value that was removed when the
    file was shared.

    Args:
        run: the file's AQM.run.
        requested: the requested settings, with paths of this machine's traces: a trace is found by
            its content, so its name in the file may have been removed.
    """
    settings = run.get("settings")
    parameters = settings.get("TEST_PARAMETERS") if isinstance(settings, dict) else None
    for place, values in (("AQM.run", run), ("AQM.run.settings", settings),
                          ("AQM.run.settings.TEST_PARAMETERS", parameters),
                          ("AQM.requested", requested)):
        for key, value in values.items() if isinstance(values, dict) else ():
            if value == GONE:
                raise ConfigError(f"{place}.{plain(str(key)[:40])} was removed when the file was "
                                  "shared, so the run can't be repeated; ask its author for the "
                                  "original file")


def _test_names() -> set[str]:
    """Return the names of all test definitions, this package's and Flent's, without path and
    suffix."""
    spec = find_spec("flent")
    assert spec is not None, "Flent is a requirement of this package"
    folders = [Path(place) / "tests" for place in spec.submodule_search_locations or ()]
    return {*our_tests(), *(name.removesuffix(SUFFIX) for folder in folders if folder.is_dir()
                            for name in os.listdir(folder) if name.endswith(SUFFIX))}


def _refuse_odd_form(data: Mapping[str, Any]) -> None:
    """Raise BadResult if a file's version isn't 4, if its x_values aren't a list, or if its results
    aren't a dict of lists, so that they can't be compared.

    Args:
        data: content of a data file.
    """
    if data.get("version") != 4:
        raise BadResult(f"its format version is {data.get('version', 1)}, and flent-aqm writes 4, "
                        "so it was changed; replay the original file")
    results = data.get("results")
    if (not isinstance(data.get("x_values"), list) or not isinstance(results, dict)
            or not all(isinstance(series, list) for series in results.values())):
        raise BadResult("its x_values or results are missing, or not of the form of Flent's format "
                        "version 4, so it was changed; replay the original file")


def _programs_of(scenario: Scenario) -> Sequence[tuple[str, str]]:
    """Return (batch key, command) of each of the user's programs that a run starts."""
    commands = (scenario.router.router_program, scenario.programs.server_program,
                scenario.programs.client_program)
    return [(key, text) for key, text in zip(PROGRAMS, commands, strict=True) if text]


def _listed(programs: Sequence[tuple[str, str]]) -> str:
    """Return keys and commands of programs as text, "client_program './client', …"."""
    return ", ".join(f"{key} '{plain(text)}'" for key, text in programs)


def why_programs_differ(cell: Cell) -> str:
    """Return the sentence that the user's programs may be why a repeated run differs, without its
    point. "" if the run starts none."""
    programs = _programs_of(cell.scenario)
    return ("" if not programs else "the programs may have changed since, as a file records their "
            f"commands and not their content: {_listed(programs)}")
