# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of a sweep: a bar on a terminal, a line per run in other output."""

from __future__ import annotations

import datetime
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
)
from rich.text import Text

from flent_aqm.base.errors import AqmError
from flent_aqm.base.words import counted
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.in_brief import brief, differing_words
from flent_aqm.sweep.run import FinishedRun
from flent_aqm.sweep.time_left import TimeLeft


class SweepProgress:
    """Counts runs and shows them on the console. A context manager, which shows the bar while it is
    open. Its methods may be called by several threads.

    Attributes:
        console: where lines and bar are printed, standard error by default.
        done: number of runs that succeeded.
        failed: number of runs that failed.

    Args:
        cells: the runs that will be made.
        console: replaces standard error.
    """

    def __init__(self, cells: Sequence[Cell], console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False,
                                          # Rich assumes 80 columns without a terminal.
                                          width=None if sys.stderr.isatty() else 120)
        self.done = 0
        self.failed = 0
        self._total = len(cells)
        self._words_by_name = differing_words(cells)
        self._virtual_s = 0.0
        self._printed_warnings: set[str] = set()  # warnings of the router that were printed
        self._began_at = time.monotonic()
        self._time_left = TimeLeft(cells, self._began_at)
        # A separate lock, never held while drawing, because drawing needs the time left.
        self._time_lock = threading.Lock()
        self._lock = threading.Lock()
        self._progress = Progress(
            BarColumn(None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]}"),
            _LeftColumn(self._time_left_text),
            TextColumn("{task.fields[speed]}"),
            console=self.console,
            expand=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._progress.add_task("", total=self._total, failed="", speed="")

    def __enter__(self) -> Self:
        """Show the bar. On a console that isn't a terminal, there is none."""
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Stop showing the bar."""
        self._progress.stop()

    def announce(self, total: int, there: int, jobs: int, where: str,
                 warnings: Sequence[str], needs_s: float | None = None) -> None:
        """Print a line on the planned runs: how many, where, how many of them have data files
        already, how many are made side by side, and the expected duration. Print the warnings below
        it.

        Args:
            total: number of planned runs.
            there: how many of them have a data file already.
            jobs: largest number of runs side by side.
            where: titles of the testbeds, and of the machines that make the runs if it isn't this
                one, as text that follows "in".
            warnings: warnings on the testbeds and on data files that exist.
            needs_s: expected duration of the sweep in s of real time. None to print none.
        """
        old = f", {there} of them there already" if there else ""
        beside = min(jobs, total - there)
        side = f", {beside} side by side" if beside > 1 else ""
        needs = ("" if needs_s is None else
                 f", about {datetime.timedelta(seconds=round(needs_s))}")
        self.console.print(f"{counted(total, 'run')} in {where}{old}{side}{needs}.", markup=False)
        for warning in warnings:
            self.console.print(f"[yellow]warning:[/] {escape(warning)}", soft_wrap=True)

    def say_fault(self, text: str) -> None:
        """Print an error of a testbed that is not that of a run, such as of its clean-up, after
        "testbed:"."""
        self._say(f"[red]testbed:[/] {escape(text)}")

    def say_fact(self, text: str) -> None:
        """Print a line that does not concern a single run."""
        self._say(escape(text))

    def say_stopping(self) -> None:
        """Print that after the first ^C no new runs start, that running ones are waited for, and
        that another ^C stops them. It is written to standard error, also if there is another
        console. Called by a signal handler, which may have interrupted the thread that draws, so no
        lock is taken."""
        text = ("Interrupted: no new runs start; waiting for those that are running. "
                "Press ^C again to stop them.")
        os.write(sys.stderr.fileno(), f"\n{text}\n".encode())

    def say_total(self) -> None:
        """Print the numbers of runs done and failed, and the real time since the object was made.
        If runs in virtual time have succeeded, print also their virtual time together, and the
        speed."""
        wall_s = time.monotonic() - self._began_at
        virtual = (f"{self._virtual_s:.0f} virtual seconds in {wall_s:.0f} s "
                   f"({self.speed:.1f} virtual s/s)" if self._virtual_s else f"{wall_s:.0f} s")
        self.console.print(f"{self.done} done, {self.failed} failed: {virtual}.")

    @property
    def speed(self) -> float:
        """Virtual seconds of the runs that succeeded, per second of real time since this object was
        made. 0 in real time, and before a run has succeeded."""
        return self._virtual_s / max(time.monotonic() - self._began_at, 1e-9)

    def started(self, cell: Cell) -> None:
        """Record that a run has started, for the estimate of the time left."""
        with self._time_lock:
            self._time_left.started(cell, time.monotonic())

    def ended(self, cell: Cell, result: FinishedRun | Exception) -> None:
        """Count a run that has ended, move the bar on, and print its result with warnings, or its
        error. The same warning of the router is printed once only."""
        with self._time_lock:
            self._time_left.ended(cell, time.monotonic(), learn=isinstance(result, FinishedRun))
        with self._lock:
            count = self.done + self.failed + 1
            if isinstance(result, FinishedRun):
                self.done += 1
                self._virtual_s += result.virtual_s or 0
                self._say(f"[green]ok[/]     {self._position(count)} "
                          f"{self._result_text(cell, result)}{self._time_left_suffix()}")
                # Warnings of the router are the same for many runs, so each is printed once.
                router_warnings = [one for one in result.scores.router_warnings
                                   if one not in self._printed_warnings]
                self._printed_warnings.update(router_warnings)
                for warning in (*router_warnings, *result.scores.warnings):
                    self._say(f"[yellow]warning:[/] {escape(warning)}")
            else:
                self.failed += 1
                self._say(f"[red]FAILED[/] {self._position(count)} {escape(cell.name)}: "
                          f"{escape(one_line(result))}")
            self._progress.update(
                self._task, advance=1,
                failed=f"[red]{self.failed} failed[/]" if self.failed else "0 failed",
                speed=f"{self.speed:.1f} virtual s/s" if self._virtual_s else "")

    def not_made(self, cell: Cell) -> None:
        """Move the bar on by a run that is not made, because earlier runs of its kernel ended by
        the same fault. It counts neither as done nor as failed."""
        with self._time_lock:
            self._time_left.ended(cell, time.monotonic(), learn=False)
        with self._lock:
            self._progress.update(self._task, advance=1)

    def _position(self, count: int) -> str:
        """Return the text on how many runs have ended, such as " 7/120" of 120, padded so that all
        are equally long.

        Args:
            count: number of runs that have ended, with the one that the line is about.
        """
        return f"{count:{len(str(self._total))}}/{self._total}"

    def _result_text(self, cell: Cell, result: FinishedRun) -> str:
        """Return the text on a run that succeeded, in Rich's markup. On a terminal: its test,
        queue, rate and the other settings in which runs differ, cut so that the line fits the width
        if possible, and its results, which are not cut. In other output: the run's name, and its
        duration in real and, if it has one, in virtual time."""
        if not self.console.is_terminal:
            virtual = "" if result.virtual_s is None else f"{result.virtual_s:.0f} s in "
            return f"{escape(cell.name)} ({virtual}{result.wall_s:.1f} s)"
        # The line begins with "FAILED" and the count, with a space after each.
        room = self.console.width - len("FAILED ") - len(self._position(self._total)) - 1
        summary = brief(result.scores)
        words = self._words_by_name.get(cell.name, cell.name)
        room -= len(summary) + len(": ")
        if len(words) > room:
            words = words[:max(room - 1, 0)] + "…"
        return escape(f"{words}: {summary}" if summary else words)

    def _time_left_suffix(self) -> str:
        """Return ", TIME left" for the end of a line. "" on a terminal, where the bar shows the
        time, and if the time is 0 or not known."""
        left = "" if self.console.is_terminal else self._time_left_text()
        return f", {left} left" if left else ""

    def _time_left_text(self) -> str:
        """Return the estimated time left as H:MM:SS, from a day on as "1 day, H:MM:SS". "" if it is
        not known, or 0."""
        with self._time_lock:
            left_s = self._time_left.left_s(time.monotonic())
        return str(datetime.timedelta(seconds=round(left_s))) if left_s else ""

    def _say(self, text: str) -> None:
        """Print a line above the bar. `text` may contain Rich's markup."""
        self.console.print(text, soft_wrap=True)


class _LeftColumn(ProgressColumn):
    """Column of the bar with the time left. It shows this package's estimate instead of Rich's,
    because runs differ tenfold in length.

    Args:
        left: returns the time left as text, "" if it is not known or 0.
    """

    def __init__(self, left: Callable[[], str]) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        """Return the time left, or dashes if `left` returns "". Called by Rich."""
        return Text(self._left() or "-:--:--", style="progress.remaining")


def one_line(error: Exception) -> str:
    """Return an error's text as one line. The exception's type is put before it if the error is not
    an AqmError."""
    text = " ".join(str(error).split())
    return text if isinstance(error, AqmError) else f"{type(error).__name__}: {text}"
