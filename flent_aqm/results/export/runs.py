# SPDX-License-Identifier: GPL-3.0-or-later
"""Export a data file as one row: its settings, its metadata, and every metric."""

from __future__ import annotations

from flent_aqm.results.data_file import DataFile
from flent_aqm.results.export.arrow import schema_of
from flent_aqm.results.export.columns import (
    METADATA_COLUMN,
    METRIC_COLUMNS,
    NUMBER,
    RUN_COLUMNS,
    SCHEMA_VERSION,
    TEXT,
    WHOLE,
    Cell,
    Column,
    as_cell,
    as_json,
    clean,
    find,
)
from flent_aqm.results.metrics.run import as_run, probe_line
from flent_aqm.results.metrics.table import Unavailable, values

COLUMNS = (
    Column("schema", WHOLE, (), "", "version of this table's format"),
    Column("file", TEXT, (), "", "path of the data file, as given"),
    *RUN_COLUMNS,
    Column(METADATA_COLUMN, TEXT, (), "", "the rest of the file's metadata, as JSON"),
    Column("probe", TEXT, (), "", "the latency series that metrics are of, with its tool"),
    Column("notes", TEXT, (), "", "what to know of how the numbers came about, such as a probe "
           "that stopped; separated by `; `"),
    *METRIC_COLUMNS,
)
SCHEMA = schema_of(COLUMNS)
# Keys of the metadata that have a column of their own.
_TOLD = {column.path[0] for column in RUN_COLUMNS if len(column.path) == 1}


def run_row(data: DataFile) -> dict[str, Cell]:
    """Return the row of a data file: name of a column -> value, for each of COLUMNS. It is None for
    a value that is missing, for one of another type than the column's, and for a metric that is a
    lost probe or can't be computed. Raises BadResult if the file is damaged."""
    metadata = data.metadata
    row: dict[str, Cell] = {"schema": SCHEMA_VERSION, "file": clean(str(data.path))}
    row |= {column.name: as_cell(find(metadata, column.path), column.kind)
            for column in RUN_COLUMNS}
    row[METADATA_COLUMN] = as_json({key: value for key, value in metadata.items()
                                    if key not in _TOLD})
    run = as_run(data)
    row["probe"] = clean(probe_line(run.probe)) if run.probes else None
    row["notes"] = clean("; ".join(run.notes)) or None
    row |= {name: None if isinstance(value, Unavailable) else as_cell(value, NUMBER)
            for name, value in values(run).items()}
    return row
