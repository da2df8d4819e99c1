# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the parameters of queues and shapers as users write them."""

from __future__ import annotations

import re

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.switch import switch
from flent_aqm.spec.queues.external import OPTIONS, option_words, queue_of
from flent_aqm.spec.queues.shapers import (
    KEYS_FOR_STAB,
    KEYS_FOR_WORDS,
    NOT_SETTABLE,
    SHAPER_PARAMETERS,
)
from flent_aqm.spec.queues.values import Overhead


def from_tc_words(aqm: str, key: str, text: str) -> dict[str, str]:
    """Convert options in the syntax of the queue's manual page, such as `atm overhead 44`, to this
    package's parameters.

    Args:
        aqm: name of the queue.
        key: the key with the options, for messages.
        text: the options.

    Return name of the parameter -> text of its value. Several words for CAKE's overhead become one
    text, with blanks between them.

    Raises ConfigError for a text that option_words() refuses, an unknown option, an option without
    its value, or one that sets any other parameter again. The values are not checked.
    """
    try:
        words = iter(option_words(text).split())
    except ConfigError as fault:
        raise ConfigError(f"{key}: {text[:60]!r}: {fault}", key) from None
    parameters = queue_of(aqm).parameters
    switches = {word: (name, value) for name, parameter in parameters.items()
                for word, value in parameter.tc_switches().items()}
    names = {parameter.tc_name(name): name for name, parameter in parameters.items()
             if parameter.tc_name(name)}
    found: dict[str, str] = {}
    for word in words:
        name, value = switches.get(word) or (names.get(word, ""), next(words, ""))
        if not name:
            elsewhere = _hint_for_other_key(queue_of(aqm).kind, word)
            if elsewhere:
                raise ConfigError(f"{key}: {word!r} is not accepted in this key{elsewhere}", key)
            raise ConfigError(f"{key}: {aqm} has no option {word!r} that flent-aqm knows"
                              f"{did_you_mean(word, {*switches, *names})}"
                              f"; known: {', '.join(sorted({*switches, *names}))}", key)
        if word not in switches and switches.get(value, ("",))[0] == name:
            raise ConfigError(f"{key}: {value} stands alone, without {word} before it; leave "
                              f"{word} out", key)
        # No value is one of the other options.
        if not value or (word not in switches and (value in switches or value in names)):
            raise ConfigError(f"{key}: {word} lacks its value{value and f' before {value}'}; "
                              f"expected {word} VALUE", key)
        if name in found and not isinstance(parameters[name].read, Overhead):
            raise ConfigError(f"{key}: {word!r} sets {name}, which an earlier word has set; give "
                              "one of them", key)
        found[name] = f"{found[name]} {value}" if name in found else value
    return found


def _hint_for_tc_word(aqm: str, name: str, text: str, prefix: str) -> str:
    """Return the end of a message about an unknown parameter whose name may be one of tc's words:
    "; give it as KEY = VALUE", another key to use, or why the word can't be set. "" for a name that
    isn't one of tc's words, and for the value no of a word that isn't a switch but one of a
    parameter's several values, such as diffserv4: no says nothing about the others.

    Of a queue that isn't in the table of queues, every name counts as one of tc's words. If the
    name is a parameter with - in place of _, the end has the parameter's key. For "up" and "down"
    it names the keys up_aqm and aqm. For no_aqm, the queue if none is given, it says with which key
    to choose another queue.

    Args:
        aqm: name of the queue.
        name: name of the unknown parameter.
        text: the parameter's value.
        prefix: prefix of the parameters' keys, "aqm_" or "up_aqm_".
    """
    parameters, on = queue_of(aqm).parameters, switch(text)
    if name in ("up", "down") and OPTIONS not in parameters:
        return "; the upload's queue is up_aqm, the download's is aqm"
    if aqm == "no_aqm":
        return f"; for a parameter of another queue, give {prefix.removesuffix('_')}, too"
    if OPTIONS in parameters:
        return (f"; give it as {prefix}{OPTIONS} = {name} {text[:40]}"
                f"{', or if it is a switch without the value' if on else ''}")
    if (key := name.replace("-", "_")) in parameters:
        return f"; give it as {prefix}{key} = {text[:40]}"
    for key, parameter in parameters.items():
        value = parameter.tc_switches().get(name, "")
        if on is False:
            value = {"yes": "no", "no": "yes"}.get(value, "")
        if value:
            return f"; give it as {prefix}{key} = {value}"
    return _hint_for_other_key(queue_of(aqm).kind, name)


def _hint_for_other_key(kind: str, word: str) -> str:
    """Return the end of a message about one of tc's words that is no parameter of this package: the
    key to use instead, or why the word can't be set. "" for other words.

    Args:
        kind: name of the qdisc.
        word: a word of the qdisc's manual page.
    """
    kind = "cake" if kind == "cake_mq" else kind
    if keys := {**KEYS_FOR_STAB, **KEYS_FOR_WORDS.get(kind, {})}.get(word):
        return f"; use {keys} instead"
    why = NOT_SETTABLE.get(kind, {}).get(word, "")
    return f"; flent-aqm doesn't set it: {why}" if why else ""


def check_shaper_parameter(shaper: str, name: str, text: str) -> str:
    """Return the text of a shaper's parameter unchanged if it is valid.

    Args:
        shaper: name of the shaper, such as "htb".
        name: name of the parameter.
        text: its value as the user wrote it.

    Raises ConfigError if the shaper has no such parameter, or if the value isn't valid.
    """
    parameters = SHAPER_PARAMETERS.get(shaper, {})
    key = f"shaper_{name}"
    if not parameters:
        raise ConfigError(f"{key}: shaper = {shaper} has no parameters; leave {key} out"
                          f"{_other_place(shaper, name)}{_hint_for_other_key(shaper, name)}", key)
    if name not in parameters:
        hint = (f"; give each as a key, such as shaper_{next(iter(parameters))} = VALUE"
               if name == OPTIONS else _hint_for_other_key(shaper, name))
        raise ConfigError(f"{key}: {shaper} has no such parameter; known: "
                          f"{', '.join(parameters)}{hint}", key)
    try:
        value = parameters[name].read(text)
    except ConfigError as fault:
        raise ConfigError(f"{key}: {text[:60]!r} for {shaper}: {fault}", key) from None
    if not value and not parameters[name].zero:
        raise ConfigError(f"{key}: {text[:60]!r} for {shaper}: {_why_not_0(text)}", key)
    return text


def _other_place(shaper: str, name: str) -> str:
    """Return the end of a message about a parameter of a shaper that has none: ", or give …", with
    the queue's key if CAKE shapes and has that parameter, otherwise the shapers that have it, in
    brackets. "" if there are none.

    Args:
        shaper: name of a shaper without parameters.
        name: name of the parameter.
    """
    if shaper == "cake" and name in queue_of(shaper).parameters:
        return f", or give it as aqm_{name}"
    # Not as an advice: the run's other keys may refuse that shaper.
    others = [one for one, its in SHAPER_PARAMETERS.items() if name in its]
    return f" (of shaper = {' and '.join(others)} it is a parameter)" if others else ""


def _why_not_0(text: str) -> str:
    """Return the end of a message about a value that is 0, or becomes 0 in tc's unit."""
    seen = "it is rounded down to 0, which" if re.search("[1-9]", text) else "0"
    return f"{seen} is not allowed; omit it for the default, or give a larger value"


def check_parameter(aqm: str, name: str, text: str, prefix: str = "aqm_") -> str:
    """Return the text of an AQM's parameter if it is valid. The text of a switch becomes "yes" or
    "no", other texts are unchanged.

    Args:
        aqm: name of the queue.
        name: name of the parameter.
        text: its value as the user wrote it.
        prefix: prefix of the key, "aqm_" or "up_aqm_", for messages.

    Raises ConfigError if the queue has no such parameter, or if the value isn't valid.
    """
    parameters, key = queue_of(aqm).parameters, f"{prefix}{name}"
    if name not in parameters:
        raise ConfigError(f"{key}: {aqm} has no such parameter; known: {', '.join(parameters)}"
                          + _hint_for_tc_word(aqm, name, text, prefix), key)
    try:
        value = parameters[name].read(text)
    except ConfigError as fault:
        raise ConfigError(f"{key}: {text[:60]!r} for {aqm}: {fault}", key) from None
    if not value and not isinstance(value, bool) and not parameters[name].zero:
        raise ConfigError(f"{key}: {text[:60]!r} for {aqm}: {_why_not_0(text)}", key)
    # Unified here, so that hooks needn't interpret other words for switches.
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text
