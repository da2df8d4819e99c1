# SPDX-License-Identifier: GPL-3.0-or-later
"""What a terminal shows while one waits, and that nothing else sees it."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.waiting import announced, with_progress
from tests.files import ROOT


class Terminal(io.StringIO):
    """What is written to it stays."""

    def isatty(self) -> bool:
        return True


def test_terminal_tells_what_is_done_and_forgets_it() -> None:
    """Before each thing is made; the line is gone when its user has it, and after a fault."""
    shown = Terminal()
    seen = [(one, shown.getvalue().rsplit("\r")[-1])
            for one in with_progress(iter("ab"), 2, "reading", shown)]
    assert seen == [("a", "\x1b[K"), ("b", "\x1b[K")]
    assert "reading: 0 of 2 ..." in shown.getvalue()
    assert "reading: 1 of 2 ..." in shown.getvalue()
    with pytest.raises(ZeroDivisionError), announced("dividing", shown):
        raise ZeroDivisionError
    assert shown.getvalue().endswith("dividing ...\r\x1b[K")


def test_file_gets_nothing() -> None:
    """Nor does a log."""
    shown = io.StringIO()
    assert list(with_progress("ab", 2, "reading", shown)) == ["a", "b"]
    assert shown.getvalue() == ""


@pytest.mark.parametrize(("words", "line"), [
    (("score", "tests/golden/batches/quick"), "reading data files: 7 of 8 ..."),
    (("share", "tests/golden/runs/stock_ping.flent.gz", "-o"), "reading data files: 0 of 1 ..."),
    (("report", "tests/golden/batches/quick", "-o"), "making the page ..."),
    (("doctor",), "looking for programs ...")], ids=lambda one: str(one[0]))
def test_command_on_a_terminal_tells_what_it_waits_for(
    words: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    """Commands that take seconds with many files, or on a slow machine."""
    ours, its = pty.openpty()
    output = {"share": "shared", "report": "r.html"}.get(words[0])
    with subprocess.Popen(
            [sys.executable, "-m", "flent_aqm.cli", *words,
             *([tmp_path / output] if output else [])],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=its) as running:
        os.close(its)
        got = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the last one has closed it
                break
            if not part:
                break
            got += part
        running.wait()
    os.close(ours)
    assert line in got.decode()
