# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects a run's settings, by which runs are distinguished and grouped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Setting = str | float | bool

# Requested parameters of queues -> prefix of the settings that they become.
_PARAMETERS = {"aqm_parameters": "aqm_", "up_aqm_parameters": "up_aqm_",
               "shaper_parameters": "shaper_"}


def settings_of(test: str, title: str, batch: str, parameters: Mapping[str, Any],
                requested: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the settings of a run.

    A queue's parameters become aqm_NAME and up_aqm_NAME. `rate_mbps` is the link's rate if both
    directions have the same, else text with both. With a modem it is the modem's, and `shaper_mbps`
    is the shaper's or "off".

    Args:
        test: name of the test.
        title: the user's title.
        batch: name of the batch.
        parameters: of the test.
        requested: settings of the testbed, by the names of Scenario. They take precedence.
    """
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
    """Return the rate of both directions, None if one is missing. name: of the setting, with {} for
    the direction."""
    down, up = settings.get(name.format("down")), settings.get(name.format("up"))
    if down is None or up is None:
        return None
    return down if down == up else f"{_short(down)}/{_short(up)}"


def _short(rate: Setting) -> str:
    """Return a rate as text, 600 for 600.0."""
    return str(rate).removesuffix(".0")
