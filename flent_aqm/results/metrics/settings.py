# SPDX-License-Identifier: GPL-3.0-or-later
"""A run's settings by name: what runs are told apart and grouped by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Setting = str | float | bool

# Of what was asked of the testbed: the parameters of its queues, each a setting.
_PARAMETERS = {"aqm_parameters": "aqm_", "up_aqm_parameters": "up_aqm_"}


def settings_of(test: str, title: str, batch: str, parameters: Mapping[str, Any],
                requested: Mapping[str, Any]) -> dict[str, Setting]:
    """Return settings of a run; parameters: of the test; requested: of the testbed, as Scenario
    has them, which go before. A queue's parameters become aqm_NAME and up_aqm_NAME, and
    `rate_mbps` is the rate where both ways have the same, else both."""
    settings: dict[str, Setting] = {"test": test, "title": title, "batch": batch}
    queues = {f"{prefix}{name}": value for key, prefix in _PARAMETERS.items()
              if isinstance(requested.get(key), dict) for name, value in requested[key].items()}
    for source in (parameters, queues, requested):
        settings |= {str(key): value for key, value in source.items()
                     if isinstance(value, (str, float, int, bool))}
    down, up = settings.get("rate_down_mbps"), settings.get("rate_up_mbps")
    if down is not None and up is not None:
        settings["rate_mbps"] = down if down == up else f"{_short(down)}/{_short(up)}"
    return settings


def _short(rate: Setting) -> str:
    """Return 600 for 600.0."""
    return str(rate).removesuffix(".0")
