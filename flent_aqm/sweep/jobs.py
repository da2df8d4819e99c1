# SPDX-License-Identifier: GPL-3.0-or-later
"""How many runs go side by side."""

from __future__ import annotations

import os

from flent_aqm.errors import ConfigError

MAX_JOBS = 1024


def parse_jobs(value: object) -> int:
    """The batch key `jobs`; without one, the number of cores that we may use."""
    if value is None or value == "":
        return len(os.sched_getaffinity(0))
    text = str(value)
    if not text.isdigit() or not 1 <= int(text) <= MAX_JOBS:
        raise ConfigError(f"jobs: {text!r} is not a whole number from 1 to {MAX_JOBS}")
    return int(text)
