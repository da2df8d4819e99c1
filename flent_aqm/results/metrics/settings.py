# SPDX-License-Identifier: GPL-3.0-or-later
"""A run's settings by name: what runs are told apart and grouped by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Setting = str | float | bool

# Of what was asked of the testbed: the parameters of its queues, each a setting.
_PARAMETERS = {"aqm_parameters": "aqm_", "up_aqm_parameters": "up_aqm_",
               "shaper_parameters": "shaper_"}


def settings_of(test: str, title: str, batch: str, parameters: Mapping[str, Any],
                requested: Mapping[str, Any]) -> dict[str, Setting]:
    """Return settings of a run; parameters: of the test; requested: of the testbed, as Scenario
    has them, which go before. A queue's parameters become aqm_NAME and up_aqm_NAME, and
    `rate_mbps` is the link's rate where both ways have the same, else both: the modem's, where
    there is one, and `shaper_mbps` then the shaper's, or "off"."""
    settings: dict[str, Setting] = {"test": test, "title": title, "batch": batch}
    queues = {f"{prefix}{name}": value for key, prefix in _PARAMETERS.items()
              if isinstance(requested.get(key), dict) for name, value in requested[key].items()}
    for source in (parameters, queues, requested):
        settings |= {str(key): value for key, value in source.items()
                     if isinstance(value, (str, float, int, bool))}
    rates = _both(settings, "rate_{}_mbps")
    modem = _both(settings, "modem_{}_mbps")
    if modem is not None:
        settings["shaper_mbps"] = "off" if rates is None or settings.get(
            "shaper") == "none" else rates
        rates = modem
    if rates is not None:
        settings["rate_mbps"] = rates
    return settings


def _both(settings: Mapping[str, Setting], name: str) -> Setting | None:
    """Return the rate of both ways; None where one isn't told."""
    down, up = settings.get(name.format("down")), settings.get(name.format("up"))
    if down is None or up is None:
        return None
    return down if down == up else f"{_short(down)}/{_short(up)}"


def _short(rate: Setting) -> str:
    """Return 600 for 600.0."""
    return str(rate).removesuffix(".0")
