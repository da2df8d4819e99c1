# SPDX-License-Identifier: GPL-3.0-or-later
"""All kinds of files that Flent has ever written are found in a folder; others are told of."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.environment import LARGE_FILES
from flent_aqm.base.errors import BadResult
from flent_aqm.cli import main
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.many_files import find_files
from tests.files import GOLDEN, at_another_time, load, packed, save


@pytest.fixture
def whole() -> Any:
    """Return the content of a data file."""
    return load(GOLDEN / "runs" / "stock_rrul.flent.gz")


def test_files_of_each_ending_are_found_and_scored(
        whole: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """netperf-wrapper's, too, and no other program's of that ending."""
    text = json.dumps(whole).encode()
    for name, content in (("a.flent.gz", gzip.compress(text)), ("b.flent.bz2", bz2.compress(text)),
                          ("c.flent", text), ("d.json.gz", gzip.compress(text)),
                          ("e.flnt", bz2.compress(text)),
                          ("others.json.gz", gzip.compress(b'{"Download": {}}')),
                          ("damaged.json.gz", b"no gzip"), ("f.json", b"{}")):
        (tmp_path / name).write_bytes(content)
    assert [path.name for path in find_files([tmp_path])] == [
        "a.flent.gz", "b.flent.bz2", "c.flent", "d.json.gz", "e.flnt"]
    assert main(["score", "--format", "csv", str(tmp_path)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 6
    assert main(["export", str(tmp_path), "-o", str(tmp_path / "x.csv")]) == 0
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 6


def with_series(whole: Any, count: int) -> bytes:
    """Return a file with so many uploads, as Flent's tcp_upload_1000 has a thousand."""
    step = {"series": [1.0] * len(whole["x_values"]), "raw": [{"t": whole["raw_values"][
        "Ping (ms) ICMP"][0]["t"] + at, "val": 0.1} for at in (0.0, 1.0)]}
    names = [f"TCP upload::{number}" for number in range(1, count + 1)]
    return packed({
        **whole, "results": {**whole["results"], **dict.fromkeys(names, step["series"])},
        "raw_values": {**whole["raw_values"], **dict.fromkeys(names, step["raw"])}})


def test_flents_largest_test_opens_and_a_limit_is_named(
        whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand uploads; of more than two thousand series the variable reads the file."""
    path = tmp_path / "a.flent.gz"
    path.write_bytes(with_series(whole, 1000))
    assert len(read_data_file(path).raw_values) > 1000
    path.write_bytes(with_series(whole, 2000))
    with pytest.raises(BadResult, match=rf"more than 2,000; {LARGE_FILES}=1 in the environment"):
        read_data_file(path)
    monkeypatch.setenv(LARGE_FILES, "1")
    assert len(read_data_file(path).raw_values) > 2000


@pytest.mark.parametrize(("path", "says"), [
    (GOLDEN / "iperf3" / "upload-3.12.json", "flent iperf3_upload -H SERVER"),
    (GOLDEN / "irtt" / "call.json.gz", "irtt's own JSON"),
    (GOLDEN / "ndt7" / "crate-0.3.1-download-upload.jsonl", "flent ndt7 -H SERVER"),
])
def test_json_of_a_tool_is_told_what_it_is(path: Path, says: str) -> None:
    """And what to do instead."""
    with pytest.raises(BadResult, match=says):
        read_data_file(path)


def test_json_of_mlabs_archive_is_sent_to_infer(tmp_path: Path) -> None:
    """A download; an upload is of no use there either."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"ServerIP": "192.0.2.1", "Download": {}}))
    with pytest.raises(BadResult, match="which flent-aqm infer reads"):
        read_data_file(path)
    for upload in ({"ServerIP": "192.0.2.1", "Upload": {}},
                   {"date": "2025-01-01", "raw": {"Upload": {"UUID": "x"}, "Download": None}}):
        path.write_text(json.dumps(upload))
        with pytest.raises(BadResult, match="of an upload, which tells nothing of the queue"):
            read_data_file(path)


def test_copies_of_a_run_count_once(
        whole: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In groups and on the page; the same samples of other settings are another run."""
    golden = load(GOLDEN / "runs" / "iperf3_upload.flent.gz")
    for name, samples, aqm in (("a", "1" * 64, "codel"), ("b", "1" * 64, "codel"),
                               ("c", "2" * 64, "codel"), ("d", "1" * 64, "sfq")):
        golden["metadata"]["AQM"]["samples_sha256"] = samples
        golden["metadata"]["AQM"]["requested"]["aqm"] = aqm
        save(tmp_path / f"{name}.flent.gz", golden)
    assert main(["score", "--by", "aqm", "--format", "csv", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert "1 of 4 files repeats another one sample by sample, such as" in output.err
    runs = {row["aqm"]: row["runs"] for row in csv.DictReader(output.out.splitlines())}
    assert runs == {"codel": "2", "sfq": "1"}
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 0
    output = capsys.readouterr()
    assert "1 of 4 files repeat" in output.err
    assert "3 runs in" in output.out
    assert main(["assert", "p99(latency_loaded) < 0ms", "--median-by", "aqm", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert "1 of 4 files repeat" in output.err
    assert "aqm codel (2)" in output.out
    assert main(["figures", str(tmp_path), "-o", str(tmp_path / "figures"), "--figure", "1",
                 "--test", "iperf3_upload"]) == 0
    output = capsys.readouterr()
    assert "1 of 4 files repeat" in output.err
    assert "1 figure of 3 runs" in output.out


def test_copies_of_a_file_of_flents_own_count_once(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a recorded hash; a run at another time is another run."""
    golden = load(GOLDEN / "runs" / "iperf3_upload.flent.gz")
    golden["metadata"]["AQM"] = {}
    save(tmp_path / "a.flent.gz", golden)
    save(tmp_path / "b.flent.gz", golden)
    save(tmp_path / "c.flent.gz", at_another_time(golden, 60.0))
    assert main(["score", "--by", "test", "--format", "csv", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert "1 of 3 files repeats another one sample by sample, such as" in output.err
    assert {row["runs"] for row in csv.DictReader(output.out.splitlines())} == {"2"}
