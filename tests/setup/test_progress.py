# SPDX-License-Identifier: GPL-3.0-or-later
"""What set-up shows of itself."""

from __future__ import annotations

import io

from flent_aqm.setup.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Always."""
        return True


def test_progress_when_on_a_terminal_moves_one_line() -> None:
    """Counting overwrites the line, and so does a new step, of another part even."""
    screen = Terminal()
    progress = Progress("kernel", screen)
    progress.count("compiling", 50, 200)
    progress.count("compiling", 100, 200)
    Progress("client", screen).step("linking")
    assert screen.getvalue() == (
        "\rkernel: compiling  25 % (50 of about 200)\x1b[K"
        "\rkernel: compiling  50 % (100 of about 200)\x1b[K\rclient: linking\x1b[K\n")


def test_progress_when_in_a_log_does_not_fill_it() -> None:
    """A thousand compiled files aren't a thousand lines."""
    log = io.StringIO()
    progress = Progress("kernel", log)
    progress.step("compiling")
    for done in range(1000):
        progress.count("compiling", done, 1000)
    assert log.getvalue().count("\n") < 10


def test_progress_when_there_is_more_work_than_expected_stays_below_100() -> None:
    """An estimate that was too low doesn't claim the end, or more."""
    screen = Terminal()
    Progress("kernel", screen).count("compiling", 300, 200)
    assert "compiling, nearly done (300)" in screen.getvalue()
    assert "%" not in screen.getvalue()
