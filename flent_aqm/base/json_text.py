# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes values as JSON that any reader accepts, without NaN and Infinity.

Python's json writes NaN and Infinity, which are no JSON: other readers refuse a file that has them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping

from flent_aqm.base.errors import BadResult


def json_text(value: object, *, indent: int | None = None, sort_keys: bool = False,
              compact: bool = False,
              default: Callable[[object], object] | None = None) -> str:
    """Return a value as JSON in ASCII, with null in place of each number that is not finite.

    Args:
        value: numbers, booleans, texts, None, and lists, tuples and dicts of such values.
        indent: blanks for each level. None writes a single line.
        sort_keys: True to sort the keys of dicts.
        compact: True to write no blanks after commas and colons.
        default: function that converts values of other types. What it returns must not have numbers
            that are not finite (ValueError). Without it, such values raise TypeError.
    """
    encoder = json.JSONEncoder(
        indent=indent, sort_keys=sort_keys, separators=(",", ":") if compact else None,
        default=default, allow_nan=False)
    try:
        return encoder.encode(value)
    except ValueError:
        return encoder.encode(_replace_not_finite(value))


def measured_json_text(value: object, *, sort_keys: bool = False) -> str:
    """Return measurements as a single line of JSON in ASCII. Raises BadResult if a number is not
    finite: a measurement must not turn into a missing one. Its message names the path to the
    number, if the number is a value inside a list or dict.

    Args:
        value: as for json_text(). Other types raise TypeError.
        sort_keys: True to sort the keys of dicts.
    """
    try:
        return json.dumps(value, sort_keys=sort_keys, allow_nan=False)
    except ValueError:
        path, number = next(_find_not_finite(value), ("", math.nan))
        raise BadResult(f"{path or 'a value'} is {number}; numbers in a data file are finite, "
                        "so it is not written; see what the tool of this value has printed, and "
                        "repeat the run") from None


def _replace_not_finite(value: object) -> object:
    """Return a copy of a value with None in place of each number that is not finite, also among
    keys of mappings. Mappings become dicts, lists and tuples become lists; values of other types
    are not copied."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_replace_not_finite(key): _replace_not_finite(inner)
                for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_not_finite(inner) for inner in value]
    return value


def _find_not_finite(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield path and value of each number that is not finite, among the values of mappings, lists
    and tuples, but not among keys. A path is such as "queues.down[3]", with indexes from 0.

    Args:
        value: the value to search.
        path: path to the value, "" for the whole.
    """
    if isinstance(value, float) and not math.isfinite(value):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _find_not_finite(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _find_not_finite(inner, f"{path}[{number}]")
