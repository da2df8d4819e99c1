# SPDX-License-Identifier: GPL-3.0-or-later
"""Router models: how late the timers of the lab's router fire.

A model is one number, the latency that is added to the timer of every qdisc. It has a name
(`ideal`, `omnia`) or is given as such (`12.5us`), for routers that users calibrate.
"""

from __future__ import annotations

import re

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError

_LATENCY = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)us")


def watchdog_latency_ns(model: str) -> int:
    """The latency of a model in ns. Raises ConfigError for an unknown model."""
    if model in defaults.ROUTER_MODELS:
        return defaults.ROUTER_MODELS[model]
    given = _LATENCY.fullmatch(model)
    if given:
        latency_ns = round(float(given.group(1)) * 1000)
        if latency_ns <= defaults.MAX_WATCHDOG_LATENCY_NS:
            return latency_ns
    raise ConfigError(
        f"router_model: unknown value {model!r}; known: {', '.join(defaults.ROUTER_MODELS)}, or "
        f"a timer latency from 0us to {defaults.MAX_WATCHDOG_LATENCY_NS // 1000}us such as 12.5us")


def with_latency(latency_ns: int) -> str:
    """The model that adds so many ns, as it stands in a batch."""
    return f"{latency_ns / 1000:g}us"
