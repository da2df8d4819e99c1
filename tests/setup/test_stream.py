# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run for minutes: their lines, their errors, their end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from flent_aqm.base.errors import CommandFailed, ToolMissing
from flent_aqm.setup.stream import run_watched


def test_run_watched_gives_lines_and_keeps_a_log(tmp_path: Path) -> None:
    """Both streams arrive, line by line and in the log."""
    lines: list[str] = []
    log = tmp_path / "log"
    run_watched(["sh", "-c", "echo one; echo two >&2"], lines.append, log=log)
    assert lines == ["one", "two"]
    assert log.read_text() == "one\ntwo\n"


def test_run_watched_when_the_program_fails_has_its_last_words() -> None:
    """The error shows what the program said."""
    with pytest.raises(CommandFailed, match="status 3: no rule") as caught:
        run_watched(["sh", "-c", "echo no rule; exit 3"], lambda _line: None)
    assert caught.value.returncode == 3


def test_run_watched_when_the_program_is_absent_says_so() -> None:
    """No traceback for a missing program."""
    with pytest.raises(ToolMissing, match="no-such-program is not installed"):
        run_watched(["no-such-program"], lambda _line: None)


def test_run_watched_when_the_program_may_not_be_executed_says_so(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(ToolMissing, match="can't be started: Permission denied; give it the right"):
        run_watched([program], lambda _line: None)


def test_run_watched_when_interrupted_ends_the_whole_group() -> None:
    """^C during a build leaves no compiler running."""
    pids: list[int] = []

    def interrupt(line: str) -> None:
        pids.extend(map(int, line.split()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_watched(["sh", "-c", "sleep 600 & echo $$ $!; wait"], interrupt)
    assert len(pids) == 2
    # killed is not yet gone; what isn't killed sleeps for ten minutes
    deadline_s = time.monotonic() + 60
    while any(map(_runs, pids)) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert [pid for pid in pids if _runs(pid)] == []


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
