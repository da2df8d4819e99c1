# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm scorecard` as people type it: runs in the lab, page, and mistakes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult, ConfigError, ToolMissing
from flent_aqm.cli import main
from flent_aqm.parts.scorecard import contestant, order, steps
from flent_aqm.parts.scorecard.card import SCHEMA_VERSION, Card, write
from flent_aqm.parts.scorecard.contestant import Contestant
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.parts.scorecard.steps import print_and_write_page
from flent_aqm.tools import own
from flent_aqm.tools.tool import Number, Server, Tool

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
    assert rest == ("Interrupted: 1 run done; go on with the same command\n"
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


# A test by two commands.
OWN = ("--client", "true {host}:{port}", "--server", "sleep {port}", "--reads",
       "json: down=download_mbps")


@pytest.mark.parametrize(("words", "fault"), [
    ((), "no test given; name a test"), ((), "nuttcp"),
    (("mine.py", "--client", "x", "--server", "y", "--reads", "z"), "only one test of your own"),
    (("--client", "x", "--server", "y"), "but --reads is missing or empty; give all three"),
    (("--client", "x", "--server", "", "--reads", ""), "but --server and --reads are missing or"),
    (("ndt7", "--all"), "ndt7: tests are named beside --all; give either; a second"),
    (("own_test",), "own_test: this is the test of your own file"),
    (("ndt8",), "unknown speed test 'ndt8'; did you mean 'ndt7'"),
    (("ndt7", "--seeds", "1,x"), "--seeds: '1,x'; expected whole numbers"),
    (("ndt7", "--seeds=-1"), "--seeds: '-1'; expected whole numbers from 0 to 10^18 - 1 with"),
    (("ndt7", "--seeds", "9" * 5000), f"--seeds: '{'9' * 60}'; expected whole numbers"),
    (("ndt7", "--worst", "latency", "--runs", "9"), "--runs: 9; expected 10 to 150"),
    (("ndt7", "--runs", "20"), "--runs: needs --worst"),
    (("ndt7", "--worst", "latency", "--only", "x"), "--worst chooses its own lines"),
    (("ndt7", "--cells", "cor"), "--cells: unknown value 'cor'; did you mean 'core'? Known: small"),
    (("ndt7", "--only", "7mbit", "--only", "x y"),
     "no cell of the set core has '7mbit' or 'x y' in its name"),
    (("ndt8",), "unknown speed test 'ndt8'; did you mean 'ndt7'? Known: "),
    ((*OWN, "--longest", "nan"), "--longest: nan; expected a number of seconds above 0"),
    ((*OWN, "--longest", "0"), "--longest: 0; expected"),
    ((*OWN, "--longest", "1e9"), "--longest: 1000000000; expected"),
    ((*OWN, "--longest", "86400.0001"), "--longest: 86400.0001; expected")])
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


def test_missing_program_is_told_before_the_first_tests_runs(
        run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the second test. A test whose runs are all there needs no program."""
    def check(tools: Sequence[str]) -> None:
        if "nuttcp" in tools:
            raise ToolMissing("nuttcp isn't installed")

    scored: list[str] = []

    def score(one: Contestant, *rest: object) -> bool:
        scored.append(one.name)
        return True

    monkeypatch.setattr(contestant, "check_tools", check)
    monkeypatch.setattr(steps, "score", score)
    monkeypatch.setattr(steps, "print_and_write_page", lambda output: None)
    words = ("ndt7", "nuttcp", "--cells", "small", "--only", "fq_codel", "-o", tmp_path)
    status, _, err = run(*words)
    assert (status, scored) == (1, [])
    assert "nuttcp isn't installed" in err
    (tmp_path / "nuttcp").mkdir()
    (tmp_path / "nuttcp" / "10mbit-40ms-fq_codel-seed1.flent.gz").touch()
    assert run(*words)[0] == 0
    assert scored == ["ndt7", "nuttcp"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What the steps are asked for, in place of runs: score, search, comparison and page."""
    asked: list[tuple[object, ...]] = []

    def score(one: Contestant, cells: Sequence[Place], folder: Path, testbed: str,
              keys: object) -> bool:
        asked.append((one.name, len(cells), folder.name, testbed, keys))
        return True

    monkeypatch.setattr(steps, "score", score)
    monkeypatch.setattr(steps, "search", lambda one, aim, runs, folder, keys: asked.append(
        (one.name, aim, runs, folder.name, keys)))
    monkeypatch.setattr(order, "compare_folders",
                        lambda output, folder: asked.append(("compare", folder.name)))
    monkeypatch.setattr(order, "refuse_incomparable", lambda output, folders, scored: None)
    monkeypatch.setattr(steps, "refuse_missing_programs", lambda pairs, cells, testbed: None)
    monkeypatch.setattr(steps, "print_and_write_page", lambda output: asked.append(("page",)))
    return asked


@pytest.mark.parametrize(("words", "steps_asked"), [
    (("ndt7",), [("ndt7", 77, "ndt7", "virtual", {})]),
    (("ndt7", "nuttcp", "--cells", "small", "--jobs", "3", "--testbed", "netns"), [
        ("ndt7", 4, "ndt7", "netns", {"jobs": "3"}),
        ("nuttcp", 4, "nuttcp", "netns", {"jobs": "3"})]),
    (("cloudflare_http2", "--cells", "small", "--only", "fq_codel", "--seeds", "4, 5,6"), [
        ("cloudflare_http2", 3, "cloudflare_http2", "virtual", {})]),
    (("ndt7", "--worst", "latency"), [("ndt7", "latency", 100, "ndt7", {})]),
    (("ndt7", "--worst", "throughput", "--runs", "12", "--scheduler", "tcp://x:1"), [
        ("ndt7", "throughput", 12, "ndt7", {"scheduler": "tcp://x:1"})]),
    (("--against", "a/seeds", "--against", "b/real"), [("compare", "seeds"), ("compare", "real")]),
])
def test_options_are_passed_to_the_steps(
        words: tuple[str, ...], steps_asked: list[tuple[object, ...]], run: Run, tmp_path: Path,
        asked: list[tuple[object, ...]]) -> None:
    """And the page is written last."""
    assert run(*words, "-o", tmp_path)[0] == 0
    assert asked == [*steps_asked, ("page",)]


def test_own_test_comes_last_and_only_on_this_machine(
        run: Run, tmp_path: Path, asked: list[tuple[object, ...]],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file isn't on the workers of a cluster."""
    monkeypatch.setenv(environment.OWN_TOOL, "")  # to have it back afterwards
    monkeypatch.setattr(contestant, "own_contestant", lambda: replace(
        contestant.CONTESTANTS["ndt7"], test=own.NAME, label="My test"))
    file = tmp_path / "mine.py"
    file.write_text("TOOL = None")
    assert run(file, "nuttcp", "--cells", "small", "-o", tmp_path)[0] == 0
    assert asked == [("nuttcp", 4, "nuttcp", "virtual", {}),
                     (own.NAME, 4, "own-My-test", "virtual", {}), ("page",)]
    assert os.environ[environment.OWN_TOOL] == str(file)
    asked.clear()
    # Beside the file, its name is the same test.
    assert run(file, own.NAME, "--cells", "small", "-o", tmp_path)[0] == 0
    assert [one[0] for one in asked] == [own.NAME, "page"]
    status, out, err = run(file, "--scheduler", "tcp://x:1", "-o", tmp_path)
    assert (status, out) == (1, "")
    assert "--scheduler: workers don't have your own test" in err


def test_all_tests_are_those_that_this_machine_has(
        run: Run, tmp_path: Path, asked: list[tuple[object, ...]],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are named with the reason; the user's own is not one of them."""
    monkeypatch.setattr(contestant, "why_not", lambda one: (
        "" if one.name in ("ndt7", own.NAME) else "no program"))
    monkeypatch.setattr(contestant, "CONTESTANTS", {
        **contestant.CONTESTANTS, own.NAME: contestant.CONTESTANTS["ndt7"]})
    status, _, err = run("--all", "--cells", "small", "-o", tmp_path)
    assert status == 0
    assert asked == [("ndt7", 4, "ndt7", "virtual", {}), ("page",)]
    assert "left out: nuttcp: no program" in err
    assert len(err.splitlines()) == len(contestant.CONTESTANTS) - 2


def test_latency_of_test_that_shows_none_is_not_searched(
        run: Run, tmp_path: Path, asked: list[tuple[object, ...]],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end a search of all tests at the first of them, after its runs."""
    words = ("--worst", "latency", "--runs", "10", "-o", tmp_path)
    status, _, err = run("ndt7", "iperf3_upload", *words)
    assert (status, asked) == (1, [])
    assert err == ("flent-aqm: --worst latency: iperf3, upload alone: it shows no latency; give "
                   "--worst throughput, or another test\n")
    monkeypatch.setattr(contestant, "why_not", lambda one: (
        "" if one.name in ("ndt7", "iperf3_upload") else "no program"))
    status, _, err = run("--all", *words)
    assert (status, asked) == (0, [("ndt7", "latency", 10, "ndt7", {}), ("page",)])
    assert "left out: iperf3, upload alone: it shows no latency" in err
    assert run("iperf3_upload", "--worst", "throughput", "--runs", "10", "-o", tmp_path)[0] == 0


@pytest.mark.parametrize(("is_folder", "what"), [
    (True, "it is a folder"), (False, "No such file or directory")])
def test_file_that_is_none_is_named(is_folder: bool, what: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    if is_folder:
        file.mkdir()
    assert run(file, "-o", tmp_path)[2] == (
        f"flent-aqm: {file}: {what}; expected a Python file with a TOOL\n")


@pytest.mark.parametrize("words", [
    ("--client", "x"), ("--server", "y"), ("--reads", "z"), ("--client", "x", "--reads", "z"),
    ("--server", "y", "--reads", "z"),
    ("--seeds", ""), ("--seeds", "1,,2"), ("--seeds", "-1"), ("--worst", "latency", "--seeds", "1"),
    ("--worst", "latency", "--testbed", "netns")])
def test_other_mistake_runs_nothing(words: tuple[str, ...], run: Run, tmp_path: Path,
                                    asked: list[tuple[object, ...]]) -> None:
    """Each is one line."""
    status, out, err = run("ndt7", *words, "-o", tmp_path)
    assert (status, out, asked) == (1, "", [])
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("numbers", "metric"), [
    (("download_mbps", "good"), "own_good"), (("download_mbps",), None)])
def test_own_test_judges_if_it_has_a_number_named_good(
        numbers: tuple[str, ...], metric: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its TOOL says by what."""
    tool = Tool("mine", Server("mine", {"PORT": (9400,)}, "true"),
                numbers=tuple(Number(name, "", name) for name in numbers))
    monkeypatch.setattr(own, "tool", lambda: tool)
    monkeypatch.setenv(environment.OWN_TOOL, "mine.py")
    row = contestant.CONTESTANTS["ndt7"]
    monkeypatch.setattr(contestant, "CONTESTANTS", {own.NAME: row})
    verdict = contestant.own_contestant().verdict
    assert (verdict and verdict.metric) == (metric and tool.metric("good"))
    monkeypatch.setattr(contestant, "CONTESTANTS", {})
    with pytest.raises(ConfigError, match=r"mine\.py: `shown` of its TOOL has rates=\(\)"):
        contestant.own_contestant()


def test_further_rows_differ_from_the_tests_that_they_are_of() -> None:
    """iperf3 in one direction has the rate of it twice; NDT7's archive has further latencies."""
    rows = contestant.CONTESTANTS
    assert rows["iperf3_upload"].shown.rates == ("throughput_upload_mbps",) * 2
    assert rows["ndt7_archived"].runs_of == "ndt7"
    assert rows["ndt7_archived"].shown.latency == ("ndt7_rtt_download_ms", "ndt7_rtt_upload_ms")
    assert rows["cloudflare_http2"].parameters == {"http_version": "2"}
    assert all(len(row.shown.rates) == 2 for row in rows.values())
