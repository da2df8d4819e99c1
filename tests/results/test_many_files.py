# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that repeat each other sample by sample, and how many files are read at a time."""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.jobs_option import add_jobs
from flent_aqm.results.many_files import counted_once, find_files


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
    for word in ("0", "x", "1.5", "-1"):
        with pytest.raises(ConfigError, match=f"--jobs {word}: expected a whole number, 1 or more"):
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
