# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of programs, as they print them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.base.shell import run


def version_of(argv: Sequence[str | Path], pattern: str) -> tuple[int, int]:
    """Run argv and return a major and a minor version: the two groups of pattern, a regular
    expression, in what it prints. (0, 0) if it doesn't run or doesn't say."""
    try:
        match = re.search(pattern, run(argv))
    except AqmError:
        return (0, 0)
    return (int(match[1]), int(match[2])) if match else (0, 0)
