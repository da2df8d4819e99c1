# SPDX-License-Identifier: GPL-3.0-or-later
"""Each batch of papers.batch has its section, its table and a run that tests keep."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.paths import resource_dir
from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.looks import DASH
from research.validation.papers import measure, overview
from research.validation.papers.__main__ import PAGE
from research.validation.papers.__main__ import main as papers_main
from research.validation.papers.claim import HEAD, Claim, Paper
from research.validation.papers.table import PAPERS
from tests.files import ROOT, load, save

GOLDEN = ROOT / "tests" / "golden" / "papers"
PAPER = pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)


def _rows(part: str) -> list[list[str]]:
    match = re.search(rf"^<!-- {part}: .*\n((?:\|.*\n)+)<!-- end of {part} -->$",
                      (ROOT / "docs" / PAGE).read_text(), re.MULTILINE)
    assert match, part
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")]
                      for line in match[1].splitlines())
    assert tuple(head[1:]) == HEAD
    return rows


def test_each_batch_of_a_paper_has_its_claims_and_its_section() -> None:
    """And each of these its batch."""
    batches = (resource_dir("batches") / "papers.batch").read_text()
    names = set(re.findall(r"^\[Batch::(\w+)\]\ninherits = paper$", batches, re.MULTILINE))
    sections = re.findall(r"^## (\w+): ", (ROOT / "docs" / PAGE).read_text(), re.MULTILINE)
    assert set(PAPERS) == names
    assert names == set(sections)


def test_list_at_the_head_is_that_of_the_tables_below() -> None:
    """A paper that agrees no longer doesn't stay there as one that does."""
    page = (ROOT / "docs" / PAGE).read_text()
    listed = page.split("<!-- overview: ")[1].split("<!-- end of overview")[0]
    assert listed.splitlines()[1:] == list(overview.lines(page))


@PAPER
def test_table_has_a_row_for_each_claim_and_says_what_follows(paper: Paper) -> None:
    """The bounds are the table's of today, and the verdict is that of the numbers beside it."""
    rows = _rows(paper.batch)
    assert [row[0] for row in rows] == [one.name or one.cell for one in paper.claims]
    for claim, (_, published, bounds, here) in zip(paper.claims, rows, strict=True):
        lowest, highest = bounds.split(DASH)
        assert [published, lowest, highest] == [
            f"{one:.{claim.digits}f}" for one in (claim.published, claim.lowest, claim.highest)]
        agrees = float(lowest) <= float(here.strip("*")) <= float(highest)
        assert here.startswith("**") == (not agrees)


@PAPER
def test_kept_run_has_the_number_of_its_row(paper: Paper) -> None:
    """A change of what is measured, or of how a file is read, shows here."""
    run = load_run(GOLDEN / f"{paper.batch}.flent.gz")
    assert run.title == paper.golden
    claimed = [claim for claim in paper.claims if claim.cell == run.title]
    assert claimed
    assert [claim.row(run) for claim in claimed] == [
        row for row in _rows(paper.batch) if row[0] in {one.name or one.cell for one in claimed}]


def _mirrored(whole: Any) -> Any:
    """The content of an upload's file as if it were a download's. The router's rate in the other
    direction is another one."""
    def swapped(name: str) -> str:
        ways = {"up_": "down_", "down_": "up_"}
        return re.sub("^(up_|down_)", lambda match: ways[match[1]],
                      name.replace("TCP upload", "TCP download"))

    metadata = whole["metadata"]
    requested = metadata["AQM"]["requested"]
    assert requested["rate_down_mbps"] == requested["rate_up_mbps"]
    requested["rate_up_mbps"] = 1
    metadata["SERIES_META"] = {swapped(name): value
                               for name, value in metadata["SERIES_META"].items()}
    series = {swapped(name): samples for name, samples in whole["raw_values"].items()}
    series["Queues"] = [{swapped(key): value for key, value in sample.items()}
                        for sample in series["Queues"]]
    return {**whole, "raw_values": series}


def test_each_measure_of_a_download_is_that_of_its_direction(tmp_path: Path) -> None:
    """The same as those of an upload with the same samples; the upload's rate is another one."""
    file = GOLDEN / "ware2019.flent.gz"
    save(tmp_path / "download.flent.gz", _mirrored(load(file)))
    runs = [load_run(path) for path in (file, tmp_path / "download.flent.gz")]
    assert [{flow.direction for flow in run.flows} for run in runs] == [{"upload"}, {"download"}]
    for number, of_run in enumerate([
            measure.share_pct("bbr", 300), measure.ratio(0), measure.goodput_mbps(0),
            measure.utilisation_pct(0), measure.total_window_segments(60),
            measure.queue_packets(50, 0), measure.queue_products(0), measure.queue_delay_ms(0, 99)
            ]):
        upload, download = map(of_run, runs)
        assert upload == download > 0, number
    both = load(file)
    both["raw_values"]["TCP download 1xbbr"] = both["raw_values"]["TCP upload 1xbbr"]
    save(tmp_path / "both.flent.gz", both)
    with pytest.raises(NotAvailable, match="flows in both directions"):
        measure.utilisation_pct(0)(load_run(tmp_path / "both.flent.gz"))


def _without_data(whole: Any, flows: str) -> None:
    for name, samples in whole["raw_values"].items():
        if name.startswith(flows):
            whole["metadata"]["SERIES_META"][name]["MEAN_VALUE"] = 0.0
            samples[:] = [one | {"val": 0.0} if "val" in one else one for one in samples]


def _with_a_single_sample(whole: Any, series: str) -> None:
    samples = whole["raw_values"][series]
    samples[:] = samples[len(samples) // 2:][:1]


def _without_delay(whole: Any, key: str) -> None:
    whole["metadata"]["AQM"]["requested"][key] = 0.0


@pytest.mark.parametrize(("of_run", "change", "what", "why"), [
    (measure.share_pct("bbr", 0), _without_data, "TCP upload", "throughput of all flows"),
    (measure.ratio(0), _without_data, "TCP upload 1xcubic", "throughput of the second group"),
    (measure.utilisation_pct(0), _with_a_single_sample, "Queues",
     "time between the samples of the router's queue"),
    (measure.queue_products(0), _without_delay, "base_delay_ms",
     "product of the router's rate and the base delay")])
def test_what_would_be_divided_by_zero_is_not_available(
        of_run: measure.Measure, change: Callable[[Any, str], None], what: str, why: str,
        tmp_path: Path) -> None:
    whole = load(GOLDEN / "ware2019.flent.gz")
    change(whole, what)
    run = load_run(save(tmp_path / "zero.flent.gz", whole))
    with pytest.raises(NotAvailable, match=f"^the {why} is 0; expected more than 0; make the run"):
        of_run(run)


def test_results_without_a_cell_make_no_table() -> None:
    """Which is lacking, and what makes it."""
    claim = Claim("a cell", 1, 0, 2, lambda _: 1.0)
    with pytest.raises(BadResult, match=r"no run has the title 'a cell'; make all by "
                                        r"flent -B batches/papers\.batch -b some"):
        list(Paper("some", "a number", "a cell", (claim,)).lines([]))


def test_kept_file_that_cannot_be_written_is_one_line(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
        ) -> None:
    """Here a file is in the folder's place."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "argv", ["papers", "pan2013", str(GOLDEN / "pan2013.flent.gz"),
                                      "--keep", str(tmp_path / "file")])
    assert papers_main() == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{tmp_path / 'file'}" in err


@pytest.mark.lab
def test_cell_that_is_made_again_agrees(tmp_path: Path) -> None:
    """The cheapest one: a minute of Cubic that loses a packet of fifty, from the batch's file."""
    done = subprocess.run(
        [Path(sys.executable).with_name("flent"), "-B",
         resource_dir("batches") / "papers.batch", "-b", "cardwell2016", "--batch-override",
         "loss=2", "--batch-override", f"output_path={tmp_path / 'out'}"],
        cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    file, = (tmp_path / "out").glob("*.flent.gz")
    claim = next(one for one in PAPERS["cardwell2016"].claims if one.cell == "cubic, 2 %")
    assert "*" not in claim.row(load_run(file))[-1]
