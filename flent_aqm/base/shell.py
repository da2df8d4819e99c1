# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs short-lived programs, from lists of words and never through a shell.

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

from flent_aqm.base.errors import CommandFailed, ToolMissing, cause_of
from flent_aqm.base.words import last_line

# Limit of a program's output: an ssh peer or a tool could print without end, and fill the memory.
# The longest legitimate output, the list of a Git repository's files, has 10 MiB.
MOST_BYTES = 100 << 20
_PIPE_BYTES = 1 << 16
# What is told of a program that find_program() doesn't find, after "is" or "which is".
NOT_FOUND = "not installed, not on PATH, or this user may not execute it"


def find_program(name: str) -> Path | None:
    """Return the path of a program on PATH or in the sbin folders, None if there is none.

    name: name of the program.
    """
    path = shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")
    return Path(path) if path else None


def find_on_path(name: str, *more: str) -> Path | None:
    """Return the path of a file on PATH that need not be executable, such as a script for a
    browser. Links are resolved. None if there is none.

    Args:
        name: the file's name. It is looked for in the folders of PATH, where the lab puts the files
            that a run needs.
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
    stdin: bytes = b"",
) -> str:
    """Run a program and return its standard output as text, in which lines end with a line feed.
    Bytes that aren't UTF-8 are replaced.

    The program counts as running until it has ended, and all processes that it leaves behind have
    closed its standard output and error. Only the program itself is killed.

    Args:
        argv: the program and its arguments.
        timeout_s: the program is killed after this time, in s.
        cwd: working folder (default: that of this process).
        env: all environment variables (default: those of this process).
        stdin: bytes that the program reads from its standard input.

    Raises:
        ToolMissing: if the program isn't there or can't be started, or can't be started in `cwd`.
        OSError: if it can't be started for another reason, such as lack of memory or arguments that
            are too long.
        CommandFailed: if it ends with an error, runs longer than timeout_s, or prints more than
            MOST_BYTES, both streams together.
    """
    words = [str(word) for word in argv]
    until_s = time.monotonic() + timeout_s
    try:
        process = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise start_error(error, words, cwd, env) from None
    with process:
        try:
            out, err = _exchange(process, stdin, timeout_s, until_s)
            status = process.wait(max(0.0, until_s - time.monotonic()))
        except _LimitExceeded as error:
            # One that has ended by itself was not killed.
            ended = process.poll()
            process.kill()
            raise CommandFailed(words, -9 if ended is None else ended, "", str(error)) from None
        except subprocess.TimeoutExpired:
            process.kill()
            raise CommandFailed(words, -9, "", f"still running after {timeout_s:g} s, so it was "
                                               "killed") from None
        except BaseException:
            process.kill()
            raise
    if status:
        raise CommandFailed(words, status, out, err)
    return out


def start_error(error: OSError, words: Sequence[str], cwd: Path | None,
                env: Mapping[str, str] | None) -> ToolMissing | OSError:
    """Return the error to raise for a program that could not be started: a ToolMissing that names
    the cause if the program is not there, may not be executed or is damaged, or its working folder
    can't be used. For any other cause, such as lack of memory, `error` itself.

    Args:
        error: the error of Popen.
        words: the program and its arguments.
        cwd: the working folder that Popen was given.
        env: the environment variables that Popen was given.
    """
    name = words[0]
    if cwd is not None and str(error.filename) == str(cwd):
        if isinstance(error, FileNotFoundError):
            return ToolMissing(f"{name} can't be started in {cwd}, because there is no such "
                               "folder; create it")
        return ToolMissing(f"{name} can't be started in {cwd}: {cause_of(error)}; make it a folder "
                           "that this user may enter, or remove it if it is in the cache")
    if os.sep in name:
        path = str(Path(cwd or "", name))
        is_there = isinstance(error, PermissionError) or os.path.isfile(path)
    else:
        # PATH may have a folder that this user may not look into: that is a PermissionError, too.
        found = shutil.which(name, os.F_OK, os.pathsep.join(os.get_exec_path(env)))
        path, is_there = found or name, found is not None
    if error.errno == errno.ENOEXEC:
        return ToolMissing(f"{path} can't be started: {cause_of(error)}; it is damaged, built for "
                           "another machine, or a script without a first line such as #!/bin/sh; "
                           "mend or remove it, or install the program again, see flent-aqm doctor")
    if not isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError):
        return error
    if not is_there:
        or_path = "" if os.sep in name else ", or not on PATH"
        return ToolMissing(f"{path} is not installed{or_path}; see flent-aqm doctor")
    if os.path.isdir(path):
        return ToolMissing(f"{path} can't be started: it is a folder; expected a program")
    if isinstance(error, PermissionError) and not os.path.lexists(path):
        return ToolMissing(f"{path} can't be started: {cause_of(error)}; let this user enter all "
                           "folders of its path, or install it elsewhere")
    if isinstance(error, PermissionError):
        # such as a program with capabilities that a container doesn't grant
        return ToolMissing(f"{path} can't be started: {cause_of(error)}; give it the right to be "
                           "executed, or install it again")
    return ToolMissing(f"{path} can't be started: the interpreter or loader that it needs is "
                       "missing; install the program again")


class _LimitExceeded(Exception):
    """A program ran too long or printed too much. The text is the reason, after its standard error
    if it ran too long."""


def _exchange(process: subprocess.Popen[bytes], unwritten: bytes, timeout_s: float,
              until_s: float) -> tuple[str, str]:
    """Write to a process's standard input, close it, and return its standard output and error as
    texts (_decode()) once it has closed both, and has read all or reads no further.

    Args:
        process: the process, with pipes for all three streams.
        unwritten: bytes for its standard input.
        timeout_s: the limit in s, for the message.
        until_s: the limit as a time on the monotonic clock.

    Raises _LimitExceeded if that takes too long, or if the process prints more than MOST_BYTES,
    both streams together. The process is then left running.
    """
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
                        unwritten = unwritten[os.write(stdin, unwritten[:_PIPE_BYTES]):]
                        if unwritten:
                            continue
                    process.stdin.close()
                elif part := os.read(key.fd, _PIPE_BYTES):
                    output[key.fd] += part
                    continue
                waiting.unregister(key.fd)
            if not ready or time.monotonic() > until_s:
                why = (f"still running after {timeout_s:g} s, so it was killed"
                       if process.poll() is None else "a process that it left behind still had "
                       f"its output open after {timeout_s:g} s")
                told = _decode(output[process.stderr.fileno()]).rstrip()
                last = last_line(told)
                # The reason stands on a line of its own, also after a line without an end.
                raise _LimitExceeded(
                    f"{told}\n{why}" + (f"; its last line: {last}" if last else ""))
            if sum(map(len, output.values())) > MOST_BYTES:
                raise _LimitExceeded(f"stopped, because it printed more than {MOST_BYTES >> 20} "
                                     "MiB")
    out, err = map(_decode, output.values())
    return out, err


def _decode(output: bytearray) -> str:
    """Return output as text with \\n as line ends. Bytes that aren't UTF-8 are replaced."""
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
