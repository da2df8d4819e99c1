# SPDX-License-Identifier: GPL-3.0-or-later
"""Cards and processors for the guest's kernel (setup/kernel/patches/0010-router-with-cards-…)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.parts.router_models.model import parse_router_model
from flent_aqm.spec.scenario import Scenario

_DEVICES = {"router": ("down", "up"), "client": ("eth0",), "server": ("eth0",)}


class Cards:
    """See lab/path_model.py."""

    name = "models"
    # The hosts' own scripts set them up, each in its namespace.
    script = None

    def write(self, folder: Path, scenario: Scenario, in_guest: str) -> dict[str, str]:
        """Return lines for the kernel, for each host whose cards and processor take their time."""
        seed = defaults.LAB_SEED if scenario.lab.seed is None else scenario.lab.seed
        variables = {}
        for host, text in scenario.record(self.name).by_host.items():
            model = parse_router_model(text)
            if model.has_cards:
                variables[f"{host.upper()}_CARDS"] = "\n".join(
                    model.card(device, core, seed) for core, device in enumerate(_DEVICES[host]))
        if variables:
            variables["PROBE_PORT"] = str(defaults.IRTT_PORT)
        return variables

    def report(self, scenario: Scenario, counted: str) -> dict[str, object]:
        """What cards count is sampled with the queues."""
        return {}

    def refuse(self, scenario: Scenario, length_s: float) -> None:
        """Any length goes."""

    def files(self, requested: Mapping[str, Any], reported: object
              ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Nothing is read."""
        yield from ()
