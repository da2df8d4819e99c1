# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds the position of a refused value in a batch file to the error message: FILE:LINE:COLUMN.

Values of --batch-override have this option's name as position. A value keeps its position when
sections inherit it. A value that is only another key's, ${name}, has that key's position. Yes and
no, which Flent turns into True and False, have no position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.spec.scenario import KEYS

_ANOTHER_KEYS = re.compile(r"\$\{(\w+)\}")
# Beginning of a message about a value with several parts.
_WITHIN = re.compile(r"(\w+): column (\d+): ")


class FilePosition(NamedTuple):
    """Position at which a value begins. Lines and columns are counted from 1."""

    file: str
    line: int
    column: int


class Placed(str):
    """Text of a value in a batch file, with its position.

    Attributes:
        place: position in the file, None if it is not known. The constructor doesn't set it;
            placed_sections() does.
    """

    place: FilePosition | None


def placed_word(value: object, text: str, word: str) -> str:
    """Return a text that stands for a word of a list, as a Placed with the word's position. That is
    the list's if the list is of several lines. Return the text as it is if the list has no
    position.

    Args:
        value: the list.
        text: the text.
        word: the word, as it is in the list.
    """
    if not isinstance(value, Placed) or not value.place:
        return text
    found = re.search(rf"(?<![^\s,;'\"]){re.escape(word)}(?![^\s,;'\"])", value)
    placed_text, offset = Placed(text), found.start() if found and "\n" not in value else 0
    placed_text.place = value.place._replace(column=value.place.column + offset)
    return placed_text


def placed_sections(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name, and the keys (in lower case) with their values, of each section of a batch
    file. Each value is a Placed. Keys of [DEFAULT] are in each section, there without a position.
    Before the first section, raises ConfigError if the file can't be read or is not UTF-8,
    configparser.Error if it can't be parsed."""
    parser = RawConfigParser()
    try:
        # Read as a whole: otherwise the error's position is that in a part of the file.
        parser.read_string(Path(file).read_text(encoding="utf-8-sig"), file)
    except OSError as error:
        raise ConfigError(f"batch file {file}: can't be read: {cause_of(error)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"batch file {file}: is not UTF-8 text (byte {error.start}: "
                          f"{error.reason}); save it as UTF-8") from None
    places = _find_positions(parser, file)
    for section in parser.sections():
        values = {}
        for key, text in parser.items(section):
            values[key] = value = Placed(text)
            value.place = places.get((section, key))
        yield section, values


def _find_positions(parser: RawConfigParser, file: str) -> dict[tuple[str, str], FilePosition]:
    """Find the position of each value in a batch file: (section, key) -> position. Keys are in
    lower case, as the parser has them. Lines are read as configparser reads them: a line further to
    the right than its key continues the key's value.

    Args:
        parser: recognises section and key lines, and converts keys to lower case.
        file: path of the batch file.
    """
    places: dict[tuple[str, str], FilePosition] = {}
    section, indent, in_value = "", 0, False
    with open(file, encoding="utf-8-sig") as lines:
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
                places[section, parser.optionxform(option["option"].rstrip())] = FilePosition(
                    file, number, before + option.start("value") + 1)
    return places


@contextmanager
def placed(values: Mapping[str, object], overrides: Mapping[str, object]) -> Iterator[None]:
    """Context manager: put the position of a key's value before the message of a ConfigError that
    the block raises about that key.

    Errors about a key of --batch-override, or of --batch-repetitions, begin with this option.
    Errors about no key, about a key that `values` lacks, or about a value of unknown position, stay
    as they are.

    Args:
        values: values by key, not expanded, with overrides applied. Those with a position are
            Placed.
        overrides: values of --batch-override, by key.
    """
    try:
        yield
    except ConfigError as fault:
        key = _key_of_value(fault.key, values)
        if key is None:
            raise
        value = values[key]
        message = _with_given_key(str(fault), fault.key, values)
        if isinstance(value, Placed) and value.place:
            raise ConfigError(
                _message_with_position(message, value, value.place), key) from fault
        if key in overrides:
            # Only --batch-repetitions, of which Flent makes an override, gives a number.
            option = "--batch-repetitions" if type(value) is int else "--batch-override"
            raise ConfigError(f"{option}: {message}", key) from fault
        raise


def _with_given_key(message: str, key: str, values: Mapping[str, object]) -> str:
    """Return a message that begins with the key for both directions in place of `key`, if the value
    of `key` is a reference to it, as base.batch has them: users write rate_mbps, not
    rate_down_mbps. Other messages are returned unchanged."""
    both = KEYS[key].both if key in KEYS else ""
    if both and values.get(key) == f"${{{both}}}" and message.startswith(f"{key}: "):
        return f"{both}{message.removeprefix(key)}"
    return message


def _key_of_value(key: str, values: Mapping[str, object]) -> str | None:
    """Return the key under which the value of `key` is written: `key` itself, or if `values` lacks
    it or has it empty, the key that sets both directions (rate_mbps for rate_up_mbps), if it is
    there. If the value there is nothing but a reference ${name}, return the key `name`, and so on.
    None if `values` lacks the key that was found."""
    if values.get(key) in (None, ""):
        key = KEYS[key].both if key in KEYS and KEYS[key].both in values else key
    for _ in values:  # keys may refer to each other in a circle
        another = _ANOTHER_KEYS.fullmatch(str(values.get(key)))
        if another is None:
            break
        key = another[1]
    return key if key in values else None


def _message_with_position(message: str, value: str, place: FilePosition) -> str:
    """Return a message with the position of the value before it: FILE:LINE:COLUMN. If the message
    begins with "KEY: column N: ", that column is added to the position, and left out of the
    message, unless the value has several lines or a ${name}.

    Args:
        message: the message.
        value: the value as it is written.
        place: position at which the value begins.
    """
    file, line, column = place
    within = _WITHIN.match(message)
    if within and "\n" not in value and "${" not in value:
        # The value was checked as it is written, so its columns are those of the file.
        column += int(within[2]) - 1
        message = f"{within[1]}: {message[within.end():]}"
    return f"{file}:{line}:{column}: {message}"
