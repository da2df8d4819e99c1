# SPDX-License-Identifier: GPL-3.0-or-later
"""Path model "links": writes the guest's schedules and settings for the modem's devices, and
reports the kernel's counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flent_aqm.lab.path_model import counters
from flent_aqm.parts.links.plan import WAYS, link_plans, refuse_link_that_ends
from flent_aqm.parts.links.seeded import parse_seeded
from flent_aqm.spec.scenario import Scenario

_FOLDER = "link"
# Direction -> the modem's device that sends in it.
_DEVICES = {"down": "lan", "up": "wan"}


class LinkModel:
    """Links of the modem that play a schedule. The methods are documented in lab/path_model.py."""

    name = "links"
    script = Path(__file__).parent / "guest" / "link.sh"

    def write(self, folder: Path, scenario: Scenario, in_guest: str) -> dict[str, str]:
        """Write the packed schedules to `folder`/link, and return the guest's shell variables:
        MODEM (the script), LINK_DOWN and LINK_UP (lines for the kernel's module).

        in_guest: path of `folder` as the guest sees it.
        """
        variables = {"MODEM": self.script.name}
        for way, plan in link_plans(scenario).items():
            if plan.schedule is not None:
                (folder / _FOLDER).mkdir(exist_ok=True)
                (folder / _FOLDER / way).write_bytes(plan.schedule.packed())
            variables[f"LINK_{way.upper()}"] = plan.line(
                _DEVICES[way], f"{in_guest}/{_FOLDER}/{way}")
        return variables

    def report(self, scenario: Scenario, counted: str) -> dict[str, object]:
        """Return a description and the kernel's counters for each direction. `counted`: the output
        of the guest's script, a line per device."""
        lines = {words[0]: words[1:] for words in map(str.split, counted.splitlines()) if words}
        return {way: {**plan.about, "counters": counters(lines.get(_DEVICES[way], []))}
                for way, plan in link_plans(scenario).items()}

    def refuse(self, scenario: Scenario, length_s: float) -> None:
        """Raise ConfigError if a trace that doesn't repeat ends before the run, which takes
        `length_s` seconds."""
        refuse_link_that_ends(scenario, length_s)

    def files(self, requested: Mapping[str, Any], reported: object
              ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the key of each requested trace file, with the report of that direction (file name,
        size, SHA-256)."""
        for way in WAYS:
            key = f"link_{way}_trace"
            text = requested.get(key)
            if text not in (None, "") and parse_seeded(key, str(text)) is None:
                link = reported.get(way) if isinstance(reported, dict) else None
                yield key, link if isinstance(link, dict) else {}
