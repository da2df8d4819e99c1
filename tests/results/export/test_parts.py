# SPDX-License-Identifier: GPL-3.0-or-later
"""Cells, rows and files of exported tables, of small inputs that take every branch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.export.arrow import as_batch, batches, schema_of, write_table
from flent_aqm.results.export.columns import (
    NUMBER,
    SWITCH,
    TEXT,
    WHOLE,
    Cell,
    Column,
    as_cell,
    find,
)
from flent_aqm.results.export.runs import run_row
from flent_aqm.results.export.samples import COLUMNS, sample_batch

MS = {"RUNNER": "PingRunner", "UNITS": "ms"}


@pytest.mark.parametrize(("value", "kind", "cell"), [
    (True, SWITCH, True), (False, SWITCH, False), ("accecn", SWITCH, True), ("call", SWITCH, True),
    ("yes", SWITCH, None), (1, SWITCH, None), (None, SWITCH, None), (1, NUMBER, 1.0),
    ("1", NUMBER, None), (True, NUMBER, None), (1, WHOLE, 1), (True, WHOLE, None),
    (2**63 - 1, WHOLE, 2**63 - 1), (2**63, WHOLE, None), (-(2**63), WHOLE, None),
    (1.0, WHOLE, None),
    ({"b": 1, "a": [2]}, TEXT, '{"a":[2],"b":1}'), ([1], TEXT, "[1]"), (1.5, TEXT, "1.5"),
    (None, TEXT, None), ("a\ud800", TEXT, "a?"), ("", TEXT, "")])
def test_value_in_a_cell(value: Any, kind: str, cell: Cell) -> None:
    found = as_cell(value, kind)
    assert (str(found).replace(" ", ""), type(found)) == (str(cell), type(cell))


def test_value_at_the_end_of_a_path() -> None:
    tree = {"a": {"b": 1}, "c": 2}
    assert [find(tree, path) for path in (("a", "b"), ("a", "x"), ("c", "b"), ("x", "b"), ())] == [
        1, None, None, None, tree]


def test_samples_have_phase_and_other_fields() -> None:
    """Before the first flow idle, from its start to the end of the load loaded. Series that Flent
    computed, and without a time, too. A field without a column is in `more`."""
    raw: dict[str, list[dict[str, Any]]] = {
        "Ping (ms) ICMP": [{"t": float(at), "val": 1.0} for at in (1, 2, 4, 5)],
        "TCP totals": [{"t": 4.5, "val": 7, "odd": [1]}, {"val": "x", "lost": True, "seq": 3}],
        "TCP upload": [{"t": 4.0, "val": 8.0, "dur": 2.0}]}
    meta = {"Ping (ms) ICMP": MS, "TCP totals": {"RUNNER": "SumRunner"}, "TCP upload": {
        "UNITS": "bits/s", "LOAD_START": 2.0, "LOAD_END": 4.0}}
    data = as_data_file({"version": 4, "raw_values": raw, "metadata": {"SERIES_META": meta}},
                        Path("x\ud800"))
    rows = sample_batch(data).to_pylist()
    assert [(row["series"][:8], row["t"], row["val"], row["phase"], row["more"]) for row in rows
            ] == [
        ("Ping (ms", 1.0, 1.0, "idle", None), ("Ping (ms", 2.0, 1.0, "loaded", None),
        ("Ping (ms", 4.0, 1.0, "loaded", None), ("Ping (ms", 5.0, 1.0, None, None),
        ("TCP tota", 4.5, 7.0, None, '{"odd": [1]}'), ("TCP tota", None, None, None, None),
        ("TCP uplo", 4.0, 8e-6, "loaded", None)]
    assert {(row["schema"], row["file"]) for row in rows} == {(1, "x?")}
    assert [(row["lost"], row["seq"], row["dur"]) for row in rows[4:]] == [
        (None, None, None), (True, 3, None), (None, None, 2.0)]
    assert list(rows[0]) == [column.name for column in COLUMNS]


def test_samples_of_a_run_without_flows_are_idle_and_of_a_damaged_one_have_no_phase() -> None:
    def phases(value: float) -> list[str | None]:
        data = as_data_file({"version": 4, "raw_values": {"Ping (ms) x": [
            {"t": 1.0, "val": value}]}, "metadata": {"SERIES_META": {"Ping (ms) x": MS}}},
            Path("x"))
        return [row["phase"] for row in sample_batch(data).to_pylist()]

    assert phases(1.0) == ["idle"]
    assert phases(-1.0) == [None]


TABLE = (Column("a", TEXT, (), "s", "first"), Column("b", NUMBER, (), "", "second"),
         Column("c", WHOLE, (), "", "third"), Column("d", SWITCH, (), "", "fourth"))


@pytest.mark.parametrize(("samples", "notes"), [
    ([{"t": 1.0, "val": 8.0, "dur": 1.0}], None), ([], "the tool of 'TCP upload' gave no data")])
def test_row_of_a_run_has_what_is_to_be_known_of_it(
        samples: list[dict[str, Any]], notes: str | None) -> None:
    """Nothing if all is as usual."""
    row = run_row(as_data_file({"version": 4, "raw_values": {"TCP upload": samples}, "metadata": {
        "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}}}}, Path("x")))
    assert (row["notes"], row["probe"], row["file"]) == (notes, None, "x")


def test_schema_has_units_and_descriptions() -> None:
    schema = schema_of(TABLE)
    assert [(one.name, one.type, dict(one.metadata)) for one in schema] == [
        ("a", pyarrow.string(), {b"unit": b"s", b"description": b"first"}),
        ("b", pyarrow.float64(), {b"unit": b"", b"description": b"second"}),
        ("c", pyarrow.int64(), {b"unit": b"", b"description": b"third"}),
        ("d", pyarrow.bool_(), {b"unit": b"", b"description": b"fourth"})]
    assert schema.metadata == {b"flent_aqm_export_schema": b"1"}


def test_files_have_all_rows_of_all_parts(tmp_path: Path) -> None:
    """As whole texts. An empty table is one, too. Nothing is beside it."""
    schema = schema_of(TABLE)
    parts = [as_batch(schema, [{"a": "=x", "b": 1.5, "more": 1}, {"c": 2, "d": True}]),
             as_batch(schema, []), as_batch(schema, [{"a": "y", "d": False}])]
    assert write_table(tmp_path / "x.csv", schema, parts) == 3
    assert (tmp_path / "x.csv").read_text() == (
        '"a","b","c","d"\n"\'=x",1.5,,\n,,2,true\n"y",,,false\n')
    assert write_table(tmp_path / "x.json", schema, parts) == 3
    text = (tmp_path / "x.json").read_text()
    assert json.loads(text) == [
        {"a": "=x", "b": 1.5, "c": None, "d": None}, {"a": None, "b": None, "c": 2, "d": True},
        {"a": "y", "b": None, "c": None, "d": False}]
    assert text.startswith("[\n{")
    assert text.endswith("}\n]\n")
    assert text.count(",\n{") == 2
    assert write_table(tmp_path / "x.parquet", schema, parts) == 3
    assert pyarrow.parquet.read_table(tmp_path / "x.parquet").to_pylist() == json.loads(text)
    assert pyarrow.parquet.read_schema(tmp_path / "x.parquet").field("a").metadata[
        b"unit"] == b"s"
    assert write_table(tmp_path / "none.json", schema, []) == 0
    assert (tmp_path / "none.json").read_text() == "[]\n"
    assert {path.name for path in tmp_path.iterdir()} == {
        "x.csv", "x.json", "x.parquet", "none.json"}
    with pytest.raises(ConfigError) as caught:
        write_table(tmp_path / "x.xls", schema, parts)
    assert str(caught.value) == (f"{tmp_path / 'x.xls'}: the suffix chooses the format; expected "
                                 "one of .parquet, .csv, .json")
    with pytest.raises(ConfigError) as caught:
        write_table(tmp_path / "no" / "x.csv", schema, parts)
    assert str(caught.value) == (f"{tmp_path / 'no' / 'x.csv'}: can't be written: No such file or "
                                 f"directory: folder {tmp_path / 'no'}")


def test_rows_come_in_batches_of_256() -> None:
    """The last one has what is left."""
    schema = schema_of(TABLE)

    def sizes(count: int) -> list[int]:
        return [batch.num_rows for batch in batches(schema, ({"c": at} for at in range(count)))]

    assert [sizes(count) for count in (0, 1, 256, 257, 600)] == [
        [], [1], [256], [256, 1], [256, 256, 88]]


@pytest.mark.parametrize(("parts", "written"), [
    # At 20,000 rows a piece of the file ends, and at 256 batches.
    ([19_999, 1, 1], [20_000, 1]), ([19_999, 2, 1], [20_001, 1]), ([20_000], [20_000]),
    ([1] * 256, [256]), ([1] * 257, [256, 1]), ([19_999], [19_999])])
def test_file_is_written_in_pieces(parts: list[int], written: list[int], tmp_path: Path) -> None:
    """Which Parquet has as row groups."""
    schema = schema_of(TABLE)
    rows = [as_batch(schema, [{"c": at} for at in range(count)]) for count in parts]
    assert write_table(tmp_path / "x.parquet", schema, rows) == sum(parts)
    about = pyarrow.parquet.ParquetFile(tmp_path / "x.parquet").metadata
    assert [about.row_group(at).num_rows for at in range(about.num_row_groups)] == written


def test_sample_with_all_fields_has_no_more_of_them() -> None:
    """Beside one that has another field, and one that has a single one."""
    known: dict[str, Any] = {column.name: 1.0 for column in COLUMNS if column.path}
    raw = {"Ping (ms) ICMP": [known, {**known, "odd": 2}, {"odd": 3}, {"t": 1.0}]}
    rows = sample_batch(as_data_file({"version": 4, "raw_values": raw, "metadata": {}}, Path("x"))
                        ).to_pylist()
    assert [row["more"] for row in rows] == [None, '{"odd": 2}', '{"odd": 3}', None]
    assert [row["owd_up"] for row in rows] == [1.0, 1.0, None, None]
