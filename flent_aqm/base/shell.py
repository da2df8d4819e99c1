# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts short-lived programs, from lists of words and never through a shell.

The lab and the runners of tests start their programs themselves, because those run for long and are
watched meanwhile.
"""

from __future__ import annotations

import errno
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, ToolMissing

# Limit of a program's output: an ssh peer or a tool could print without end, and fill the memory.
# The longest legitimate output, the list of a Git repository's files, has 10 MiB.
MOST_BYTES = 100 << 20
_PIPE_BYTES = 1 << 16


def find_program(name: str) -> Path | None:
    """Return the path of a program on PATH or in the sbin folders, or None."""
    path = shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")
    return Path(path) if path else None


def find_on_path(name: str, *more: str) -> Path | None:
    """Return the path of a file that is not executable, such as a script for a browser, or None.

    Args:
        name: the file's name. It is looked for in the folders of PATH, where the lab puts the
            files that a run needs.
        more: folders that are searched after those of PATH.
    """
    for folder in (*os.get_exec_path(), *more):
        if os.path.isfile(path := Path(folder) / name):
            return path.resolve()
    return None


def run(
    argv: Sequence[str | Path],
    *,
    timeout_s: float = 60,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
) -> str:
    """Run a program and return its standard output.

    Args:
        argv: the program and its arguments.
        timeout_s: after so many seconds the program is killed.
        cwd, env: its working folder and environment (default: those of this process).
        stdin: text that it reads from its standard input.

    Raises:
        ToolMissing: if the program isn't there or may not be run.
        CommandFailed: if it ends with an error, runs longer than timeout_s, or prints more than
            MOST_BYTES.
    """
    words = [str(word) for word in argv]
    until_s = time.monotonic() + timeout_s
    try:
        process = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        if cwd is not None and not os.path.isdir(cwd):
            raise ToolMissing(f"{words[0]} can't be started in {cwd}, because there is no such "
                              "folder") from None
        if shutil.which(words[0]):
            raise ToolMissing(f"{words[0]} can't be started: the interpreter or loader that it "
                              "needs is missing; install the program again") from None
        raise ToolMissing(f"{words[0]} is not installed; see flent-aqm doctor") from None
    except PermissionError as error:
        # such as a program with capabilities that a container doesn't grant
        raise ToolMissing(f"{words[0]} can't be started: {error.strerror}; give it the "
                          "right to be executed, or install it again") from None
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        raise ToolMissing(f"{words[0]} is damaged, or built for another machine: "
                          f"{error.strerror}; see "
                          "flent-aqm doctor") from None
    with process:
        try:
            out, err = _exchange(process, stdin.encode(), timeout_s, until_s)
            status = process.wait(max(0.0, until_s - time.monotonic()))
        except _LimitExceeded as error:
            process.kill()
            raise CommandFailed(words, -9, "", str(error)) from None
        except subprocess.TimeoutExpired:
            process.kill()
            raise CommandFailed(words, -9, "", f"still running after {timeout_s:g} s") from None
        except BaseException:
            process.kill()
            raise
    if status:
        raise CommandFailed(words, status, out, err)
    return out


class _LimitExceeded(Exception):
    """A program ran too long or printed too much. The text is its standard error and the reason."""


def _exchange(process: subprocess.Popen[bytes], left: bytes, timeout_s: float,
              until_s: float) -> tuple[str, str]:
    """Write `left` to a process's standard input; return its standard output and error once it has
    closed both. Raises _LimitExceeded."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    stdin = process.stdin.fileno()
    os.set_blocking(stdin, False)
    with selectors.DefaultSelector() as waiting:
        for descriptor in output:
            waiting.register(descriptor, selectors.EVENT_READ)
        waiting.register(stdin, selectors.EVENT_WRITE)
        while waiting.get_map():
            ready = waiting.select(max(0.0, until_s - time.monotonic()))
            for key, _ in ready:
                if key.fd == stdin:
                    with suppress(BrokenPipeError):  # it reads no further
                        left = left[os.write(stdin, left[:_PIPE_BYTES]):]
                        if left:
                            continue
                    process.stdin.close()
                elif part := os.read(key.fd, _PIPE_BYTES):
                    output[key.fd] += part
                    continue
                waiting.unregister(key.fd)
            if not ready or time.monotonic() > until_s:
                raise _LimitExceeded(f"{_text(output[process.stderr.fileno()])}still running after "
                               f"{timeout_s:g} s")
            if sum(map(len, output.values())) > MOST_BYTES:
                raise _LimitExceeded(f"stopped, because it printed more than {MOST_BYTES >> 20} "
                                     "MiB")
    out, err = map(_text, output.values())
    return out, err


def _text(output: bytearray) -> str:
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
