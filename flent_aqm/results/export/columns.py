# SPDX-License-Identifier: GPL-3.0-or-later
"""Define the columns of exported tables, and convert values from files.

Every export has all columns, whatever the files contain. So tables of different sweeps fit
together, and a table can be written while files are being read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from flent_aqm.base.defaults import ACCECN
from flent_aqm.base.json_text import json_text
from flent_aqm.results.data_file import a_number
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.spec.cross_traffic import KINDS
from flent_aqm.spec.scenario import RECORDS

# Increased when a column is removed or changes its meaning, but not for a new column.
SCHEMA_VERSION = 1

TEXT, NUMBER, WHOLE, SWITCH = "text", "number", "whole", "switch"
_MOST_WHOLE = 2**63 - 1

Cell = str | float | int | bool | None


@dataclass(frozen=True)
class Column:
    """A column of an exported table.

    Attributes:
        name: name of the column.
        kind: TEXT, NUMBER, WHOLE (integers) or SWITCH.
        path: keys that lead to the value in a data file's metadata, or key of a sample. Empty if
            the value is computed.
        unit: unit of the values, "" for none.
        description: one line for users.
    """

    name: str
    kind: str
    path: tuple[str, ...]
    unit: str
    description: str


def _aqm_column(name: str, kind: str, unit: str, description: str, *path: str) -> Column:
    """Return the column of a value in the object AQM of a file's metadata.

    Args:
        name: name of the column.
        kind: kind of the column.
        unit: unit of the values.
        description: one line for users.
        path: keys that lead to the value, by default `name`.
    """
    return Column(name, kind, ("AQM", *(path or (name,))), unit, description)


# Type of a setting's field -> kind of column. Other types are text. A switch that also accepts
# words is still a switch.
_KINDS = {"float": NUMBER, "int": WHOLE, "bool": SWITCH}


def _setting_columns() -> Iterator[Column]:
    """Yield a column for each setting that a user can request, with the path AQM.requested.NAME."""
    for record in RECORDS.values():
        for one in fields(record):
            row = record.rows()[one.name]
            yield _aqm_column(one.name, _KINDS.get(str(one.type).split(" ")[0], TEXT), row.unit,
                       f"requested: {row.help}", "requested", one.name)


def _applied_columns() -> Iterator[Column]:
    """Yield the columns for settings that the router's kernel reported after the run, first those
    for downloads, then for uploads: applied_down_rate_mbps, for example, has the path
    AQM.after.applied.down.rate_mbps."""
    for direction in ("down", "up"):
        for name, kind, unit in (
            ("shaper", TEXT, ""), ("qdisc", TEXT, ""), ("rate_mbps", NUMBER, "Mbit/s"),
            ("ceil_mbps", NUMBER, "Mbit/s"), ("burst_bytes", NUMBER, "bytes"),
            ("cburst_bytes", NUMBER, "bytes"),
        ):
            yield _aqm_column(f"applied_{direction}_{name}", kind, unit,
                       f"reported by the kernel after the run, device {direction}",
                       "after", "applied", direction, name)


# Columns of every run, from a data file's metadata.
RUN_COLUMNS: tuple[Column, ...] = (
    Column("test", TEXT, ("NAME",), "", "name of the test"),
    Column("title", TEXT, ("TITLE",), "", "the user's label"),
    Column("note", TEXT, ("NOTE",), "", "the user's note"),
    Column("batch", TEXT, ("BATCH_NAME",), "", "name of the batch"),
    Column("batch_uuid", TEXT, ("BATCH_UUID",), "", "distinguishes batches with the same name"),
    Column("time", TEXT, ("TIME",), "UTC", "the run's start by its own clock, ISO 8601"),
    Column("flent", TEXT, ("FLENT_VERSION",), "", "version of Flent"),
    Column("host", TEXT, ("HOST",), "", "the server"),
    Column("local_host", TEXT, ("LOCAL_HOST",), "", "the client"),
    Column("length_s", NUMBER, ("LENGTH",), "s", "length of the load, as set in Flent"),
    Column("total_length_s", NUMBER, ("TOTAL_LENGTH",), "s", "length of the run"),
    Column("delay_s", NUMBER, ("DELAY",), "s", "time with probes only, before and after the load"),
    Column("step_size_s", NUMBER, ("STEP_SIZE",), "s", "Flent's step"),
    Column("ip_version", WHOLE, ("IP_VERSION",), "", "4, 6 or empty"),
    Column("test_parameters", TEXT, ("TEST_PARAMETERS",), "", "parameters of the test, as JSON"),
    *_setting_columns(),
    _aqm_column("aqm_schema", WHOLE, "", "version of the object AQM", "schema"),
    _aqm_column("flent_aqm", TEXT, "", "version of this package"),
    _aqm_column("kernel_version", TEXT, "", "the kernel", "kernel", "version"),
    _aqm_column("kernel_hash", TEXT, "", "hash of the kernel", "kernel", "hash"),
    _aqm_column("tools", TEXT, "", "versions of tools, as JSON"),
    _aqm_column("virtual_s", NUMBER, "s", "on the lab's clock"),
    _aqm_column("wall_s", NUMBER, "s", "on the host's clock"),
    _aqm_column("finished_at", TEXT, "UTC", "host's time, ISO 8601"),
    *_applied_columns(),
)
# Column with the metadata that have no column of their own, as JSON.
METADATA_COLUMN = "metadata"
METRIC_COLUMNS: tuple[Column, ...] = tuple(
    Column(metric.name, NUMBER, (), metric.unit, metric.description)
    for metric in METRICS.values())


def find(tree: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at the end of a path of keys in `tree`, None if it doesn't exist."""
    value: Any = tree
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def as_cell(value: Any, kind: str) -> Cell:
    """Convert a value from a file for a column of this kind. None stays None.

    In a column of text, lists and objects become JSON, and any other value its text, with lone
    surrogates replaced (clean()). In other columns, a value of another type becomes None. This
    includes 3.0 in a column of integers, True and False in columns of numbers, infinite numbers and
    NaN, integers beyond 64 bits in a column of integers, and those beyond a float's range in one of
    other numbers. In a column of switches, text that names a kind of cross traffic, or ACCECN, is
    True.
    """
    if kind == SWITCH:
        # If the value is a kind of cross traffic or ECN, the switch is on.
        return value if isinstance(value, bool) else str(value) in (*KINDS, ACCECN) or None
    if kind == NUMBER:
        return a_number(value)
    if kind == WHOLE:
        return value if type(value) is int and abs(value) <= _MOST_WHOLE else None
    if isinstance(value, (dict, list)):
        return as_json(value)
    return None if value is None else clean(str(value))


def clean(text: str) -> str:
    """Return text that can be encoded as UTF-8, with lone surrogates replaced by "?"."""
    return text.encode("utf-8", "replace").decode()


def as_json(value: Any) -> str:
    """Return parsed JSON, or a value of such types, as JSON in one line of ASCII, with sorted keys.
    Numbers that are not finite become null."""
    return json_text(value, sort_keys=True)
