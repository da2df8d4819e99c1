# SPDX-License-Identifier: GPL-3.0-or-later
"""Start jitter: what repetitions on real hosts get from their schedulers.

In the lab everything starts on the nanosecond, and two repetitions would differ in ports
and sequence numbers only. So the load, and cross traffic, start later by a time that
follows from the run's seed.
"""

from __future__ import annotations

import hashlib
import os

from flent_aqm.base import environment
from flent_aqm.spec.scenario import Scenario

# Wider than the interval of each probe (10 and 200 ms), so that any phase between load and
# probes can occur; small against the second that a load takes to fill a queue.
MOST_MS = 200


def jitter_ms(seed: int, what: str) -> float:
    """0 up to MOST_MS, evenly spread, in steps of a microsecond. what: which of the starts."""
    digest = hashlib.sha256(f"{seed} {what}".encode()).digest()
    return int.from_bytes(digest[:8]) % (MOST_MS * 1000) / 1000


def jitter_of_this_run_ms(what: str) -> float | None:
    """Return that of the run that this process is part of; None outside of the lab."""
    text = os.environ.get(environment.SCENARIO)
    # On real hosts it comes by itself.
    in_lab = os.environ.get(environment.IN_LAB)
    seed = Scenario.from_json(text).lab.seed if text and in_lab else None
    return None if seed is None else jitter_ms(seed, what)
