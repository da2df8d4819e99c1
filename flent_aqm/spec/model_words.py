# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the form NAME+PARAMETER=VALUE+…, as router models have it; and a device's line for
the kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import unknown_value

Model = TypeVar("Model")


def parse_words(key: str, text: str, models: Mapping[str, Model],
                bounds: Mapping[str, tuple[float, float]]) -> Model:
    """Return the model of that name with the parameters given, all of them numbers within
    bounds. Raises ConfigError."""
    name, *changes = text.split("+")
    if name not in models:
        raise ConfigError(f"{key}: {unknown_value(name, models)}")
    parameters: dict[str, float] = {}
    for change in changes:
        parameter, _, value = change.partition("=")
        if parameter not in bounds or parameter in parameters:
            raise ConfigError(f"{key}: {change[:40]!r} is not a parameter of {name}, or is given "
                              f"twice; expected NAME=VALUE, with a NAME of {', '.join(bounds)}")
        low, high = bounds[parameter]
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            raise ConfigError(f"{key}: {parameter}: {value[:40]!r} is out of range; expected a "
                              f"number from {low:g} to {high:g}")
        parameters[parameter] = number
    return replace(models[name], **parameters)  # type: ignore[type-var]


def device_line(device: str, values: Mapping[str, int | str]) -> str:
    """Return what a parameter of a module of the lab's kernel takes for a device: its name, and
    each value that is neither 0 nor empty, as NAME=VALUE."""
    return " ".join([device, *(f"{name}={value}" for name, value in values.items() if value)])
