# SPDX-License-Identifier: GPL-3.0-or-later
"""The modem's links that play a schedule: files and settings for the guest, and what the kernel
has counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from flent_aqm.spec.link.plan import link_plans
from flent_aqm.spec.scenario import Scenario

FOLDER = "link"
# The modem's device that sends each way.
_DEVICES = {"down": "lan", "up": "wan"}
_COUNTER = re.compile(r"([a-z_]+)=([0-9]{1,20})")


def links(folder: Path, scenario: Scenario, in_guest: str) -> dict[str, str]:
    """Write a scenario's schedules into the lab's folder, and return the guest's variables for
    them; none without. Raises ConfigError for a trace that can't be played."""
    found = {}
    for way, plan in link_plans(scenario).items():
        if plan.schedule is not None:
            (folder / FOLDER).mkdir(exist_ok=True)
            (folder / FOLDER / way).write_bytes(plan.schedule.packed())
        found[f"LINK_{way.upper()}"] = plan.line(_DEVICES[way], f"{in_guest}/{FOLDER}/{way}")
    return found


def report(scenario: Scenario, counted: str) -> dict[str, Mapping[str, object]]:
    """Return for either direction what the link was, and what it did, for the data file.
    counted: what the kernel said in the end; it was written inside, so anything may be in it."""
    lines = {words[0]: words[1:] for words in map(str.split, counted.splitlines()) if words}
    return {way: {**plan.about,
                  "counters": counters(lines.get(_DEVICES[way], []))}
            for way, plan in link_plans(scenario).items()}


def counters(words: Iterable[str]) -> dict[str, int]:
    """Return the numbers of words such as `packets=7`, and leave out any others."""
    return {pair[1]: int(pair[2]) for pair in map(_COUNTER.fullmatch, words) if pair}
