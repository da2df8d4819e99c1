# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the lists of arguments that a batch varies, with `--batch-override key=value` applied.

Flent lets the arguments of `for_…` lists win over an override, so that all cells would run
unchanged. Here an override selects the arguments that have its value. If no argument has it, one
with this value is made.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from flent.util import token_split

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.spec.readers import as_text, number_or_nan, words_for
from flent_aqm.sweep.plan.places import placed_word

# Words of which Flent makes True and False, for messages.
SWITCHES = ("Flent reads a value of on, off, yes, no, true or false, and a 0 of --batch-override, "
            "as a switch")
_SWITCH = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}


# Keys whose value is a number without unit. Flent makes False of an override with 0.
_NUMBERS = ("seed", "jobs", "tx_queues", "tiers")


# The key that a list for_rate varies.
_OF_RATE, _TEST_NAME = "rate_mbps", "test_name"
_LISTS_OF_RATES = ("for_rate", f"for_{_OF_RATE}")

# All text after it is its value, also = and ;.
_TEST_PARAMETERS = re.compile(r"(?:^|;)\s*(test_parameters)\s*=", re.IGNORECASE)

# A key and its value: all text up to the next ; outside of quotes. It may have = in it, such as
# router_model=omnia+cores=2 or link_trace=seeded+mean_mbps=20.
_KEY_AND_VALUE = re.compile(
    r"""(?:^|(?<=;))\s*([^=;"'\s]+)\s*=((?:"[^"]*"|'[^']*'|[^;"'])*)(?=;|$)""")


def keys_and_values(stock: Callable[[str], dict[str, str]], text: str) -> dict[str, str]:
    """Parse the text of --batch-override as Flent does, but a value may have = in it. The value of
    test_parameters is all text after it. Return the values by key. Raises argparse's
    ArgumentTypeError, as Flent's parser does, for a part that isn't KEY=VALUE, and ValueError for
    unbalanced quotes.

    Args:
        stock: Flent's parser. It splits at each ; outside of quotes, and the parts at = outside of
            a second pair of quotes.
        text: the option's value.
    """
    parameters = _TEST_PARAMETERS.search(text)
    pairs = {}
    for_stock = []
    others = text[:parameters.start()] if parameters else text
    end = 0
    for match in _KEY_AND_VALUE.finditer(others):
        if "=" in match[2]:
            pairs[match[1]] = _unquoted(match[2])
            for_stock.append(others[end:match.start()])
            end = match.end()
    pairs |= stock("".join([*for_stock, others[end:]]))
    return pairs | ({parameters[1]: _unquoted(text[parameters.end():])} if parameters else {})


def _unquoted(value: str) -> str:
    """Return a value without the white space around it, and then without the pairs of quotes (' or
    ") around it, however many there are."""
    value = value.strip()
    while len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]  # Flent itself would need two pairs
    return value


def restore_zeros(overrides: MutableMapping[str, object]) -> None:
    """Replace False with "0" in the overrides of keys whose value is a number (those with a unit,
    and _NUMBERS), in place: Flent makes False of 0. A False that Flent made of no or false becomes
    "0", too.

    Args:
        overrides: values of --batch-override, by key.
    """
    # Imported late, as in _values_as_arguments().
    from flent_aqm.spec.scenario import KEYS

    with_unit = {name for key, row in KEYS.items() if row.unit for name in (key, row.both)}
    for key, value in overrides.items():
        if value is False and key in with_unit.union(_NUMBERS):
            overrides[key] = "0"


def argument_lists(runner: Any, batch: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Return the lists whose product are the runs of a batch.

    Each list has names of arguments, which are sections [Arg::NAME], except the last: it has the
    numbers (int) of the repetitions, from 1. If all arguments of a `for_…` list have a key of
    --batch-override, the list has only those with the override's value or values, or new ones with
    them. A key `kernel = one, other` or `aqm = one, other` gives a list with an argument for each
    value, in place of a `for_…` list of this key alone.

    Args:
        runner: Flent's batch runner. New arguments are added to its `args` (name -> keys and
            values): for an override with a value that no argument of a list has, for each of
            several kernels or queues, and for each value in a `for_KEY` list.
        batch: keys and values of the batch, with overrides applied.

    Raises ConfigError if a `for_…` list has an unknown name or can't be split, if the number of
    repetitions is wrong, or if an override of a batch's own key has a value that no argument has,
    where the arguments set other keys, too.
    """
    args = runner.args
    batch = {**batch, **_values_as_arguments(batch, args)}
    _refuse_unknown_arguments(batch, args)
    _check_repetitions(batch)
    *lists, repetitions = runner.get_argsets(batch)
    overrides = dict(runner.settings.BATCH_OVERRIDE)
    several = {key: list(dict.fromkeys(values)) for key in ("aqm", "kernel") if len(
        values := [name.strip() for name in str(batch.get(key, "")).split(",")]) > 1}
    for key in several:
        overrides.pop(key, None)
    _refuse_unknown_choices(runner, lists, overrides)
    lists = [_apply_overrides(list(names), args, overrides) for names in lists]
    for key, values in several.items():
        # The values replace the batch's own list of arguments with this key only.
        lists = [names for names in lists if not names or any(
            args[name].keys() != {key} for name in names)]
        args |= {f"{key}_{value}": {key: value} for value in values}
        lists.append([f"{key}_{value}" for value in values])
    return [*lists, repetitions]


def _values_as_arguments(batch: Mapping[str, object], args: MutableMapping[str, Any]
                         ) -> dict[str, str]:
    """Return the `for_…` lists of settings of the testbed, of parameters of queues and shapers, and
    of test_name, such as `for_rate_mbps = 20, 100` or `for_aqm_limit = 40, 100`, with each value
    replaced by the name of an argument that has it: the batch's key -> names joined by ", ". Other
    keys are left out.

    Words that are names of sections, or patterns that match such names, only become lower-case.
    Repeated words are left out. A rate may have a unit. The list for_rate_mbps may be called
    `for_rate`, and a word of it which is no rate only becomes lower-case, too. It is left out if
    Flent made True or False of it.

    Args:
        batch: keys and values of the batch.
        args: the sections [Arg::NAME], to which an argument is added for each value.
    """
    # Imported late: every command of Flent imports this module, also if numpy is switched off, and
    # parts import numpy.
    from flent_aqm.spec.keys import PARAMETER_KEYS, SCENARIO_KEYS
    from flent_aqm.spec.scenario import KEYS

    settings = {*SCENARIO_KEYS, *PARAMETER_KEYS, _TEST_NAME}
    changed = {}
    for key, value in batch.items():
        setting = key.removeprefix("for_")
        setting = _OF_RATE if setting == "rate" else setting
        if not key.startswith("for_") or setting not in settings:
            continue
        if setting == _OF_RATE and isinstance(value, bool):
            continue  # no rate: refuse_unsplittable() tells of the switch
        is_rate = KEYS[setting].unit == "Mbit/s" if setting in KEYS else setting == _OF_RATE
        names: dict[str, None] = {}
        for word in _words(value):
            name, number = word.lower(), _rate_mbps(word) if is_rate else ""
            if not fnmatch.filter(args, name) and (number or setting != _OF_RATE):
                name = f"{number}mbit" if setting == _OF_RATE else f"{setting}_{number or name}"
                # What Flent made of a word for a switch stays True or False, for messages.
                args.setdefault(name, {setting: value if isinstance(value, bool) else
                                       placed_word(value, number or word, word)})
            names[name] = None
        changed[key] = ", ".join(names)
    return changed


def _rate_mbps(text: str) -> str:
    """Return a rate such as 20, 500kbit, 2.5mbit or 1gbit as the text of a number of Mbit/s,
    rounded to six significant digits: "20", "0.5", "2.5", "1000". Return "" for any other text,
    also for one with more than six digits before or after the point."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s*(?:([kmg])bit)?", text.lower())
    factor = {None: 1, "k": 0.001, "m": 1, "g": 1000}
    return f"{float(match[1]) * factor[match[2]]:g}" if match else ""


def _words(value: object) -> list[str]:
    """Split the text of a list at commas and semicolons, also at those within quotes, where Flent
    doesn't split. White space and quotes around the words, and empty words, are left out. A value
    that isn't text is taken as str() of it."""
    return [word for part in re.split("[,;]", str(value)) if (word := part.strip("\t\n \"'"))]


def _refuse_unknown_arguments(batch: Mapping[str, object], args: Collection[str]) -> None:
    """Raise ConfigError if a word of a `for_…` list is not the name of a section [Arg::…], nor a
    pattern that matches such a name, or if Flent can't split the list.

    Args:
        batch: keys and values of the batch.
        args: names of the sections.
    """
    for key, value in batch.items():
        if not key.startswith("for_"):
            continue
        refuse_unsplittable(key, value, "Arg")
        for word in _words(value):
            if not fnmatch.filter(args, word.lower()):
                rate = "a rate, such as 20, 2.5mbit or 1gbit, or "
                near = did_you_mean(word, args)
                raise ConfigError(
                    f"{key}: no section [Arg::{word}]{f'{near} E' if near else '; e'}xpected "
                    f"{rate if key in _LISTS_OF_RATES else ''}the name of a section [Arg::NAME], "
                    f"which sets the keys of this choice{_list_that_takes_values(key)}", key)


def refuse_unsplittable(key: str, value: object, kind: str) -> None:
    """Raise ConfigError if Flent can't split a list of names, because it made True or False of it,
    or because a quotation mark has no partner.

    Args:
        key: key of the list.
        value: its value.
        kind: kind of the sections that it names, "Arg" or "Command".
    """
    rates = "rates, such as 20 or 2.5mbit, or " if key in _LISTS_OF_RATES else ""
    expected = f"expected {rates}names of sections [{kind}::NAME]"
    if isinstance(value, bool):
        raise ConfigError(f"{key}: {SWITCHES}; {expected}; a name that is such a word has to stand "
                          "in the batch file, in quotes", key)
    try:
        token_split(str(value))
    except ValueError as fault:
        raise ConfigError(f"{key}: {str(value)[:60]!r}: {fault}; {expected} with commas between",
                          key) from None


def _list_that_takes_values(key: str) -> str:
    """Return the end of a message about an unknown word in the list `key`: "; for_… takes values
    themselves", with the list that was probably meant, "" if there is none. A list may have any
    name, so only an unknown word in it tells that its name is mistyped."""
    # Imported late, as in _values_as_arguments().
    from difflib import get_close_matches

    from flent_aqm.spec.keys import PARAMETER_KEYS, SCENARIO_KEYS

    name = key.removeprefix("for_")
    near = [_TEST_NAME] if name == "tool" else get_close_matches(
        name, (*SCENARIO_KEYS, *PARAMETER_KEYS, _TEST_NAME), 1, 0.7)
    return f"; for_{near[0]} takes values themselves" if near and near[0] != name else ""


def _check_repetitions(batch: Mapping[str, object]) -> None:
    """Raise ConfigError if the key `repetitions` of a batch is not a whole number from 1 to 999999.
    True, which Flent makes of yes, counts as 1. A batch without the key is accepted."""
    given = batch.get("repetitions", 1)
    text = as_text(given).strip()
    if not re.fullmatch(r"0*[1-9]\d{0,5}", text, re.ASCII):
        switch_words = f" ({words_for(given)} count as 0)" if isinstance(given, bool) else ""
        raise ConfigError(f"repetitions: {text[:40]!r}{switch_words}; expected a whole number from "
                          "1 to 999999", "repetitions")


def _refuse_unknown_choices(runner: Any, lists: Iterable[Sequence[str]],
                            overrides: Mapping[str, object]) -> None:
    """Raise ConfigError if an override of a key that only the batch knows has a value that no
    argument of its list has, and each argument of the list sets other keys, too: such a key names
    the choice, as `check` does in gate.batch, and does nothing itself.

    Args:
        runner: Flent's batch runner.
        lists: the batch's lists of names of arguments.
        overrides: values of --batch-override, by key.
    """
    # Imported late, as in _values_as_arguments().
    from flent_aqm.spec.keys import (
        BATCH_KEYS,
        PARAMETER_PREFIXES,
        SCENARIO_KEYS,
        SWEEP_KEYS,
    )

    known = SCENARIO_KEYS | SWEEP_KEYS.keys() | BATCH_KEYS
    for key, value in overrides.items():
        if (key in known or key.startswith(PARAMETER_PREFIXES)
                or hasattr(runner.settings, key.upper())):
            continue
        for names in lists:
            choices = [runner.args[name] for name in names]
            if not choices or not all(key in choice and len(choice) > 1 for choice in choices):
                continue
            there = [str(choice[key]) for choice in choices]
            known_values = set(map(_normalised, there))
            if known_values.issuperset(_values_of_override(value, there)):
                continue
            # Of several values, some may be choices.
            wanted = next((word for word in map(_normalised, _words(value))
                           if word not in known_values), _normalised(value))
            raise ConfigError(f"{key}: {wanted[:40]!r} is none of this batch's choices"
                              f"{did_you_mean(wanted, there)}; expected one or more of "
                              f"{', '.join(there)}", key)


def _apply_overrides(
    names: list[str],
    args: MutableMapping[str, Any],
    overrides: Mapping[str, object],
) -> list[str]:
    """Return the names of a list whose arguments have the values of the overrides.

    An override applies if all arguments of the list have its key. If no argument has its value, a
    copy of the list's first argument with that value is added to `args` under a new name, and its
    name is returned. The override may be several values, such as codel,pie, if the arguments have
    each, or numbers if the arguments have numbers.

    Args:
        names: names of a list's arguments.
        args: keys and values of all arguments, by name.
        overrides: values of --batch-override, by key.
    """
    for key, value in overrides.items():
        if not names or not all(key in args[name] for name in names):
            continue
        matching: dict[str, None] = {}
        for wanted in _values_of_override(value, [args[name][key] for name in names]):
            found = [name for name in names if _normalised(args[name][key]) == wanted]
            if not found:
                found = [f"{key}_{wanted}".lower()]
                args[found[0]] = {**args[names[0]], key: wanted}
            matching |= dict.fromkeys(found)
        names = list(matching)
    return names


def _values_of_override(value: object, instead_of: Sequence[object]) -> list[str]:
    """Return the values of an override as _normalised() texts: each word of a list, if the
    arguments have each of them or if all words and arguments are finite numbers, otherwise the
    whole as one value.

    Args:
        value: value of --batch-override.
        instead_of: the arguments' values that it replaces.
    """
    words = list(map(_normalised, _words(value)))
    if len(words) > 1 and (set(words) <= set(map(_normalised, instead_of)) or all(
            math.isfinite(number_or_nan(str(word))) for word in [*words, *instead_of])):
        return words
    return [_normalised(value)]


def _normalised(value: object) -> str:
    """Return a value as text without blanks at its ends, with "1" and "0" for yes and no in all
    their spellings (true, on, …)."""
    text = str(value).strip()
    return _SWITCH.get(text.lower(), text)
