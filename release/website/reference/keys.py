# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the keys of a batch, and the parameters of this package's tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flent_aqm.spec.flent_settings import TEST_PARAMETERS
from flent_aqm.spec.key import Key
from flent_aqm.spec.keys import SWEEP_KEYS
from flent_aqm.spec.scenario import RECORDS
from release.website.reference.rows import table


def keys() -> Iterator[str]:
    """Yield a heading and the lines of a Markdown table for each group of batch keys (RECORDS), and
    last for the sweep's keys."""
    for kind in RECORDS.values():
        yield from _section(kind.heading, kind.rows())
    yield from _section("The sweep", SWEEP_KEYS)


def test_parameters() -> Iterator[str]:
    """Yield one line with the names of all parameters of tests that this package knows."""
    yield ", ".join(f"`{name}`" for name in sorted(TEST_PARAMETERS))


def _section(heading: str, rows: Mapping[str, Key]) -> Iterator[str]:
    """Yield heading and Markdown table of a record's keys. Keys of the two directions stand in one
    row, behind the key that sets both."""
    shown: dict[str, tuple[str, ...]] = {}
    for name, row in rows.items():
        first = row.both or row.shown or name
        shown[first] = (*shown.get(first, (first,)), *([name] if row.both else []))
    by_first = {row.both or row.shown or name: row for name, row in rows.items()}
    yield f"### {heading}"
    yield ""
    yield from table(("key", "values", "default", ""), (
        (", ".join(f"`{one}`" for one in names), row.values,
         row.default_words, row.help)
        for first, names in shown.items() for row in [by_first[first]]))
    yield ""
