# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a refused value stands: FILE:LINE:COLUMN of a batch file, or --batch-override, in front of
what is wrong with it.

A value knows its place, and keeps it where sections inherit from one another. One that is another
key's alone, ${name}, stands where that one does. Yes and no, of which Flent makes True and False,
have no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import contextmanager
from typing import Any, NamedTuple

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.scenario import KEYS

_ANOTHER_KEYS = re.compile(r"\$\{(\w+)\}")
# Of a value with parts.
_WITHIN = re.compile(r"(\w+): column (\d+): ")


class Place(NamedTuple):
    """Where a value begins, counted from 1."""

    file: str
    line: int
    column: int


class Placed(str):
    """A value of a batch file."""

    place: Place | None


def placed_sections(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sections of a batch file, with their keys and values. Raises ConfigError."""
    parser = RawConfigParser()
    if not parser.read(file):
        raise ConfigError(f"Unable to read batch file: {file}.")
    places = _places(parser, file)
    for section in parser.sections():
        values = {}
        for key, text in parser.items(section):
            values[key] = value = Placed(text)
            value.place = places.get((section, key))
        yield section, values


def _places(parser: RawConfigParser, file: str) -> dict[tuple[str, str], Place]:
    """As configparser reads lines: what is further to the right than a key goes on with it."""
    places: dict[tuple[str, str], Place] = {}
    section, indent, in_value = "", 0, False
    with open(file) as lines:
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
                places[section, parser.optionxform(option["option"].rstrip())] = Place(
                    file, number, before + option.start("value") + 1)
    return places


@contextmanager
def placed(values: Mapping[str, object], overrides: Mapping[str, object]) -> Iterator[None]:
    """Let a ConfigError about a key begin with the place of its value. values: by key, not
    expanded; overrides: those of the command line."""
    try:
        yield
    except ConfigError as fault:
        key = _key_of_value(fault.key, values)
        if key is None:
            raise
        value = values[key]
        if isinstance(value, Placed) and value.place:
            raise ConfigError(_with_place(str(fault), value, value.place), key) from fault
        if key in overrides:
            raise ConfigError(f"--batch-override: {fault}", key) from fault
        raise


def _key_of_value(key: str, values: Mapping[str, object]) -> str | None:
    """The key whose value it is: one for both directions, or another that it takes it from."""
    if key not in values:
        key = KEYS[key].both if key in KEYS else ""
    for _ in values:  # one may lead to another, and in a circle
        another = _ANOTHER_KEYS.fullmatch(str(values.get(key)))
        if another is None:
            break
        key = another[1]
    return key if key in values else None


def _with_place(output: str, value: str, place: Place) -> str:
    file, line, column = place
    within = _WITHIN.match(output)
    if within and "\n" not in value and "${" not in value:
        # The value stands there as it was checked, so its columns are the file's.
        column += int(within[2]) - 1
        output = f"{within[1]}: {output[within.end():]}"
    return f"{file}:{line}:{column}: {output}"
