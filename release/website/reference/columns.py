# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the columns of exported tables, with the places in a data file that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flent_aqm.results.export import runs, samples
from flent_aqm.results.export.columns import METRIC_COLUMNS, RUN_COLUMNS, Column
from flent_aqm.results.grouping import collect
from release.website.reference.rows import listed, table

_REQUESTED = "AQM.requested.*"


def run_columns() -> Iterator[str]:
    """Yield the lines of a Markdown table of the columns of the table of runs, without the metrics:
    name, place in the data file's metadata, unit, description. Requested settings, which keys.md
    describes, share a row; so do all that the kernel reported as applied."""
    of_file = {column.name for column in (*RUN_COLUMNS, *METRIC_COLUMNS)}
    others = [column for column in runs.COLUMNS if column.name not in of_file]
    groups = collect([*others, *RUN_COLUMNS], _row_key)
    yield from table(("column", "metadata", "unit", ""), (
        (_column_names(place, group), f"`{place}`" if place else "", unit, words)
        for (place, unit, words), group in groups.items()))


def sample_columns() -> Iterator[str]:
    """Yield a list item for each unit, with the columns of the table of samples that have it.
    Columns without a unit are listed by their kind of value."""
    groups = collect(samples.COLUMNS, lambda one: one.unit or one.kind)
    yield from listed(
        (unit, ", ".join(f"`{one.name}`" for one in group)) for unit, group in groups.items())


def _column_names(place: str, group: Sequence[Column]) -> str:
    if place == _REQUESTED:
        return "each key of [batch keys](keys.md)"
    return ", ".join(f"`{one.name}`" for one in group)


def _row_key(column: Column) -> tuple[str, str, str]:
    """Return the place in a data file's metadata that the column comes from, such as
    "AQM.kernel.version" ("" if from none), its unit and its description. All requested settings
    have one common key, and so have all that the kernel reported as applied. Columns with equal
    keys share a row."""
    place = ".".join(column.path)
    if place.startswith("AQM.requested."):
        return _REQUESTED, "", "as requested"
    if place.startswith("AQM.after.applied."):
        return "AQM.after.applied.*", "", "as the kernel reported them after the run"
    return place, column.unit, column.description
