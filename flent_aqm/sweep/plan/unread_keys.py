# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses keys of batch files that nothing reads, because Flent accepts any key silently.

A batch may have keys of its own, if some value of the files uses them as ${name}.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.spec.keys import (
    BATCH_KEYS,
    COMMAND_KEYS,
    PARAMETER_PREFIXES,
    SCENARIO_KEYS,
    SEE,
    SET_BY_FLENT,
    SWEEP_KEYS,
)
from flent_aqm.sweep.plan.places import placed

_VARIABLE = re.compile(r"\$\{([^}]+)\}")
# Keys that values of for_NAME set, where no key resembles NAME (batches/base.batch).
_KEY_OF_ARGUMENT = {"tool": "test_name"}
_OURS = SCENARIO_KEYS | SWEEP_KEYS.keys() | BATCH_KEYS


def refuse_unread_keys(runner: Any, section: Mapping[str, object],
                       values: Mapping[str, object], where: str, parser: Any) -> None:
    """Raise ConfigError if any batch, argument or override gives a key that Flent sets for each
    run: the message has the section, after the position of the key's value if it is known, or
    --batch-override. Then raise it for a key that nothing reads, in a batch section with its
    arguments or in any command of the files: the message begins with the position of the key's
    value, if it is known. A key that some value of the files or overrides uses as ${name} counts as
    read.

    Args:
        runner: Flent's batch runner, which has read the files.
        section: keys and expanded values of the batch section.
        values: the same values as the files have them, with their positions.
        where: names the section in the message.
        parser: Flent's argument parser.
    """
    used = set(_used_names(runner))
    settings = {action.dest.lower() for action in parser._actions}
    sections = {
        **{f"section [Batch::{name}]": values for name, values in runner.batches.items()},
        **{f"section [Arg::{name}]": values for name, values in runner.args.items()},
        "--batch-override": runner.settings.BATCH_OVERRIDE}
    for title, given in sections.items():
        for key in sorted(SET_BY_FLENT & given.keys()):
            with placed(given, {}):
                raise ConfigError(f"{title}: {key} is set by Flent for each run, so it can't be "
                                  f"given{did_you_mean(key, _OURS) or '; leave it out'}", key)
    with placed(values, runner.settings.BATCH_OVERRIDE):
        _refuse_unknown_key(where, section.keys() - SET_BY_FLENT, used, _OURS, settings)
    for name, command in runner.commands.items():
        with placed(command, {}):
            _refuse_unknown_key(f"command {name}", command, used, COMMAND_KEYS, _OURS | settings)


def _refuse_unknown_key(where: str, keys: Iterable[str], used: Collection[str],
                        valid: Collection[str], settings: Collection[str]) -> None:
    """Raise ConfigError for the first key, in alphabetical order, that is unknown. Keys that begin
    with for_ or a prefix of parameters (aqm_, up_aqm_, shaper_, router_) are always known.

    Args:
        where: names the section in the message.
        keys: keys of the section.
        used: keys that some value uses as ${name}.
        valid: known keys.
        settings: names of Flent's settings, which are keys, too.
    """
    for key in sorted(keys):
        if key in used or key in valid or key in settings or key.startswith(
                ("for_", *PARAMETER_PREFIXES)):
            continue
        if key in COMMAND_KEYS:
            raise ConfigError(f"{where}: {key} is a key of commands; move it to a section "
                              "[Command::NAME]", key)
        near = (_key_of_argument(key) or did_you_mean(key, {*valid, *used})
                or did_you_mean(key, settings) or SEE)
        raise ConfigError(f"{where}: unknown key {key!r}{near} (a key of your own is allowed only "
                          f"if some value uses it as ${{{key}}})", key)


def _key_of_argument(name: str) -> str:
    """Return the end of an error message that names the key which values of for_`name` set: "; the
    values of for_tool set 'test_name'". "" if `name` is not in _KEY_OF_ARGUMENT."""
    key = _KEY_OF_ARGUMENT.get(name)
    return f"; the values of for_{name} set {key!r}" if key else ""


def _used_names(runner: Any) -> Iterator[str]:
    """Yield the names that values of batches, arguments, commands and overrides use as ${name}. A
    name that is used several times comes several times."""
    for sections in (runner.batches, runner.args, runner.commands):
        for values in sections.values():
            for value in values.values():
                yield from _VARIABLE.findall(str(value))
    for value in runner.settings.BATCH_OVERRIDE.values():
        yield from _VARIABLE.findall(str(value))
