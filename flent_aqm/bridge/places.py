# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a refused value stands: FILE:LINE:COLUMN of a batch file, or --batch-override, in front of
what is wrong with it.

Flent's parser gives values without their place. Here each value that it reads knows its own, and
keeps it where sections inherit from one another. A value that is another key's alone, ${name},
stands where that one does. Yes and no, of which Flent makes True and False, have no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, NamedTuple

from flent_aqm.base.errors import ConfigError

_WORD = re.compile(r"\w+")
_UNKNOWN_KEY = re.compile(r"unknown key '([^']+)'")
# One direction's key, whose value may be given for both: rate_up_mbps -> rate_mbps.
_DIRECTION = re.compile(r"_(?:down|up)(?=_)")
_ANOTHER_KEYS = re.compile(r"\$\{(\w+)\}")
_WITHIN = re.compile(r"(\w+): column (\d+): ")


class Place(NamedTuple):
    """Where a value begins, counted from 1."""

    file: str
    line: int
    column: int


class Placed(str):
    """A value of a batch file."""

    place: Place


class PlacingParser(RawConfigParser):
    """Flent's parser, for one file."""

    def read(self, filenames: Any, encoding: str | None = None) -> Any:
        """Read a file, and remember where its values are."""
        found = super().read(filenames, encoding)
        self._places = _places(self, filenames, encoding) if found else {}
        return found

    def items(self, section: str) -> Any:  # type: ignore[override]
        """Return keys and values, which know their places."""
        pairs = []
        for key, value in super().items(section):
            place = self._places.get((section, key))
            if place is not None:
                value = Placed(value)
                value.place = place
            pairs.append((key, value))
        return pairs


def _places(parser: RawConfigParser, file: str,
            encoding: str | None) -> dict[tuple[str, str], Place]:
    """As configparser reads lines: what is further to the right than a key goes on with it."""
    found: dict[tuple[str, str], Place] = {}
    section, indent, in_value = "", 0, False
    with open(file, encoding=encoding) as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            before = len(line) - len(line.lstrip())
            if not text or text.startswith(("#", ";")) or (in_value and before > indent):
                continue
            indent = before
            header, option = parser.SECTCRE.match(text), parser.OPTCRE.match(text)
            in_value = not header
            if header:
                section = header["header"]
            elif option:
                found[section, parser.optionxform(option["option"].rstrip())] = Place(
                    file, number, before + option.start("value") + 1)
    return found


def patch(module: Any) -> None:
    """Let flent.batch's runner remember where the values stand that it expanded last."""
    module.RawConfigParser = PlacingParser
    runner = module.BatchRunner
    stock = runner.apply_args

    @wraps(stock)
    def apply_args(self: Any, values: Any, args: Any = None, settings: Any = None) -> Any:
        args = {} if args is None else args
        new = stock(self, values, args, settings)
        self.aqm_given = {**values, **args}
        return new

    runner.apply_args = apply_args


def told_of_run(runner: Any) -> AbstractContextManager[None]:
    """Let a ConfigError about the run that was just expanded begin with the place of the value."""
    given: dict[str, object] = {}
    for keys in (*runner.commands.values(), runner.aqm_given):
        given |= keys
    return _told(given, runner.settings.BATCH_OVERRIDE)


def told_of_batch(runner: Any, name: str) -> AbstractContextManager[None]:
    """The same for what all runs of a batch have, so not for what arguments give them."""
    given = {**runner.batches.get(name, {}), **runner.settings.BATCH_OVERRIDE}
    for argument in runner.args.values():
        given = {key: given[key] for key in given.keys() - argument.keys()}
    return _told(given, runner.settings.BATCH_OVERRIDE)


@contextmanager
def _told(given: Mapping[str, object], overrides: Mapping[str, object]) -> Iterator[None]:
    try:
        yield
    except ConfigError as fault:
        said = str(fault)
        key = next((key for key in _keys(said) if key in given), None)
        if key is None:
            raise
        for _ in given:  # one may lead to another, and in a circle
            another = _ANOTHER_KEYS.fullmatch(str(given.get(key)))
            if another is None:
                break
            key = another[1]
        value = given.get(key)
        if isinstance(value, Placed):
            said = _with_place(said, value)
        elif key in overrides:
            said = f"--batch-override: {said}"
        raise ConfigError(said) from fault


def _with_place(said: str, value: Placed) -> str:
    file, line, column = value.place
    within = _WITHIN.match(said)
    if within and "\n" not in value and "${" not in value:
        # The value stands there as it was checked, so its columns are the file's.
        column += int(within[2]) - 1
        said = f"{within[1]}: {said[within.end():]}"
    return f"{file}:{line}:{column}: {said}"


def _keys(said: str) -> Iterator[str]:
    """The keys that a fault may be about: it begins with one, or with the batch and one."""
    unknown = _UNKNOWN_KEY.search(said)
    if unknown:
        yield unknown[1]
    for part in said.split(": ")[:3]:
        word = _WORD.match(part)
        if word:
            yield word[0]
            yield _DIRECTION.sub("", word[0])
