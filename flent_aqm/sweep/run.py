# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one run on a testbed, completes the data file that Flent wrote in it, and writes its files.

run_cell() does all of it. On a cluster its two halves run on two machines: make_output() on the
worker, which returns the run's files as bytes, and write_files() on the user's machine.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flent_aqm import __version__
from flent_aqm.base.errors import AqmError, BadResult, LabError, StorageError, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.base.whole_file import written_whole
from flent_aqm.base.words import last_line
from flent_aqm.lab.package_copy import package_hash
from flent_aqm.lab.place import CommandResult, RunEnvironment
from flent_aqm.lab.protocol import Facts, FlentRun, Testbed
from flent_aqm.results.data_file import parse_data_file, write_data_file
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.scores import Scores, scores
from flent_aqm.results.reading.series import series_by_error
from flent_aqm.setup.optional import optional_of
from flent_aqm.spec.cell import BATCH_NAME, Cell, as_batch_file
from flent_aqm.spec.flent_settings import as_words
from flent_aqm.spec.needs import needs_of_run

# Version of the object AQM in a data file's metadata. Its history is in
# docs/reference/data-format.md.
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SweepFacts:
    """Facts that are the same for all runs of a sweep on one testbed and kernel.

    Attributes:
        testbed: the testbed's description of its kernel and hosts.
        tools: versions of this machine's tools, by name.
    """

    testbed: Facts
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunOutput:
    """Output of a run: the content of its files, or the cause of its failure.

    Attributes:
        data: content of the data file that Flent wrote, None if the run failed.
        command: durations and reports of the network. None if the run could not begin, or ended by
            an error of the testbed.
        fault: cause of the failure, "" if the run succeeded.
        log: output of Flent, the guest's console, and the tools' and user's programs' logs. "" if
            the run could not begin.
        tools_log: output of all tools, gzipped. None if the cell doesn't request it, or if the run
            wrote none.
        capture: headers of captured packets as a pcap file. None if the run left none, or several
            such files.
    """

    data: bytes | None
    command: CommandResult | None
    fault: str
    log: str
    tools_log: bytes | None = None
    capture: bytes | None = None


@dataclass(frozen=True)
class FinishedRun:
    """A run that succeeded and whose files are written.

    Attributes:
        cell: the cell that was run.
        scores: scores of the run's data file.
        virtual_s: duration on the guest's clock in s, None in real time.
        wall_s: duration in s on the clock of the machine that made the run.
    """

    cell: Cell
    scores: Scores
    virtual_s: float | None
    wall_s: float


def run_cell(cell: Cell, testbed: Testbed, facts: SweepFacts) -> FinishedRun:
    """Run a cell, write its data file, log and other files, and return its scores and durations.

    Raises an AqmError with the cause if the run fails. Then no data file is written, and an older
    one stays as it is, but the log is continued, and other files that the run left are written.
    Raises StorageError if files can't be written.
    """
    return write_files(make_output(cell, testbed), cell, facts)


def make_output(cell: Cell, testbed: Testbed, run: Callable[[Any], CommandResult]
                = RunEnvironment.run) -> RunOutput:
    """Run a cell on a testbed, and return its output. The testbed has to be prepared before.

    An AqmError that ends the run, or keeps it from beginning, becomes the `fault` of the output,
    and so does it if Flent wrote no data file or several. Other errors are raised.

    Args:
        cell: the cell.
        testbed: the testbed.
        run: function that starts the run in its RunEnvironment, waits for its end, and returns its
            result.
    """
    data, command, fault = None, None, ""
    needs = needs_of_run(cell.test_name, cell.scenario, cell.test_parameters)
    try:
        environment = testbed.place(cell.scenario, FlentRun(
            as_batch_file(cell), BATCH_NAME, as_words(cell.settings), needs.servers, cell.length_s,
            programs=optional_of(needs.tools), browser="chromium" in needs.tools))
    except AqmError as error:
        return RunOutput(None, None, str(error), "")
    with environment as place:
        try:
            command = run(place)
            data = _only_result(place, "*.flent")
            if data is None:
                written = [path.name for path in place.flent_files.glob("*.flent")]
                raise LabError(f"expected one data file of Flent, and there are {len(written)}: "
                               f"{', '.join(sorted(written)[:5])}; a command of the batch must "
                               "not write *.flent to the folder of Flent's data file"
                               if written else
                               first_error_of_flent(_read_text(place.stderr)))
        except AqmError as error:
            fault = str(error)
        tools_log = _only_result(place, "*.debug.log") if cell.debug_log else None
        return RunOutput(data, command, fault, _log_text(place),
                         None if tools_log is None else gzip.compress(tools_log, 6, mtime=0),
                         _only_result(place, "*.pcap"))


def write_files(output: RunOutput, cell: Cell, facts: SweepFacts) -> FinishedRun:
    """Write the files of a run that was made, in the cell's folder, which is made if necessary, and
    return it as a FinishedRun. The log is appended to an older one, and the other files replace
    older ones. The data file is written last, so that a new one is there only if the run and all
    its other files are complete.

    Raises an AqmError with the cause if the run failed, or if its data file is incomplete or
    damaged. The cause is appended to the log, and an older data file stays beside the failed run's
    other files. Raises StorageError if files can't be written.
    """
    try:
        cell.folder.mkdir(parents=True, exist_ok=True)
        _append(cell.log_file, output.log)
        _write(cell.tools_log_file, output.tools_log)
        _write(cell.capture_file, output.capture)
        try:
            if output.data is None or output.command is None:
                raise LabError(output.fault)
            run_scores = write_completed(output.data, cell, facts, output.command)
        except AqmError as error:
            _append(cell.log_file, f"--- failed\n{error}\n")
            raise
    except OSError as error:
        # A file may be what can't be written, such as the log of a run as root.
        at = error.filename2 or error.filename
        raise StorageError(f"can't write to the results folder {cell.folder}"
                           f"{f' ({at})' if at not in (None, str(cell.folder)) else ''}: "
                           f"{cause_of(error)}") from error
    return FinishedRun(cell, run_scores, output.command.virtual_s, output.command.wall_s)


def _append(path: Path, text: str) -> None:
    """Append text to a file, which is made if necessary. Raises OSError."""
    with path.open("a", errors="replace") as file:
        file.write(text)


def _write(path: Path, content: bytes | None) -> None:
    """Write a file atomically, so that it is never seen incomplete. Nothing is written if `content`
    is None. Raises OSError."""
    if content is not None:
        with written_whole(path) as file:
            file.write(content)


def _only_result(place: RunEnvironment, pattern: str) -> bytes | None:
    """Return the content of the run's only result file that matches a glob pattern. None if no file
    or several files match."""
    files = list(place.flent_files.glob(pattern))
    return files[0].read_bytes() if len(files) == 1 else None


def _log_text(place: RunEnvironment) -> str:
    """Return the output of Flent, the guest's console, the tools' logs (*.log, but not *.debug.log)
    and the output of the user's programs as one text with headings. Empty outputs are left out, as
    well as files that can't be read."""
    parts = [("flent", place.stdout), ("flent, errors", place.stderr),
             ("guest's console", place.folder / "console"),
             *((path.name, path) for path in sorted(place.flent_files.glob("*.log"))
               if not path.name.endswith(".debug.log"))]
    return "".join(f"--- {title}\n{text}\n" for title, path in parts
                   if (text := _read_text(path))) + place.own_output()


# Flent's report of a failed command: the command line, and below it the command's output.
_FAILED_COMMAND = re.compile(
    r"ERROR: Essential command .*?\nOutput:\n((?: [^\n]*\n?)+)", re.DOTALL)
_TRACEBACK = "Traceback (most recent call last):"
# A longer cause is cut: the output of a router may have a million characters.
LONGEST_CAUSE = 1000


def first_error_of_flent(text: str) -> str:
    """Return, as one line, the cause of a failure in Flent's standard error: the output of the
    first essential command that failed with an output, cut to LONGEST_CAUSE characters, else "Flent
    crashed: " with the exception of the last traceback if no error follows it, else the first error
    with a text, also one about Flent's arguments. If there is none of them, return a message that
    ends with the last line of the text, or says that there is none."""
    if match := _FAILED_COMMAND.search(text):
        output = " ".join(match[1].split()).removesuffix(".")
        if output:
            return output[:LONGEST_CAUSE]
    # An error before a crash may be that of a tool, which does not end Flent. A traceback before an
    # error is no crash, because Flent went on.
    _, crashed, trace = text.rpartition(_TRACEBACK)
    if crashed and "ERROR:" not in trace:
        return f"Flent crashed: {_end_of_traceback(trace)}"
    for line in text.splitlines():
        _, marked, error = line.rpartition("ERROR:")
        if not marked:  # an argument that Flent refuses
            _, _, error = line.partition("flent: error:")
        error = error.strip()
        if error:
            return error
    last = last_line(text)
    return ("Flent wrote no data file and reported no error; "
            + (f"the last line that it printed: {last}" if last else "it printed nothing"))


def _end_of_traceback(trace: str) -> str:
    """Return the line with the exception of a traceback, such as "KeyError: 'z'": the first line
    that isn't indented, or if there is none the last_line() of the text, "" without one.

    Args:
        trace: the text after the traceback's heading, beginning with the end of the heading's line.
    """
    return next((line.strip() for line in trace.splitlines()[1:]
                 if line.strip() and not line[0].isspace()), last_line(trace))


def _read_text(path: Path) -> str:
    """Return the text of a file without white space at its ends, "" if it can't be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def write_completed(content: bytes, cell: Cell, facts: SweepFacts,
                    command: CommandResult) -> Scores:
    """Complete the data file that Flent wrote in the guest, and write it as cell.data_file. The
    metadata that only the host knows are added.

    Args:
        content: content of the file that Flent wrote.
        cell: the planned run.
        facts: facts of the testbed and this machine's tools.
        command: durations and reports of the run's network.

    Returns the run's scores. Raises BadResult if the content can't be read, has numbers that are
    not finite, or is of a run that is not complete, and OSError if the file can't be written. In
    all these cases an older file stays.
    """
    file = parse_data_file(content, cell.data_file)
    data, metadata = file.whole, file.metadata
    refuse_incomplete(data)
    metadata.update(cell.metadata)
    metadata["DATA_FILENAME"] = cell.data_file.name
    _set_length_of_speedtest(data, metadata)
    _rename_capture(metadata, cell.capture_file.name)
    from_guest = metadata.get("AQM", {})
    metadata["AQM"] = {
        "schema": SCHEMA_VERSION,
        **from_guest,
        "run": cell.as_metadata,
        "flent_aqm": __version__,
        "flent_aqm_hash": package_hash(),
        # In real time there is no model of the router, and a seed has no effect.
        **({"router_model": None, "seed": None} if command.virtual_s is None else {}),
        "kernel": dict(facts.testbed.kernel),
        "tools": dict(facts.tools),
        "hosts": {**facts.testbed.hosts,
                  "moderation_us": dict(command.host_moderation_us) or None},
        **{name: dict(reported) for name, reported in command.models.items()},
        **({"coverage": sorted(command.coverage.items())} if command.coverage else {}),
        "virtual_s": command.virtual_s,
        "wall_s": round(command.wall_s, 3),
        "samples_sha256": samples_sha256(data),
        "finished_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    run_scores = scores(as_run(file))
    metadata["AQM"]["warnings"] = [*from_guest.get("warnings", []), *run_scores.warnings]
    write_data_file(cell.data_file, data)
    return replace(run_scores, router_warnings=tuple(map(str, from_guest.get("warnings", []))))


def _set_length_of_speedtest(data: Mapping[str, Any], metadata: dict[str, Any]) -> None:
    """Reduce TOTAL_LENGTH in the metadata, in place, to the time in s of the last result if the
    test had a speed test or a command of the user, which decide when they end. It is left as it is
    if there are no results. Flent records the longest possible duration, from which plots would
    compute the time under load."""
    metas = metadata.get("SERIES_META", {}).values()
    if any({"SPEEDTEST", "PROGRAM"} & meta.keys() for meta in metas if isinstance(meta, dict)):
        # Flent resamples nothing if all samples are of one moment.
        longest_s = metadata["TOTAL_LENGTH"]
        metadata["TOTAL_LENGTH"] = min(longest_s, max(data["x_values"], default=longest_s))


def _rename_capture(metadata: Mapping[str, Any], name: str) -> None:
    """Replace the capture file's name in the metadata, in place, by `name`, because the file is
    renamed when it leaves the guest. Nothing is changed if no capture was kept."""
    for meta in metadata["SERIES_META"].values():
        capture = meta.get("CAPTURE") if isinstance(meta, dict) else None
        if isinstance(capture, dict) and "file" in capture:
            capture["file"] = name


def refuse_incomplete(data: Mapping[str, Any]) -> None:
    """Raise BadResult if a tool of the run failed, the router was not read back both before and
    after the test, or the file has no samples.

    Args:
        data: content of a data file.
    """
    metadata = data["metadata"]
    series_meta = metadata.get("SERIES_META")
    causes = [f"{' and '.join(names)}: {line}"
              for line, names in series_by_error(series_meta or {}).items()]
    if not causes and metadata.get("FAILED_RUNNERS"):
        causes = [(f"{metadata['FAILED_RUNNERS']} of the test's tools gave no data; see the "
                   "run's .log file in the results folder")]
    proof = metadata.get("AQM", {})
    missing = [key for key in ("before", "after") if key not in proof]
    if not causes and missing:
        causes = [(f"no read-back of the router {' and '.join(missing)} the test "
                   f"({' and '.join(f'AQM.{key}' for key in missing)} in the metadata): the file "
                   "was changed, or was written by a Flent that did not load flent-aqm; make the "
                   "run again")]
    if not causes and not any(data.get("raw_values", {}).values()):
        causes = ["the file has no samples: its raw_values are empty"]
    if causes:
        raise BadResult("; ".join(causes))


def samples_sha256(data: Mapping[str, Any]) -> str:
    """Return the SHA-256, as hexadecimal digits, of a data file's measurements: its samples, and
    the results that Flent computed from them."""
    measured = [data.get(key) for key in ("raw_values", "x_values", "results")]
    return hashlib.sha256(json_text(measured, sort_keys=True).encode()).hexdigest()
