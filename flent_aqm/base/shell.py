# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where this package starts short-lived programs.

Commands are lists, never strings for a shell. Flent's own runners and the lab
(which lives long and is supervised) start theirs themselves.
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

# The longest that is asked for, the list of a Git repository's files, has ten.
MOST_BYTES = 100 << 20
_PIPE_BYTES = 1 << 16


def find_program(name: str) -> Path | None:
    """Return the path of a program, or None. Looks in sbin too, which PATH often lacks."""
    path = shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")
    return Path(path) if path else None


def find_on_path(name: str, *more: str) -> Path | None:
    """Return a file that is no program, such as a script for a browser, where the lab puts what
    runs need: in a folder of PATH. more: folders after these. None where none has it."""
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
    """Run a program and return its standard output as text.

    Raises ToolMissing when it isn't there or may not be run, CommandFailed when it ends with an
    error, runs past timeout_s, or prints more than MOST_BYTES.
    """
    words = [str(word) for word in argv]
    until_s = time.monotonic() + timeout_s
    try:
        process = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise ToolMissing(f"{words[0]} is not installed; see flent-aqm doctor") from None
    except PermissionError as error:
        # such as a program with capabilities that a container doesn't grant
        raise ToolMissing(f"{words[0]} can't be run here: {error.strerror}") from None
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        raise ToolMissing(f"{words[0]} is damaged, or of another machine: {error.strerror}; see "
                          "flent-aqm doctor") from None
    with process:
        try:
            out, err = _exchange(process, stdin.encode(), timeout_s, until_s)
            status = process.wait(max(0.0, until_s - time.monotonic()))
        except _Unended as error:
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


class _Unended(Exception):
    """A program says too much, or for too long; text: why, behind its complaints so far."""


def _exchange(process: subprocess.Popen[bytes], left: bytes, timeout_s: float,
              until_s: float) -> tuple[str, str]:
    """Tell a process `left` and return what it prints to its standard output and error, until
    it closes them. Raises _Unended."""
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
                raise _Unended(f"{_text(output[process.stderr.fileno()])}still running after "
                               f"{timeout_s:g} s")
            if sum(map(len, output.values())) > MOST_BYTES:
                raise _Unended(f"prints more than {MOST_BYTES >> 20} MiB")
    out, err = map(_text, output.values())
    return out, err


def _text(output: bytearray) -> str:
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
