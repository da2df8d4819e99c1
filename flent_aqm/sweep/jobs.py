# SPDX-License-Identifier: GPL-3.0-or-later
"""How many runs go side by side."""

from __future__ import annotations

import os

from flent_aqm.base.errors import ConfigError

MAX_JOBS = 1024


def parse_jobs(value: object, *, real_time: bool = False) -> int:
    """Return the batch key `jobs`; without one, the number of cores that we may use, or, where a
    testbed is in real time, one: runs would disturb each other. Raises ConfigError."""
    if value is None or value == "":
        return 1 if real_time else len(os.sched_getaffinity(0))
    text = str(value)
    if not text.isdigit() or not 1 <= int(text) <= MAX_JOBS:
        raise ConfigError(f"jobs: {text!r} is not a whole number from 1 to {MAX_JOBS}")
    if real_time and int(text) > 1:
        raise ConfigError(f"jobs: {text} runs side by side would disturb each other in real time; "
                          "leave jobs out, or use testbed virtual")
    return int(text)
