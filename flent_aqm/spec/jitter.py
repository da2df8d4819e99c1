# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes start jitter: a random delay of the load, which real hosts get from their schedulers.

In the lab everything starts on the nanosecond, so two repetitions would differ in ports and
sequence numbers only. Therefore the load and cross traffic start later by times that depend on the
run's seed.
"""

from __future__ import annotations

import hashlib
import os

from flent_aqm.base import environment
from flent_aqm.spec.scenario import Scenario

# Upper bound. It is at least the interval of each probe (10 and 200 ms), so that any phase between
# load and probes can occur. It is small compared with the second that a load needs to fill a queue.
MOST_MS = 200


def jitter_ms(seed: int, start_name: str) -> float:
    """Return a start delay from 0 to below MOST_MS, in ms with steps of 1 us. It is evenly
    distributed, but always the same for the same arguments.

    Args:
        seed: seed of the run.
        start_name: name of what is started, such as the load or cross traffic. Each name has a
            delay of its own.
    """
    digest = hashlib.sha256(f"{seed} {start_name}".encode()).digest()
    return int.from_bytes(digest[:8]) % (MOST_MS * 1000) / 1000


def jitter_of_this_run_ms(start_name: str) -> float | None:
    """Return the delay in ms of a start in the run that this process belongs to. None outside of
    the lab or of a run, or if the run has no seed. Raises ConfigError if the environment variable
    with the scenario isn't valid.

    start_name: name of what is started, as for jitter_ms().
    """
    text = os.environ.get(environment.SCENARIO)
    # On real hosts, start times vary anyway.
    in_lab = os.environ.get(environment.IN_LAB)
    seed = Scenario.from_json(text).lab.seed if text and in_lab else None
    return None if seed is None else jitter_ms(seed, start_name)
