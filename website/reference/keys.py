# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a batch, and the parameters of this package's tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from flent_aqm.asked.flent_settings import TEST_PARAMETERS
from flent_aqm.asked.key_help import KEY_HELP, KeyHelp
from flent_aqm.asked.scenario import Scenario
from website.reference.rows import table

_DEFAULTS = {field.name: field.default for field in dataclasses.fields(Scenario)}


def keys() -> Iterator[str]:
    """Yield a table for each group of keys."""
    for group, members in KEY_HELP.items():
        yield f"### {group}"
        yield ""
        yield from table(("key", "values", "default", ""), (
            (_names(key, about), about.values, _default(key, about), about.help)
            for key, about in members.items()))
        yield ""


def test_parameters() -> Iterator[str]:
    """Yield the names of all parameters of tests that this package knows."""
    yield ", ".join(f"`{name}`" for name in sorted(TEST_PARAMETERS))


def _names(key: str, about: KeyHelp) -> str:
    return ", ".join(f"`{one}`" for one in (key, *(about.of_one_way or ())))


def _default(key: str, about: KeyHelp) -> str:
    """Return a default; nothing for none."""
    if about.default:
        return "" if about.default == "none" else about.default
    value = _DEFAULTS[key]
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return f"{value:g}"
    return f"`{value}`" if value else ""
