# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report says beside its headline, each with data that makes it true and data that makes
it false."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.results.status import Status
from flent_aqm.show.report.facts import Proof, RunFacts
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.html import sections_html, top_html
from flent_aqm.show.report.model import Folder, build

from .made import row

FAST = [1.0] * 1000
AGREED = Proof("codel", 100.0, "codel; down 100 Mbit/s", ("down: htb",), "")
APART = replace(AGREED, fault="up: pfifo_fast in place of codel")
ONE, TWO, MORE = [row("codel", FAST)], [row("codel", FAST)] * 2, [
    row("codel", FAST, rate_mbps=10.0 * (at + 1)) for at in range(10)]
SHARED = [row("codel", FAST, 430, cross_traffic=True, more={
    "total_upload_mbps": 860, "fairness_upload": 1.0})]
NOTED = [*ONE, *[replace(row("codel", FAST), notes=("the probe stopped",))] * 2]
COMMAND = "see `flent-aqm serve` <b>"
BOTH_WAYS = [row("codel", FAST, {"download": 9.0, "upload": 8.0})]


def proven(*proofs: Proof | None, seeds: Sequence[str] = ()) -> list[ReportRow]:
    """Runs of routers that reported this, or nothing."""
    seed_facts = [{"seed": seed} for seed in seeds] or [{}] * len(proofs)
    return [replace(row("codel", FAST), facts=RunFacts(facts, proof, True, 60.0, 6.0))
            for proof, facts in zip(proofs, seed_facts, strict=True)]


def words(rows: Sequence[ReportRow], damaged: int = 0, folders: Sequence[Folder] = ()) -> str:
    """All words of the page above and below its plots."""
    report = build(rows, [(Path(f"{at}.flent.gz"), "cut") for at in range(damaged)], folders,
                   "made")
    page = re.sub(r"<[^>]+>", " ", top_html(report) + sections_html(report))
    return " ".join(html.unescape(page).split())


@pytest.mark.parametrize(("output", "true", "false"), [
    ("1 run: test iperf3_upload", ONE, TWO), ("2 runs: test iperf3_upload", TWO, ONE),
    ("60 s measured in 6 s of computing", proven(AGREED), ONE),
    ("latency under load: median and 99th percentile", ONE, [row("codel", FAST[:100])]),
    ("latency under load: median Round trips", [row("codel", FAST[:30])], ONE),
    ("with cross traffic the test's share of what all flows together carried", SHARED, ONE),
    ("430 of 860", SHARED, [row("codel", FAST, 430)]),
    ("129 (3 runs) or 172 (2)", [row("codel", FAST, one) for one in (172, 129, 129, 172, 129)],
     [row("codel", FAST, one) for one in (172, 129, 140, 150, 160)]),
    ("2 runs: the probe stopped.", NOTED, ONE),
    ("2 more conditions", MORE, MORE[:9]), ("1 more condition ", MORE[:9], MORE[:8]),
    ("reports, download / upload.", BOTH_WAYS, ONE),
    ("Mann and Whitney's p below 0.05", TWO, ONE),
    ("None of these files tells what its router reported.", ONE, proven(AGREED)),
    ("In 1 run they differ:", proven(APART, AGREED), proven(AGREED, AGREED)),
    ("In 2 runs they differ:", proven(APART, APART), proven(APART, AGREED)),
    ("2 runs with 1 kind of settings, in which queue and rate agree", proven(AGREED, AGREED),
     proven(AGREED, replace(AGREED, requested="codel; down 10 Mbit/s"))),
    ("2 seeds", proven(AGREED, AGREED, seeds=("1", "2")), proven(AGREED, AGREED, seeds="11")),
    ("1 seed ", proven(AGREED, AGREED, seeds="11"), proven(AGREED, AGREED, seeds="12")),
])
def test_words_are_there_where_they_are_true_and_not_where_they_are_false(
    output: str, true: list[ReportRow], false: list[ReportRow]
) -> None:
    """Above and below the plots."""
    assert output in words(true)
    assert output not in words(false)


def test_runs_that_failed_are_counted_until_they_are_made_again(tmp_path: Path) -> None:
    """In the progress too: what was made again has its file."""
    def page(folder: Path, ended_s: float | None, damaged: int = 0) -> str:
        status = Status(["flent"], 4, 0, 0.0, ended_s, {"lost.flent.gz": "the router said no"})
        return words(ONE, damaged, [Folder(folder, 2, status)])
    assert "2 of 4 runs done, 1 failed, ended before all were done" in page(tmp_path, 9.0)
    assert "1 failed or are damaged" in page(tmp_path, 9.0)
    assert "2 failed or are damaged" in page(tmp_path, 9.0, damaged=1)
    assert "ended before" not in page(tmp_path, None)
    (tmp_path / "lost.flent.gz").touch()
    assert "2 of 4 runs done, ended before all were done" in page(tmp_path, 9.0)
    assert "1 failed" not in page(tmp_path, 9.0)


def test_builds_of_a_kernel_that_count_as_repetitions_are_told() -> None:
    """In the headline; of each kernel, set-up's, too."""
    def of(name: str | None, build: str) -> ReportRow:
        named = {"kernel's name": name} if name else {}
        return replace(row("codel", FAST), facts=RunFacts(
            {**named, "kernel's hash": build}, None, False, None, None))

    said = "These runs are of 2 builds of {} and count as repetitions here: leave out those of the"
    for rows, kernel in (([of("mine", "b"), of("mine", "c"), of("other", "d")],
                          "the kernel mine (b, c),"),
                         ([of(None, "e"), of(None, "f")], "the lab kernel (e, f),")):
        told = build(rows, [], [], "made").headline
        assert any(line.startswith(said.format(kernel)) for line in told), told
    assert not any("builds" in line for line in build(
        [of("mine", "b"), of("mine", "b"), of("other", "c")], [], [], "made").headline)


@pytest.mark.parametrize("run", [
    replace(row("codel", FAST), measured=Unavailable(COMMAND), notes=(COMMAND,)),
    replace(row("codel", []), no_latency=COMMAND, notes=(COMMAND,))], ids=["advice", "headline"])
def test_commands_in_sentences_are_code(run: ReportRow) -> None:
    """In advice or headline, notes and causes, all else of which is text."""
    page = top_html(build([run], [(Path("x.flent.gz"), COMMAND)], [], "made"))
    assert "`" not in page
    assert page.count("see <code>flent-aqm serve</code> &lt;b&gt;") == 3
