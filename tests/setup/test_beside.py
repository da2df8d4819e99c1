# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of set-up beside the others."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from flent_aqm.base.errors import SetupError, ToolMissing
from flent_aqm.setup.beside import beside
from flent_aqm.setup.stream import run_watched


def fail_with(error: Exception) -> None:
    """Raise it."""
    raise error


def wait_for(fifo: Path) -> None:
    """Return once somebody writes into it."""
    assert fifo.read_text() == "go on"


def test_block_runs_while_the_other_part_does(tmp_path: Path) -> None:
    """Each waits for the other once: one after the other would wait for ever."""
    here, there = tmp_path / "here", tmp_path / "there"
    os.mkfifo(here)
    os.mkfifo(there)

    def other() -> None:
        wait_for(there)
        here.write_text("go on")

    with beside(other):
        there.write_text("go on")
        wait_for(here)


def test_end_of_the_block_waits_for_the_other_part(tmp_path: Path) -> None:
    """What it made is there afterwards."""
    with beside(lambda: run_watched(["sh", "-c", f"sleep 0.2; touch {tmp_path}/made"], print)):
        pass
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize(("error", "kind", "words"), [
    (ToolMissing("no cargo; run: make packages"), SetupError, "^no cargo; run: make packages$"),
    (OSError(errno.ENOSPC, "No space left on device", "/x"), OSError, "No space left.*'/x'"),
    (ZeroDivisionError("never"), RuntimeError, r"(?s)Traceback.*ZeroDivisionError: never"),
])
def test_fault_of_the_other_part_comes_at_the_end(
        error: Exception, kind: type[Exception], words: str) -> None:
    """Once the block has ended well."""
    ended = []
    with pytest.raises(kind, match=words), beside(lambda: fail_with(error)):
        ended.append(True)
    assert ended


def test_block_that_fails_ends_the_other_part_with_its_programs(tmp_path: Path) -> None:
    """A compiler would go on for minutes."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    program = 0

    def tell(line: str) -> None:
        fifo.write_text(line)

    def fail_beside(script: str) -> None:
        nonlocal program
        with beside(lambda: run_watched(["sh", "-c", script], tell)):
            program = int(fifo.read_text())
            raise SetupError("the block's")

    with pytest.raises(SetupError, match="the block's"):
        fail_beside("echo $$; exec sleep 1000")
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)


@pytest.mark.parametrize(("number", "end"), [
    (signal.SIGKILL, "signal 9"), (signal.SIGTERM, "status 0")])
def test_other_part_that_is_killed_is_told_of(number: signal.Signals, end: str) -> None:
    """Out of memory, for one."""
    with pytest.raises(SetupError, match=f"ended with {end} before its work was done: was it "), \
            beside(lambda: os.kill(os.getpid(), number)):
        pass
