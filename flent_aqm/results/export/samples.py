# SPDX-License-Identifier: GPL-3.0-or-later
"""Export a data file as one row per raw sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy
import pyarrow

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.export.arrow import schema_of
from flent_aqm.results.export.columns import (
    NUMBER,
    SCHEMA_VERSION,
    SWITCH,
    TEXT,
    WHOLE,
    Column,
    as_cell,
    as_json,
    clean,
)
from flent_aqm.results.metrics.flows import span
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.reading.series import MADE_OF_STEPS, series_of

# Fields of docs/reference/data-format.md, by unit.
_NUMBERS = {
    "s": ("t", "dur"),
    "of the series": ("val",),
    "ms": ("owd_up", "owd_down", "ipdv", "ipdv_up", "ipdv_down", "tcp_rtt", "tcp_min_rtt",
           "tcp_rtt_var"),
    "bytes": ("bytes_acked", "bytes_sent", "bytes_retrans", "bytes_received", "tcp_cwnd_bytes",
              "down_backlog_bytes", "up_backlog_bytes", "down_sent_bytes", "up_sent_bytes"),
    "packets": ("retransmits", "tcp_cwnd", "down_backlog_packets", "up_backlog_packets",
                "down_drops", "up_drops", "down_marks", "up_marks", "down_overlimits",
                "up_overlimits", "down_ring_packets", "up_ring_packets", "down_ring_drops",
                "up_ring_drops", "down_sending_packets", "up_sending_packets"),
    "share": ("core0_busy", "core0_other"),
    # of the series Probe parts
    "us": ("link", "ring", "processor", "queue", "card"),
    "Mbit/s": ("download", "upload", "download_wire", "upload_wire", "cross_download",
               "cross_upload", "cross_download_wire", "cross_upload_wire"),
}
_FIELDS = (
    *(Column(name, NUMBER, (name,), unit, "see docs/reference/data-format.md")
      for unit, names in _NUMBERS.items() for name in names),
    Column("seq", WHOLE, ("seq",), "", "number of the probe"),
    Column("lost", SWITCH, ("lost",), "", "whether the probe was lost"),
    Column("way", TEXT, ("way",), "", "direction, for the series Probe parts: upload or download"),
    Column("lost_dir", TEXT, ("lost_dir",), "", "direction in which it was lost, as irtt names it"),
)
_KNOWN = {column.name for column in _FIELDS}
COLUMNS = (
    Column("schema", WHOLE, (), "", "version of this table's format"),
    Column("file", TEXT, (), "",
           "path of the data file, as given; the same as in the table of runs"),
    Column("series", TEXT, (), "", "name of the series"),
    Column("phase", TEXT, (), "", "`idle` before the first flow, `loaded` from the start of the "
           "test's first flow to the end of its last, both by `t`; else empty"),
    *_FIELDS,
    Column("more", TEXT, (), "", "other fields, as JSON"),
)
SCHEMA = schema_of(COLUMNS)


def sample_batch(data: DataFile) -> pyarrow.RecordBatch:
    """Return all raw samples of a file as a record batch with the schema SCHEMA, one series after
    another. Values that don't fit their column's type (as_cell()) are null, and so is `phase`
    everywhere if the file can't be read as a run. Series that have only Flent's interpolated steps
    are left out, so the batch may have no rows."""
    raw = _raw_samples(data)
    series = list(raw)
    counts = [len(samples) for samples in raw.values()]
    samples = list(chain.from_iterable(raw.values()))
    there: set[str] = set()  # fields that occur; most belong to one tool
    for sample in samples:
        there.update(sample)
    # All empty columns of a type share one array.
    empty = {form: pyarrow.nulls(len(samples), form) for form in set(SCHEMA.types)}
    columns: dict[str, pyarrow.Array] = {
        "schema": pyarrow.repeat(pyarrow.scalar(SCHEMA_VERSION, pyarrow.int64()), len(samples)),
        "file": pyarrow.repeat(clean(str(data.path)), len(samples)),
        "series": pyarrow.array(numpy.repeat(numpy.array(series, object), counts),
                                pyarrow.string()),
        "more": (empty[pyarrow.string()] if there <= _KNOWN else
                 pyarrow.array(map(_other_fields, samples), pyarrow.string(), size=len(samples)))}
    for field in _FIELDS:
        name, kind, form = field.name, field.kind, SCHEMA.field(field.name).type
        columns[name] = pyarrow.array(
            (as_cell(sample[name], kind) if name in sample else None for sample in samples),
            form, size=len(samples)) if name in there else empty[form]
    columns["phase"] = _phases(data, columns["t"])
    return pyarrow.RecordBatch.from_arrays([columns[field.name] for field in SCHEMA],
                                           schema=SCHEMA)


def _raw_samples(data: DataFile) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return name of a series -> its raw samples, in the units of the newest format. Series of
    interpolated steps are left out."""
    if data.metadata.get(MADE_OF_STEPS):
        return {}  # of every series, also of those that Flent computed
    read = series_of(data)
    return {**{name: samples for name, samples in data.raw_values.items()
               if name not in read or not read[name].of_steps},
            **{name: series.samples for name, series in read.items() if not series.of_steps}}


def _phases(data: DataFile, sample_times_s: pyarrow.Array) -> pyarrow.Array:
    """Return for each sample `idle` if it is before the first flow, of the test or of cross
    traffic, `loaded` if it is between the start of the test's first flow and the end of its last,
    else null, also without a time. All samples with a time are `idle` if the run has no flow, and
    all are null if the file can't be read as a run.

    Args:
        data: the data file.
        sample_times_s: time of each sample in epoch seconds, null if it has none.
    """
    try:
        run = as_run(data)
    except BadResult:
        return pyarrow.nulls(len(sample_times_s), pyarrow.string())
    whole, load = span(run.flows), run.load_window
    times_s = sample_times_s.to_numpy(zero_copy_only=False)
    idle = times_s < (whole.start_s if whole else math.inf)
    loaded = load.holds(times_s) if load else numpy.zeros(times_s.size, bool)
    names = numpy.array([None, "loaded", "idle"], object)
    return pyarrow.array(names[numpy.where(idle, 2, loaded.astype(int))], pyarrow.string())


def _other_fields(sample: Mapping[str, Any]) -> str | None:
    """Return the fields of a sample that have no column of their own, as JSON. None if there are
    none."""
    if sample.keys() <= _KNOWN:
        return None
    return as_json({key: value for key, value in sample.items() if key not in _KNOWN})
