# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm infer` on a file of each world: what it says, and whether that is so."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

import numpy
import pytest

from flent_aqm.cli import main
from flent_aqm.parts.infer.classes import AQM, CANT_TELL, CLASSES, DROP_TAIL, SHORT
from flent_aqm.parts.infer.classes import answer_of as answer
from flent_aqm.parts.infer.command import _format_json, _format_text
from flent_aqm.parts.infer.model import QueueVerdict, judge, judge_all
from flent_aqm.parts.infer.reading import Download, read_downloads
from tests import files

from ...warm_flent import run_flent_aqm
from .archive import archived

GOLDEN = files.GOLDEN / "infer"
# File -> the class of its queue. Nothing else may be said of it but that it can't be told.
TRUTH = {
    "aqm_cubic": AQM, "bursts_aqm": AQM, "cant_tell_bbr": CANT_TELL, "drop_tail_34_ms": DROP_TAIL,
    "drop_tail_bbr": DROP_TAIL, "drop_tail_cubic": DROP_TAIL, "linux_6_12": DROP_TAIL,
    "loss_bbr": CANT_TELL, "loss_cubic": CANT_TELL, "policer_bbr": SHORT, "short_buffer": SHORT,
    "slow_router": AQM, "wifi": AQM, "window_reno": CANT_TELL}
# File -> why it can't be judged.
REFUSED = {"flow_queueing_bbr": "its rate of 399", "qemu_router": "its least round trip of 0.1",
           "real_time": "its least round trip of 0.1"}
# A modem's drop-tail queue and the router's, by turns.
OTHERS = {"two_bottlenecks"}


def _lines(*words: str | Path, folder: Path) -> list[str]:
    done = run_flent_aqm("infer", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_file_of_each_world_is_told(tmp_path: Path) -> None:
    """A line each, in the order of names, with what spoke most."""
    lines = [line.replace(f"{GOLDEN}/", "") for line in _lines(GOLDEN, folder=tmp_path)]
    expected = GOLDEN / "expected.txt"
    if os.environ.get("KEEP_INFER"):
        expected.write_text("".join(f"{line}\n" for line in lines))
    assert lines == expected.read_text().splitlines()
    said = {line.split(".")[0]: line.split(": ", 1)[1] for line in lines}
    assert set(said) == {*TRUTH, *REFUSED, *OTHERS}
    for name, truth in TRUTH.items():
        assert said[name].startswith((truth, f"{CANT_TELL} (")), name
    for name, reason in REFUSED.items():
        assert said[name].startswith(f"{CANT_TELL}: {reason}"), name
    assert sum(said[name].startswith(truth) for name, truth in TRUTH.items()) >= len(TRUTH) // 2


def test_what_a_sweep_leaves_beside_named_files_is_left_out(tmp_path: Path) -> None:
    """As of `results/*` in a shell; named alone it is a mistake."""
    run = tmp_path / "a.flent.gz"
    run.write_bytes((GOLDEN / "drop_tail_cubic.flent.gz").read_bytes())
    (tmp_path / "sweep.json").write_text("{}")
    (tmp_path / "a.log").touch()
    whole = sorted(tmp_path.iterdir())
    assert len(_lines(*whole, folder=tmp_path)) == 1
    alone = run_flent_aqm("infer", tmp_path / "sweep.json", cwd=tmp_path)
    assert alone.returncode == 1
    assert "a log, capture or status of a sweep" in alone.stderr


def test_json_has_probabilities_that_add_up_or_a_reason(tmp_path: Path) -> None:
    """And the answer that follows from them; the depth of a drop-tail queue alone."""
    refused = 0
    for line in _lines("--format", "json", GOLDEN, folder=tmp_path):
        one = json.loads(line)
        assert one["prior"] == 0.5
        assert (one["depth_at_least_ms"] is not None) == (one["answer"] == DROP_TAIL)
        numbers = [(one["depth_at_least_ms"] or 0, 1), (one["throughput_mbps"], 3),
                   *((share, 3) for share in one["probabilities"].values()),
                   *((value, 6) for value in one["features"].values())]
        if one["reason"]:
            refused += 1
            assert one["answer"] == CANT_TELL
            assert (one["probability"], one["probabilities"], one["deciding"]) == (None, {}, None)
        else:
            assert set(one["probabilities"]) == set(CLASSES)
            assert sum(one["probabilities"].values()) == pytest.approx(1, abs=0.003)
            assert one["deciding"] in one["features"]
            numbers.append((one["probability"], 3))
        for value, digits in numbers:
            assert value == round(value, digits)
    assert refused >= 2


def test_prior_moves_the_probability_of_an_aqm(tmp_path: Path) -> None:
    """Up for a larger share of lines with an AQM, down for a smaller one."""
    found = []
    for prior in ("0.05", "0.5", "0.95"):
        line, = _lines("--format", "json", "--prior", prior, GOLDEN / "aqm_cubic.flent.gz",
                       folder=tmp_path)
        found.append(json.loads(line)["probabilities"][AQM])
    assert found[0] < found[1] < found[2]


@pytest.mark.parametrize("prior", ["0", "1", "-0.5", "nan", "50%", "ten"])
def test_prior_that_is_no_share_is_refused(prior: str, tmp_path: Path) -> None:
    done = run_flent_aqm("infer", f"--prior={prior}", GOLDEN, cwd=tmp_path)
    assert done.returncode == 2
    assert (f"{prior!r} is no share of lines; expected a number above 0 and below 1, such"
            in done.stderr)


def test_archive_of_mlab_is_read_with_its_folder(tmp_path: Path) -> None:
    """Its download went through FQ-CoDel at 100 Mbit/s, and lost a packet at the start."""
    folder = tmp_path / "2026" / "11.json"  # a folder still
    folder.mkdir(parents=True)
    (folder / "ndt7-download-1.json").write_text(json.dumps(archived()))
    (folder / "sweep.json").write_text("{}")
    line, = _lines(tmp_path, folder=tmp_path)
    assert line.startswith(f"{folder}/ndt7-download-1.json: client_1767225600_0000000000000001: ")


def test_file_without_a_download_is_skipped_with_its_reason(tmp_path: Path) -> None:
    """The others are told; the status says that one was not."""
    (tmp_path / "odd.json").write_text('{"Download": 7}\n')
    done = run_flent_aqm("infer", "odd.json", GOLDEN / "real_time.flent.gz", cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr.startswith("flent-aqm: skipped: odd.json: no NDT7 download with the")
    # In a folder they are counted.
    in_folder = run_flent_aqm("infer", tmp_path, GOLDEN / "real_time.flent.gz", cwd=tmp_path)
    assert (in_folder.returncode, in_folder.stdout) == (0, done.stdout)
    assert in_folder.stderr.startswith("flent-aqm: 1 file left out: the queue is inferred from")
    missing = run_flent_aqm("infer", "nowhere", cwd=tmp_path)
    assert (missing.returncode, "nowhere: not found" in missing.stderr) == (1, True)


@pytest.mark.parametrize(("probabilities", "expected"), [
    ((0.7, 0.1, 0.1, 0.1), DROP_TAIL), ((0.0, 0.71, 0.29, 0.0), AQM), ((0.0, 0.1, 0.8, 0.1), SHORT),
    ((0.69, 0.0, 0.31, 0.0), CANT_TELL), ((0.0, 0.0, 0.0, 1.0), CANT_TELL)])
def test_answer_is_the_class_that_is_likely_enough(
        probabilities: tuple[float, ...], expected: str) -> None:
    """From 70 % on."""
    assert answer(dict(zip(CLASSES, probabilities, strict=True))) == expected


def test_archive_file_of_mlab_is_read_as_it_is(tmp_path: Path) -> None:
    """A .tgz of one file for each test: a download, an upload, and a folder's name."""
    upload = {key: value for key, value in archived().items() if key != "Download"}
    upload["Upload"] = {"ServerMeasurements": []}
    with tarfile.open(tmp_path / "ndt7.tgz", "w:gz") as archive:
        # As long as M-Lab's names are.
        long = f"ndt7-download-20200318T000643.982584404Z.ndt-{'k' * 32}_{'5' * 10}.json.gz"
        for name, content in ((f"2026/{long}", archived()), ("2026/b.json", upload)):
            data = json.dumps(content).encode()
            data = gzip.compress(data) if name.endswith(".gz") else data
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        odd = tarfile.TarInfo("/etc/passwd.json")
        odd.type, odd.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(odd)
    [line] = _lines("ndt7.tgz", folder=tmp_path)
    assert line.startswith(f"ndt7.tgz: {long}: ")


def test_download_of_the_archive_is_refused_with_its_reason(tmp_path: Path) -> None:
    """From a server next door, and with a small window; the same from 10 ms away is judged."""
    (tmp_path / "a.json").write_text(json.dumps(archived()))
    [line] = _lines("a.json", folder=tmp_path)
    assert "can't tell: " not in line
    (tmp_path / "near.json").write_text(json.dumps(archived(path_us=0)))
    [line] = _lines("near.json", folder=tmp_path)
    assert "can't tell: its least round trip of 0.1 ms is outside of the 3 to 400 ms" in line
    window = archived()
    for row in window["Download"]["ServerMeasurements"]:
        row["TCPInfo"]["RWndLimited"] = row["TCPInfo"]["ElapsedTime"] // 2
    (tmp_path / "window.json").write_text(json.dumps(window))
    [line] = _lines("window.json", folder=tmp_path)
    assert line.endswith("can't tell: the receiver's window limited it for 50 % of the time, more "
                         "than 25 %")


def test_download_that_tells_nothing_has_its_reason(tmp_path: Path) -> None:
    """Too few measurements, an old kernel, uploads alone."""
    whole = archived()
    rows = whole["Download"]["ServerMeasurements"]
    for name, changed, reason in (
            ("few", rows[:2], "only 2 of 2 measurements with complete TCP_INFO"),
            ("old", [{**row, "TCPInfo": {key: value for key, value in row["TCPInfo"].items()
                                         if key != "BytesSent"}} for row in rows],
             "its TCP_INFO has no number BytesSent, which Linux has since 4.19")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**whole, "Download": {"ServerMeasurements": changed}}))
        done = run_flent_aqm("infer", path.name, cwd=tmp_path)
        assert done.returncode == 1
        assert f"{name}.json: {reason}" in done.stderr
    path = tmp_path / "up.json"
    path.write_text(json.dumps({"Upload": {"ServerMeasurements": rows}}))
    assert "1 upload and no download" in run_flent_aqm("infer", "up.json", cwd=tmp_path).stderr


def test_uploads_in_a_folder_are_counted_in_one_line(tmp_path: Path) -> None:
    """Half of an archive is uploads: that is no fault."""
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps({"Upload": {}}))
    (tmp_path / "a.json").write_text(json.dumps(archived()))
    done = run_flent_aqm("infer", ".", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    assert "3 uploads left out" in done.stderr
    (tmp_path / "b.json").write_text(json.dumps(archived()))
    told = run_flent_aqm("infer", "a.json", "b.json", cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")  # without uploads there is nothing to say
    alone = run_flent_aqm("infer", "0.json", cwd=tmp_path)
    assert alone.returncode == 1
    assert alone.stderr.count("\n") == 1
    assert "skipped" in alone.stderr


def test_folder_of_an_upload_alone_is_told_and_fails(tmp_path: Path) -> None:
    """Nothing was judged."""
    (tmp_path / "0.json").write_text(json.dumps({"Upload": {}}))
    done = run_flent_aqm("infer", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "1 upload left out" in done.stderr
    assert done.stderr.count("\n") == 1


def test_upload_beside_a_download_is_told(tmp_path: Path) -> None:
    """One of two files is enough."""
    (tmp_path / "0.json").write_text(json.dumps({"Upload": {}}))
    (tmp_path / "a.json").write_text(json.dumps(archived()))
    done = run_flent_aqm("infer", ".", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 upload left out" in done.stderr


def test_folder_without_any_file_names_the_forms_of_both_kinds(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """M-Lab's files are read, too."""
    (tmp_path / "notes.txt").touch()
    assert main(["infer", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"flent-aqm: {tmp_path}: no data files (*.flent.gz, ")
    assert err.endswith("; files of M-Lab's archive would be *.json, *.json.gz, *.jsonl, "
                        "*.jsonl.gz, *.tgz, *.tar.gz\n")


def test_three_likeliest_queues_are_named_where_none_is_likely_enough() -> None:
    """By their probability, the largest first."""
    shares = dict(zip(CLASSES, (0.05, 0.46, 0.28, 0.21), strict=True))
    told = _format_text(Path("a.json"), read_downloads(GOLDEN / "real_time.flent.gz")[0],
                        QueueVerdict(CANT_TELL, shares, {}, "", depth_ms=None))
    assert told.endswith(f"can't tell ({AQM} 46%, {SHORT} 28%, {CANT_TELL} 21%)")


@pytest.mark.parametrize(("share", "is_said"), [(0.71, True), (0.69, False)])
def test_nothing_happened_is_said_only_where_that_is_likely_enough(
        share: float, is_said: bool) -> None:
    """Being the likeliest is not enough."""
    shares = dict(zip(CLASSES, (1 - share, 0, 0, share), strict=True))
    told = _format_text(Path("a.json"), read_downloads(GOLDEN / "real_time.flent.gz")[0],
                        QueueVerdict(CANT_TELL, shares, {}, "", depth_ms=None))
    assert ("nothing happened by which queues differ" in told) == is_said
    assert f"{CANT_TELL} {share:.0%}" in told or is_said


def test_downloads_judged_together_are_judged_as_alone() -> None:
    """Bit by bit, whatever else goes through the trees with them."""
    downloads = [one for path in sorted(GOLDEN.glob("*.flent.gz")) for one in read_downloads(path)]
    assert len(downloads) > 5
    together = judge_all(downloads)
    assert together == [judge(one) for one in downloads]
    assert len({verdict.answer for verdict in together}) > 2
    assert judge_all([]) == []


@pytest.mark.parametrize(("probability", "depth_ms", "kept"), [
    (0.71234, 45.678, {"probability": 0.712, "depth_at_least_ms": 45.7}),
    (None, None, {"probability": None, "depth_at_least_ms": None})])
def test_json_has_three_digits_of_a_probability_and_tenths_of_a_depth(
        probability: float | None, depth_ms: float | None, kept: dict[str, float | None]) -> None:
    """Of a feature six decimals, of the rate three; 12.3456784 Mbit/s here."""
    any_two = numpy.array([1.0, 2.0])
    one = Download(name="", bbr=False, at_s=any_two, rtt_ms=any_two, min_rtt_ms=any_two,
                   acked_bytes=numpy.array([1.0, 3086419.6]), sent_bytes=any_two,
                   retransmitted_bytes=any_two)
    shares = {} if probability is None else {DROP_TAIL: probability}
    verdict = QueueVerdict(DROP_TAIL, shares, {"rise_max_ms": 50.12345678}, "", depth_ms)
    told = json.loads(_format_json(Path("a.json"), one, verdict, 0.5))
    assert {name: told[name] for name in kept} == kept
    assert told["probabilities"] == ({} if probability is None else {DROP_TAIL: 0.712})
    assert told["features"] == {"rise_max_ms": 50.123457}
    assert told["throughput_mbps"] == 12.346
    assert (told["prior"], told["reason"], told["deciding"]) == (0.5, None, None)
