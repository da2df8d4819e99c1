# SPDX-License-Identifier: GPL-3.0-or-later
"""Exported tables, read back by the programs that people use for them."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow.parquet
import pytest

from flent_aqm.base.whole_file import remove_abandoned
from flent_aqm.cli import main
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.export import columns, runs, samples
from flent_aqm.results.export.arrow import WRITERS, as_batch, write_table
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS, Unavailable, values
from tests.files import ROOT, load, save

GOLDEN = ROOT / "tests" / "golden" / "runs"
NDT7 = GOLDEN / "ndt7.flent.gz"
Rows = list[dict[str, Any]]

READERS: dict[str, dict[str, Callable[[Path], Rows]]] = {
    "pandas": {
        ".parquet": lambda path: pandas.read_parquet(path).to_dict("records"),
        ".csv": lambda path: pandas.read_csv(path).to_dict("records"),
        ".json": lambda path: pandas.read_json(path).to_dict("records")},
    "polars": {
        ".parquet": lambda path: polars.read_parquet(path).to_dicts(),
        ".csv": lambda path: polars.read_csv(path, infer_schema_length=None).to_dicts(),
        ".json": lambda path: polars.read_json(path, infer_schema_length=None).to_dicts()},
    "duckdb": dict.fromkeys((".parquet", ".csv", ".json"), lambda path: [
        dict(zip(found.columns, row, strict=True))
        for found in [duckdb.sql(f"select * from '{path}'")] for row in found.fetchall()]),
}


def is_nothing(value: object) -> bool:
    """An empty cell, as any of the readers has it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


@pytest.fixture(scope="module", params=[".parquet", ".csv", ".json"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All golden runs as one file."""
    path: Path = tmp_path_factory.mktemp("export") / f"runs{request.param}"
    assert main(["export", str(GOLDEN), "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("reader", READERS)
def test_table_read_back_has_each_run_with_each_metric(table: Path, reader: str) -> None:
    """Every number is that of the metrics' table, or empty where there is none."""
    rows = {row["file"]: row for row in READERS[reader][table.suffix](table)}
    assert set(rows) == {str(path) for path in GOLDEN.glob("*.flent.gz")}
    for file, row in rows.items():
        run = load_run(Path(file))
        assert row["schema"] == 1
        assert row["test"] == run.test
        for name, value in values(run).items():
            if isinstance(value, Unavailable):
                assert is_nothing(row[name]), name
            else:
                assert row[name] == pytest.approx(value), name


def test_row_has_the_runs_arguments_and_metadata(tmp_path: Path) -> None:
    """What was asked, what the kernel reported, versions, and all else as JSON."""
    path = tmp_path / "runs.parquet"
    assert main(["export", str(NDT7), "-o", str(path)]) == 0
    (row,) = pyarrow.parquet.read_table(path).to_pylist()
    metadata = load(NDT7)["metadata"]
    requested = metadata["AQM"]["requested"]
    assert {name: row[name] for name in requested} == requested
    assert {"aqm", "rate_up_mbps", "cross_traffic", "seed"} <= requested.keys()
    assert row["applied_down_qdisc"] == metadata["AQM"]["after"]["applied"]["down"]["qdisc"]
    assert row["time"] == metadata["TIME"]
    assert json.loads(row["metadata"])["SERIES_META"] == metadata["SERIES_META"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_samples_are_those_of_the_file(suffix: str, tmp_path: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    """Each raw sample is a row, with its value to the last digit."""
    path = tmp_path / f"samples{suffix}"
    assert main(["export", "--samples", str(NDT7), "-o", str(path)]) == 0
    assert f" samples of 1 file in {path}\n" in capsys.readouterr().out
    rows = READERS["polars"][suffix](path)
    raw = load(NDT7)["raw_values"]
    assert [(row["series"], row["t"], row["val"]) for row in rows] == [
        (name, one["t"], one.get("val")) for name, series in raw.items() for one in series]


@pytest.mark.parametrize("suffix", WRITERS)
def test_table_being_written_is_not_taken_for_an_abandoned_one(suffix: str, tmp_path: Path) -> None:
    """A sweep that starts in the same folder removes what killed processes left."""
    schema = pyarrow.schema([("aqm", pyarrow.string())])

    def parts() -> Iterator[pyarrow.RecordBatch]:
        remove_abandoned([tmp_path])
        yield as_batch(schema, [{"aqm": "codel"}])

    assert write_table(tmp_path / f"runs{suffix}", schema, parts()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"runs{suffix}"]
    assert "codel" in (tmp_path / f"runs{suffix}").read_bytes().decode(errors="replace")


def test_phase_of_samples_is_that_of_the_metrics(tmp_path: Path) -> None:
    """The probes under load are as many as the metrics take, but for one, as `t` may be a moment
    after the sending; those before the load are idle, and all of a test without load."""
    for path in (NDT7, GOLDEN / "speedtest_idle.flent.gz"):
        table = tmp_path / "samples.parquet"
        assert main(["export", "--samples", str(path), "-o", str(table)]) == 0
        run = load_run(path)
        phases = [row["phase"] for row in READERS["polars"][".parquet"](table)
                  if row["series"] == run.probe.name]
        if run.load_window is None:
            assert set(phases) == {"idle"}
            continue
        assert abs(phases.count("loaded") - run.loaded().sent_s.size) <= 1
        assert 0 <= phases.count("idle") - run.idle().sent_s.size <= 1
        assert phases.index("loaded") > phases.index("idle")


def test_steps_that_flent_made_samples_of_are_no_samples(tmp_path: Path) -> None:
    """As they are in a file without raw samples that Flent has written again."""
    data = load(GOLDEN / "stock_ping.flent.gz")
    data["metadata"]["FAKE_RAW_VALUES"] = True
    # Flent makes samples of computed series, too.
    data["raw_values"]["Ping (ms) avg"] = data["raw_values"]["Ping (ms) ICMP"]
    data["metadata"]["SERIES_META"]["Ping (ms) avg"] = {"RUNNER": "AverageRunner"}
    save(tmp_path / "again.flent.gz", data)
    table = tmp_path / "samples.parquet"
    assert main(["export", "--samples", str(tmp_path / "again.flent.gz"), "-o", str(table)]) == 0
    assert READERS["polars"][".parquet"](table) == []


def test_fields_of_samples_that_are_documented_have_a_column() -> None:
    """In golden runs of our own tests, nothing but `streams` goes into `more`."""
    more: set[str] = set()
    for path in GOLDEN.glob("[!s]*.flent.gz"):
        for series in load(path)["raw_values"].values():
            more |= {key for one in series for key in one} - set(samples.SCHEMA.names)
    assert more <= {"streams"}


def test_damaged_files_are_named_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1, a line each, and the table has the others."""
    shutil.copy(NDT7, tmp_path)
    (tmp_path / "bad.flent.gz").write_bytes(NDT7.read_bytes()[:5000])
    assert main(["export", str(tmp_path), "-o", str(tmp_path / "runs.json")]) == 1
    assert "skipped" in capsys.readouterr().err
    assert len(json.loads((tmp_path / "runs.json").read_text())) == 1


def test_strange_values_leave_a_cell_empty(tmp_path: Path) -> None:
    """Wrong types, huge numbers and halves of characters in metadata neither stop the export
    nor become something else."""
    whole = load(NDT7)
    metadata = whole["metadata"]
    metadata |= {"TITLE": "\ud800<script>", "LENGTH": "60", "IP_VERSION": 10**30}
    metadata["AQM"]["requested"] |= {"burst_shaping": "yes", "rate_up_mbps": [1], "seed": True}
    file = tmp_path / "strange.flent.gz"
    save(file, whole)
    for suffix in (".parquet", ".csv", ".json"):
        path = tmp_path / f"runs{suffix}"
        assert main(["export", str(file), "-o", str(path)]) == 0
        (row,) = READERS["polars"][suffix](path)
        assert row["title"] == "?<script>"
        assert all(is_nothing(row[name]) for name in (
            "length_s", "ip_version", "burst_shaping", "rate_up_mbps", "seed"))


def test_unknown_suffix_and_missing_folder_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is left behind."""
    for name in ("runs.xls", "none/runs.csv"):
        assert main(["export", str(NDT7), "-o", str(tmp_path / name)]) == 1
        assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_columns_are_all_in_the_documentation() -> None:
    """On the pages of data files and of keys; each metric is a column, too."""
    text = "".join((ROOT / "docs" / "reference" / page).read_text()
                   for page in ("data-format.md", "keys.md"))
    columns = {*runs.SCHEMA.names, *samples.SCHEMA.names} - {
        *METRICS, "aqm_parameters", "up_aqm_parameters", "shaper_parameters"}
    assert [name for name in sorted(columns) if f"`{name}`" not in text] == []


def test_whole_numbers_are_those_of_64_bits() -> None:
    """What Arrow's type can hold; a switch is none."""
    for value in (2**63 - 1, -2**63 + 1, 0):
        assert columns.as_cell(value, columns.WHOLE) == value
    for other in (2**63, -2**63, 1.0, True, "1"):
        assert columns.as_cell(other, columns.WHOLE) is None


def test_metadata_of_a_row_are_those_without_a_column_in_the_order_of_their_names() -> None:
    """So that equal ones are equal texts."""
    metadata = load(NDT7)["metadata"]
    row = runs.run_row(read_data_file(NDT7))
    text = row["metadata"]
    assert isinstance(text, str)
    rest = json.loads(text)
    assert list(rest) == sorted(rest)
    alone = {column.path[0] for column in columns.RUN_COLUMNS if column.path[1:] == ()}
    assert rest.keys() == metadata.keys() - alone
    assert {"AQM", "SERIES_META"} <= rest.keys()
    assert {"NAME", "TITLE", "LENGTH"} <= alone
