# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of all tests: as HTML, Markdown, JSON, figure, and on a terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from rich.console import Console

from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard import figure, terminal
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.parts.scorecard.steps import print_and_write_page
from flent_aqm.parts.scorecard.words import _in_ms, sentences, stalls_of_all

EVIL = "<script>alert(1)</script> | x"


def card(test: str, shown: float | None, label: str = "") -> Card:
    """Of seven lines, whose other flows take 25 to 325 ms; the test shows so much of it."""
    readings = []
    for number in range(7):
        truth = 25.0 + 50 * number
        way = DirectionValues(90.0, 100.0, shown and max(20.0, truth * shown), truth, truth, 20.0,
                              truth, 5.0,
                              0.0)
        readings.append(Reading(f"line-q{number}", f"line, q{number}", "line", f"q{number}", False,
                                {"download": way, "upload": DirectionValues(), WORSE: way}, None,
                                10.0, 20.0,
                                5.0))
    return Card(test, label or test, readings, {}, "Its method.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three tests, of which one has a name with markup, and a failed cell."""
    folder = tmp_path_factory.mktemp("page")
    for one in (card("blind", 0.01), card("right", 1.0),
                replace(card("none", None, EVIL), failed={"line-q9": EVIL})):
        cards.write(one, folder / one.test)
    print_and_write_page(folder)
    return folder


class Texts(HTMLParser):
    """Collects elements, and the text of each line of the table."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "srcset")]
        if tag == "tr":
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        self.text += data.replace("\n", " ")


def test_html_has_the_table_first_with_best_and_worst_cell_by_click(folder: Path) -> None:
    """It needs no script, and loads nothing."""
    page = Texts()
    page.feed((folder / "scorecard.html").read_text())
    assert "script" not in page.tags
    assert page.tags.index("table") < page.tags.index("img")
    assert all(one.startswith("data:") for one in page.fetched)
    lines = page.text.split("\n")[2:5]
    assert [line.split()[0] for line in lines] == ["right", "blind", "<script>alert(1)</script>"]
    assert "best: 1.00: line, q0" in lines[0]
    # Of 325 ms it shows 20.
    assert "worst: 0.062: line, q6, download" in lines[1]
    assert "No number in 1 run" in page.text


def test_json_has_all_tests(folder: Path) -> None:
    """With each score's cells, and what there is to say."""
    whole = json.loads((folder / "scorecard.json").read_text())
    assert [one["test"] for one in whole["tests"]] == ["right", "blind", "none"]
    blind = whole["tests"][1]
    assert blind["scores"]["latency_to_median"]["worst"]["cell"] == "line, q6, download"
    assert whole["scores"]["megabytes"]["unit"] == "MB"
    assert blind["words"] == sentences(card("blind", 0.01))


def test_figure_is_as_wide_as_a_column(folder: Path) -> None:
    """The pictures of the same cards are the same to the byte."""
    with Image.open(folder / "scorecard.png") as picture:
        assert picture.width == pytest.approx(3.33 * 300, abs=1)
    kinds = ("pdf", "png", "svg", "html", "json", "md")
    before = {kind: (folder / f"scorecard.{kind}").read_bytes() for kind in kinds}
    print_and_write_page(folder)
    assert {kind: (folder / f"scorecard.{kind}").read_bytes() for kind in kinds} == before


def test_figures_axis_has_plain_numbers(folder: Path) -> None:
    """A card whose latencies are within a factor of ten has marks between powers of ten, too."""
    canvas = Figure()
    figure._draw_rows([card("right", 1.0)], canvas)
    canvas.draw_without_rendering()
    axis = canvas.axes[0].xaxis
    told = [label.get_text() for label in axis.get_ticklabels(which="both")
            if 0.5 <= label.get_position()[0] <= 2]
    assert [text for text in told if text] == ["0.5", "1", "2"]


def test_terminal_has_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """The table, and sentences, which break between words."""
    out = StringIO()
    terminal.print_page([card("right", 1.0, "Responsiveness (IETF's draft)"), card("blind", 0.1)],
                  Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in out.getvalue()
    assert " ".join(sentences(card("blind", 0.1))) in " ".join(out.getvalue().split())


def test_words_are_for_lay_readers() -> None:
    """Five lines rise by more than 100 ms; in the middle one a packet in twenty takes 225 ms."""
    blind, right = sentences(card("blind", 0.01)), sentences(card("right", 1.0))
    assert blind[0] == ("On lines that stall for 225 ms this test says 20 ms; at worst 20 ms of "
                        "325 ms (line, q6, while the line downloads).")
    assert right[0] == ("On lines that stall for 225 ms this test says 225 ms, and nowhere less "
                        "than there was.")
    assert "say which in 0 % of 12 cases." in blind[1]
    assert sentences(card("none", None))[0].startswith("It shows no latency")


@pytest.mark.parametrize(("value", "text"), [
    (0.99, "less than 1 ms"), (1.0, "1 ms"), (1.6, "2 ms"), (250.2, "250 ms")])
def test_time_below_a_millisecond_is_said_so(value: float, text: str) -> None:
    assert _in_ms(value) == text


def test_latency_of_zero_is_shown_too() -> None:
    """It is the smallest part of any true one."""
    runs = [replace(one, ways={name: replace(way, shown_ms=0.0) if way.shown_ms else way
                               for name, way in one.ways.items()})
            for one in card("x", 0.5).readings]
    some = replace(card("x", 0.5), readings=[*card("x", 0.5).readings[:-1], runs[-1]])
    assert "at worst less than 1 ms of 325 ms" in sentences(some)[0]
    none = replace(some, readings=runs)
    assert sentences(none)[0].startswith("On lines that stall for 225 ms this test says less than "
                                         "1 ms; at worst less than 1 ms of ")
    assert len(stalls_of_all([none, card("y", 0.5)])[none.row]) == 5


def test_runs_of_one_line_are_counted_as_runs() -> None:
    """With two seeds of each line, twelve runs rise by more than 100 ms on six lines."""
    once = card("x", 0.1)
    twice = replace(once, readings=[*once.readings, *once.readings])
    assert "5 of 5 lines above 100 ms" in " ".join(sentences(once))
    assert "10 of 10 runs above 100 ms" in " ".join(sentences(twice))


@pytest.mark.parametrize(("shown", "nowhere"), [(0.92, True), (0.9, False), (0.6, False)])
def test_test_that_hides_less_than_a_tenth_hides_nothing(shown: float, nowhere: bool) -> None:
    """A true time of 1.1 times the shown one is a tenth more."""
    assert ("nowhere a tenth less than there was" in sentences(card("x", shown))[0]) is nowhere


def test_heading_has_two_lines_at_most() -> None:
    out = StringIO()
    terminal.print_page([card("right", 1.0)], Console(file=out, width=80))
    first, second = out.getvalue().splitlines()[:2]
    assert "latency" in first
    assert "÷ median" in second
    assert "is good" in second


def test_figure_has_a_row_per_test_with_its_numbers() -> None:
    """In percent, in the order of the table from above; the axis of ratios holds 0.5 and 2
    with room beside them."""
    alone = Figure()
    figure._draw_rows([card("below", 0.95), card("above", 1.1)], alone)
    assert alone.axes[0].get_xlim() == (0.45, 2.2)
    shown = [card("right", 1.0, "A test with a long name (of somebody)"), card("blind", 0.01)]
    canvas = Figure()
    figure._draw_rows(shown, canvas)
    axes: list[Any] = canvas.axes
    latency, tells, rate = axes
    assert latency.get_ylim() == (1.5, -0.5)
    assert latency.get_xlim()[0] < 0.1
    bars = [patch for patch in tells.patches if isinstance(patch, Rectangle)]
    found = [one.scores["tells_apart"] for one in shown]
    assert [bar.get_width() for bar in bars] == [100 * score.value for score in found]
    assert [round(bar.get_y() + bar.get_height() / 2, 6) for bar in bars] == [0, 1]
    assert all(bar.get_height() < 1 for bar in bars)  # a row's bar leaves room for the next one
    assert [list(line.get_xdata()) for line in tells.lines] == [
        [100 * (score.low or 0), 100 * (score.high or 0)] for score in found]
    points = [line for line in rate.lines if len(line.get_xdata()) == 7]
    assert [list(line.get_xdata()) for line in points] == [[pytest.approx(90.0)] * 7] * 2
    assert [label.get_text() for label in latency.get_yticklabels()] == [
        "A test with a\nlong name\n(of somebody)", "blind"]


def test_ratios_of_lines_that_stall_have_points_of_their_own() -> None:
    """Of the truths 25 to 325 ms those above 120; a test that shows half, but 20 ms at least."""
    half = card("half", 0.5)
    assert figure._latency_ratios(half, stalled=False) == [0.8, 0.5]
    assert figure._latency_ratios(half, stalled=True) == [0.5] * 5


def test_table_that_just_fits_keeps_two_blanks_between_its_columns() -> None:
    """One column of the terminal less, and it is closer together."""
    shown = [card("right", 1.0), card("blind", 0.1)]

    def row(width: int) -> str:
        out = StringIO()
        terminal.print_page(shown, Console(file=out, width=width))
        return out.getvalue().splitlines()[2].rstrip()

    widest = row(200)
    assert row(len(widest)) == widest
    assert row(len(widest) - 1) != widest
    assert row(len(widest) - 1).split() == widest.split()
