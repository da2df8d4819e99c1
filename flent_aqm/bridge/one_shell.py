# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the commands that gather Flent's metadata in one shell.

Flent starts a shell for each of thirteen commands before a test. In the lab, each start takes time
on the clock that decides when the test begins.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping
from typing import Any

# Written before and after the exit status that follows each command's output. No text contains it.
_MARK = b"\0"


class OneShell:
    """An object in place of Flent's CommandRunner. It runs commands for this machine in one shell,
    and leaves commands for other machines to the CommandRunner.

    Called with a shell command, it returns the text that the command wrote to standard output and
    standard error, without white space at its ends. It returns None if the command fails. If the
    command takes longer than `timeout_s`, or the shell ends, it closes the shell and returns None.
    The first command, and the first after close(), starts a shell. The user of the object calls
    close() in the end.

    Args:
        stock: Flent's CommandRunner.
        timeout_s: time limit in s of each command on this machine.
    """

    def __init__(self, stock: Any, timeout_s: float = 5.0) -> None:
        self._stock = stock
        self._timeout_s = timeout_s
        self._shell: subprocess.Popen[bytes] | None = None

    def set_hostname(self, hostname: str | None) -> None:
        """Set the machine on which the next commands run, None for this machine."""
        self._stock.set_hostname(hostname)

    def __call__(self, command: str) -> str | None:
        if self._stock.hostname:
            output: str | None = self._stock(command)
            return output
        self._shell = self._shell or _start_shell(self._stock.env)
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"({command}\n) </dev/null; printf '\\0%d\\0' $?\n".encode())
        self._shell.stdin.flush()
        text = self._read_answer(self._shell)
        if text is None:
            self.close()
            return None
        output_bytes, status, _ = text.rsplit(_MARK, 2)
        return output_bytes.decode(errors="replace").strip() if status == b"0" else None

    def close(self) -> None:
        """Kill the shell, if it runs, but not a command that still runs in it. The next command
        starts another shell."""
        if self._shell is not None:
            self._shell.kill()
            for pipe in (self._shell.stdin, self._shell.stdout):
                if pipe is not None:
                    pipe.close()
            self._shell.wait()
            self._shell = None

    def _read_answer(self, shell: subprocess.Popen[bytes]) -> bytes | None:
        """Read until a command has ended, and return all that was read: its output, _MARK, its exit
        status in digits, and _MARK. None if that takes longer than the time limit, or if the shell
        has ended."""
        assert shell.stdout is not None
        end_s = time.monotonic() + self._timeout_s
        text = b""
        while not (text.endswith(_MARK) and text.count(_MARK) >= 2):
            if not select.select([shell.stdout], [], [], max(0.0, end_s - time.monotonic()))[0]:
                return None
            more = os.read(shell.stdout.fileno(), 1 << 16)
            if not more:
                return None
            text += more
        return text


def _start_shell(env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a shell that reads commands from a pipe, and return it. Its standard output is a pipe,
    too, and gets its errors. The caller ends the shell and closes the pipes.

    env: all environment variables.
    """
    return subprocess.Popen(["sh"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, bufsize=0)
