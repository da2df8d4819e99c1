# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds out which runs in the folder of --batch-resume are complete.

Also finds the time of the folder's batch, and files of planned runs that are damaged, incomplete,
or of another run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import (
    BadResult,
    ConfigError,
    SetupError,
    ToolMissing,
    cause_of,
    why_unreadable,
)
from flent_aqm.base.json_text import json_text
from flent_aqm.base.waiting import with_progress
from flent_aqm.base.words import counted, plain
from flent_aqm.results import status
from flent_aqm.results.data_file import SUFFIX, DataFile, read_data_file
from flent_aqm.results.metrics.settings import recorded_kernel
from flent_aqm.results.reading.limits import OWN
from flent_aqm.setup.kernel.locate import kernel_called
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import KEYS, Scenario
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.sweep.run import refuse_incomplete, samples_sha256

# Appended to the name of a data file whose run is repeated. Commands that look for data files
# don't find it under this name.
SET_ASIDE = ".damaged"
_TIME_IN_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}")


class Resumed:
    """The batch in the folder of --batch-resume: its time and UUID, so that resumed runs belong to
    that batch. Which runs are complete, set_aside_unfinished() finds out.

    Args:
        folder: path of the folder.

    Attributes:
        time: time at which the batch began, in UTC without a time zone, as in Flent's settings. It
            is read from a data file, else from the local time in the name of a log or of the
            folder. None if none of them has it.
        uuid: the batch's UUID, or a new one if no readable data file has both it and the time.

    Raises ConfigError if the folder can't be read.
    """

    def __init__(self, folder: str) -> None:
        """Read time and UUID of the batch from a data file that has both, or else the time from the
        names of logs or of the folder. If there are several batches below the folder, as in
        results/, it is the one that began last. Raises ConfigError if the folder can't be read."""
        self._folder = Path(folder)
        if why := why_unreadable(self._folder):
            raise ConfigError(f"--batch-resume {folder}: {why}; expected the folder with the data "
                              "files of the batch to go on with")
        self.time: datetime | None = None
        self.uuid = str(uuid.uuid4())
        seen: set[Path] = set()  # folders with a file that was read
        for file in sorted(self._folder.rglob(f"*{SUFFIX}")):
            if file.parent in seen:
                continue
            with contextlib.suppress(BadResult, KeyError, TypeError, ValueError):
                metadata = read_data_file(file, OWN).metadata
                time = datetime.strptime(metadata["BATCH_TIME"], "%Y-%m-%dT%H:%M:%S.%fZ")
                of_batch = str(metadata["BATCH_UUID"])
                seen.add(file.parent)
                if self.time is None or time > self.time:
                    self.time, self.uuid = time, of_batch
        if self.time is not None:
            return
        # Without a data file, the names of logs have the time, or that of the folder.
        for names in ([file.name for file in self._folder.rglob("*.log")],
                      [self._folder.resolve().name]):
            for match in filter(None, map(_TIME_IN_NAME.search, names)):
                with contextlib.suppress(ValueError):  # digits that are not a time
                    local = datetime.strptime(match.group(), "%Y-%m-%dT%H%M%S")
                    time = local.astimezone(UTC).replace(tzinfo=None)
                    self.time = max(self.time or time, time)
            if self.time is not None:
                return

    def refuse_to_leave(self, planned: Iterable[Path]) -> None:
        """Raise ConfigError if a planned data file would not be written below the folder. The
        message has the command that began the folder's sweep, if its sweep.json tells it."""
        for path in planned:
            folder = path.parent.resolve()  # the file itself is written in place of a link
            if not folder.is_relative_to(self._folder.resolve()):
                sweep = status.read(self._folder)
                begun = f"; it was begun by: {plain(shlex.join(sweep.command))}" if sweep else ""
                raise ConfigError(f"--batch-resume {self._folder}: this batch writes to {folder}, "
                                  "which is not in this folder; give the folder to which the batch "
                                  "wrote, with the same overrides, give it its old name if it was "
                                  f"renamed, or start flent where it was started before{begun}")


def _each_read(paths: Sequence[Path]) -> Iterator[tuple[Path, DataFile | BadResult]]:
    """Yield each path with its data file, or with the error if it can't be read or has no complete
    run in it."""
    for path in paths:
        try:
            file = read_data_file(path, OWN)
            _refuse_unfinished(file)
        except BadResult as fault:
            yield path, fault
        else:
            yield path, file


def set_aside_unfinished(planned: Mapping[Path, Cell]) -> Iterator[str]:
    """Rename each planned data file that exists but has no complete run in it, so that its run is
    repeated, and yield a line for it. The other files are compared with the plan. All of it happens
    while the result is iterated.

    A file has a complete run if it can be read, all tools of the run succeeded, the router was read
    back before and after the test, and a hash in the file shows that it has all samples of the run.
    The new name ends in SET_ASIDE. An older file of this name is replaced.

    Args:
        planned: data file -> the cell that it should contain.

    Raises ConfigError if a complete file has another run in it than planned, or one of another
    build of its kernel, or if a file can't be renamed.
    """
    builds = _builds_of_kernels(planned.values())
    there = [path for path in planned if os.path.lexists(path)]
    for path, file in with_progress(_each_read(there), len(there), "reading data files"):
        if isinstance(file, BadResult):
            aside = path.with_name(path.name + SET_ASIDE)
            try:
                path.rename(aside)
            except OSError as error:
                raise ConfigError(f"{file}; it can't be renamed to {aside.name} "
                                  f"({cause_of(error)}): make its folder writable, or remove the "
                                  "file or what has that name, so that its run is repeated"
                                  ) from None
            yield f"{file}: now {aside.name}, and its run is repeated"
        else:
            cell = planned[path]
            refuse_another_run(file, cell)
            _refuse_another_build(file, cell.scenario.lab.kernel, builds)


def files_of_other_builds(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield a warning for each folder of the cells, and each user's kernel of theirs, of whose
    other builds the folder has data files that are not planned: a report of the folder would take
    the runs of all builds for repetitions. Files that can't be read are ignored.

    Args:
        cells: the planned runs.
    """
    builds = _builds_of_kernels(cell for cell in cells if cell.scenario.lab.kernel != STOCK)
    if not builds:
        return
    planned = {cell.data_file for cell in cells}
    others: dict[tuple[str, Path], list[Path]] = {}
    for path in sorted(path for folder in {cell.folder for cell in cells}
                       for path in folder.glob(f"*{SUFFIX}") if path not in planned):
        with contextlib.suppress(BadResult):
            aqm = _mapping(read_data_file(path, OWN).metadata.get("AQM"))
            name, build = recorded_kernel(aqm) or (None, None)
            if name in builds and build != builds[name]:
                others.setdefault((name, path.parent), []).append(path)
    for (name, folder), paths in others.items():
        yield (f"{folder} has {counted(len(paths), 'run')} of an earlier build of the "
               f"kernel {name}, such as {paths[0].name}: move them away, or choose another "
               "output_path, so that a report doesn't take them for repetitions")


def _builds_of_kernels(cells: Iterable[Cell]) -> dict[str, str]:
    """Return the name of each kernel on which the cells run in the virtual lab -> hash of its
    present build. Kernels that are missing, too old, or built by another version of the lab are
    left out: no run can be made with them."""
    builds = {}
    for name in {cell.scenario.lab.kernel for cell in cells
                 if cell.scenario.lab.testbed == VIRTUAL}:
        with contextlib.suppress(ToolMissing, SetupError):
            builds[name] = kernel_called(name).hash
    return builds


def _refuse_another_build(file: DataFile, name: str, builds: Mapping[str, str]) -> None:
    """Raise ConfigError if a data file's run was made with another build of its kernel than the
    present one. The runs of both in one folder would be taken for repetitions. If one of the builds
    isn't known, nothing is raised.

    Args:
        file: the data file, whose metadata have the object AQM.
        name: name of its kernel.
        builds: name of a kernel -> hash of its present build.
    """
    recorded, now = recorded_kernel(file.metadata["AQM"]), builds.get(name)
    if recorded and now and recorded[1] != now:
        whose = "set-up's kernel" if name == STOCK else f"the kernel {name}"
        raise ConfigError(
            f"{file.path} was made with another build of {whose} (hash "
            f"{_value_text(recorded[1])}, now {now}), and runs of two builds are no repetitions of "
            "each other; write to another folder, or move the files of the earlier build away")


def _refuse_unfinished(file: DataFile) -> None:
    """Raise BadResult if a data file has no complete run: a tool failed, the router was not read
    back before and after the test, there are no samples, the samples are not all those of the run,
    or the metadata have no object AQM or no hash of the samples."""
    aqm = file.metadata.get("AQM")
    if not isinstance(aqm, dict):
        raise BadResult(f"{file.path}: its metadata have no object AQM, as files of a batch with a "
                        "testbed have")
    try:
        refuse_incomplete(file.whole)
    except BadResult as fault:
        raise BadResult(f"{file.path}: its run is not complete: {fault}") from None
    if "samples_sha256" not in aqm:
        raise BadResult(f"{file.path}: whether it has all samples of its run is not known: its "
                        "metadata have no AQM.samples_sha256, which flent-aqm share leaves out, "
                        "and earlier versions did not write")
    if aqm["samples_sha256"] != samples_sha256(file.whole):
        raise BadResult(f"{file.path}: its raw_values, x_values or results, or their hash, were "
                        "changed after its run: their SHA-256 differs from AQM.samples_sha256 in "
                        "its metadata")


def refuse_another_run(file: DataFile, cell: Cell) -> None:
    """Raise ConfigError if a data file has another run in it than that of the cell: another test,
    value of a setting, seed, kind of commands or file name. The message has the first difference.
    The file's metadata must have the object AQM."""
    differing = list(_lines_on_differences(file.metadata, cell))
    if differing:
        more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
        raise ConfigError(
            f"{file.path} has another run than planned: {differing[0]}{more}; use the settings "
            "with which the file was measured, write to another folder, or remove the file")


def _lines_on_differences(metadata: Mapping[str, Any], cell: Cell) -> Iterator[str]:
    """Yield a line for each difference between the run of a data file and a cell, in test, settings
    of scenario and Flent, kind of commands ("router" or "others") or file name: "NAME is VALUE in
    the file, VALUE in this plan". A key of the scenario that the file lacks counts as its default.
    Of a path in the scenario, only the file's name counts."""
    aqm = metadata["AQM"]
    run = _mapping(aqm.get("run"))
    requested, planned = _mapping(aqm.get("requested")), _as_json(cell.scenario.as_dict())
    # A file of an earlier version lacks the keys that came later: the default held then.
    requested = {**_as_json(Scenario().as_dict()), **requested}
    yield from _lines_on_values({"test": run.get("test")}, {"test": cell.test_name})
    yield from _lines_on_values(_without_folders(requested), _without_folders(planned))
    yield from _lines_on_values(_mapping(run.get("settings")), _as_json(cell.settings))
    commands = "commands"
    yield from _lines_on_values({commands: run.get(commands)},
                                 {commands: cell.as_metadata[commands]})
    yield from _lines_on_values({"DATA_FILENAME": metadata.get("DATA_FILENAME")},
                                 {"DATA_FILENAME": cell.data_file.name})


def _lines_on_values(recorded: Mapping[str, Any], planned: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each name whose values differ, sorted by name: "NAME is VALUE in the file,
    VALUE in this plan". A missing name counts as a value of None. Two objects are compared key by
    key, each of which is named as NAME.KEY.

    Args:
        recorded: values in the data file, by name.
        planned: values of the planned run, by name.
    """
    for name in sorted(recorded.keys() | planned.keys()):
        was, wanted = recorded.get(name), planned.get(name)
        if isinstance(was, dict) and isinstance(wanted, dict):
            yield from _lines_on_values(*({f"{name}.{key}": value for key, value in values.items()}
                                          for values in (was, wanted)))
        elif was != wanted:
            in_file, in_plan = _value_texts(was, wanted)
            yield f"{name} is {in_file} in the file, {in_plan} in this plan"


def _value_texts(was: object, wanted: object) -> tuple[str, str]:
    """Return two different values as two different texts of at most 80 characters. If their
    _value_text() are the same, they are parts of the whole texts, from shortly before the first
    difference on."""
    if (short := _value_text(was)) != (other := _value_text(wanted)):
        return short, other
    first, second = repr(was), repr(wanted)
    alike = next(at for at, (one, other) in enumerate(zip_longest(first, second)) if one != other)
    begin = max(0, alike - 20)
    mark = "…" * bool(begin)
    return f"{mark}{first[begin:]}"[:80], f"{mark}{second[begin:]}"[:80]


def _value_text(value: object) -> str:
    """Return a value as text of at most 80 characters, a float with six significant digits, and
    "not set" for None."""
    if isinstance(value, float):
        return f"{value:g}"
    return "not set" if value is None else str(value)[:80]


def _without_folders(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return scenario settings with each path of a file reduced to the file's name, because the
    same file may have been in another folder."""
    return {name: os.path.basename(str(value)) if name in KEYS and KEYS[name].is_file and value
            else value for name, value in settings.items()}


def _as_json(settings: Mapping[str, object]) -> dict[str, Any]:
    """Return settings in the form that they have in a data file: tuples as lists, keys as text,
    numbers that are not finite as None."""
    return _mapping(json.loads(json_text(settings)))


def _mapping(value: object) -> dict[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
