# SPDX-License-Identifier: GPL-3.0-or-later
"""The lists of arguments that a batch varies, and `--batch-override key=value` for their keys.

Flent lets the arguments of `for_…` lists win over an override, so that all cells would
run, unchanged. Here the override picks the arguments that have its value, or, when
none has it, makes one that does.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean

_SWITCH = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}


# Keys whose value is a number. Flent makes False of an override with 0.
_NUMBERS = ("rate_mbps", "rate_up_mbps", "rate_down_mbps", "base_delay_ms", "seed", "jobs")


# What is behind it is its value, with = and ; in it.
_TEST_PARAMETERS = re.compile(r"(?:^|;)\s*(test_parameters)\s*=", re.IGNORECASE)

# omnia+cores=2: a router's or host's model, up to the next ;
_MODEL = re.compile(r"(?:^|(?<=;))\s*((?:router|client|server)_model)\s*=([^;]*)", re.IGNORECASE)


def keys_and_values(stock: Callable[[str], dict[str, str]], text: str) -> dict[str, str]:
    """Return an override as Flent reads it, where test_parameters takes all that follows, and a
    model may have = in it.

    stock: Flent's reader, which splits at each ; and = outside of two pairs of quotes.
    """
    parameters = _TEST_PARAMETERS.search(text)
    others = text[:parameters.start()] if parameters else text
    pairs = {key: _unquoted(value) for key, value in _MODEL.findall(others)}
    pairs |= stock(_MODEL.sub("", others))
    return pairs | ({parameters[1]: _unquoted(text[parameters.end():])} if parameters else {})


def _unquoted(value: str) -> str:
    value = value.strip()
    while len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]  # Flent itself would need two pairs
    return value


def restore_zeros(overrides: MutableMapping[str, object]) -> None:
    """Make 0 again of what Flent took for a no."""
    for key in _NUMBERS:
        if overrides.get(key) is False:
            overrides[key] = "0"


def argument_lists(runner: Any, batch: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Return the lists whose product a batch runs: names of arguments, of `for_…` what overrides
    leave, of `kernel = one, other` and `aqm = one, other` a run with each; at last the numbers of
    repetitions.

    runner: Flent's; its args get an entry where an override has a value that no argument of a list
    has, and for each of several kernels or queues. Raises ConfigError.
    """
    args = runner.args
    _refuse_unknown(batch, args)
    *lists, repetitions = runner.get_argsets(batch)
    overrides = dict(runner.settings.BATCH_OVERRIDE)
    several = {key: list(dict.fromkeys(values)) for key in ("aqm", "kernel") if len(
        values := [name.strip() for name in str(batch.get(key, "")).split(",")]) > 1}
    for key in several:
        overrides.pop(key, None)
    lists = [_restrict_one(list(names), args, overrides) for names in lists]
    for key, values in several.items():
        # In the place of a list of the batch's own.
        lists = [names for names in lists if not names or any(
            args[name].keys() != {key} for name in names)]
        args |= {f"{key}_{value}": {key: value} for value in values}
        lists.append([f"{key}_{value}" for value in values])
    return [*lists, repetitions]


def _refuse_unknown(batch: Mapping[str, object], args: Collection[str]) -> None:
    """Refuse a word of a `for_…` list that no [Arg::…] section has for its name."""
    for key, value in batch.items():
        if not key.startswith("for_"):
            continue
        for word in (part.strip("\t\n \"'") for part in re.split("[,;]", str(value))):
            if word and not fnmatch.filter(args, word.lower()):
                setting = key.removeprefix("for_")
                raise ConfigError(
                    f"{key}: no section [Arg::{word}]{did_you_mean(word, args)}; expected names "
                    f"of sections, such as one [Arg::{word}] with the line {setting} = {word}", key)


def _restrict_one(
    names: list[str],
    args: MutableMapping[str, Any],
    overrides: Mapping[str, object],
) -> list[str]:
    for key, value in overrides.items():
        if not names or not all(key in args[name] for name in names):
            continue
        wanted = _text(value)
        matching = [name for name in names if _text(args[name][key]) == wanted]
        if not matching:
            made = f"{key}_{wanted}".lower()
            args[made] = {**args[names[0]], key: wanted}
            matching = [made]
        names = matching
    return names


def _text(value: object) -> str:
    text = str(value).strip()
    return _SWITCH.get(text.lower(), text)
