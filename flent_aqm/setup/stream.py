# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a program that takes minutes, and processes its output line by line."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from flent_aqm.base.errors import CommandFailed
from flent_aqm.base.shell import start_error

# Number of the last lines of output that are kept for an error message.
KEPT_LINES = 40
# Seconds that make has to remove half-written files.
GRACE_S = 3


def run_watched(
    argv: Sequence[str | Path],
    on_line: Callable[[str], None],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> None:
    """Run a program until it ends, and call on_line with each line of its output (both streams).

    If the caller is interrupted, or on_line raises an exception, the program and all its children
    are ended.

    Args:
        argv: the command.
        on_line: called with each line, without the line break.
        cwd: working directory.
        env: environment variables, by default the caller's.
        log: file for the whole output, which replaces an older one. None keeps none.

    Raises:
        ToolMissing: if the program isn't there or can't be started.
        OSError: if this machine can't start any program now, such as for lack of memory, or if the
            log can't be written.
        CommandFailed: if it exits with an error, with its last KEPT_LINES lines as stderr.
    """
    words = [str(word) for word in argv]
    try:
        process = subprocess.Popen(
            words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise start_error(error, words, cwd, env) from None
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
        # The program has its own process group, so compilers that make has started end with it.
        # SIGTERM comes first, because make then removes half-written files.
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
