# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the version that a program prints."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.base.shell import run


def version_of(argv: Sequence[str | Path], pattern: str) -> tuple[int, int]:
    """Run a command and return the major and minor version that its standard output names first.
    (0, 0) if the program isn't there, fails or takes too long, or if nothing matches.

    Args:
        argv: the command.
        pattern: regular expression with a group for each of the two numbers.
    """
    try:
        match = re.search(pattern, run(argv))
    except AqmError:
        return (0, 0)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def why_no_version(argv: Sequence[str | Path]) -> str:
    """Return the reason, as text for a message, why version_of() found no version: that the program
    may not be executed, the error of running it, or that it prints none of the expected form.

    argv: the command, with the path of the program.
    """
    if os.path.isfile(argv[0]) and not os.access(argv[0], os.X_OK):
        return f"{argv[0]} may not be executed: is its file system mounted noexec?"
    try:
        run(argv)
    except AqmError as error:
        return str(error)
    return "it prints no version of the expected form"
