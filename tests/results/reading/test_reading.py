# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a data file is read, and of which kinds of files."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flent_aqm.base.environment import LARGE_FILES
from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.reading.limits import STRANGERS
from flent_aqm.results.reading.parse import parse
from flent_aqm.results.reading.unpack import unpack_file
from tests.files import RUNS, load, save

GOLDEN = RUNS
GOOD = (GOLDEN / "stock_ping.flent.gz").read_bytes()
TEXT = gzip.decompress(GOOD)
# No test waits for it: a reader that hangs is ended by it.
HANGS_S = 60


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """A reader that waits for ever fails."""
    def late(*args: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(HANGS_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    """Also by way of a link."""
    os.mkfifo(tmp_path / "pipe.flent.gz")
    (tmp_path / "link.flent.gz").symlink_to("pipe.flent.gz")
    for path in tmp_path.iterdir():
        with pytest.raises(BadResult, match="not a regular file"):
            read_data_file(path)


def test_terminal_and_devices_are_refused_unread(tmp_path: Path) -> None:
    """A terminal of this test's own, whose other end types nothing."""
    ours, theirs = os.openpty()
    try:
        for number, target in enumerate((os.ttyname(theirs), "/dev/zero", "/dev/full")):
            path = tmp_path / f"{number}.flent.gz"
            path.symlink_to(target)
            with pytest.raises(BadResult, match="not a regular file"):
                read_data_file(path)
    finally:
        os.close(ours)
        os.close(theirs)


def test_folder_of_a_data_files_name_is_called_a_folder(tmp_path: Path) -> None:
    """As a walk through a folder may find it."""
    with pytest.raises(BadResult, match="it is a folder"):
        read_data_file(tmp_path)


def test_large_file_of_several_values_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    """The parser of large files has other words than that of small ones."""
    path = tmp_path / "x.flent"
    path.write_bytes(b'{"a": 1}\n{"b": 2}' + b" " * (4 << 20))
    with pytest.raises(BadResult, match=r"/x\.flent: it has more than one JSON value, as the "):
        read_data_file(path)



@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_archive_of_very_many_members_is_refused(pack: Any, tmp_path: Path) -> None:
    """Ten megabytes of empty members; some thousand are read as one file."""
    path = tmp_path / ("x.flent.gz" if pack is gzip.compress else "x.flent.bz2")
    path.write_bytes(pack(b"") * 500_000 + pack(TEXT))
    with pytest.raises(BadResult, match="more than 10,000 parts that were compressed"):
        read_data_file(path)
    path.write_bytes(b"".join(pack(TEXT[at:at + 50]) for at in range(0, len(TEXT), 50)))
    assert read_data_file(path).whole == json.loads(TEXT)


def test_zeros_behind_a_member_are_padding_and_no_member(tmp_path: Path) -> None:
    """As tapes have them; what else is there is damage."""
    path = tmp_path / "x.flent.gz"
    path.write_bytes(GOOD + b"\0" * 100_000)
    assert read_data_file(path).whole == json.loads(TEXT)
    path.write_bytes(GOOD + b"\0" * 100_000 + b"x")
    with pytest.raises(BadResult, match="damaged"):
        read_data_file(path)
    with path.open("r+b") as file:
        file.truncate(len(GOOD))
        file.truncate(1 << 30)  # sparse: no bytes on the disk
    with pytest.raises(BadResult, match="more than 1,048,576 zeros follow"):
        read_data_file(path)


@pytest.mark.parametrize(("zeros", "is_read"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_a_megabyte_of_zeros_may_follow_an_archive(
        zeros: int, is_read: bool, tmp_path: Path) -> None:
    """Not counting those in the first 32 KiB of the file, which are read with the archive."""
    path = tmp_path / "x.flent.gz"
    path.write_bytes(gzip.compress(TEXT[:100]).ljust(32_768, b"\0") + bytes(zeros))
    if is_read:
        assert unpack_file(path, STRANGERS) == TEXT[:100]
        return
    with pytest.raises(BadResult, match="zeros follow the archive: unpack it and pack"):
        unpack_file(path, STRANGERS)


@pytest.mark.parametrize(("count", "is_read"), [(3, True), (4, False)])
@pytest.mark.parametrize(("pack", "suffix"), [(gzip.compress, ".tgz"), (bz2.compress, ".flnt")])
def test_archive_has_as_many_members_as_are_allowed(
        pack: Any, suffix: str, count: int, is_read: bool, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(pack(b"ab") * count)
    within = replace(STRANGERS, members=3)
    if is_read:
        assert unpack_file(path, within) == b"ab" * count
        return
    with pytest.raises(BadResult) as caught:
        unpack_file(path, within)
    assert str(caught.value) == ("it consists of more than 3 parts that were compressed "
                                 "separately: unpack it and pack it again")


@pytest.mark.parametrize(("name", "content", "why"), [
    ("x.gz", b"", "damaged (the file is empty)"),
    ("x.gz", GOOD[:2000], "damaged (the file ends too early)"),
    ("x.gz", b"[]", ("damaged, or not compressed as the end of its name says (Error -3 while "
                     "decompressing data: incorrect header check)")),
    ("x.bz2", b"[]" * 10, ("damaged, or not compressed as the end of its name says (Invalid data "
                           "stream)")),
    # As a browser may store it.
    ("x.gz", b'{"version": 4}', ("the end of its name says that it is compressed, and it is not; "
                                 "rename it without that end")),
    ("x.bz2", b"\n{}" * 10, ("the end of its name says that it is compressed, and it is not; "
                            "rename it without that end")),
    # Something was unpacked before.
    ("x.gz", gzip.compress(b"{}") + b"{}",
     ("damaged, or other bytes follow the archive (Error -3 while decompressing data: incorrect "
      "header check)")),
    ("x.gz", gzip.compress(b"{}") + b"\n",
     "damaged, or other bytes follow the archive (the file ends too early)")])
def test_damaged_archive_is_told_by_where_it_is_damaged(
        name: str, content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadResult) as caught:
        unpack_file(tmp_path / name, STRANGERS)
    assert str(caught.value) == why


@pytest.mark.parametrize("limit", [
    {"unpacked_bytes": 10_000}, {"memory_bytes": 100_000}, {"unpack_s": 0.0}])
def test_each_limit_refuses(limit: dict[str, Any], tmp_path: Path) -> None:
    """With a word on how to read it all the same."""
    path = tmp_path / "x.flent.gz"
    path.write_bytes(GOOD)
    unpack_file(path, STRANGERS)
    with pytest.raises(BadResult, match=LARGE_FILES):
        unpack_file(path, replace(STRANGERS, **limit))


def test_small_file_of_very_many_values_is_refused_unless_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On disk it is small: all samples are the same."""
    whole = json.loads(TEXT)
    whole["raw_values"]["Ping (ms) ICMP"] = [{"t": 1767225600.0, "val": 1.0}] * 1_000_000
    path = tmp_path / "x.flent.gz"
    path.write_bytes(gzip.compress(orjson.dumps(whole)))
    assert path.stat().st_size < 300_000
    with pytest.raises(BadResult, match="so many values"):
        read_data_file(path)
    monkeypatch.setenv(LARGE_FILES, "1")
    assert len(read_data_file(path).raw_values["Ping (ms) ICMP"]) == 1_000_000


def test_small_file_of_very_many_lost_probes_is_refused(tmp_path: Path) -> None:
    """Two samples in each of many series, and five million numbers between them."""
    whole = json.loads(TEXT)
    meta = whole["metadata"]["SERIES_META"]
    for number in range(100):
        meta[f"Ping (ms) {number}"] = meta["Ping (ms) ICMP"]
        whole["raw_values"][f"Ping (ms) {number}"] = [
            {"t": 1767225600.0, "val": 1.0, "seq": 0},
            {"t": 1767229600.0, "val": 1.0, "seq": 400_000}]
    path = tmp_path / "x.flent.gz"
    save(path, whole)
    with pytest.raises(BadResult, match="lack more than 500,000 probes"):
        load_run(path)


def _with_times(tmp_path: Path, **window: float) -> Path:
    """A file of ours whose download has another window."""
    whole = load(GOLDEN / "iperf3_download.flent.gz")
    whole["metadata"]["SERIES_META"]["TCP download"] |= window
    path = tmp_path / "x.flent.gz"
    save(path, whole)
    return path


def test_series_that_last_longer_than_runs_do_are_refused_unless_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By samples, intervals, round-trip times or the window; all of a file's series together."""
    start_s = 1767225602.0
    path = _with_times(tmp_path, LOAD_END=start_s + 9 * 86_400)
    load_run(path)
    path = _with_times(tmp_path, LOAD_END=start_s + 20 * 86_400)
    with pytest.raises(BadResult, match=rf"all its series together last 1,7.* s.*{LARGE_FILES}"):
        read_data_file(path)
    monkeypatch.setenv(LARGE_FILES, "1")
    load_run(path)
    monkeypatch.delenv(LARGE_FILES)
    for sample in ({"t": start_s + 1e6}, {"t": start_s, "dur": 1e6}, {"t": start_s, "val": 1e9}):
        whole = json.loads(TEXT)
        whole["raw_values"]["Ping (ms) ICMP"].append(sample)
        save(path, whole)
        with pytest.raises(BadResult, match="all its series together last"):
            read_data_file(path)
    whole = json.loads(TEXT)
    whole["x_values"][-1] = 1e6
    save(path, whole)
    with pytest.raises(BadResult, match="its x_values last"):
        read_data_file(path)


def test_times_beyond_our_age_are_refused(tmp_path: Path) -> None:
    """Where one second more is the same float, an end lies in no window."""
    for key in ("LOAD_START", "LOAD_END"):
        for time_s in (1e16, 1e17, -1e11):
            with pytest.raises(BadResult, match="has a time, interval or latency of"):
                read_data_file(_with_times(tmp_path, **{key: time_s}))
    with pytest.raises(BadResult, match=r"of 10000000000\.5 s; expected -1e\+10 to 1e\+10 s"):
        read_data_file(_with_times(tmp_path, LOAD_END=1e10 + 0.5))


def test_parsed_numbers_are_finite_and_text_is_whole() -> None:
    """Halves of characters become question marks, also in keys; long integers floats."""
    assert parse(rb'{"\ud800": "a\udcff", "n": 123456789012345678901234567890}') == {
        "?": "a?", "n": 1.2345678901234568e29}
    for text in (b"1e999", b"-1e999", b"NaN", b"1" + b"0" * 400):
        with pytest.raises(BadResult, match="number"):
            parse(b'{"\\ud800": ' + text + b"}")
