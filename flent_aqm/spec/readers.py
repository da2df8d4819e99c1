# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks and converts values of keys, with a function for each form of value.

Each function but as_text(), words_for() and number_or_nan() takes the key's name, which is for
messages, and the given value, and raises ConfigError with the key, the value and what is expected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import unknown_value
from flent_aqm.base.switch import SWITCH_WORDS, switch
from flent_aqm.base.words import shell_words
from flent_aqm.spec.testbeds import NETNS, VIRTUAL

_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}")
# Names don't begin with -, which ssh would take for an option.
_SSH = re.compile(r"ssh://([A-Za-z0-9_][A-Za-z0-9_.-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?")
# Form of such an address, for messages. {} is the kind of machine.
_SSH_FORM = ("ssh://[user@]{}[:port] (names of letters, digits, - and ., a user's also of _, or an "
             "IPv6 address in brackets)")
_MOST_COMMAND = 4096


def as_text(value: object) -> str:
    """Return a batch's value as text. True and False, into which Flent turns the words for a
    switch, become "1" and "0"."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def one_of(key: str, value: object, choices: Collection[str]) -> str:
    """Return the value of a key as text if it is one of `choices`. Raises ConfigError with the
    key's name `key` and all choices otherwise, also for True and False. For a text, the message
    suggests the most similar choice, if there is one."""
    if isinstance(value, bool):
        raise ConfigError(f"{key}: {words_for(value)} are no values of this key; known: "
                          f"{', '.join(choices)}")
    if str(value) not in choices:
        raise ConfigError(f"{key}: {unknown_value(str(value), choices)}")
    return str(value)


def text_of(key: str, value: object, form: str) -> str:
    """Return the value of a key as text. Raises ConfigError for True and False, which Flent makes
    of the words for a switch.

    Args:
        key: name of the key, for the message.
        value: the given value.
        form: expected form of the value, for the message.
    """
    if isinstance(value, bool):
        raise ConfigError(f"{key}: {words_for(value)} are no values of this key; expected {form}")
    return str(value)


def words_for(value: bool) -> str:
    """Return the words of a batch, for a message, of which Flent makes `value`: "yes, on and true"
    or "no, off and false"."""
    return "yes, on and true" if value else "no, off and false"


def number(key: str, value: object, unit: str) -> float:
    """Return a finite number, that a key has as a number or as text, as float. Raises ConfigError
    for any other value, also for True and False.

    Args:
        key: name of the key, for the message.
        value: the given value.
        unit: name of the unit, for the message.
    """
    if isinstance(value, bool):
        raise ConfigError(f"{key}: {words_for(value)} are no numbers; give the number alone, in "
                          f"{unit}")
    try:
        parsed = float(str(value))
    except ValueError:
        raise ConfigError(f"{key}: {str(value)[:60]!r} is not a number; give the number alone, in "
                          f"{unit}") from None
    if not math.isfinite(parsed):
        raise ConfigError(f"{key}: {str(value)[:60]!r} is not a finite number; give it in {unit}")
    return parsed


def number_or_nan(text: str) -> float:
    """Return the number that a text is, NaN if it is none. A comparison with NaN is false, so one
    check of the range refuses both."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def rate(key: str, value: object) -> float:
    """Return a rate in Mbit/s, from MIN_RATE_MBPS (0.064) to MAX_RATE_MBPS (40000), that a key has
    as a number or as text. Raises ConfigError, with the key's name `key`, for any other value."""
    mbps = number(key, value, "Mbit/s")
    if not defaults.MIN_RATE_MBPS <= mbps <= defaults.MAX_RATE_MBPS:
        raise ConfigError(
            f"{key}: {value} Mbit/s is out of range; "
            f"expected {defaults.MIN_RATE_MBPS:g} to {defaults.MAX_RATE_MBPS:g}")
    return mbps


def delay(key: str, value: object, most_ms: float = defaults.MAX_DELAY_MS) -> float:
    """Return a delay in ms, from 0 to `most_ms`, that a key has as a number or as text. Raises
    ConfigError, with the key's name `key`, for any other value."""
    delay_ms = number(key, value, "ms")
    if not 0 <= delay_ms <= most_ms:
        raise ConfigError(f"{key}: {value} ms is out of range; expected 0 to "
                          f"{most_ms:.10g} ms")
    return delay_ms


def whole(key: str, value: object, low: int, high: int) -> int:
    """Return the value of a key that is a whole number from `low` (0 or more) to `high`, both
    included, as int or as text of digits without zeros before it. True and False count as 1 and 0.
    Raises ConfigError, with the key's name `key`, for any other value, such as 5.0."""
    text = as_text(value)
    if not re.fullmatch(r"0|[1-9][0-9]{0,17}", text) or not low <= int(text) <= high:
        # A number in another form, such as 05, 5.0 or +5.
        form = ", in digits alone without zeros before it" if low <= number_or_nan(
            text) <= high and number_or_nan(text).is_integer() else ""
        given = (f"{words_for(value)} count as {text}, which" if isinstance(value, bool)
                 else repr(text[:40]))
        raise ConfigError(f"{key}: {given} is not a whole number from {low} to {high}{form}")
    return int(text)


def packets(key: str, value: object) -> int:
    """Return the value of a key that is a number of packets, from 0 to 9999999, given as int or as
    text of digits without zeros before it. True and False count as 1 and 0. Raises ConfigError,
    with the key's name `key`, for any other value."""
    return whole(key, value, 0, 9_999_999)


def flag(key: str, value: object) -> bool:
    """Return True or False for the value of a key that is one of the words for a switch, such as
    yes or 0 (see base/switch.py). Raises ConfigError, with the key's name `key`, for other values.
    """
    on = switch(value)
    if on is None:
        raise ConfigError(f"{key}: {str(value)[:60]!r} is not a switch; expected {SWITCH_WORDS}")
    return on


def command(key: str, value: object) -> str:
    """Return the value of a key that is a command line for a shell, stripped of blanks at both
    ends. Raises ConfigError, with the key's name `key`, if it is empty or its first word is '', if
    it is longer than 4096 characters, has control characters or an unclosed quote, ends with a
    backslash that escapes nothing, or is True or False."""
    text = text_of(key, value, "a command, such as /bin/true").strip()
    try:
        words = shell_words(text)
    except ValueError as fault:
        raise ConfigError(f"{key}: {text[:60]!r}: {fault}") from None
    if len(text) > _MOST_COMMAND:
        raise ConfigError(f"{key}: the command {text[:60]!r}… has {len(text)} characters; expected "
                          f"{_MOST_COMMAND} at most: put it into a script")
    if control := re.search(r"[\x00-\x1f\x7f]", text):
        raise ConfigError(f"{key}: {text[:60]!r} has the control character {control[0]!r} at place "
                          f"{control.start() + 1}; expected a command in one line, with blanks "
                          "between its words")
    if not any(words[:1]):
        raise ConfigError(f"{key}: {text[:60]!r} is not a command; expected one line, the "
                          "first word a program")
    return text


def device(key: str, value: object) -> str:
    """Return the value of a key that is the name of a network device. Raises ConfigError, with the
    key's name `key`, if it has other characters than letters, digits and _ . @ -, or more than 15,
    or none, begins with . @ or -, or is True or False."""
    text = text_of(key, value, "a name such as eth0")
    if not _DEVICE.fullmatch(text):
        raise ConfigError(f"{key}: {text[:60]!r} is not accepted as name of a network device; "
                          "expected up to 15 letters, digits and _ . @ -, such as eth0, the first "
                          "no . @ or -")
    return text


def server(key: str, value: object) -> str:
    """Return the value of a key that is the address of a server, ssh://[user@]server[:port],
    unchanged. Raises ConfigError, with the key's name `key`, for another form."""
    form = _SSH_FORM.format("server")
    text = text_of(key, value, form)
    if not _SSH.fullmatch(text):
        raise ConfigError(f"{key}: {text[:80]!r} is not an address; expected {form}")
    return text


def testbed(key: str, value: object) -> str:
    """Return the value of a key that is a testbed: `virtual`, `netns`, or a router's address
    ssh://[user@]router[:port]. Raises ConfigError, with the key's name `key`, for another value."""
    form = f"{VIRTUAL}, {NETNS}, {_SSH_FORM.format('router')}"
    text = text_of(key, value, form)
    if text in (VIRTUAL, NETNS) or _SSH.fullmatch(text):
        return text
    raise ConfigError(f"{key}: unknown value {text[:80]!r}; known: {form}")


def seed(key: str, value: object) -> int:
    """Return the value of a key that is a seed, from 0 to 10^18 - 1, given as int or as text of 1
    to 18 digits. Raises ConfigError, with the key's name `key`, for any other value."""
    text = text_of(key, value, "a whole number")
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ConfigError(f"{key}: {text[:40]!r} is not a whole number from 0 to 10^18 - 1, in "
                          "digits alone")
    return int(text)
