# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes values as JSON. Python's json writes NaN and Infinity, which are no JSON: other readers
refuse a file that has them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping

from flent_aqm.base.errors import BadResult


def json_text(value: object, *, indent: int | None = None, sort_keys: bool = False,
              compact: bool = False,
              default: Callable[[object], object] | None = None) -> str:
    """Return a value as JSON, with null in place of each number that is not finite.

    Args:
        value: numbers, texts, None, and lists, tuples and mappings of such values.
        indent: blanks for each level. None writes a single line.
        sort_keys: sort the keys of mappings.
        compact: write no blanks.
        default: converts values of other types. Without it they raise TypeError.
    """
    encoder = json.JSONEncoder(
        indent=indent, sort_keys=sort_keys, separators=(",", ":") if compact else None,
        default=default, allow_nan=False)
    try:
        return encoder.encode(value)
    except ValueError:
        return encoder.encode(_with_null(value))


def measured_json_text(value: object, *, sort_keys: bool = False) -> str:
    """Return measurements as JSON. Raises BadResult, which names the place, if a number is not
    finite: a measurement must not turn into a missing one."""
    try:
        return json.dumps(value, sort_keys=sort_keys, allow_nan=False)
    except ValueError:
        place, number = next(_not_finite(value), ("", math.nan))
        raise BadResult(f"{place or 'a value'} is {number}; a data file holds finite numbers and "
                        "null only") from None


def _with_null(value: object) -> object:
    """Return a copy of a value with None in place of each number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_with_null(key): _with_null(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_null(inner) for inner in value]
    return value


def _not_finite(value: object, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield the place and value of each number that is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _not_finite(inner, f"{place}[{number}]")
