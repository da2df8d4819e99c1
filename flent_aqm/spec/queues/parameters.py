# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the parameters of queues and shapers as users write them."""

from __future__ import annotations

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.spec.queues.external import OPTIONS, option_words, queue_of
from flent_aqm.spec.queues.shapers import (
    NOT_SAID,
    SAID_BY,
    SAID_BY_OF_ANY,
    SHAPER_PARAMETERS,
)
from flent_aqm.spec.queues.values import Overhead


def from_tc_words(aqm: str, key: str, text: str) -> dict[str, str]:
    """Convert options in the syntax of the queue's manual page, such as `atm overhead 44`, to
    parameters.

    Args:
        aqm: name of the queue.
        key: the key with the options, for messages.
        text: the options.

    Return name -> text. Raises ConfigError for an unknown option, or one without its value.
    """
    try:
        words = iter(option_words(text).split())
    except ConfigError as fault:
        raise ConfigError(f"{key}: {fault}", key) from None
    parameters = queue_of(aqm).parameters
    switches = {word: (name, value) for name, parameter in parameters.items()
                for word, value in parameter.tc_switches().items()}
    names = {parameter.tc_name(name): name for name, parameter in parameters.items()
             if parameter.tc_name(name)}
    found: dict[str, str] = {}
    for word in words:
        name, value = switches.get(word) or (names.get(word, ""), next(words, ""))
        if not name:
            elsewhere = _said_elsewhere(queue_of(aqm).kind, word)
            if elsewhere:
                raise ConfigError(f"{key}: {word!r} is not accepted in this key{elsewhere}", key)
            raise ConfigError(f"{key}: tc's {aqm} has no option {word!r}"
                              f"{did_you_mean(word, {*switches, *names})}"
                              f"; known: {', '.join(sorted({*switches, *names}))}", key)
        if not value:
            raise ConfigError(f"{key}: {word} lacks its value; expected {word} VALUE", key)
        if name in found and not isinstance(parameters[name].read, Overhead):
            raise ConfigError(f"{key}: {word!r} sets {name}, which an earlier word has set; give "
                              "one "
                              "of them", key)
        found[name] = f"{found[name]} {value}" if name in found else value
    return found


def _how_to_give(aqm: str, name: str, text: str) -> str:
    """Return how to give one of tc's words that was used as a parameter's name, as the end of a
    message. "" for other names."""
    parameters = queue_of(aqm).parameters
    if OPTIONS in parameters:
        return f"; give it as aqm_{OPTIONS} = {name} {text[:40]}"
    for key, parameter in parameters.items():
        if value := parameter.tc_switches().get(name):
            return f"; give it as aqm_{key} = {value}"
    return _said_elsewhere(queue_of(aqm).kind, name)


def _said_elsewhere(kind: str, word: str) -> str:
    """Return the end of a message about one of tc's words that is no parameter here: the key to use
    instead, or why it can't be set. "" for other words."""
    kind = "cake" if kind == "cake_mq" else kind
    if said_by := {**SAID_BY_OF_ANY, **SAID_BY.get(kind, {})}.get(word):
        return f"; use {said_by} instead"
    why = NOT_SAID.get(kind, {}).get(word, "")
    return f"; flent-aqm doesn't set it: {why}" if why else ""


def check_shaper_parameter(shaper: str, name: str, text: str) -> str:
    """Return the text if it is a valid value of this parameter of the shaper. Raises
    ConfigError."""
    parameters = SHAPER_PARAMETERS.get(shaper, {})
    key = f"shaper_{name}"
    if name not in parameters:
        known = f"known: {', '.join(parameters)}" if parameters else "it has none"
        how = (f"; give each as a key, such as shaper_{next(iter(parameters))} = VALUE"
               if name == OPTIONS and parameters else _said_elsewhere(shaper, name))
        raise ConfigError(f"{key}: {shaper} has no such parameter; {known}{how}", key)
    try:
        value = parameters[name].read(text)
    except ConfigError as fault:
        raise ConfigError(f"{key}: {text!r} for {shaper}: {fault}", key) from None
    if not value and not parameters[name].zero:
        raise ConfigError(f"{key}: {text!r} for {shaper}: 0 is not allowed; omit the key to use "
                          "the default", key)
    return text


def check_parameter(aqm: str, name: str, text: str) -> str:
    """Return the text if it is a valid value of this parameter of the AQM, with switches as yes or
    no. Raises ConfigError."""
    parameters = queue_of(aqm).parameters
    if name not in parameters:
        raise ConfigError(f"aqm_{name}: {aqm} has no such parameter; known: {', '.join(parameters)}"
                          + _how_to_give(aqm, name, text), f"aqm_{name}")
    try:
        value = parameters[name].read(text)
    except ConfigError as fault:
        raise ConfigError(f"aqm_{name}: {text!r} for {aqm}: {fault}", f"aqm_{name}") from None
    if not value and not isinstance(value, bool) and not parameters[name].zero:
        raise ConfigError(f"aqm_{name}: {text!r} for {aqm}: 0 is not allowed; omit the key "
                          "to use the default", f"aqm_{name}")
    # Unified here, so that hooks needn't interpret other words for switches.
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text
