# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that Flent gathers its metadata with, all by one shell.

By itself Flent starts a shell for each, of which there are thirteen before a test: in the lab
each is a look at the clock, whose time the test begins at.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping
from typing import Any

# Behind each command's output: its exit status between two of these, which no text has in it.
_MARK = b"\0"


class OneShell:
    """Stands in for an instance of Flent's CommandRunner, which keeps commands for others.

    Called with a command for a shell, it returns the output, errors in it, without blanks at
    its ends; None when the command fails or takes too long.
    """

    def __init__(self, stock: Any, timeout_s: float = 5.0) -> None:
        self._stock = stock
        self._timeout_s = timeout_s
        self._shell: subprocess.Popen[bytes] | None = None

    def set_hostname(self, hostname: str | None) -> None:
        """The machine on which the next commands run; None for this one."""
        self._stock.set_hostname(hostname)

    def __call__(self, command: str) -> str | None:
        if self._stock.hostname:
            output: str | None = self._stock(command)
            return output
        self._shell = self._shell or _start(self._stock.env)
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"({command}\n) </dev/null; printf '\\0%d\\0' $?\n".encode())
        self._shell.stdin.flush()
        text = self._answer(self._shell)
        if text is None:
            self.close()
            return None
        output_bytes, status, _ = text.rsplit(_MARK, 2)
        return output_bytes.decode().strip() if status == b"0" else None

    def close(self) -> None:
        """End the shell; the next command starts another one."""
        if self._shell is not None:
            self._shell.kill()
            for pipe in (self._shell.stdin, self._shell.stdout):
                if pipe is not None:
                    pipe.close()
            self._shell.wait()
            self._shell = None

    def _answer(self, shell: subprocess.Popen[bytes]) -> bytes | None:
        """Return all that is said up to the end's mark; None if that doesn't come in time."""
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


def _start(env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, bufsize=0)
