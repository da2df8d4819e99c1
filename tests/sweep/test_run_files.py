# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run, made of what a testbed returned: metadata with its units, the log, and
nothing that counts as done if the run failed. Without a lab; the data file is one of the lab's."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult, LabError, StorageError
from flent_aqm.lab.place import CommandResult
from flent_aqm.lab.protocol import Facts
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import run as run_module
from flent_aqm.sweep.resumed import set_aside_unfinished
from flent_aqm.sweep.run import (
    LONGEST_CAUSE,
    RunOutput,
    SweepFacts,
    first_error_of_flent,
    make_output,
    refuse_incomplete,
    samples_sha256,
    write_files,
)
from tests.files import RUNS, load, save

GOLDEN = RUNS / "iperf3_upload.flent.gz"
FACTS = SweepFacts(Facts(kernel={"version": "7.3.4", "hash": "abc"}, hosts={"cc": "cubic"}),
                   {"iperf3": "3.12"})
COMMAND = CommandResult(status=0, virtual_s=7.5, wall_s=1.23456, models={"links": {"lost": 3}},
                        host_moderation_us={"client": 50}, coverage={32: 1, 16: 5})


def cell_in(folder: Path) -> Cell:
    return Cell(name="run", folder=folder, test_name="iperf3_upload",
                scenario=Scenario.from_settings({"aqm": "codel", "rate_mbps": 20, "seed": 7}),
                settings={"HOSTS": ["server"], "LENGTH": 3}, commands=ROUTER_COMMAND,
                metadata={"TITLE": "of the batch"}, length_s=5)


def from_guest(**metadata: Any) -> bytes:
    """A data file as Flent wrote it in the guest."""
    data = load(GOLDEN)
    aqm = data["metadata"]["AQM"]
    data["metadata"]["AQM"] = {key: aqm[key] for key in ("requested", "before", "after")}
    data["metadata"] |= metadata
    return json.dumps(data).encode()


def output(data: bytes | None, fault: str = "") -> RunOutput:
    return RunOutput(data, COMMAND, fault, "--- flent\nit ran\n", b"tools", b"capture")


def metadata_of(cell: Cell) -> Mapping[str, Any]:
    metadata: dict[str, Any] = load(cell.data_file)["metadata"]
    return metadata


def test_finished_run_has_all_its_files_and_counts_as_done(tmp_path: Path) -> None:
    """In a folder that need not exist; no temporary file stays."""
    cell = cell_in(tmp_path / "new" / "folder")
    finished = write_files(output(from_guest()), cell, FACTS)
    assert (finished.cell, finished.virtual_s, finished.wall_s) == (cell, 7.5, 1.23456)
    assert {path.name for path in cell.folder.iterdir()} == {path.name for path in (
        cell.data_file, cell.log_file, cell.tools_log_file, cell.capture_file)}
    assert cell.log_file.read_text() == "--- flent\nit ran\n"
    assert cell.tools_log_file.read_bytes() == b"tools"
    assert cell.capture_file.read_bytes() == b"capture"
    data = load(cell.data_file)
    data["metadata"]["AQM"]["requested"] = json.loads(json.dumps(cell.scenario.as_dict()))
    del data["metadata"]["AQM"]["kernel"]["hash"]  # of no kernel that there is
    save(cell.data_file, data)
    assert list(set_aside_unfinished({cell.data_file: cell})) == []


def test_metadata_has_what_only_the_host_knows(tmp_path: Path) -> None:
    """Durations in seconds to a millisecond, reports of the path, versions, and the schema that
    readers of this version take."""
    cell = cell_in(tmp_path)
    write_files(output(from_guest()), cell, FACTS)
    metadata = metadata_of(cell)
    aqm = metadata["AQM"]
    assert (metadata["TITLE"], metadata["DATA_FILENAME"]) == ("of the batch", "run.flent.gz")
    assert (aqm["schema"], aqm["virtual_s"], aqm["wall_s"]) == (1, 7.5, 1.235)
    assert aqm["kernel"] == {"version": "7.3.4", "hash": "abc"}
    assert aqm["tools"] == {"iperf3": "3.12"}
    assert aqm["hosts"] == {"cc": "cubic", "moderation_us": {"client": 50}}
    assert aqm["links"] == {"lost": 3}
    assert aqm["coverage"] == [[16, 5], [32, 1]]
    assert aqm["run"]["test"] == "iperf3_upload"
    assert "router_model" not in aqm
    finished_at = datetime.datetime.fromisoformat(aqm["finished_at"])
    assert abs(datetime.datetime.now(datetime.UTC) - finished_at) < datetime.timedelta(hours=1)


def test_run_in_real_time_has_neither_model_nor_seed(tmp_path: Path) -> None:
    cell = cell_in(tmp_path)
    command = replace(COMMAND, virtual_s=None, models={}, host_moderation_us={}, coverage={})
    write_files(replace(output(from_guest()), command=command), cell, FACTS)
    aqm = metadata_of(cell)["AQM"]
    assert (aqm["virtual_s"], aqm["router_model"], aqm["seed"]) == (None, None, None)
    assert aqm["hosts"]["moderation_us"] is None
    assert "coverage" not in aqm


def test_speed_test_ends_with_its_last_result_and_the_capture_has_its_name(tmp_path: Path) -> None:
    """Flent records the longest time that a client may take, and the guest's name of the file."""
    data = json.loads(from_guest())
    data["metadata"]["TOTAL_LENGTH"] = 1000.0
    series = data["metadata"]["SERIES_META"]["TCP upload"]
    series |= {"SPEEDTEST": {}, "CAPTURE": {"file": "guest.pcap"}}
    cell = cell_in(tmp_path)
    write_files(output(json.dumps(data).encode()), cell, FACTS)
    metadata = metadata_of(cell)
    assert metadata["TOTAL_LENGTH"] == max(data["x_values"])
    assert metadata["SERIES_META"]["TCP upload"]["CAPTURE"]["file"] == cell.capture_file.name
    other = cell_in(tmp_path / "other")
    write_files(output(from_guest(TOTAL_LENGTH=1000.0)), other, FACTS)
    assert metadata_of(other)["TOTAL_LENGTH"] == 1000


def test_speed_test_whose_samples_are_of_one_moment_keeps_its_length(tmp_path: Path) -> None:
    """Flent makes no resampled results of them."""
    data = json.loads(from_guest())
    data["metadata"]["TOTAL_LENGTH"] = 1000.0
    data["metadata"]["SERIES_META"]["TCP upload"]["SPEEDTEST"] = {}
    data["x_values"], data["results"] = [], {name: [] for name in data["results"]}
    cell = cell_in(tmp_path)
    write_files(output(json.dumps(data).encode()), cell, FACTS)
    assert metadata_of(cell)["TOTAL_LENGTH"] == 1000


@pytest.mark.parametrize(("made", "why"), [
    (output(None, "the guest was killed"), "the guest was killed"),
    (replace(output(from_guest(), "no network"), command=None), "no network"),
    (output(from_guest(FAILED_RUNNERS=1)), "1 of the test's tools gave no data"),
    (output(from_guest(AQM={"before": {}})), "no read-back of the router"),
    (output(b"{"), "."),
])
def test_failed_run_has_a_log_with_its_cause_and_no_data_file(
        tmp_path: Path, made: RunOutput, why: str) -> None:
    """So that --batch-resume makes it again."""
    cell = cell_in(tmp_path)
    with pytest.raises((LabError, BadResult), match=re.escape(why)) as raised:
        write_files(made, cell, FACTS)
    assert cell.log_file.read_text() == f"--- flent\nit ran\n--- failed\n{raised.value}\n"
    assert not cell.data_file.exists()


def test_folder_that_cannot_be_written_ends_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(StorageError, match=r"^can't write to the results folder \S*/taken: Not a"):
        write_files(output(from_guest()), cell_in(tmp_path / "taken"), FACTS)


@pytest.mark.parametrize("of", ["log_file", "data_file"])
def test_file_that_cannot_be_written_is_told_with_its_folder(tmp_path: Path, of: str) -> None:
    """The folder itself may be as it should."""
    cell = cell_in(tmp_path)
    path: Path = getattr(cell, of)
    path.mkdir()
    with pytest.raises(StorageError) as raised:
        write_files(output(from_guest()), cell, FACTS)
    assert str(raised.value) == (
        f"can't write to the results folder {tmp_path} ({path}): Is a directory")


@pytest.mark.parametrize(("text", "cause"), [
    ("ERROR: Essential command x failed.\nOutput:\n tc: no such\n device.\nERROR: later",
     "tc: no such device"),
    ("ERROR: Essential command x failed.\nOutput:\n " + "x" * 5000, "x" * LONGEST_CAUSE),
    ("fine\nERROR: Connection refused\nlast", "Connection refused"),
    ("Traceback (most recent call last):\n  File x, line 1, in y\nKeyError: 'z'\n",
     "Flent crashed: KeyError: 'z'"),
    (("ERROR: Ping: ping ended with status 2\nTraceback (most recent call last):\n  File x\n"
     "MemoryError: no memory\nlast"), "Flent crashed: MemoryError: no memory"),
    (("ERROR: Iperf3: defect in X\nTraceback (most recent call last):\n  File x\nKeyError: 'z'\n"
     "ERROR: disk full"), "Iperf3: defect in X"),
    ("ERROR: \nERROR: disk full", "disk full"),
    ("12:01 ERROR: Ping: ERROR: no route\nERROR: later", "no route"),  # a tool's, in Flent's
    ("ERROR: Essential command x fails.\nOutput:\n .\nERROR: later", "Essential command x fails."),
    # the exception is the first line that isn't indented
    ("Traceback (most recent call last):\nKeyError: 'z'\nlast", "Flent crashed: KeyError: 'z'"),
    (("Traceback (most recent call last):\n  File x\n\n note\nKeyError: 'z'\nlast"),
     "Flent crashed: KeyError: 'z'"),
    ("Traceback (most recent call last):\n  File x\n  cut", "Flent crashed: cut"),
    ("usage: flent\nflent: error: unrecognized arguments: -5", "unrecognized arguments: -5"),
    ("ERROR:", ("Flent wrote no data file and reported no error; the last line that it printed: "
                "ERROR:")),
    ("fine\nlast", ("Flent wrote no data file and reported no error; the last line that it "
                    "printed: last")),
    ("", "Flent wrote no data file and reported no error; it printed nothing"),
])
def test_cause_of_a_run_without_a_file_is_the_first_error(text: str, cause: str) -> None:
    assert first_error_of_flent(text) == cause


WHOLE: Mapping[str, Any] = {"raw_values": {"Ping": [{"t": 1.0}]}, "metadata": {
    "AQM": {"before": {}, "after": {}}, "SERIES_META": {"Ping": {}, "other": None}}}
NO_PROOF = ("no read-back of the router {} the test ({} in the metadata): the file was changed, or "
            "was written by a Flent that did not load flent-aqm; make the run again")
NO_PROOF_AT_ALL = NO_PROOF.format("before and after", "AQM.before and AQM.after")
NO_DATA = "{} of the test's tools gave no data; see the run's .log file in the results folder"
NO_SAMPLES = "the file has no samples: its raw_values are empty"


@pytest.mark.parametrize(("metadata", "samples", "why"), [
    ({}, None, None), ({"SERIES_META": None}, None, None), ({"FAILED_RUNNERS": 0}, None, None),
    ({"FAILED_RUNNERS": 2}, None, NO_DATA.format(2)),
    ({"AQM": {"before": {}}}, None, NO_PROOF.format("after", "AQM.after")),
    ({"AQM": {"after": {}}}, None, NO_PROOF.format("before", "AQM.before")),
    ({"AQM": {}}, None, NO_PROOF_AT_ALL),
    ({}, {}, NO_SAMPLES), ({}, {"Ping": [], "TCP": []}, NO_SAMPLES),
    ({}, {"Ping": [], "TCP": [{}]}, None),
    # the tools' own errors say more than what follows from them
    ({"SERIES_META": {"Ping": {"ERROR": ["a", "b"]}, "TCP": {"ERROR": ["c"]}, "UDP": {}},
      "FAILED_RUNNERS": 2, "AQM": {}}, {}, "Ping: a; Ping: b; TCP: c"),
    ({"FAILED_RUNNERS": 1, "AQM": {}}, {}, NO_DATA.format(1)),
    ({"AQM": {}}, {}, NO_PROOF_AT_ALL),
])
def test_run_is_incomplete_by_the_first_cause_there_is(
        metadata: dict[str, Any], samples: dict[str, Any] | None, why: str | None) -> None:
    """Of several tools all are told."""
    data = {**WHOLE, "metadata": {**WHOLE["metadata"], **metadata}}
    if samples is not None:
        data["raw_values"] = samples
    if why is None:
        refuse_incomplete(data)
        return
    with pytest.raises(BadResult) as raised:
        refuse_incomplete(data)
    assert str(raised.value) == why


def test_hash_is_of_samples_and_results_in_any_order_of_their_names() -> None:
    """What else is in the file has no part in it."""
    data = {"raw_values": {"a": [{"t": 1, "val": 2}], "b": []}, "x_values": [1], "results": {},
            "metadata": {"TITLE": "x"}}
    turned = {**data, "raw_values": {"b": [], "a": [{"val": 2, "t": 1}]}, "metadata": {}}
    assert samples_sha256(data) == samples_sha256(turned)
    others: list[dict[str, Any]] = [{"raw_values": {}}, {"x_values": [2]}, {"results": {"a": [1]}}]
    for other in others:
        assert samples_sha256({**data, **other}) != samples_sha256(data)


def test_run_without_a_capture_has_no_file_for_it(tmp_path: Path) -> None:
    """Nor one for the tools' log; a second run of the folder adds to the log."""
    cell = cell_in(tmp_path)
    alone = replace(output(from_guest()), tools_log=None, capture=None)
    for count in (1, 2):
        write_files(alone, cell, FACTS)
        assert {path.name for path in tmp_path.iterdir()} == {
            cell.data_file.name, cell.log_file.name}
        assert cell.log_file.read_text() == "--- flent\nit ran\n" * count


def test_what_no_capture_was_kept_of_stays_as_it_is(tmp_path: Path) -> None:
    data = json.loads(from_guest())
    series = data["metadata"]["SERIES_META"]
    series["TCP upload"]["CAPTURE"] = {"packets": 5}
    cell = cell_in(tmp_path)
    write_files(output(json.dumps(data).encode()), cell, FACTS)
    assert metadata_of(cell)["SERIES_META"]["TCP upload"]["CAPTURE"] == {"packets": 5}


def test_warnings_of_the_router_are_told_apart_from_the_results(tmp_path: Path) -> None:
    """The file has both."""
    data = json.loads(from_guest())
    data["metadata"]["AQM"]["warnings"] = ["up: gso on up"]
    finished = write_files(output(json.dumps(data).encode()), cell_in(tmp_path), FACTS)
    assert finished.scores.router_warnings == ("up: gso on up",)
    assert metadata_of(cell_in(tmp_path))["AQM"]["warnings"] == [
        "up: gso on up", *finished.scores.warnings]


@pytest.mark.parametrize(("test", "browser"), [
    ("cloudflare_browser", True), ("iperf3_upload", False)])
def test_environment_has_a_browser_only_for_a_test_in_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, browser: bool) -> None:
    """What keeps it from beginning is the run's fault."""
    asked: list[Any] = []
    monkeypatch.setattr(run_module, "optional_of", lambda tools: ())

    class Bed:
        def place(self, scenario: Scenario, run: Any) -> Any:
            asked.append(run)
            raise LabError("enough")

    bed: Any = Bed()
    failed = make_output(replace(cell_in(tmp_path), test_name=test), bed)
    assert (failed.data, failed.command, failed.fault, failed.log) == (None, None, "enough", "")
    assert asked[0].browser is browser
