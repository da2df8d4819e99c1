# SPDX-License-Identifier: GPL-3.0-or-later
"""The router's counters as evidence, on a real file's counters that are changed one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flent_aqm.cli import main
from flent_aqm.parts.kernels.verdict import command
from flent_aqm.parts.kernels.verdict.counters import differing, flat
from flent_aqm.parts.kernels.verdict.exercised import Exercised
from flent_aqm.parts.kernels.verdict.pairs import pair
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.score.shown import ScoredFile
from tests.files import RUNS, load, save

GOLDEN = RUNS / "iperf3_upload.flent.gz"
# As tc has them of FQ-CoDel below HTB after a run.
QUEUE = {"backlog": 0, "bytes": 29226943, "drops": 14775, "packets": 21318, "qlen": 0,
         "ecn_mark": 0}
SHAPER = {"backlog": 0, "bytes": 29226943, "drops": 14775, "packets": 21318, "qlen": 0}


def write(folder: Path, target: str, **changed: dict[str, Any]) -> Path:
    """Three runs. changed: counters of the queue and the shaper that are others."""
    folder.mkdir()
    for seed in range(3):
        whole = load(GOLDEN)
        aqm = whole["metadata"]["AQM"]
        aqm["requested"] |= {"seed": seed, "aqm_target": target}
        aqm["after"]["counters"] = {"up": {"qdisc": QUEUE | changed.get("qdisc", {}),
                                           "shaper": SHAPER | changed.get("shaper", {})}}
        save(folder / f"{seed}.flent.gz", whole)
    return folder


def test_counters_that_tc_does_not_know_of_another_queue_are_no_difference() -> None:
    """Nor worse. Of the same queue they are a difference, and so are values that differ."""
    def compared(ours: str, theirs: str, counters: dict[str, float]) -> dict[str, str]:
        sides = [[ScoredFile(Path(f"{number}-{seed}"), {"aqm": aqm, "seed": seed}, {},
                             samples="same", counters=own) for seed in range(3)]
                 for number, (aqm, own) in enumerate((
                     (ours, {"up qdisc drops": 7.0, "up qdisc ecn_mark": 0.0}),
                     (theirs, counters)))]
        return differing(pair(*sides))

    assert compared("fq_codel", "foo", {"up qdisc drops": 7.0}) == {}
    assert compared("fq_codel", "foo", {"up qdisc drops": 8.0}) == {
        "up qdisc drops": "7 → 8, all runs"}
    assert compared("foo", "foo", {"up qdisc drops": 7.0}) == {
        "up qdisc ecn_mark": "0 → none, all runs"}
    bytes_sent = {"up qdisc drops": 12345678.0, "up qdisc ecn_mark": 0.0}
    assert compared("foo", "foo", bytes_sent) == {"up qdisc drops": "7 → 12345678, all runs"}


@pytest.mark.parametrize(("changed", "words"), [
    ({"qdisc": {"memory_used": 31453505}}, "an empty queue uses no memory"),
    ({"shaper": {"drops": 0}}, "the shaper counts the drops of its queue"),
    ({"shaper": {"packets": 21317}}, "the shaper sends the packets that its queue sent"),
    ({"qdisc": {"backlog": 1514}}, "a backlog has packets"),
    ({"shaper": {"qlen": 1}}, "queue length is that of its queue"),
])
def test_a_broken_rule_is_worse_by_its_name(
    changed: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though all samples are alike; not where the base side breaks it, too."""
    base, test = write(tmp_path / "base", "5ms"), write(tmp_path / "test", "6ms", **changed)
    page = tmp_path / "page.md"
    assert main(["verdict", "--base", str(base), "--test", str(test), "-o", str(page)]) == 1
    assert f"Worse: counters break a rule: {words}" in capsys.readouterr().out or (
        words in page.read_text())
    as_bad = write(tmp_path / "as_bad", "7ms", **changed)
    assert main(["verdict", "--base", str(as_bad), "--test", str(test)]) == 0


def test_counters_that_differ_where_samples_do_not_are_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = write(tmp_path / "base", "5ms")
    test = write(tmp_path / "test", "6ms", qdisc={"ecn_mark": 7})
    words = ["verdict", "--base", str(base), "--test", str(test), "-o", str(tmp_path / "page.md")]
    assert main(words) == 5
    assert ("Different counters where samples are the same: up qdisc ecn_mark 0 → 7, all runs."
            in capsys.readouterr().out)
    alike = write(tmp_path / "alike", "7ms")
    assert main(["verdict", "--base", str(base), "--test", str(alike)]) == 0
    page = capsys.readouterr().out.replace("\\", "")
    assert "ounters" not in page.replace(str(tmp_path), "")


def test_counters_of_real_files_are_read() -> None:
    """And break no rule."""
    counters = flat(read_data_file(GOLDEN).metadata["AQM"]["after"]["counters"])
    assert counters["up qdisc packets"] > 0
    assert flat(None) == flat({"up": 3}) == {}


def test_page_and_exit_status_agree_on_a_change_that_did_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not exercised, unless a rule is broken: that is worse, whatever ran. Which lines ran is made
    up here, as an instrumented kernel takes minutes to build."""
    never = Exercised({}, never=[("net/sched/sch_codel.c", 7)])
    monkeypatch.setattr(command, "exercise", lambda cells, folder: never)
    base, same = write(tmp_path / "base", "5ms"), write(tmp_path / "same", "6ms")
    bad = write(tmp_path / "bad", "6ms", shaper={"drops": 0})
    for test, status in ((same, command.NOT_EXERCISED), (bad, 1)):
        assert main(["verdict", "--base", str(base), "--test", str(test),
                     "-o", str(tmp_path / "page.md")]) == status
        said = capsys.readouterr().out
        assert ("Not exercised: these runs say nothing about the change; --suggest" in said
                ) is (test is same)
        assert ("counters break a rule" in said) is (test is bad)
