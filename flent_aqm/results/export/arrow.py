# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert tables to PyArrow, and write them as files, a part of the table at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow
import pyarrow.csv
import pyarrow.parquet

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.base.whole_file import written_whole
from flent_aqm.base.words import for_spreadsheet
from flent_aqm.results.export.columns import (
    NUMBER,
    SCHEMA_VERSION,
    SWITCH,
    TEXT,
    WHOLE,
    Cell,
    Column,
)

_TYPES = {TEXT: pyarrow.string(), NUMBER: pyarrow.float64(), WHOLE: pyarrow.int64(),
          SWITCH: pyarrow.bool_()}
# Rows that are written at once. Fewer would compress badly, and more would need more memory.
ROWS_AT_ONCE = 20_000
ROWS_IN_BATCH = 256

Write = Callable[[pyarrow.Table], object]


def schema_of(columns: Sequence[Column]) -> pyarrow.Schema:
    """Return PyArrow's schema of columns. Its metadata are the columns' units and descriptions, and
    SCHEMA_VERSION. Only Parquet files keep them."""
    return pyarrow.schema(
        [pyarrow.field(column.name, _TYPES[column.kind],
                       metadata={"unit": column.unit, "description": column.description})
         for column in columns],
        metadata={"flent_aqm_export_schema": str(SCHEMA_VERSION)})


def as_batch(schema: pyarrow.Schema, rows: Sequence[Mapping[str, Cell]]) -> pyarrow.RecordBatch:
    """Return rows as a record batch. Missing values are null.

    Args:
        schema: schema of the table.
        rows: name of a column -> value, for each row. Names without a column are left out.
    """
    return pyarrow.RecordBatch.from_arrays(
        [pyarrow.array([row.get(field.name) for row in rows], field.type) for field in schema],
        schema=schema)


def batches(schema: pyarrow.Schema, rows: Iterable[Mapping[str, Cell]]
            ) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows as record batches of 256 rows (ROWS_IN_BATCH), the last of which may be shorter,
    because a batch of one row costs as much as one of a hundred. Missing values are null. Nothing
    without rows.

    Args:
        schema: schema of the table.
        rows: name of a column -> value, for each row. Names without a column are left out.
    """
    rows = iter(rows)
    while held := list(islice(rows, ROWS_IN_BATCH)):
        yield as_batch(schema, held)


def write_table(path: Path, schema: pyarrow.Schema, parts: Iterable[pyarrow.RecordBatch]) -> int:
    """Write a table atomically in the format of the path's suffix (.parquet, .csv or .json), and
    return the number of rows. In a CSV file, texts that a spreadsheet would take for formulas get
    an apostrophe before them. Raises ConfigError if the suffix is unknown or the file can't be
    written. If it raises, also an error of `parts`, an existing file stays as it was.

    Args:
        path: the file, which is overwritten if it exists.
        schema: schema of the table.
        parts: the batches of the table.
    """
    if path.suffix not in WRITERS:
        raise ConfigError(f"{path}: the suffix chooses the format; expected one of "
                          f"{', '.join(WRITERS)}")
    count = 0
    try:
        with written_whole(path) as file, WRITERS[path.suffix](file, schema) as write:
            for table in _join_batches(schema, parts):
                write(table)
                count += table.num_rows
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {cause_of(error)}") from None
    return count


def _join_batches(schema: pyarrow.Schema, parts: Iterable[pyarrow.RecordBatch]
              ) -> Iterator[pyarrow.Table]:
    """Yield the batches joined to tables, in their order. A table ends with the batch that gives it
    20,000 rows (ROWS_AT_ONCE) or more, or with its 256th batch. The last table may be shorter.
    Nothing without batches."""
    held: list[pyarrow.RecordBatch] = []
    for batch in parts:
        held.append(batch)
        if sum(one.num_rows for one in held) >= ROWS_AT_ONCE or len(held) >= 256:
            yield pyarrow.Table.from_batches(held, schema).combine_chunks()
            held = []
    if held:
        yield pyarrow.Table.from_batches(held, schema).combine_chunks()


@contextmanager
def _parquet_writer(file: IO[bytes], schema: pyarrow.Schema) -> Iterator[Write]:
    """Context manager: write a Parquet file. Its value is the function that writes a table."""
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        yield writer.write_table


@contextmanager
def _csv_writer(file: IO[bytes], schema: pyarrow.Schema) -> Iterator[Write]:
    """Context manager: write a CSV file, whose texts no spreadsheet takes for formulas. Its value
    is the function that writes a table."""
    with pyarrow.csv.CSVWriter(file, schema) as writer:
        yield lambda table: writer.write_table(_for_spreadsheets(table))


def _for_spreadsheets(table: pyarrow.Table) -> pyarrow.Table:
    """Return the table with an apostrophe before each text that a spreadsheet would take for a
    formula, see for_spreadsheet(). The argument is not changed."""
    for index, field in enumerate(table.schema):
        if field.type == pyarrow.string():
            coded = table.column(index).combine_chunks().dictionary_encode()
            words = [for_spreadsheet(word) for word in coded.dictionary.to_pylist()]
            column = pyarrow.array(words, field.type).take(coded.indices)
            table = table.set_column(index, field, column)
    return table


@contextmanager
def _json_writer(file: IO[bytes], schema: pyarrow.Schema) -> Iterator[Write]:
    """Context manager: write a JSON array with an object per line. Its value is the function that
    writes a table. PyArrow can't write JSON."""
    before = "[\n"

    def write(table: pyarrow.Table) -> None:
        nonlocal before
        for row in table.to_pylist():
            file.write((before + json_text(row)).encode())
            before = ",\n"

    yield write
    file.write(b"\n]\n" if before != "[\n" else b"[]\n")


WRITERS: Mapping[str, Callable[[IO[bytes], pyarrow.Schema], Any]] = {
    ".parquet": _parquet_writer, ".csv": _csv_writer, ".json": _json_writer}
