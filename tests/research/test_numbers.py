# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers in docs/ that a command makes: each says what made it, and those whose runs are
kept here are made again and compared."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS
from research.validation import marked, numbers
from research.validation.stamp import made_of, parts_of
from tests.files import GOLDEN, ROOT, RUNS, load, save

DOCS = ROOT / "docs"
# Runs that `make docs` made, as its pages have them.
KEPT = GOLDEN / "docs"


def part_of(page: Path, name: str) -> str:
    """The text between a part's two comments."""
    match = re.search(rf"^<!-- {name}: .*?-->\n(.*?)^<!-- end of {name} -->$",
                      page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert match, (page, name)
    return match[1]


@pytest.mark.parametrize("name", numbers.PARTS)
def test_part_says_what_made_it(name: str) -> None:
    """Package, kernel with its hash, day and how many runs stand in its first comment."""
    made = parts_of((DOCS / numbers.PARTS[name].page).read_text(encoding="utf-8"))[name]
    assert all(re.fullmatch(r"[\d.]+ \([0-9a-f]{8,}\)", one) for one in made.kernels)
    assert made.runs > 0


@pytest.mark.parametrize("name", sorted(path.name for path in KEPT.iterdir() if path.is_dir()))
def test_part_is_what_its_kept_runs_give(name: str) -> None:
    """A change of a metric changes the page, or this fails."""
    part, runs = numbers.PARTS[name], numbers.load(KEPT / name)
    page = DOCS / part.page
    assert part_of(page, name) == "\n".join(part.lines(runs)) + "\n"
    assert parts_of(page.read_text(encoding="utf-8"))[name] == made_of(runs)


def test_scores_have_the_numbers_of_the_metrics() -> None:
    """The table's cells are what score prints."""
    runs = {str(run.settings["aqm"]): run for run in numbers.load(KEPT / "scores")}
    text = part_of(DOCS / "results" / "scores.md", "scores")
    for name in ("latency_loaded_mean_ms", "latency_loaded_p99_ms", "loss_loaded_pct"):
        for run in runs.values():
            assert METRICS[name].text(METRICS[name].of(run)) in text, name


def test_runs_of_different_versions_make_no_part(tmp_path: Path) -> None:
    """A table of two kernels would be nobody's."""
    for place, path in enumerate(sorted((KEPT / "scores").glob("*.flent.gz"))):
        whole = load(path)
        if place:
            whole["metadata"]["AQM"]["kernel"]["hash"] = "0" * 16
        save(tmp_path / path.name, whole)
    with pytest.raises(ConfigError, match="runs of different versions"):
        numbers.refuse_mixed(numbers.load(tmp_path))


def test_ping_exp_without_a_ping_to_a_destination_is_refused_with_the_file() -> None:
    """None that came back, or none that was sent."""
    run = load_run(RUNS / "ping_exp.flent.gz")
    named = [replace(run, title=f"{configuration} {load_name}")
             for configuration in numbers.PING_CONFIGURATIONS for load_name in numbers.PING_LOADS]
    with pytest.raises(BadResult, match=r"ping_exp\.flent\.gz: it has no pings to dest1; expected"):
        list(numbers.ping_exp(named))
    silent = [replace(run, silent_probes={"Ping (ms) dest1": "none came back"}) for run in named]
    with pytest.raises(BadResult, match=r"ping_exp\.flent\.gz: none came back; expected pings to"):
        list(numbers.ping_exp(silent))


def test_missing_run_and_one_of_another_batch_are_named() -> None:
    """The first was told as the pair of words that had no value, the second by Python's index()."""
    run = load_run(RUNS / "ping_exp.flent.gz")
    with pytest.raises(BadResult, match=r"^no run has the title 'defaults empty'; make the mis"):
        list(numbers.ping_exp([run]))
    with pytest.raises(BadResult, match=r"ping_exp\.flent\.gz: its batch is .*; expected a run"):
        list(numbers.rrul_gallery([run]))


def test_ping_exp_with_a_single_ping_to_dest1_is_refused_with_the_file() -> None:
    """Which has no jitter."""
    run = load_run(GOLDEN / "batches" / "ping_exp" / "sfq-both.flent.gz")
    first, second = run.probes
    rtt_ms = numpy.full(first.rtt_ms.size, numpy.inf)
    rtt_ms[1] = 20.0
    named = [replace(run, title=f"{configuration} {load_name}",
                     probes=[replace(first, rtt_ms=rtt_ms), second])
             for configuration in numbers.PING_CONFIGURATIONS for load_name in numbers.PING_LOADS]
    with pytest.raises(BadResult, match=r"sfq-both\.flent\.gz: 1 ping to dest1 came back"):
        list(numbers.ping_exp(named))


def test_part_is_written_between_its_marks(tmp_path: Path) -> None:
    """The rest of the page stays."""
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- scores: x -->\nold\n<!-- end of scores -->\nb\n")
    marked.replace(page, "scores", "new\nlines")
    assert page.read_text() == "a\n<!-- scores: x -->\nnew\nlines\n<!-- end of scores -->\nb\n"


def test_tables_beside_a_page_are_csv_without_marks() -> None:
    """Titles on lines of their own; emphasis belongs on pages."""
    lines = ["A title", "| a | `b` |", "|---|---|", "| **1**, 2 | 3 |"]
    assert numbers.as_csv(lines) == 'A title\na,b\n"1, 2",3\n'


def test_tables_beside_a_page_that_cannot_be_written_are_one_line(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
        ) -> None:
    """Here a folder is in the file's place."""
    whole = load(RUNS / "ndt7.flent.gz")
    whole["metadata"]["AQM"]["requested"] |= {
        "batch": "deviation", "router_model": "omnia", "client_model": "ideal"}
    beside = tmp_path / "docs" / "results" / "study_router.csv"
    for folder in (tmp_path / "study_router", beside):
        folder.mkdir(parents=True)
    save(tmp_path / "study_router" / "run.flent.gz", whole)
    shutil.copy(DOCS / "results" / "study.md", beside.parent)
    monkeypatch.setattr(sys, "argv", ["numbers", "--only", "study_router", "--from", str(tmp_path),
                                      "--output", str(tmp_path / "docs")])
    assert numbers.main() == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{beside}" in err


@pytest.mark.parametrize("name", [name for name, part in numbers.PARTS.items() if part.beside])
def test_page_leads_to_the_tables_beside_it(name: str) -> None:
    """And they are there."""
    page = DOCS / numbers.PARTS[name].page
    assert f"({name}.csv)" in page.read_text(encoding="utf-8")
    assert (page.parent / f"{name}.csv").read_text(encoding="utf-8").count("\n") > 10
