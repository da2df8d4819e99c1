# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the batch key `jobs`: how many runs are made side by side."""

from __future__ import annotations

import os

from flent_aqm.base.errors import ConfigError

MAX_JOBS = 1024


def parse_jobs(value: object, *, real_time: bool = False) -> int:
    """Return the number of runs to make side by side.

    The default is the number of processors that this process may use, but 1 on a testbed in real
    time, because runs would disturb each other.

    Args:
        value: of the batch key `jobs`; None or "" for the default.
        real_time: a testbed of the sweep runs in real time.

    Raises ConfigError if the value is no number from 1 to MAX_JOBS, and if it is more than 1 in
    real time.
    """
    if value is None or value == "":
        return 1 if real_time else len(os.sched_getaffinity(0))
    text = str(value)
    if not text.isdigit() or not 1 <= int(text) <= MAX_JOBS:
        raise ConfigError(f"jobs: {text!r} is not a whole number from 1 to {MAX_JOBS}")
    if real_time and int(text) > 1:
        raise ConfigError(f"jobs: {text} runs side by side would disturb each other in real time; "
                          "leave jobs out, or use testbed virtual")
    return int(text)
