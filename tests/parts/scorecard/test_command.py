# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm scorecard` as people type it: runs in the lab, page, and mistakes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.cli import main
from flent_aqm.parts.scorecard.card import SCHEMA_VERSION, Card, write
from flent_aqm.parts.scorecard.steps import print_and_write_page

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command; gives exit status, output and errors."""
    def run(*words: object) -> tuple[int, str, str]:
        status = main(["scorecard", *map(str, words)])
        out, err = capfd.readouterr()
        return status, out, err
    return run


@pytest.mark.lab
def test_ndt7_shows_less_latency_than_there_is(run: Run, tmp_path: Path) -> None:
    """Its number is TCP's shortest round trip: below a long drop-tail queue as below FQ-CoDel. The
    truth isn't. Another call makes no run again."""
    status, out, err = run("ndt7", "--cells", "small", "--only", "fifo_1000p", "--only",
                           "fq_codel", "-o", tmp_path)
    assert status == 0, err
    card = json.loads((tmp_path / "ndt7" / "card.json").read_text())
    long, short = (one["ways"]["upload"] for one in card["readings"])
    assert long["shown_ms"] == pytest.approx(short["shown_ms"], rel=0.05)
    assert long["others_p95_ms"] > 5 * short["others_p95_ms"]
    assert long["own_ms"] > 5 * long["shown_ms"]
    assert long["queue_ms"] > 200
    assert 0.9 < long["shown_mbps"] / long["possible_mbps"] < 1.0
    assert card["scores"]["tells_apart"]["value"] == 0
    assert "this test says 40 ms" in " ".join(out.split())
    page = (tmp_path / "scorecard.md").read_text()
    assert "| NDT7 |" in page
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("ndt7/*.flent.gz")}
    assert len(files) == 2
    assert run("ndt7", "--cells", "small", "--only", "fifo_1000p", "--only", "fq_codel", "-o",
               tmp_path)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert (tmp_path / "scorecard.md").read_text() == page


@pytest.mark.lab
def test_stopped_one_says_how_to_go_on(tmp_path: Path) -> None:
    """By SIGTERM: a shell's background has SIGINT ignored. What runs ends before it does."""
    with subprocess.Popen(
            [sys.executable, "-P", "-m", "flent_aqm.cli", "scorecard", "ndt7", "--cells", "small",
             "--only", "codel", "--jobs", "1", "-o", tmp_path],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline()[:11] for _ in range(2)] == ["2 runs in t", "ok     1/2 "]
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert rest == ("Interrupted: 1 run done, 1 left; go on with the same command\n"
                    "flent-aqm: interrupted\n")
    assert not list(tmp_path.glob("ndt7/.*"))


@pytest.mark.lab
def test_worst_line_is_searched_and_stays_on_the_page(run: Run, tmp_path: Path) -> None:
    """By ten runs; another call makes none again. The page of a test without cells isn't made."""
    words = ("ndt7", "--worst", "latency", "--runs", "10", "-o", tmp_path)
    status, out, err = run(*words)
    assert status == 0, err
    assert "NDT7: Its worst latency, of 10 lines that a search tried" in out
    assert not (tmp_path / "scorecard.html").exists()
    worst_line = json.loads((tmp_path / "ndt7" / "worst-latency.json").read_text())
    assert worst_line["worst"]["true"] > 1.5 * worst_line["worst"]["shown"]
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("ndt7/worst/*.flent.gz")}
    assert len(files) == 10
    assert run(*words)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in files} == files
    write(Card("ndt7", "NDT7", [], {}), tmp_path / "ndt7")
    print_and_write_page(tmp_path)
    assert "Its worst latency, of 10 lines" in (tmp_path / "scorecard.html").read_text()


@pytest.mark.parametrize(("words", "fault"), [
    ((), "no test given; name a test"), ((), "nuttcp"),
    (("mine.py", "--client", "x", "--server", "y", "--reads", "z"), "only one test of your own"),
    (("--client", "x", "--server", "y"), "belong together; give all three"),
    (("ndt7", "--all"), "ndt7: tests are named beside --all"),
    (("own_test",), "own_test: this is the test of your own file"),
    (("ndt8",), "unknown speed test 'ndt8'; did you mean 'ndt7'"),
    (("ndt7", "--seeds", "1,x"), "--seeds: '1,x'; expected whole numbers"),
    (("ndt7", "--worst", "latency", "--runs", "9"), "--runs: 9; expected 10 to 150"),
    (("ndt7", "--runs", "20"), "--runs: needs --worst"),
    (("ndt7", "--worst", "latency", "--only", "x"), "--worst chooses its own lines"),
    (("ndt7", "--cells", "cor"), "--cells: unknown set of cells 'cor'")])
def test_mistake_is_one_line(words: tuple[str, ...], fault: str, run: Run, tmp_path: Path) -> None:
    """With what is expected, before anything runs."""
    status, out, err = run(*words, "-o", tmp_path)
    assert (status, out) == (1, "")
    assert fault in err
    assert len(err.splitlines()) == 1


def test_damaged_card_is_named(run: Run, tmp_path: Path) -> None:
    """Of another test in the same folder: the page would lack it."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "card.json").write_text("{}")
    with pytest.raises(BadResult, match=r"other/card\.json: not a scorecard file"):
        print_and_write_page(tmp_path)
    reading = {"place": "p", "words": "w", "group": "g", "without_seed": "s", "beside": False,
               "ways": {}, "good": None, "megabytes": 1.0, "seconds": 1.0, "lab_wall_s": 1.0}
    (tmp_path / "other" / "card.json").write_text(json.dumps({
        "schema": SCHEMA_VERSION, "test": "t", "label": "l", "method": "", "testbed": "virtual",
        "failed": {}, "readings": [reading]}))
    with pytest.raises(BadResult, match=r"other/card\.json: not a scorecard file, .*download"):
        print_and_write_page(tmp_path)
