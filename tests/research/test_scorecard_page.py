# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/scorecard.md is made from cards, whose runs give its stamp."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from research.validation import scorecard
from tests.files import ROOT


def card(test: str, shown_ms: float, seed: int) -> Card:
    """Of eight lines that stall for 300 ms."""
    way = DirectionValues(90.0, 100.0, shown_ms, 250.0, 300.0, 20.0)
    return Card(test, test.upper(), [
        Reading(f"q{number}-seed{seed}", f"q{number}", f"line{number}-seed{seed}", f"q{number}",
                False, {"download": way, "upload": DirectionValues(), WORSE: way})
                for number in range(8)],
        {} if test == "right" else {"q9": "it was not made"})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of cards as for the part `table`, and a run, which has the stamp."""
    folder = tmp_path / "results"
    for name, seed in (("1", 1), ("2", 11)):
        for test, shown_ms in (("blind", 20.0), ("right", 250.0)):
            cards.write(card(test, shown_ms, seed), folder / name / test)
    shutil.copy(ROOT / "tests" / "golden" / "batches" / "ping_exp" / "sfq-both.flent.gz",
                folder / "1")
    return folder


def write_table(results: Path, docs: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status of the command that writes the part `table` of the page in `docs`."""
    monkeypatch.setattr(sys, "argv", ["scorecard", "table", str(results), "-o", str(docs)])
    return scorecard.main()


def test_page_has_all_tests_and_their_order(results: Path, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """Table, figure, sentence on other seeds, and what the runs were made with."""
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(ROOT / "docs" / "scorecard.md", docs)
    assert write_table(results, docs, monkeypatch) == 0
    page = (docs / "scorecard.md").read_text()
    assert ("| none | BLIND | 20 ms of 300 ms | 0.90 [0.90 to 0.90] of 8 "
            "| 0.080 [0.080 to 0.080] of 8 |") in page
    assert ("2 tests, 16 runs, in virtual time; not all tests ran on the same lines, so compare "
            "their scores with care; no number: BLIND in 1 run.") in page
    assert "In 16 runs of 8 cells (seed 11), " in page
    assert "; 1 -->\n| rank | test |" in page
    assert (docs / "img" / "scorecard.png").stat().st_size


def test_page_or_figure_that_cannot_be_written_is_one_line(
        results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is made in a folder without the page, such as that of a mistyped name."""
    docs = tmp_path / "docs"
    assert write_table(results, docs, monkeypatch) == 1
    assert "scorecard.md can't be read: No such file or directory; give" in capsys.readouterr().err
    assert not docs.exists()
    docs.mkdir()
    shutil.copy(ROOT / "docs" / "scorecard.md", docs)
    (docs / "img").touch()
    assert write_table(results, docs, monkeypatch) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{docs / 'img'}" in err


def test_real_time_says_which_tests_tell_queues_apart(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """And whether the order is the lab's, where that has the same lines."""
    for test, shown_ms in (("blind", 20.0), ("right", 250.0)):
        cards.write(card(test, shown_ms, 1), tmp_path / "2" / test)
    monkeypatch.setattr(sys, "argv", ["scorecard", "real_time", str(tmp_path)])
    assert scorecard.main() == 0
    assert "order" not in capsys.readouterr().out
    shutil.copytree(tmp_path / "2", tmp_path / "1")
    assert scorecard.main() == 0
    assert "have the same order" in capsys.readouterr().out


def test_tests_on_fewer_lines_have_a_line_each(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """With the same scores, but for those that they don't have."""
    cards.write(card("blind", 20.0, 11), tmp_path / "blind")
    monkeypatch.setattr(sys, "argv", ["scorecard", "others", str(tmp_path)])
    assert scorecard.main() == 0
    assert capsys.readouterr().out == (
        "- BLIND: says 20 ms of 300 ms, throughput 0.90, "
        "latency ÷ median 0.080, ÷ p95 0.067, hides 100 ms 100 %\n")


def test_folder_without_cards_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    """In one line."""
    monkeypatch.setattr(sys, "argv", ["scorecard", "real_time", str(tmp_path)])
    assert scorecard.main() == 1
    assert capsys.readouterr().err == (
        f"scorecard: {tmp_path}/2: no scorecard files; make them with flent-aqm scorecard\n")


@pytest.mark.parametrize(("shown_ms", "words"), [
    (230.0, ("agree within 10 % on 8 lines, by direction; ours divided by Cloudflare's: "
            "throughput 1.00 to 1.00, latency 1.09 to 1.09.")),
    (240.0, "**differ by more than 10 %** on 8 lines")])
def test_two_clients_of_a_method_agree_or_differ(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        shown_ms: float, words: str) -> None:
    """By their greatest distance in any direction."""
    cards.write(card("cloudflare", shown_ms, 1), tmp_path / "1" / "cloudflare")
    monkeypatch.setattr(sys, "argv", ["scorecard", "browser", str(tmp_path)])
    assert scorecard.main() == 1
    assert "missing: cloudflare_browser" in capsys.readouterr().err
    cards.write(card("cloudflare_browser", 211.0, 1), tmp_path / "1" / "cloudflare_browser")
    assert scorecard.main() == 0
    assert words in capsys.readouterr().out


def test_clients_without_a_number_in_common_are_not_said_to_differ(tmp_path: Path) -> None:
    """Nothing was compared."""
    nothing = {way: DirectionValues() for way in ("download", "upload", "worse")}
    for name in ("cloudflare", "cloudflare_browser"):
        reading = Reading("place", "words", "group", "cell", False, nothing)
        cards.write(Card(name, name, [reading], {}), tmp_path / "1" / name)
    with pytest.raises(BadResult, match="no direction of a line has a number of both clients"):
        scorecard.browser(tmp_path)
