# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where this package starts short-lived programs.

Commands are lists, never strings for a shell. Flent's own runners and the lab
(which lives long and is supervised) start theirs themselves.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, ToolMissing


def find_program(name: str) -> Path | None:
    """Return the path of a program, or None. Looks in sbin too, which PATH often lacks."""
    found = shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")
    return Path(found) if found else None


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
    error or runs past timeout_s.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, cwd=cwd, env=env, input=stdin, timeout=timeout_s,
            capture_output=True, encoding="utf-8", errors="replace", check=False,
        )
    except FileNotFoundError:
        raise ToolMissing(f"{words[0]} is not installed; see flent-aqm doctor") from None
    except PermissionError as error:
        # such as a program with capabilities that a container doesn't grant
        raise ToolMissing(f"{words[0]} can't be run here: {error.strerror}") from None
    except subprocess.TimeoutExpired as late:
        text = late.stderr.decode("utf-8", "replace") if late.stderr else ""
        raise CommandFailed(words, -9, "", f"{text}still running after {timeout_s:g} s") from None
    if done.returncode:
        raise CommandFailed(words, done.returncode, done.stdout, done.stderr)
    return done.stdout
