# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that repeat each other sample by sample, and how many files are read at a time."""

from __future__ import annotations

import argparse
import gzip
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.jobs_option import add_jobs
from flent_aqm.results.many_files import (
    _work_on_run,
    counted_once,
    each_file,
    find_files,
    work_module,
)
from flent_aqm.results.metrics.scores import scores
from tests.files import save


@dataclass(frozen=True)
class Sampled:
    path: Path
    samples: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)


def test_same_samples_and_settings_are_one_run() -> None:
    """The first one; of runs without a hash only the same file is the same run."""
    first, again = Sampled(Path("a"), "hash", {"aqm": "pie"}), Sampled(Path("b"), "hash",
                                                                       {"aqm": "pie"})
    other, bare = Sampled(Path("c"), "hash", {"aqm": "codel"}), Sampled(Path("d"))
    assert counted_once([first, other, bare, Sampled(Path("e"))])[1] == ""
    kept, line = counted_once([first, again, other, bare, bare, Sampled(Path("f"), "hash",
                                                                        {"aqm": "pie"})])
    assert kept == [first, other, bare, bare]
    assert line == ("2 of 6 files repeat another one sample by sample, such as b and a: the same "
                    "run, which counts once")
    kept, line = counted_once([bare, Sampled(Path("d"))])
    assert (kept, line[:12]) == ([bare], "1 of 2 files")


@pytest.mark.parametrize(("words", "jobs"), [([], None), (["--jobs", "1"], 1), (["--jobs", "32"],
                                                                               32)])
def test_number_of_jobs_is_one_or_more(words: list[str], jobs: int | None) -> None:
    parser = argparse.ArgumentParser()
    add_jobs(parser)
    assert parser.parse_args(words).jobs == jobs
    for word in ("0", "x", "1.5", "-1", "9" * 5000):
        with pytest.raises(ConfigError, match=f"--jobs '{word[:40]}': expected a whole number"):
            parser.parse_args([f"--jobs={word}"])


def test_files_of_netperf_wrapper_are_told_from_other_json(tmp_path: Path) -> None:
    """By what they begin with; others of that suffix, and what isn't gzip, are no data files."""
    for name, text in (("old", b'{"metadata": {}'), ("older", b'{"x_values": []'),
                       ("raw", b'{"raw_values": {}'), ("other", b'{"data": {}')):
        (tmp_path / f"{name}.json.gz").write_bytes(gzip.compress(text))
    (tmp_path / "plain.json.gz").write_bytes(b'{"metadata": {}')
    (tmp_path / ".hidden.json.gz").write_bytes(gzip.compress(b'{"metadata": {}'))
    assert [path.name for path in find_files([tmp_path])] == [
        "old.json.gz", "older.json.gz", "raw.json.gz"]


@pytest.mark.parametrize(("content", "is_found"), [
    # 64 KiB of the text are looked at.
    (gzip.compress(b" " * (65_536 - 11) + b'"metadata":'), True),
    (gzip.compress(b" " * (65_536 - 10) + b'"metadata":'), False),
    # zlib's own header is not gzip's.
    (gzip.compress(b'{"metadata":'), True), (zlib.compress(b'{"metadata":'), False)])
def test_files_of_netperf_wrapper_are_told_by_their_beginning(
        content: bytes, is_found: bool, tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_bytes(content)
    (tmp_path / "a.flent").write_bytes(b"")
    assert (tmp_path / "x.json.gz" in find_files([tmp_path])) is is_found


@pytest.mark.parametrize(("names", "found"), [
    # What a shell's * matches in a sweep's folder is left out.
    (["a.flent.gz", "sweep.json", "a.debug.log.gz", "a.log", "a.pcap"], ["a.flent.gz"]),
    # A log without its data file, or of another suffix, is taken for what the user means.
    (["a.flent.gz", "b.log", "b.pcap", "a.txt"], ["a.flent.gz", "b.log", "b.pcap", "a.txt"]),
    # No data file can have this name.
    ([f"{'n' * 251}.log"], [f"{'n' * 251}.log"]),
    (["b.flent.gz", "a.flent.gz", "b.flent.gz"], ["b.flent.gz", "a.flent.gz"]), ([], [])])
def test_named_files_that_a_sweep_writes_beside_data_files_are_left_out(
        names: list[str], found: list[str], tmp_path: Path) -> None:
    """Others stay in their order, each once."""
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in find_files([tmp_path / name for name in names])] == found


@pytest.mark.parametrize(("name", "why"), [
    ("sweep.json", ("a log, capture or status of a sweep, not a data file; expected *.flent.gz")),
    ("x.debug.log.gz", ("a log, capture or status of a sweep, not a data file; expected "
                        "*.flent.gz")),
    ("none", "not found; expected a data file or a folder of data files"),
    ("x\0", "embedded null byte; expected a data file or a folder of data files"),
    ("sweep.json/x", "Not a directory; expected a data file or a folder of data files"),
    (".", ("no data files (*.flent.gz, *.flent, *.flent.bz2, *.flnt, or "
           "netperf-wrapper's *.json.gz) in this folder or below "
           "it; hidden files, links, and folders that can't be read are left out"))])
def test_path_without_a_data_file_has_a_reason(name: str, why: str, tmp_path: Path) -> None:
    for there in ("sweep.json", "x.debug.log.gz"):
        (tmp_path / there).touch()
    with pytest.raises(ConfigError) as caught:
        find_files([tmp_path / name])
    assert str(caught.value) == f"{tmp_path / name}: {why}".replace("\0", "?")


def test_data_files_below_a_folder_are_sorted_and_come_once(tmp_path: Path) -> None:
    """Also in folders below, and where one of them is named, too."""
    names = ["a.flent", "b/.hidden.flent.gz", "b/c.flent.gz", "d.flnt", "e.flent.bz2", "f.gz"]
    (tmp_path / "b").mkdir()
    for name in names:
        (tmp_path / name).touch()
    assert [str(path.relative_to(tmp_path)) for path in find_files([
        tmp_path / "d.flnt", tmp_path, tmp_path / "b"])] == [
        "d.flnt", "a.flent", "b/c.flent.gz", "e.flent.bz2"]


def process_of(data: DataFile) -> int:
    """Return the number of the process that reads a file, which is damaged if its title is "x"."""
    if data.metadata.get("TITLE") == "x":
        raise ValueError("odd")
    return os.getpid()


@pytest.mark.parametrize(("count", "jobs", "is_here"), [
    (15, 8, True), (16, 1, True), (16, 2, False), (4, None, True), (15, 3, True)])
def test_processes_are_started_for_many_files_alone(
        count: int, jobs: int | None, is_here: bool, tmp_path: Path) -> None:
    """From sixteen on, unless one job is allowed. Results are in the order of the files."""
    files = [tmp_path / f"{number:02}.flent.gz" for number in range(count)]
    for number, file in enumerate(files):
        save(file, {"version": 4, "raw_values": {}, "metadata": {
            "TITLE": "x" if number == 1 else ""}})
    files[2].write_bytes(b"")
    found = list(each_file(files, process_of, jobs))
    assert [path for path, _ in found] == files
    assert [type(result) for _, result in found[:4]] == [int, BadResult, BadResult, int]
    assert str(found[2][1]) == (
        f"{files[2]}: damaged (the file is empty); expected a data file of Flent")
    assert str(found[1][1]).startswith(f"{files[1]}: ")
    assert {result == os.getpid() for _, result in found if isinstance(result, int)} == {is_here}


def test_one_core_reads_all_files_itself(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless more jobs are allowed."""
    files = [save(tmp_path / f"{number:02}.flent.gz", {
        "version": 4, "raw_values": {}, "metadata": {}}) for number in range(16)]
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0} if process == 0 else {0, 1})
    assert {result for _, result in each_file(files, process_of)} == {os.getpid()}
    assert os.getpid() not in {result for _, result in each_file(files, process_of, 2)}


def test_module_of_work_is_that_of_the_function_inside() -> None:
    """Processes import it before they are forked."""
    assert work_module(process_of) == __name__
    assert work_module(partial(counted_once, [])) == counted_once.__module__
    assert work_module(partial(partial(counted_once), [])) == counted_once.__module__
    assert work_module(partial(_work_on_run, scores)) == scores.__module__
    assert work_module(partial(_work_on_run, partial(scores))) == scores.__module__
