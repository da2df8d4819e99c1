# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the version that a program prints."""

from __future__ import annotations

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
