# SPDX-License-Identifier: GPL-3.0-or-later
"""NDT7 downloads in data files and in JSON of M-Lab's archive."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.infer.features import BASELINE, FEATURES, features
from flent_aqm.parts.infer.reading import read_downloads
from tests.files import GOLDEN, load, save

from .archive import archived, measurement


def _written(folder: Path, whole: object, name: str = "one.json") -> Path:
    path = folder / name
    path.write_text(whole if isinstance(whole, str) else json.dumps(whole))
    return path


def test_data_file_has_what_the_sender_knew() -> None:
    """In order of time, from the start of the download."""
    one, = read_downloads(GOLDEN / "runs" / "ndt7.flent.gz")
    assert one.bbr
    assert 0 < one.at_s[0] < 1
    assert 9 < one.at_s[-1] < 10.5
    assert (one.at_s[1:] > one.at_s[:-1]).all()
    assert (one.sent_bytes >= one.acked_bytes).all()


def test_unusable_download_of_a_data_file_hides_no_other(tmp_path: Path) -> None:
    """In either order. If none is usable, the reason of the first is given."""
    path = tmp_path / "two.flent.gz"
    whole = load(GOLDEN / "runs" / "ndt7.flent.gz")
    samples = whole["raw_values"]["TCP download"]
    usable, = read_downloads(GOLDEN / "runs" / "ndt7.flent.gz")
    # An eighth sample would be enough.
    short = [one for one in samples if "tcp_rtt" in one][:7]
    for first, second in ((short, samples), (samples, short)):
        whole["raw_values"] = {"TCP download": first, "Second download": second}
        meta = whole["metadata"]["SERIES_META"]
        meta["Second download"] = meta["TCP download"]
        save(path, whole)
        one, = read_downloads(path)
        assert features(one) == features(usable)
    whole["raw_values"] = {"TCP download": short, "Second download": short[1:]}
    save(path, whole)
    with pytest.raises(BadResult, match=f"{path}: only 7 of 7 measurements"):
        read_downloads(path)


def test_archive_of_mlab_is_the_same_alone_by_line_and_from_bigquery(tmp_path: Path) -> None:
    """Its server's own messages, with all fields of TCP_INFO."""
    test = archived()
    alone, = read_downloads(_written(tmp_path, json.dumps(test, indent=1)))
    lines = read_downloads(_written(tmp_path, f"{json.dumps(test)}\n\n{json.dumps(test)}\n"))
    exported, = read_downloads(_written(tmp_path, {"id": "x", "raw": test}))
    packed = tmp_path / "ndt7-download-1.json.gz"
    save(packed, test)
    zipped, = read_downloads(packed)
    assert len(lines) == 2
    for one in (*lines, exported, zipped):
        assert features(one) == features(alone)
    assert alone.bbr
    assert alone.throughput_mbps == pytest.approx(95, abs=2)
    name = "client_1767225600_0000000000000001"
    assert (alone.name, lines[1].name, exported.name) == (name, name, name)


def test_tests_without_a_uuid_are_numbered(tmp_path: Path) -> None:
    """By their lines."""
    test = archived()
    del test["Download"]["UUID"]
    lines = read_downloads(_written(tmp_path, f"{json.dumps(test)}\n{json.dumps(test)}\n"))
    assert [one.name for one in lines] == ["test 1", "test 2"]


def test_eight_measurements_are_enough(tmp_path: Path) -> None:
    """Of fewer, the number is told."""
    rows = [measurement(number) for number in range(8)]
    test = {"Download": {"UUID": "x", "ServerMeasurements": rows}}
    one, = read_downloads(_written(tmp_path, test))
    assert one.at_s.size == 8
    no_sent = {"TCPInfo": {**rows[0]["TCPInfo"], "BytesSent": None}}
    test["Download"]["ServerMeasurements"] = [*rows, *[no_sent] * 9]
    one, = read_downloads(_written(tmp_path, test))
    assert one.at_s.size == 8
    test["Download"]["ServerMeasurements"] = rows[1:]
    with pytest.raises(BadResult, match="only 7 of 7 measurements with complete TCP_INFO"):
        read_downloads(_written(tmp_path, test))
    # What most measurements lack is the reason, and not what one of them lacks.
    for lacking, why in ((1, "only 5 of 5 measurements"), (5, "only 5 of 5 measurements"),
                         (6, ("its TCP_INFO has no number BytesSent in 6 of 11 measurements, which "
                              "Linux has since 4.19"))):
        test["Download"]["ServerMeasurements"] = [*rows[:5], *[no_sent] * lacking]
        with pytest.raises(BadResult, match=why):
            read_downloads(_written(tmp_path, test))


def test_damaged_line_of_several_tests_is_named(tmp_path: Path) -> None:
    """As a single value, such a file would be damaged where its second line begins."""
    path = tmp_path / "tests.jsonl"
    path.write_text('{"a": 1}\n\n{"b": 2}\n{"c":\n')
    with pytest.raises(BadResult, match=r"tests\.jsonl: line 4: damaged, or not JSON \("):
        read_downloads(path)
    path.write_text('{\n"a": 1,\n"b":\n')
    with pytest.raises(BadResult, match=r"tests\.jsonl: damaged, or not JSON \(.*: line 4 column"):
        read_downloads(path)


def test_download_is_bbrs_if_a_measurement_has_bbrs_numbers(tmp_path: Path) -> None:
    """M-Lab's server writes BBRInfo for such a sender alone."""
    rows = [measurement(number) for number in range(9)]
    test = {"Download": {"UUID": "x", "ServerMeasurements": rows}}
    one, = read_downloads(_written(tmp_path, test))
    assert not one.bbr
    rows[4]["BBRInfo"] = {"BW": 1}
    one, = read_downloads(_written(tmp_path, test))
    assert one.bbr


def test_times_of_a_limited_sender_are_shares_of_the_last_measurement(tmp_path: Path) -> None:
    """In µs, as the kernel counts them. What isn't there is not known."""
    rows = [measurement(number, RWndLimited=10_000 * number, SndBufLimited=number,
                        BusyTime=(number + 1) * 200_000) for number in range(40)]
    test = {"Download": {"UUID": "x", "ServerMeasurements": rows}}
    one, = read_downloads(_written(tmp_path, test))
    assert one.window_share == pytest.approx(0.039)
    assert one.buffer_share == pytest.approx(3.9e-6)
    assert one.idle_share == pytest.approx(0.2)
    rows[-1] = measurement(39, RWndLimited=-1, BusyTime=10 ** 9)
    one, = read_downloads(_written(tmp_path, test))
    assert (one.window_share, one.buffer_share, one.idle_share) == (None, None, 0)


def test_file_that_is_not_there_is_named_in_the_systems_words(tmp_path: Path) -> None:
    """Not in Python's form."""
    with pytest.raises(BadResult) as failed:
        read_downloads(tmp_path / "none.json")
    assert str(failed.value) == f"{tmp_path / 'none.json'}: No such file or directory"


def test_round_trips_are_in_milliseconds_from_both_sources(tmp_path: Path) -> None:
    """A data file of ours has ms, M-Lab's archive the kernel's microseconds. At 50 Mbit/s behind
    FQ-CoDel a round trip is some milliseconds."""
    one, = read_downloads(GOLDEN / "runs" / "ndt7.flent.gz")
    meta = load(GOLDEN / "runs" / "ndt7.flent.gz")
    samples = [sample["tcp_rtt"] for sample in meta["raw_values"]["TCP download"]
               if "tcp_rtt" in sample]
    assert float(one.rtt_ms.max()) == max(samples)
    assert 0.05 < features(one)["rise_max_ms"] < 500
    rows = [measurement(number) for number in range(40)]
    test = {"Download": {"UUID": "x", "ServerMeasurements": rows}}
    mlabs, = read_downloads(_written(tmp_path, test))
    assert float(mlabs.min_rtt_ms[0]) == 20.0
    assert (float(mlabs.rtt_ms.min()), float(mlabs.rtt_ms.max())) == (20.0, 26.0)
    assert features(mlabs)["base_rtt_ms"] == 20.0
    assert features(mlabs)["rise_max_ms"] == 6.0
    # Other units, which nothing in the file tells: seconds, and bytes.
    assert float(mlabs.at_s[0]) == 0.25
    assert mlabs.throughput_mbps == 8.0
    assert float(mlabs.retransmitted_bytes[-1]) == 1448 * (39 // 5)


def _without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["TCPInfo"].pop(name)


def _with(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["TCPInfo"].update({name: value})


@pytest.mark.parametrize("damage", [
    *map(_without, ("ElapsedTime", "RTT", "MinRTT", "BytesAcked", "BytesSent", "BytesRetrans")),
    _with("RTT", "5.5"), _with("RTT", None), _with("BytesSent", True), _with("MinRTT", -1),
    _with("RTT", -1), _with("ElapsedTime", 1e300), _with("ElapsedTime", -5), _with("BytesAcked", 0),
    lambda row: row.update(TCPInfo=None), lambda row: row.update(TCPInfo=[7]),
    lambda row: row.clear()])
def test_measurement_that_is_no_measurement_is_left_out(
        tmp_path: Path, damage: Callable[[dict[str, Any]], object]) -> None:
    """The others tell enough."""
    test = archived()
    rows = test["Download"]["ServerMeasurements"]
    damage(rows[5])
    one, = read_downloads(_written(tmp_path, test))
    assert one.at_s.size == len(rows) - 1


def test_whole_numbers_in_texts_are_numbers(tmp_path: Path) -> None:
    """As BigQuery exports integers to JSON."""
    test = archived()
    numbers, = read_downloads(_written(tmp_path, test))
    for row in test["Download"]["ServerMeasurements"]:
        row["TCPInfo"] = {name: str(value) for name, value in row["TCPInfo"].items()}
    texts, = read_downloads(_written(tmp_path, {"raw": test}))
    assert texts.throughput_mbps == numbers.throughput_mbps
    assert (texts.window_share, texts.idle_share) == (numbers.window_share, numbers.idle_share)


@pytest.mark.parametrize(("whole", "told"), [
    ({}, "no NDT7 download"), ([], "no NDT7 download"), ("7", "no NDT7 download"),
    ("", "no NDT7 download"), ({"raw": 5}, "no NDT7 download"),
    ({"Upload": archived()["Download"]}, "1 upload and no download"),
    ({"Download": {"ServerMeasurements": [measurement(at) for at in range(7)]}}, "only 7 of 7"),
    ({"Download": {"ServerMeasurements": [[[[]]]] * 9}}, "no TCPInfo in its 9 measurements"),
    ({"Download": {"ServerMeasurements": []}}, "it has no measurements"),
    *(({"Download": {"ServerMeasurements": [measurement(at, **wrong) for at in range(40)]}}, told)
      for wrong, told in (
          ({"ElapsedTime": 0}, ("only 0 of 40 measurements with complete TCP_INFO can be used; "
                               "expected 8 or more, each with a time of its own above 0 and up to "
                               "3,600 s, acknowledged data, and no negative value")),
          ({"ElapsedTime": 5}, "only 1 of 40 measurements"),
          ({"MinRTT": -1}, "only 0 of 40 measurements"))),
    ({"Download": {"ServerMeasurements": {"0": {}}}}, "no NDT7 download"),
    ({"Download": {"ServerMeasurements": [measurement(at) for at in range(20_001)]}},
     "20,001 measurements in one download; expected 20,000 at most"),
    ({"Download": {"ServerMeasurements": [
        measurement(at, BytesSent=10 ** 17) for at in range(9)]}},
     "a counter of 1e+17 bytes, which is impossible; expected 1e15 at most"),
    ({"Download": {"ServerMeasurements": [
        measurement(at, BytesSent=10 ** 15 + 1) for at in range(9)]}},
     "a counter of 1,000,000,000,000,001 bytes, which is impossible; expected 1e15 at most"),
    ({"Download": {"ServerMeasurements": [
        measurement(at, RTT=10 ** 10 + 1000) for at in range(9)]}},
     "a round trip of 10,000.001 s, which is impossible; expected 10,000 s at most"),
    ({"Download": {"ServerMeasurements": [measurement(at, RTT=10 ** 11) for at in range(9)]}},
     "a round trip of 100,000 s, which is impossible; expected 10,000 s at most"),
    ("[" * 100_000, "damaged"), ("{\"raw_values\": {}}", "metadata"),
    ("not JSON", "; expected a data file, or M-Lab's JSON"),
])
def test_what_is_no_test_is_named_in_a_line(tmp_path: Path, whole: object, told: str) -> None:
    """With the path, what was seen, and what is expected."""
    path = _written(tmp_path, whole)
    with pytest.raises(BadResult) as raised:
        read_downloads(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_tar_file_with_a_damaged_header_is_called_no_bad_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("one.json"))
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadResult, match=(
            r"archive\.tar: damaged tar file \(bad checksum\); get it again$")):
        read_downloads(path)


@pytest.mark.parametrize("cut", ["second header", "before it", "end"])
def test_tar_file_that_ends_too_early_is_damaged(tmp_path: Path, cut: str) -> None:
    """Python's module takes that for the end: downloads after it were missing without a word."""
    whole = tmp_path / "whole.tar"
    with tarfile.open(whole, "w") as archive:
        for name in ("one.json", "two.json"):
            text = json.dumps(archived()).encode()
            second = archive.offset
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    assert len(read_downloads(whole)) == 2
    data = bytearray(whole.read_bytes())
    if cut == "second header":
        data[second] ^= 1
    else:
        del data[second if cut == "before it" else len(data.rstrip(b"\0")):]
    path = tmp_path / "cut.tar"
    path.write_bytes(data)
    with pytest.raises(BadResult, match=r"cut\.tar: damaged tar file \("):
        read_downloads(path)


@pytest.mark.parametrize(("kind", "size", "headers"), [
    (tarfile.XHDTYPE, 1 << 70, {}), (tarfile.REGTYPE, 1 << 70, {}),
    (tarfile.REGTYPE, 0, {"GNU.sparse.map": "0,x"}), (tarfile.REGTYPE, 0, {"GNU.sparse.size": "x"}),
])
def test_tar_file_with_wrong_numbers_is_damaged(
        tmp_path: Path, kind: bytes, size: int, headers: dict[str, str]) -> None:
    """Python's module has errors of no class of its own for them."""
    member = tarfile.TarInfo("one.txt")
    member.type, member.size, member.pax_headers = kind, size, headers
    path = tmp_path / "archive.tar"
    path.write_bytes(member.tobuf(tarfile.PAX_FORMAT if headers else tarfile.GNU_FORMAT)
                     + bytes(10240))
    with pytest.raises(BadResult, match=r"archive\.tar: damaged tar file \("):
        read_downloads(path)


@pytest.mark.parametrize(("files", "why"), [
    ([("good.json", b"{}"), ("bad.json.gz", gzip.compress(b"{}")[:15])],
     "its bad.json.gz: damaged (the file ends too early)"),
    ([("bad.json", b"{"), ("good.json", b"{}")], "its bad.json: damaged, or not JSON"),
    # Each alone is within the limit, of which the second has little left.
    ([(f"{number}.json.gz", gzip.compress(b" " * (40 << 20))) for number in range(2)],
     "the files in it, unpacked, have together more than 64 MiB; "),
])
def test_fault_within_an_archive_is_told_of_the_file_that_has_it(
        tmp_path: Path, files: list[tuple[str, bytes]], why: str) -> None:
    path = tmp_path / "archive.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in files:
            member = tarfile.TarInfo(f"2026/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    with pytest.raises(BadResult) as raised:
        read_downloads(path)
    assert str(raised.value).startswith(f"{path}: {why}")


def test_what_is_no_file_is_named_in_a_line(tmp_path: Path) -> None:
    """Nothing is waited for, and nothing is unpacked without end."""
    with pytest.raises(BadResult, match="nowhere"):
        read_downloads(tmp_path / "nowhere.json")
    with pytest.raises(BadResult, match="not a regular file"):
        read_downloads(Path("/dev/zero"))
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (65 << 20)))
    with pytest.raises(BadResult, match="more than 64 MiB"):
        read_downloads(bomb)


@pytest.mark.parametrize("changes", [
    {"RTT": 0, "MinRTT": 0}, {"BytesRetrans": 0}, {"BytesAcked": 1, "BytesSent": 1},
    {"RTT": 5, "MinRTT": 5_000}, {"BytesRetrans": 10 ** 12}])
def test_features_of_odd_downloads_are_numbers(
        tmp_path: Path, changes: dict[str, int]) -> None:
    """Nothing divides by nothing."""
    rows = [measurement(at, **changes) for at in range(40)]
    one, = read_downloads(_written(tmp_path, {"Download": {"ServerMeasurements": rows}}))
    values = features(one)
    assert set(values) == set(FEATURES) | set(BASELINE)
    assert all(abs(value) <= 1e9 for value in values.values())


def test_moment_of_the_start_is_no_measurement(tmp_path: Path) -> None:
    """Nothing has been sent at 0 s, by which rates would be divided."""
    rows = [measurement(0, ElapsedTime=0), *(measurement(number) for number in range(20))]
    one, = read_downloads(_written(tmp_path, {"Download": {"ServerMeasurements": rows}}))
    assert float(one.at_s[0]) == 0.25
    assert one.at_s.size == 20


def test_slow_start_ends_with_the_first_loss(tmp_path: Path) -> None:
    """Round trips of 20 to 24 ms come before the sample that tells of the first loss, which is at
    25 ms; later ones, at 99 ms, are not of slow start."""
    rows = [measurement(number, RTT=20_000 + 1_000 * number if number <= 5 else 99_000)
            for number in range(20)]
    one, = read_downloads(_written(tmp_path, {"Download": {"ServerMeasurements": rows}}))
    assert features(one)["imc_difference"] == pytest.approx((25 - 20) / 25)
