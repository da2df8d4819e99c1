# SPDX-License-Identifier: GPL-3.0-or-later
"""Path model "models": settings of the cards and processors that the guest's kernel models.

The kernel's part is setup/kernel/patches/0010-router-with-cards-….
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.parts.router_models.model import parse_router_model
from flent_aqm.spec.scenario import Scenario

# Host -> its devices that get a card.
_DEVICES = {"router": ("down", "up"), "client": ("eth0",), "server": ("eth0",)}


class Cards:
    """Models of slow hosts. The methods are documented in lab/path_model.py.

    Attributes:
        name: name of the path model.
        script: None, because the model has no script of its own: the scripts that set the hosts up
            write the lines of write() to the kernel, each in its host's namespace.
    """

    name = "models"
    # The scripts that set the hosts up write the lines, each in its host's namespace.
    script = None

    def write(self, folder: Path, scenario: Scenario, in_guest: str) -> dict[str, str]:
        """Return the guest's shell variables: HOST_CARDS (ROUTER_CARDS, ...), the kernel's lines
        for the cards of each host that has any, and PROBE_PORT, the port of irtt. Empty if no host
        has cards. Write no files."""
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
        """Return an empty dict: the cards' counters are sampled together with the queues."""
        return {}

    def refuse(self, scenario: Scenario, length_s: float) -> None:
        """Accept runs of any length."""

    def files(self, requested: Mapping[str, Any], reported: object
              ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield nothing: the model reads no files."""
        yield from ()

    def own_delays_ns(self, scenario: Scenario, reported: object, direction: str,
                      arrived_ns: object, left_ns: object) -> None:
        """Return None: the model isn't in the modem's place, so it has no delay there that could be
        subtracted. See PathModel.own_delays_ns()."""
