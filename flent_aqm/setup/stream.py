# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a program that takes minutes, line by line."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, ToolMissing

# What is kept of the output for the message of a failure.
KEPT_LINES = 40
# How long make has to remove what is half written.
GRACE_S = 3


def run_watched(
    argv: Sequence[str | Path],
    on_line: Callable[[str], None],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> None:
    """Run a program and give each line of its output (both streams) to on_line.

    log: a file that receives the whole output. When the caller is interrupted, or
    on_line raises, the program and all its children are ended. Raises ToolMissing
    when it isn't there, CommandFailed with its last lines when it ends with an error.
    """
    words = [str(word) for word in argv]
    try:
        process = subprocess.Popen(
            words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ToolMissing(f"{words[0]} is not installed; see flent-aqm doctor") from None
    last: deque[str] = deque(maxlen=KEPT_LINES)
    try:
        assert process.stdout is not None
        with process, open(log or os.devnull, "w", buffering=1,
                           encoding="utf-8") as copy:
            for line in process.stdout:
                copy.write(line)
                last.append(line)
                on_line(line.rstrip("\n"))
    except BaseException:
        # Its own process group: compilers that make has started end with it. make is asked
        # first, as it then removes what they were writing.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode:
        raise CommandFailed(words, process.returncode, "", "".join(last))
