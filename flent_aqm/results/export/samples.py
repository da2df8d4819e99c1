# SPDX-License-Identifier: GPL-3.0-or-later
"""A data file as a row per raw sample."""

from __future__ import annotations

import pyarrow

from flent_aqm.results.data_file import DataFile
from flent_aqm.results.export.arrow import as_batch, schema_of
from flent_aqm.results.export.columns import (
    NUMBER,
    SCHEMA_VERSION,
    SWITCH,
    TEXT,
    WHOLE,
    Cell,
    Column,
    as_cell,
    as_json,
    clean,
)

# The fields of docs/data-format.md, by unit.
_NUMBERS = {
    "s": ("t", "dur"),
    "of the series": ("val",),
    "ms": ("owd_up", "owd_down", "ipdv", "ipdv_up", "ipdv_down", "tcp_rtt", "tcp_min_rtt",
           "tcp_rtt_var"),
    "bytes": ("bytes_acked", "bytes_sent", "bytes_retrans", "bytes_received", "tcp_cwnd_bytes",
              "down_backlog_bytes", "up_backlog_bytes"),
    "packets": ("retransmits", "tcp_cwnd", "down_backlog_packets", "up_backlog_packets",
                "down_drops", "up_drops", "down_marks", "up_marks", "down_overlimits",
                "up_overlimits"),
    "Mbit/s": ("download", "upload", "download_wire", "upload_wire", "cross_download",
               "cross_upload", "cross_download_wire", "cross_upload_wire"),
}
_FIELDS = (
    *(Column(name, NUMBER, (name,), unit, "as docs/data-format.md has it")
      for unit, names in _NUMBERS.items() for name in names),
    Column("seq", WHOLE, ("seq",), "", "number of the probe"),
    Column("lost", SWITCH, ("lost",), "", "whether the probe was lost"),
    Column("lost_dir", TEXT, ("lost_dir",), "", "on which way, as irtt names it"),
)
_KNOWN = {column.name for column in _FIELDS}
SCHEMA = schema_of((
    Column("schema", WHOLE, (), "", "version of this table's columns"),
    Column("file", TEXT, (), "", "path of the data file, as given: the run's row has the same"),
    Column("series", TEXT, (), "", "name of the series"),
    *_FIELDS,
    Column("more", TEXT, (), "", "other fields, as JSON"),
))


def sample_batch(data: DataFile) -> pyarrow.RecordBatch:
    """All samples of a file."""
    file = clean(str(data.path))
    rows: list[dict[str, Cell]] = []
    for name, samples in data.raw_values.items():
        series = clean(name)
        for sample in samples:
            row: dict[str, Cell] = {"schema": SCHEMA_VERSION, "file": file, "series": series}
            row |= {column.name: as_cell(sample[column.name], column.kind)
                    for column in _FIELDS if column.name in sample}
            more = {key: value for key, value in sample.items() if key not in _KNOWN}
            if more:
                row["more"] = as_json(more)
            rows.append(row)
    return as_batch(SCHEMA, rows)
