# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans, checks and runs a whole sweep side by side, and reports its results."""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

from flent_aqm.base.errors import AqmError, ConfigError, StorageError, about
from flent_aqm.base.whole_file import remove_abandoned
from flent_aqm.base.words import counted
from flent_aqm.lab.place import kill_all
from flent_aqm.lab.protocol import Testbed
from flent_aqm.lab.table import open_testbed
from flent_aqm.results import status
from flent_aqm.setup.optional import check_tools
from flent_aqm.setup.parts import tool_versions
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.keys import keys_of_directions
from flent_aqm.spec.scenario import KEYS
from flent_aqm.sweep import preflight, summary
from flent_aqm.sweep.pool import MAX_JOBS, Elsewhere, Interrupts, Pool, elsewhere_of, parse_jobs
from flent_aqm.sweep.progress import SweepProgress, one_line
from flent_aqm.sweep.resumed import files_of_other_builds, set_aside_unfinished
from flent_aqm.sweep.run import FinishedRun, SweepFacts, run_cell

# A cause that begins with these words is a fault of the user's own kernel: lab/virtual.py.
OF_A_KERNEL = "the kernel "
# Begin of the cause of a run that was not made, because its kernel was given up; then the fault.
NOT_MADE = "not made: "
# If this many runs of a kernel ended with the same fault, no more runs of it are made.
MOST_EQUAL_FAULTS = 3


def _testbed_and_kernel(cell: Cell) -> tuple[str, str]:
    """Return the names of a cell's testbed and kernel. Runs with the same pair share their
    SweepFacts."""
    return cell.scenario.lab.testbed, cell.scenario.lab.kernel


class _GivenUp(AqmError):
    """Raised for a run that is not made, because earlier runs of its kernel ended with the same
    fault. Its text is that fault."""


class Stopped(BaseException):
    """Raised by Sweep.submit() if no more cells are started, after ^C or because results can't be
    written. All running cells have ended."""


class Sweep:
    """A sweep of runs, from plan to report.

    Call plan() for every run. In a with statement, call start(), submit() for each cell in any
    order, and drain(). After the with statement, call report(). Without planned runs, start(),
    drain() and report() do nothing.

    At its end, the with statement waits for cells that are still running, or kills them if an
    exception other than Stopped left it. Then it cleans up the testbeds.

    Args:
        resumes: True if the command makes the missing runs when it is called again, without
            --batch-resume. Only the messages on how to go on depend on it.

    Attributes:
        batch_files: SHA-256 of each batch file that was read, by its path. The caller enters them;
            start() writes them into the sweep's status.
        planned: cells by data file.
        failed: each cell whose run failed, with the cause. Cells that were not made are not in it.
    """

    def __init__(self, *, resumes: bool = False) -> None:
        self._resumes = resumes
        self.batch_files: dict[str, str] = {}
        self.planned: dict[Path, Cell] = {}
        self.failed: list[tuple[Cell, str]] = []
        self._done: list[FinishedRun] = []
        self._counted = 0
        self._kept = 0  # runs whose data files a resumed sweep keeps
        self._group_by: tuple[str, ...] = ()
        self._jobs: object = None
        self._elsewhere: Elsewhere | None = None
        self._testbeds: dict[str, Testbed] = {}
        self._not_cleaned_up: list[str] = []
        # Kernel -> the fault with which MOST_EQUAL_FAULTS of its runs ended.
        self._given_up: dict[str, str] = {}
        # Runs of these kernels that are not made.
        self._skipped: list[Cell] = []
        self._faults: Counter[tuple[str, str]] = Counter()
        self._pool: Pool | None = None
        self._progress: SweepProgress | None = None
        self._status: dict[Path, status.Status] = {}
        self._made_folders: list[Path] = []
        self._lock = threading.Lock()
        self._interrupts = Interrupts(self._stop_after_interrupt)
        self._was_interrupted = False
        self._storage_fault = ""

    def __enter__(self) -> Self:
        """Return this sweep. Nothing begins before start()."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Wait for the cells that are still running, or kill them if an exception other than
        Stopped left the block. Then write the sweep's status, clean up the testbeds, remove the
        results folders that start() made if it then failed, stop the bar, and set the signal
        handlers that were in force before start()."""
        try:
            try:
                if self._pool:
                    if kind not in (None, Stopped):
                        self._pool.abort(self._elsewhere.stop if self._elsewhere else kill_all)
                    self._pool.close()
            finally:
                for folder, folder_status in self._status.items():
                    status.write(folder, folder_status.ended())
                if self._elsewhere:
                    self._elsewhere.close()
                self._not_cleaned_up = self._clean_up()
                self._remove_unused_folders()
            if self._progress:
                self._progress.__exit__(kind, value, trace)
            if self._pool and kind is KeyboardInterrupt:
                self._print_interrupted()
        finally:
            # Last, so that no further ^C takes the place of the line that says how to go on.
            self._interrupts.__exit__(kind, value, trace)

    def plan(self, cell: Cell, section: Mapping[str, object]) -> bool:
        """Add a run to the sweep, and return True. Keys of the sweep (`jobs`, `scheduler`,
        `summary_by`) are taken from the last call. A run in virtual time that is the same as a
        planned one, and has the same data file, is not added again, because it would give the same
        samples. Then return False.

        Args:
            cell: the run.
            section: keys and values of the run's batch section.

        Raises ConfigError if the testbed or a key of the sweep is wrong, if the scheduler's workers
        can't make the run, or if a different planned run has the same data file. In real time each
        repetition counts as a different run.
        """
        if cell.scenario.lab.testbed not in self._testbeds:
            self._testbeds[cell.scenario.lab.testbed] = open_testbed(cell.scenario.lab.testbed)
        self._jobs = section.get("jobs")
        with about("jobs"):
            parse_jobs(self._jobs, real_time=self._real_time_testbed)
        with about("scheduler"):
            self._elsewhere = elsewhere_of(section)
            if self._elsewhere:
                self._elsewhere.refuse(cell)
        with about("summary_by"):
            self._group_by = summary.parse_group_by(section.get("summary_by"))
        other = self.planned.setdefault(cell.data_file, cell)
        is_again = other is not cell and self._testbeds[cell.scenario.lab.testbed].real_time
        if is_again or _what_decides(other) != _what_decides(cell):
            raise ConfigError(f"two different runs would be written to {cell.data_file.name}; add "
                              f"{_differing_keys(cell, other, section)}, in which they differ, "
                              "to the key filename_extra, after the text that it has now or "
                              "inherits; each of the two needs such a key, also for its usual "
                              "value")
        return other is cell

    def testbeds_elsewhere(self) -> list[str]:
        """Return the sorted addresses (ssh://…) of the planned runs' testbeds that are other
        machines."""
        return sorted({cell.scenario.lab.testbed for cell in self.planned.values()
                       if cell.scenario.behind_ssh})

    def start(self, *, resume: bool = False) -> None:
        """Check the needs of all runs, print the plan and warnings, prepare the testbeds and worker
        threads, show the progress, and handle signals from now on. Does nothing without planned
        runs, or if an earlier call succeeded.

        Temporary files that killed processes left in the results folders are removed. The sweep's
        status is written to each results folder.

        Args:
            resume: keep complete data files of planned runs, whose runs the caller must not submit,
                and rename damaged and incomplete ones. If false, each submitted run that succeeds
                replaces its data file.

        Raises an AqmError if a check or the preparation fails. No cell has run then.
        """
        if self._pool or not self.planned:
            return
        cells = list(self.planned.values())
        jobs = parse_jobs(self._jobs, real_time=self._real_time_testbed)
        warnings = []
        for name, testbed in self._testbeds.items():
            check_tools(testbed.tools)
            warnings += testbed.check(
                cell for cell in cells if cell.scenario.lab.testbed == name)
        summary.check_group_by(cells, self._group_by)
        self._made_folders = preflight.check(cells, 1 if self._elsewhere else jobs)
        remove_abandoned(sorted({cell.folder for cell in cells}))
        if resume:
            warnings += set_aside_unfinished(self.planned)
        warnings += files_of_other_builds(cells)
        there = self._kept = sum(path.exists() for path in self.planned) if resume else 0
        tools = tool_versions()
        self._progress = SweepProgress(
            [cell for cell in cells if not (resume and cell.data_file.exists())])
        where = " and ".join(testbed.title for testbed in self._testbeds.values())
        if self._elsewhere:
            where += f", by {self._elsewhere.title}"
        # Durations on the virtual lab's clock don't tell how long runs take on the host's. In real
        # time there is one run at a time.
        needs_s = sum(cell.length_s for cell in cells
                      if not (resume and cell.data_file.exists()))
        self._progress.announce(len(cells), there, 1 if self._elsewhere else jobs, where, warnings,
                                needs_s if self._real_time_testbed else None)
        for testbed in self._testbeds.values():
            testbed.prepare()
        facts = {(name, kernel): SweepFacts(self._testbeds[name].facts(kernel), tools)
                 for name, kernel in map(_testbed_and_kernel, cells)}
        if self._elsewhere:
            if len(facts) > 1:
                named = " and ".join(f"testbed {name}, kernel {kernel}" for name, kernel in facts)
                raise ConfigError(f"scheduler: a cluster makes the runs of one testbed with one "
                                  f"kernel, and these have {named}; run them as several sweeps")
            (one,) = facts.values()
            self._elsewhere.start(one, self._progress.say_fact)
            # These threads only wait for other machines, and write the files that come back.
            self._pool = Pool(
                self._elsewhere.run, parse_jobs(self._jobs or MAX_JOBS), room=self._elsewhere.room,
                keep_to_core=False, started=self._progress.started, ended=self._ended)
        else:
            self._pool = Pool(
                lambda cell: self._run_unless_given_up(cell, facts[_testbed_and_kernel(cell)]),
                jobs, keep_to_core=not self._real_time_testbed, started=self._progress.started,
                ended=self._ended)
        self._progress.__enter__()
        self._begin_status(cells)
        self._interrupts.__enter__()

    def submit(self, cell: Cell) -> None:
        """Wait until a worker is free, let it run the cell, and return without waiting for its end.
        If no more cells are started, after ^C or because results can't be written, wait until all
        running cells have ended, and raise Stopped. start() comes first."""
        assert self._pool is not None, "start() comes first"
        if not self._pool.submit(cell):
            self._pool.drain()
            raise Stopped

    def drain(self) -> None:
        """Wait until all submitted cells have ended. Runs that failed are in `failed`, and raise
        nothing here. Does nothing before start()."""
        if self._pool:
            self._pool.drain()

    def raise_storage_fault(self) -> None:
        """Raise StorageError if the sweep was stopped because results could not be written."""
        if self._storage_fault:
            count = len(self._left())
            left = "" if self._resumes else (
                f"{count} of {counted(len(self.planned), 'run')} left: ")
            them = "it" if self._resumes or count == 1 else "them"
            raise StorageError(f"{self._storage_fault}; {left}mend this (make room, if the disk is "
                               f"full), then run {them} again with {self._resume_command()}")

    def take_count(self) -> int:
        """Return the number of runs that have succeeded since the previous call."""
        new = len(self._done) - self._counted
        self._counted += new
        return new

    def report(self) -> None:
        """Print the table and totals, after the with statement. Does nothing if the sweep was not
        started.

        After printing, raises the first of these that applies: KeyboardInterrupt if the user
        pressed ^C and not all planned runs have succeeded; StorageError if results could not be
        written; another AqmError if runs have failed, data files have disappeared, or cleaning up
        has failed.
        """
        if not self._progress:
            return
        summary.show(
            self._progress.console, list(self.planned.values()),
            {done.cell.data_file: done.scores for done in self._done},
            {cell.data_file: cause for cell, cause in self.failed}, self._group_by)
        self._progress.say_total()
        if self._was_interrupted and self._count_left():
            self._print_interrupted()
            raise KeyboardInterrupt
        def again(count: int) -> str:
            """Return the words that advise to make this number of runs again."""
            return f"run {'it' if count == 1 else 'them'} again with {self._resume_command()}"

        self.raise_storage_fault()
        if self._given_up:
            more, kernels = len(self._skipped), sorted(self._given_up)
            raise AqmError(f"{len(self.failed)} of {counted(len(self.planned), 'run')} failed, "
                           f"{more} more {'was' if more == 1 else 'were'} not made: mend the kernel"
                           f"{'s' * (len(kernels) > 1)} {' and '.join(kernels)} and build "
                           f"{'it' if len(kernels) == 1 else 'them'} again")
        if self.failed:
            raise AqmError(f"{len(self.failed)} of {counted(len(self.planned), 'run')} failed; "
                           f"mend the {'causes' if len(self.failed) > 1 else 'cause'} above, and "
                           f"{again(len(self.failed))}")
        if left := [cell for path, cell in self.planned.items() if not path.exists()]:
            have = "has" if len(left) == 1 else "have"
            raise AqmError(f"{len(left)} of {len(self.planned)} finished data files {have} "
                           f"disappeared; {again(len(left))}")
        if self._not_cleaned_up:
            raise AqmError(f"all runs are done, but: {'; '.join(self._not_cleaned_up)}")

    @property
    def was_interrupted(self) -> bool:
        """True if the user has pressed ^C since start(), also if no run was left to start then.
        SIGTERM and SIGHUP don't count."""
        return self._was_interrupted

    @property
    def _real_time_testbed(self) -> str:
        """Name of the first testbed, in the order of planning, that runs in real time, "" if none
        does."""
        return next((name for name, one in self._testbeds.items() if one.real_time), "")

    def _clean_up(self) -> list[str]:
        """Clean up all testbeds, even if one of them raises an AqmError, and return the errors, one
        line each.

        If the sweep was started, the errors are printed at once, too, because report() may not be
        called.
        """
        faults = []
        for testbed in self._testbeds.values():
            try:
                testbed.clean_up()
            except AqmError as fault:
                faults.append(one_line(fault))
        if self._progress:
            for text in faults:
                self._progress.say_fault(text)
        return faults

    def _remove_unused_folders(self) -> None:
        """Remove the empty results folders that start() made, unless the sweep has begun: a refused
        sweep leaves nothing."""
        if not self._status:
            preflight.remove_empty(self._made_folders)

    def _run_unless_given_up(self, cell: Cell, facts: SweepFacts) -> FinishedRun:
        """Run a cell. Raises an AqmError with the cause if the run fails, _GivenUp if no more runs
        of its kernel are made."""
        if cell.scenario.lab.kernel in self._given_up:
            raise _GivenUp(self._given_up[cell.scenario.lab.kernel])
        return run_cell(cell, self._testbeds[cell.scenario.lab.testbed], facts)

    def _ended(self, cell: Cell, result: FinishedRun | Exception) -> None:
        """Record a run's result. A run that failed, or was not made, is written to the folder's
        status. After a StorageError, such as of a full disk, no more cells are started. Called in a
        worker's thread.

        Args:
            cell: the run's cell.
            result: the finished run, or the exception that it raised. Both are printed, except for
                a _GivenUp of a run that was not made: then only the bar moves.
        """
        if isinstance(result, _GivenUp):
            self._skip(cell, NOT_MADE + str(result))
            if self._progress:
                self._progress.not_made(cell)
            return
        with self._lock:
            if isinstance(result, FinishedRun):
                self._done.append(result)
            else:
                self.failed.append((cell, one_line(result)))
                self._give_up_if_same(cell, one_line(result))
                if isinstance(result, StorageError):
                    self._storage_fault = str(result)
                    assert self._pool is not None
                    self._pool.take_no_more()
                folder_status = self._status[cell.folder]
                self._status[cell.folder] = folder_status.with_failed(
                    cell.data_file.name, one_line(result))
                status.write(cell.folder, self._status[cell.folder])
        if self._progress:
            self._progress.ended(cell, result)

    def _give_up_if_same(self, cell: Cell, cause: str) -> None:
        """Count a failed run that is a fault of its kernel. Once MOST_EQUAL_FAULTS runs of a kernel
        had the same fault, decimal and hexadecimal numbers in its text aside, make no more runs of
        this kernel, and print that.

        Args:
            cell: the failed run's cell.
            cause: the run's error. Causes that don't begin with OF_A_KERNEL are not counted.
        """
        kernel = cell.scenario.lab.kernel
        if not cause.startswith(OF_A_KERNEL) or kernel in self._given_up:
            return
        # Addresses, times and counts differ from run to run.
        fault = (kernel, re.sub(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f.]*\b", "", cause))
        self._faults[fault] += 1
        if self._faults[fault] == MOST_EQUAL_FAULTS:
            self._given_up[kernel] = cause
            if self._progress:
                self._progress.say_fact(f"{MOST_EQUAL_FAULTS} runs ended by the same fault of "
                                         f"{cause}; no more runs of this kernel are made")

    def _skip(self, cell: Cell, cause: str) -> None:
        """Record, also in the folder's status, a run that is not made.

        Args:
            cause: NOT_MADE, and the fault of its kernel's earlier runs.
        """
        with self._lock:
            self._skipped.append(cell)
            folder_status = self._status[cell.folder].with_failed(
                cell.data_file.name, cause)
            self._status[cell.folder] = folder_status
            status.write(cell.folder, folder_status)

    def _begin_status(self, cells: Sequence[Cell]) -> None:
        """Write the sweep's status (sweep.json) to each results folder: the command without
        --batch-resume, the numbers of runs, and the batch files and other commands of the sweeps
        whose data files are in the folder. The report and watchers read the progress from it. They
        count all data files of a folder, so those that are not of this sweep count as planned, too,
        and as done before.

        Args:
            cells: all planned runs, also those whose data files exist.
        """
        # A command that goes on would make nothing if readers of the report typed it again.
        command = _without_resume([os.path.basename(sys.argv[0]), *sys.argv[1:]])
        for folder in {cell.folder for cell in cells}:
            here = [cell for cell in cells if cell.folder == folder]
            done = sum(cell.data_file.exists() for cell in here)
            of_others = max(0, status.count_done(folder) - done)
            # Data files in a resumed sweep's folder may be from another batch.
            earlier = status.read(folder) if done or of_others else None
            batches = [*(earlier.batches if earlier else ())]
            batches += [self.batch_files] if self.batch_files not in batches else []
            self._status[folder] = status.Status(
                command, len(here) + of_others, done + of_others, time.time(),
                batches=tuple(batches) if self.batch_files else (),
                earlier=[one for one in earlier.commands if one != command] if earlier else ())
            status.write(folder, self._status[folder])

    def _stop_after_interrupt(self) -> None:
        """Start no more cells, tell the user, and set was_interrupted. Called by the signal handler
        at the first ^C."""
        assert self._pool is not None
        assert self._progress is not None
        self._was_interrupted = True
        self._pool.take_no_more()
        self._progress.say_stopping()

    def _count_left(self) -> int:
        """Return the number of planned runs that have not succeeded in this process, without those
        whose data files a resumed sweep keeps. An old data file of a run that is made again counts
        for nothing."""
        return len(self.planned) - self._kept - len(self._done)

    def _left(self) -> list[Cell]:
        """Return the planned cells whose data files are missing or, unless a resumed sweep keeps
        them, of an earlier sweep."""
        done = {run.cell.data_file for run in self._done}
        return [cell for path, cell in self.planned.items()
                if not path.exists() or not (self._kept or path in done)]

    def _print_interrupted(self) -> None:
        """Print how many runs have succeeded in this process, how many are left, failed ones
        included, and the command that makes these. How many are left is not printed if the command
        resumes by itself: it may have to make more runs than this sweep's, such as those of the
        next test of a scorecard."""
        assert self._progress is not None
        left = "" if self._resumes else f", {self._count_left()} left"
        self._progress.console.print(
            f"Interrupted: {counted(len(self._done), 'run')} done{left}; go on with "
            f"{self._resume_command()}", soft_wrap=True, markup=False)

    def _resume_command(self) -> str:
        """Return words that name the command to make the remaining runs: "the same command and
        --batch-resume FOLDER", with the folder that has all planned data files in it. "the same
        command" if the command resumes by itself, or if one of these runs has a data file of an
        earlier sweep, which would be kept."""
        if self._resumes or any(cell.data_file.exists() for cell in self._left()):
            return "the same command"
        folders = {cell.folder for cell in self.planned.values()}
        if len({folder.is_absolute() for folder in folders}) > 1:
            folders = {folder.absolute() for folder in folders}
        folder = os.path.commonpath(folders) or "."
        return f"the same command and --batch-resume {shlex.quote(folder)}"


def _without_resume(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without "--batch-resume FOLDER" and
    "--batch-resume=FOLDER". Abbreviations of the option stay."""
    return [word for before, word in pairwise(["", *words])
            if "--batch-resume" not in (before, word) and not word.startswith("--batch-resume=")]


def _what_decides(cell: Cell) -> tuple[object, ...]:
    """Return all that decides the result of a run, to compare runs: its test's name, scenario,
    Flent's settings and commands."""
    return cell.test_name, cell.scenario, cell.settings, cell.commands


def _without_cross(setting: object) -> object:
    """Return a setting of Flent's, test parameters without cross_traffic, which has a key of its
    own."""
    if not isinstance(setting, dict):
        return setting
    return {name: value for name, value in setting.items() if name != "cross_traffic"}


def _differing_keys(cell: Cell, other: Cell, section: Mapping[str, object]) -> str:
    """Return the batch keys in which two runs differ, in the form that filename_extra takes:
    "${aqm}, ${rate_up_mbps}". A key for both directions stands for its two if the section has it,
    and the directions are alike in each run. For a command that differs it is "the argument that
    the command NAME contains", or if the commands have other names, "${commands}". If the tests
    differ, "${test_name}" alone. If nothing but the seed differs, or nothing at all, "${repetition}
    (or ${seed}, if the batch varies that)".

    Args:
        cell: a run.
        other: another run, which would have the same data file.
        section: keys and values of the first one's batch section.
    """
    if cell.test_name != other.test_name:
        return "${test_name}"
    settings, others = cell.scenario.as_dict(), other.scenario.as_dict()
    keys = []
    for key, value in settings.items():
        if value == others[key] or key == "seed":  # the seed follows from the other settings
            continue
        old = others[key]
        if isinstance(value, dict) and isinstance(old, dict):  # each parameter is a key
            prefix = key.removesuffix("parameters")
            keys += ([f"{prefix}options"] if f"{prefix}options" in section else
                     [f"{prefix}{name}" for name in sorted(value.keys() | old.keys())
                      if value.get(name) != old.get(name)])
        elif key == "router_model" and str(value).split("+")[0] == str(old).split("+")[0]:
            # The parameters, which have keys of their own.
            keys += [f"router_{part.partition('=')[0]}" for part in sorted(
                set(str(value).split("+")) ^ set(str(old).split("+")))]
        else:
            keys.append(key)
    for both in dict.fromkeys(KEYS[key].both for key in keys if key in KEYS):
        pair = keys_of_directions(both)
        if pair and both in section and all(len({of[key] for key in pair}) == 1
                                   for of in (settings, others)):
            keys = [both, *(key for key in keys if key not in pair)]
    # Flent's settings have the names of their batch keys, in capitals.
    keys += sorted(name.lower() for name in cell.settings.keys() | other.settings.keys()
                   if _without_cross(cell.settings.get(name)) != _without_cross(
                       other.settings.get(name)))
    words = [f"${{{key}}}" for key in dict.fromkeys(keys)]
    if cell.commands.keys() != other.commands.keys():
        words.append("${commands}")
    else:  # only an argument in their sections differs, and the key commands is the same
        words += [f"the argument that the command {name} contains" for name in cell.commands
                  if cell.commands[name] != other.commands[name]]
    return ", ".join(words) or "${repetition} (or ${seed}, if the batch varies that)"
