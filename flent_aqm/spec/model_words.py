# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses NAME+PARAMETER=VALUE+… into a model, and formats a device's line for a kernel module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import unknown_value
from flent_aqm.spec.readers import number_or_nan

Model = TypeVar("Model")


def parse_words(key: str, text: str, models: Mapping[str, Model],
                bounds: Mapping[str, tuple[float, float]]) -> Model:
    """Parse `NAME+PARAMETER=VALUE+…` into a copy of the model NAME with changed parameters, as
    floats.

    Args:
        key: the key of the batch, for messages.
        text: the text to parse. Numbers in it have no +, not even in an exponent.
        models: name -> model, a dataclass.
        bounds: parameter -> least and greatest value. All parameters are numbers.

    Raises ConfigError if the model or a parameter is unknown, a parameter is missing after a + or
    given twice, or its value isn't a number or is out of range.
    """
    name, *changes = text.split("+")
    if name not in models:
        raise ConfigError(f"{key}: {unknown_value(name, models)}")
    parameters: dict[str, float] = {}
    for place, change in enumerate(changes, 1):
        parameter, _, value = change.partition("=")
        if not change:
            raise ConfigError(f"{key}: a parameter is missing after a + of {text[:40]!r}; expected "
                              f"NAME=VALUE, with a NAME of {', '.join(bounds)}")
        if parameter not in bounds:
            raise ConfigError(f"{key}: {change[:40]!r} is not a parameter of {name}; expected "
                              f"NAME=VALUE without blanks, with a NAME of {', '.join(bounds)}")
        if parameter in parameters:
            raise ConfigError(f"{key}: the parameter {parameter} is given twice; give it once")
        low, high = bounds[parameter]
        number = number_or_nan(value)
        if not low <= number <= high:
            # 1e+2 was cut at its +.
            is_cut = place < len(changes) and value[-1:] in ("", "e", "E")
            hint = ", written without +" if is_cut else ""
            raise ConfigError(f"{key}: {parameter} has the value {value[:40]!r}; expected a "
                              f"number from {low:.10g} to {high:.10g}{hint}")
        parameters[parameter] = number
    return replace(models[name], **parameters)  # type: ignore[type-var]


def device_line(device: str, values: Mapping[str, int | str]) -> str:
    """Return the line that configures a network device in a parameter of the lab's kernel modules:
    "DEVICE NAME=VALUE …". Values that are 0 or empty are left out.

    Args:
        device: name of the network device.
        values: name of the module's setting -> value.
    """
    return " ".join([device, *(f"{name}={value}" for name, value in values.items() if value)])
