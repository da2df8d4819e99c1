# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures a command of the user in one run of the lab, and writes a data file: `lab --record`."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.defaults import CLIENT_STATUS, CLIENT_STDERR, CLIENT_STDOUT
from flent_aqm.base.errors import (
    AqmError,
    BadResult,
    ConfigError,
    StorageError,
    cause_of,
    why_unreadable,
)
from flent_aqm.base.words import plain
from flent_aqm.lab.copy_out import OutputFollower
from flent_aqm.lab.own_programs import refuse_missing
from flent_aqm.lab.place import CommandResult, RunEnvironment, read_text
from flent_aqm.lab.user_command import (
    copy_results,
    make_results_folder,
    wall_limit_named,
)
from flent_aqm.lab.virtual import VirtualTestbed
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.setup.parts import tool_versions
from flent_aqm.spec.cell import PROGRAM, ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import preflight
from flent_aqm.sweep.run import SweepFacts, make_output, write_completed

# Longest time that a command may take, in s of virtual time, if the user gives none.
RECORD_LIMIT_S = 60
_LONGEST_LIMIT_S = 86_400


def record_command(scenario: Scenario, command: Sequence[str], path: Path, *,
                   results: Path | None, time_limit: str | None, wall_limit_s: float) -> int:
    """Run a command on the client of a lab beside probes and a capture, and write a data file, and
    beside it the captured packets' headers (NAME.pcap for NAME.flent.gz). Return the command's exit
    status.

    The command's output is printed unchanged as it comes, and its files are copied to `results`. If
    it ends with another status than 0, neither data file nor capture is written, and a message on
    standard error says so.

    Args:
        scenario: the settings of the lab.
        command: words of the command.
        path: the data file, whose name ends in .flent.gz. It replaces an older one. Its folder must
            be there, or be that of `results`.
        results: folder for the files that the command writes. None for the current folder.
        time_limit: longest time of the command in whole s of virtual time, as the user wrote it.
            None or "" for RECORD_LIMIT_S.
        wall_limit_s: longest time of the run in s of wall time.

    Raises an AqmError if a tool is missing, if an option is wrong, if the run fails, or if a file
    can't be written. ConfigError at the end, after the files are written, if the command's output
    couldn't be printed.
    """
    cell = _cell(scenario, command, path, time_limit)
    refuse_missing(cell.scenario.programs, client="COMMAND", server="--server")
    folder = make_results_folder(results) or Path.cwd()
    if not os.path.isdir(cell.folder):
        where = plain(cell.folder.absolute())
        why = why_unreadable(cell.folder)
        raise ConfigError(f"--record: there is no folder {where}; make it, or give another path"
                          if why == os.strerror(errno.ENOENT) else
                          f"--record: {where} is no folder to write to: {why}; give another path")
    try:
        tempfile.TemporaryFile(dir=cell.folder).close()
    except OSError as error:
        raise ConfigError(f"--record: {plain(cell.folder.absolute())} can't be written: "
                          f"{cause_of(error)}; give another path") from None
    testbed = VirtualTestbed()
    testbed.check([cell])
    preflight.check([cell])
    status, shown = "", OutputFollower([])
    copy_fault: AqmError | None = None

    def run(lab: RunEnvironment) -> CommandResult:
        """Run the lab until Flent, which runs the command, has ended, and return Flent's result.
        Print the command's output meanwhile, and copy the files that it wrote to the results
        folder. The command's exit status, as text, becomes `status` of record_command(), and an
        error of copying its `copy_fault`. Raises an AqmError if the lab fails or files can't be
        copied."""
        nonlocal status, shown, copy_fault
        out = lab.stdout.parent
        lab.wall_limit_s = wall_limit_s
        shown = OutputFollower([(out / CLIENT_STDOUT, sys.stdout.fileno()),
                                (out / CLIENT_STDERR, sys.stderr.fileno())])
        with shown, wall_limit_named():
            result = lab.run()
        status = read_text(out / CLIENT_STATUS)
        # The rest are the user's.
        lab.flent_files = lab.flent_files.rename(out / "flent-files")
        try:
            copy_results(lab, folder, None, command)
        except AqmError as error:
            copy_fault = error
            raise
        return result

    output = make_output(cell, testbed, run)
    if re.fullmatch("[1-9][0-9]{0,2}", status):
        alone = ("" if scenario.programs.server_commands else "; with --record the lab's own "
                 "servers don't run: if the command needs one, give it with --server")
        print(f"flent-aqm: {path}: not written, because the command ended with status {status}"
              f"{alone}", file=sys.stderr)
        if copy_fault:
            raise copy_fault
        shown.refuse_lost()
        return int(status)
    if output.data is None or output.command is None:
        raise BadResult(output.fault)
    try:
        write_completed(output.data, cell, SweepFacts(
            testbed.facts(cell.scenario.lab.kernel), tool_versions()), output.command)
        if output.capture is not None:
            cell.capture_file.write_bytes(output.capture)
    except OSError as error:
        raise StorageError(f"--record: can't write {path} or its capture: {cause_of(error)}"
                           ) from None
    shown.refuse_lost()
    return 0


@contextmanager
def _named_as_given() -> Iterator[None]:
    """Context manager: in a ConfigError of the block about the key client_program, name COMMAND,
    as the usage line of `flent-aqm lab` does, instead of that key."""
    key = "client_program: "
    try:
        yield
    except ConfigError as fault:
        text = str(fault)
        if not text.startswith(key):
            raise
        raise ConfigError(f"COMMAND: {text.removeprefix(key)}") from None


def _cell(scenario: Scenario, command: Sequence[str], path: Path, time_limit: str | None) -> Cell:
    """Return the cell whose run measures the command.

    Args:
        scenario: the settings of the lab.
        command: words of the command.
        path: the data file, whose name has to be NAME.flent.gz.
        time_limit: longest time of the command in whole s of virtual time, as the user wrote it.
            None or "" for RECORD_LIMIT_S.

    Raises ConfigError if the command is missing or refused, if the path has another ending, no NAME
    or is a folder, or if the time limit is no whole number from 1 to _LONGEST_LIMIT_S.
    """
    if not command:
        raise ConfigError("--record: there is no command to measure; give it after --")
    if path.name == SUFFIX:
        raise ConfigError(f"--record: {str(path)[:200]!r} has no name before {SUFFIX}; expected a "
                          f"file such as run{SUFFIX}")
    if not path.name.endswith(SUFFIX):
        raise ConfigError(f"--record: {str(path)[:200]!r}; expected a file whose name ends in "
                          f"{SUFFIX}, such as run{SUFFIX}")
    if os.path.isdir(path):
        raise ConfigError(f"--record: {str(path)[:200]!r} is a folder; expected the path of a file")
    limit = time_limit or str(RECORD_LIMIT_S)
    if not re.fullmatch("0*[1-9][0-9]{0,4}", limit) or int(limit) > _LONGEST_LIMIT_S:
        raise ConfigError(f"--time-limit: {limit[:20]!r}; expected whole seconds, from 1 to "
                          f"{_LONGEST_LIMIT_S}")
    seed = defaults.LAB_SEED if scenario.lab.seed is None else scenario.lab.seed
    with _named_as_given():
        whole = Scenario.from_settings({
            **scenario.as_dict(), "client_program": shlex.join(command), "seed": seed})
    cross = scenario.hosts.cross_traffic
    router = scenario.router
    return Cell(
        name=path.name.removesuffix(SUFFIX), folder=path.parent, test_name=PROGRAM, scenario=whole,
        settings={"HOSTS": ["server"], "LENGTH": int(limit), **(
            {"TEST_PARAMETERS": {"cross_traffic": _cross_word(cross)}} if cross else {})},
        commands=ROUTER_COMMAND,
        # As base.batch's, which own_title() knows to be none of the user's.
        metadata={"TITLE": f"{router.queue('down')[0]} {router.rate_down_mbps:g} Mbit/s burst "
                           f"{int(router.burst_shaping)} cross {_cross_word(cross)}"},
        length_s=int(limit))


def _cross_word(cross: bool | str) -> str:
    """Return the word for cross traffic in a batch: "0" for none, "1" for bulk, or its name."""
    return cross if isinstance(cross, str) else str(int(cross))
