# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of the scorecard, on both sides and exactly at them; and how many runs are made."""

from __future__ import annotations

import argparse
import errno
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy
import pytest
from matplotlib.figure import Figure

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.parts.scorecard import card as card_of_runs
from flent_aqm.parts.scorecard import figure, order, reading, steps, worst, worst_lines
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.command import _check_search, add_arguments
from flent_aqm.parts.scorecard.contestant import Contestant, contestant
from flent_aqm.parts.scorecard.order import Order, ScoreComparison
from flent_aqm.parts.scorecard.output import refusal
from flent_aqm.parts.scorecard.places import BBR, CUBIC, AccessLine, Place, places
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.parts.scorecard.runs import cell_of
from flent_aqm.parts.scorecard.words import sentences, stalls, stalls_of_all
from flent_aqm.results.data_file import parse_data_file
from flent_aqm.tools import own
from tests.files import load

from .test_readings import GOLDEN, NDT7, PLACE
from .test_whole_page import cards

SMALL = places("small")


def run(way: DirectionValues, place: str = "x") -> Reading:
    """A run that loads the download alone."""
    return Reading(place, place, place, place, False, {
        "download": way, "upload": DirectionValues(), WORSE: way})


def card(*ways: DirectionValues, test: str = "x") -> Card:
    return Card(test, test, [run(way, f"place{number}") for number, way in enumerate(ways)], {})


@pytest.mark.parametrize(("p95_ms", "counts"), [(119.9, 0), (120.0, 0), (120.1, 1)])
def test_line_stalls_from_more_than_100_ms_above_the_idle_one(p95_ms: float, counts: int) -> None:
    way = DirectionValues(shown_ms=50.0, others_median_ms=60.0, others_p95_ms=p95_ms, idle_ms=20.0)
    assert len(stalls_of_all([card(way)])["x"]) == counts
    assert ("On lines that stall" in " ".join(sentences(card(way)))) is bool(counts)
    assert len(figure._latency_ratios(card(way), stalled=True)) == counts


@pytest.mark.parametrize(("shown_ms", "nowhere"), [(300.1, True), (300.0, False), (299.9, False)])
def test_latency_is_hidden_from_a_tenth_on(shown_ms: float, nowhere: bool) -> None:
    """330 ms are a tenth more than 300."""
    way = DirectionValues(shown_ms=shown_ms, others_median_ms=200.0, others_p95_ms=330.0,
                          idle_ms=20.0)
    assert ("nowhere a tenth less than there was" in " ".join(sentences(card(way)))) is nowhere


@pytest.mark.parametrize("median_ms", [200.0, math.inf, None])
@pytest.mark.parametrize("shown_ms", [250.0, None])
def test_latency_that_is_shown_is_not_denied_where_the_true_one_is_missing(
        shown_ms: float | None, median_ms: float | None) -> None:
    """A true median that is lost, as half of the probes were, gives no score."""
    way = DirectionValues(shown_ms=shown_ms, others_median_ms=median_ms, others_p95_ms=math.inf,
                          idle_ms=20.0)
    assert ("It shows no latency" in " ".join(sentences(card(way)))) is (shown_ms is None)


@pytest.mark.parametrize(("least", "most", "text"), [
    (91.0, 109.0, "and nowhere far from it"), (89.0, 100.0, "it goes from 89 % to 100 %"),
    (90.0, 100.0, "it goes from 90 % to 100 %"), (90.5, 109.5, "and nowhere far from it"),
    (95.0, 110.0, "it goes from 95 % to 110 %"), (95.0, 120.0, "it goes from 95 % to 120 %"),
    (0.0, 0.095, "is at most 0.095 % of what the line can carry, next to nothing: look at"),
    (0.0, 2.1, "it goes from 0 % to 2 %")])
def test_throughput_is_far_off_below_and_above(least: float, most: float, text: str) -> None:
    ways = [DirectionValues(shown_mbps=mbps, possible_mbps=100.0) for mbps in (least, most)]
    assert text in " ".join(sentences(card(*ways)))


@pytest.mark.parametrize(("down", "up", "text"), [
    (47.0, 96.0, ("Its download speed is mostly 47 % of what the line can carry, its upload speed "
                  "96 %; they go from 46 % to 97 %.")),
    (96.0, 47.0, ("Its download speed is mostly 96 % of what the line can carry, its upload speed "
                  "47 %; they go from 46 % to 97 %.")),
    (96.0, 87.0, ("Its speed is mostly 92 % of what the line can carry; it goes from 86 % to "
                  "97 %.")),
    (10.0, 130.0, ("Its download speed is mostly 10 % of what the line can carry, its upload speed "
                   "130 %, which can't be: look at the names and units of its numbers.")),
])
def test_median_of_both_directions_stands_for_none_that_differs(
        down: float, up: float, text: str) -> None:
    """71 % is the throughput of no run of a test that shows half of its downloads."""
    readings = [Reading(place, place, place, place, False, {
        name: DirectionValues(shown_mbps=mbps + more, possible_mbps=100.0)
        for name, mbps in (("download", down), ("upload", up))} | {WORSE: DirectionValues()})
        for place, more in (("a", -1.0), ("b", 0.0), ("c", 1.0))]
    assert text in sentences(Card("x", "x", readings, {}))


@pytest.mark.parametrize(("share", "refused"), [(0.0, False), (7.99, False), (8.0, True)])
def test_rate_of_eight_times_the_possible_one_is_in_another_unit(
        share: float, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = parse_data_file(json.dumps(load(GOLDEN)).encode(), GOLDEN)
    possible = reading.read(NDT7, PLACE, data).ways["download"].possible_mbps
    assert possible is not None
    monkeypatch.setattr(reading, "_metric_or_none", lambda run, name: {
        next(iter(NDT7.shown.rates)): share * possible}.get(name))
    if refused:
        with pytest.raises(BadResult, match=(
                r"expected 0 or more, and less than 382\.\d+, 8 times that: ")):
            reading.read(NDT7, PLACE, data)
    else:
        assert reading.read(NDT7, PLACE, data).ways["download"].shown_mbps == share * possible


@pytest.mark.parametrize("good", [True, False, None])
def test_verdict_is_read_from_a_card_as_it_was(good: bool | None) -> None:
    one = replace(run(DirectionValues(shown_ms=3.0)), good=good)
    assert Reading.from_dict(one.as_dict()) == one
    with pytest.raises(ValueError, match=r"^good of a reading is 'yes', not true, false or null$"):
        Reading.from_dict(one.as_dict() | {"good": "yes"})
    with pytest.raises(ValueError, match=r"^beside of a reading is 0, not true or false$"):
        Reading.from_dict(one.as_dict() | {"beside": 0})


@pytest.mark.parametrize(("beside", "parameters"), [
    ("", {}), (CUBIC, {"cross_traffic": "yes"}),
    (BBR, {"cross_traffic": "yes", "cross_cong_control": "bbr"})])
def test_bulk_flow_beside_has_the_places_congestion_control(
        beside: str, parameters: dict[str, str], tmp_path: Path) -> None:
    """Cubic is the kernel's own."""
    place = Place(AccessLine(50, 50, 40), "codel", beside)
    cell = cell_of(contestant("ndt7"), place, tmp_path, "virtual")
    assert cell.test_parameters == {"round_trips": "yes", **parameters}
    assert cell.settings["LENGTH"] == 10
    assert cell.length_s == 40  # with what is around the load, for an estimate


@pytest.mark.parametrize(("runs", "refused"), [
    ("9", True), ("10", False), ("150", False), ("151", True)])
def test_number_of_runs_of_a_search_has_both_ends(runs: str, refused: bool) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(["ndt7", "--worst", "latency", "--runs", runs])
    assert (args.longest, args.cells, str(args.output)) == (60.0, "core", "results/scorecard")
    if refused:
        with pytest.raises(ConfigError, match=f"--runs: {runs}; expected 10 to 150"):
            _check_search(args)
    else:
        _check_search(args)


class MadeRuns:
    """Stands in for sweeps: notes which runs were asked for, and makes the data files of some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *succeeding: str) -> None:
        self.asked: list[list[str]] = []
        self.succeeding = succeeding
        monkeypatch.setattr(steps, "make_missing", self.make)
        monkeypatch.setattr(card_of_runs, "make_card", self.card)

    def card(self, test: Contestant, places: Sequence[Place], folder: Path,
             failed: Mapping[str, str], testbed: str) -> Card:
        return Card(test.name, test.label, [run(DirectionValues(shown_ms=1.0), place.name)
                                            for place in places if place.name not in failed],
                    failed)

    def make(self, cells: Iterable[Any], keys: object) -> int:
        missing = [cell for cell in cells if not cell.data_file.exists()]
        self.asked.append([cell.name for cell in missing])
        for cell in missing:
            if cell.name in self.succeeding:
                cell.data_file.parent.mkdir(exist_ok=True)
                cell.data_file.touch()
        return 0


OWN = Contestant(own.NAME, "mine", contestant("ndt7").shown)
NAMES = [place.name for place in SMALL]


@pytest.mark.parametrize(("number", "succeeding", "asked"), [
    (4, [], [[NAMES[0], NAMES[3]]]),
    (4, [NAMES[0]], [[NAMES[0], NAMES[3]], NAMES[1:]]),
    (4, [NAMES[3]], [[NAMES[0], NAMES[3]], NAMES[:3]]),
    (3, [], [[NAMES[0], NAMES[2]]]),
    (2, [], [NAMES[:2]]), (1, [], [NAMES[:1]])])
def test_own_test_is_tried_on_the_first_and_the_last_line(
        number: int, succeeding: list[str], asked: list[list[str]], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """If neither gives a number, the others aren't made, and these two not again. Tests of this
    package are not tried."""
    made = MadeRuns(monkeypatch, *succeeding)
    (tmp_path / "own").mkdir()
    assert steps.score(OWN, SMALL[:number], tmp_path / "own", "virtual", {}) is False
    assert made.asked == asked
    failed = [name for name in NAMES[:number] if name not in succeeding]
    whole = json.loads((tmp_path / "own" / "card.json").read_text())
    assert list(whole["failed"]) == (
        failed if succeeding or number < 3 else [failed[0], failed[-1]])
    assert [one["place"] for one in whole["readings"]] == succeeding
    left = number - 2
    err = capsys.readouterr().err
    assert ("not made; mend" in err) is (left > 0 and not succeeding)
    assert (f"the other {left} run{'s are' if left > 1 else ' is'} not made; mend" in err) is (
        "not made; mend" in err)
    made.asked.clear()
    (tmp_path / "ndt7").mkdir()
    steps.score(contestant("ndt7"), SMALL[:number], tmp_path / "ndt7", "virtual", {})
    assert made.asked == [NAMES[:number]]


def test_own_test_with_a_run_is_not_tried_again(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a command goes on after ^C."""
    made = MadeRuns(monkeypatch, *NAMES)
    (tmp_path / f"{NAMES[1]}.flent.gz").touch()
    assert steps.score(OWN, SMALL, tmp_path, "virtual", {}) is True
    assert made.asked == [[NAMES[0], *NAMES[2:]]]


def test_search_makes_its_runs_in_a_folder_of_their_own(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the row's cells; a failed run has no reading."""
    made = MadeRuns(monkeypatch, NAMES[0])
    found: list[Any] = []

    def seek(aim: str, runs: int, measure: Any) -> Any:
        assert (aim, runs) == ("latency", 12)
        found.extend(measure(SMALL[:2]))
        return SimpleNamespace(sentences=lambda: ["far off."])

    monkeypatch.setattr(steps, "seek", seek)
    monkeypatch.setattr(worst_lines, "write", lambda line, folder: None)
    (tmp_path / "ndt7").mkdir()
    steps.search(contestant("ndt7"), "latency", 12, tmp_path / "ndt7", {})
    assert made.asked == [NAMES[:2]]
    assert (tmp_path / "ndt7" / "worst" / f"{NAMES[0]}.flent.gz").is_file()
    assert [one and one.place for one in found] == [NAMES[0], None]


def test_search_without_a_result_tells_why_its_first_run_failed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command without --worst makes other runs, and takes no --runs."""
    MadeRuns(monkeypatch)
    (tmp_path / "ndt7").mkdir()
    monkeypatch.setattr(steps, "failures", lambda folder, cells: {
        cell.name: f"no answer on {cell.name}" for cell in cells})

    def seek(aim: str, runs: int, measure: Any) -> Any:
        measure(SMALL[:2])
        raise BadResult("no result")

    monkeypatch.setattr(steps, "seek", seek)
    with pytest.raises(BadResult) as caught:
        steps.search(contestant("ndt7"), "latency", 12, tmp_path / "ndt7", {})
    assert str(caught.value) == f"no result; its first failure: no answer on {NAMES[0]}"


def test_search_ends_where_no_line_has_a_result() -> None:
    """After twice as many lines as runs, in rounds of four."""
    asked: list[int] = []

    def points(drawn: list[Place]) -> list[None]:
        asked.append(len(drawn))
        return [None] * len(drawn)

    lines: Any = SimpleNamespace(
        runs=0, failed=0, aim=worst.AIMS["latency"], farthest=lambda: None, points=points)
    with pytest.raises(BadResult, match="no result on any of 0 lines: "):
        worst.search(lines, 10)
    assert asked == [4] * 5


@pytest.mark.parametrize("number", [1, 3])
def test_figure_is_as_high_as_its_rows_need(
        number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest label decides; letters and lines are small."""
    seen: dict[str, Any] = {}

    def draw(shown: list[Card], canvas: Figure) -> None:
        seen.update(size=tuple(canvas.get_size_inches()), **{
            name: mpl.rcParams[name] for name in (
                "font.size", "axes.linewidth", "xtick.major.width", "svg.hashsalt")})

    monkeypatch.setattr(figure, "_draw_rows", draw)
    figure.write(cards()[:number], tmp_path / "x")  # the first label has two lines
    assert seen == {"size": pytest.approx((3.33, 0.72 + 0.21 * number)), "font.size": 6.5,
                    "axes.linewidth": 0.5, "xtick.major.width": 0.5, "svg.hashsalt": "flent"}
    figure.write(cards()[2:3], tmp_path / "x")
    assert seen["size"] == pytest.approx((3.33, 0.72 + 0.2))
    assert {path.suffix for path in tmp_path.iterdir()} == {".pdf", ".png", ".svg", ".txt"}


@pytest.mark.parametrize(("high", "labels"), [
    (90.0, ["0.5", "1", "2", "5", "10", "20", "50"]), (90.25, ["1", "10"])])
def test_axis_of_more_than_two_hundredfold_has_powers_of_ten_alone(
        high: float, labels: list[str]) -> None:
    """On a longer one there is no place for others."""
    axes: list[Any] = [*Figure().subplots(1, 3)]
    axes[0].set_xlim(0.5, high)
    figure._format_axes(*axes)
    axis = axes[0].xaxis
    assert [axis.get_major_formatter()(place) for place in axis.get_majorticklocs()
            if 0.5 <= place <= high] == labels


def test_point_of_the_figure_needs_a_shown_and_a_true_median_above_zero() -> None:
    """Without a rise that is known, the line counts as one that doesn't stall."""
    one = DirectionValues(shown_ms=50.0, others_median_ms=25.0)
    ways = [one, replace(one, shown_ms=None), replace(one, shown_ms=0.0),
            replace(one, others_median_ms=None), replace(one, others_median_ms=0.0),
            replace(one, others_median_ms=numpy.inf), replace(one, others_median_ms=100.0,
                                                              others_p95_ms=121.0, idle_ms=20.0)]
    assert figure._latency_ratios(card(*ways), stalled=False) == [2.0]
    assert figure._latency_ratios(card(*ways), stalled=True) == [0.5]


@pytest.mark.parametrize("missing", ["shown_ms", "others_p95_ms", "idle_ms", None])
def test_line_that_stalls_has_three_values(missing: str | None) -> None:
    """What the test shows, the true percentile, and the idle line. A lost percentile is no
    number."""
    way = DirectionValues(shown_ms=0.5, others_median_ms=60.0, others_p95_ms=300.0, idle_ms=20.0)
    for value in (None, 0.0) if missing == "others_p95_ms" else (None,):
        one = replace(way, **{missing: value}) if missing else way
        assert len(stalls(card(one))) == len(stalls_of_all([card(way, one)])["x"]) - 1 == (
            missing is None)
    for lost in (replace(way, others_p95_ms=numpy.inf), replace(way, idle_ms=0.5)):
        told = 0 if lost.others_p95_ms == numpy.inf else 1
        assert len(stalls(card(lost))) == len(stalls_of_all([card(lost)])["x"]) == told


def test_only_places_that_stall_under_all_tests_are_compared() -> None:
    """A test that shows no latency is left out."""
    stalled = DirectionValues(shown_ms=50.0, others_median_ms=60.0, others_p95_ms=300.0,
                              idle_ms=20.0)
    calm = replace(stalled, others_p95_ms=60.0)
    found = stalls_of_all([card(stalled, stalled, test="a"), card(calm, stalled, test="b"),
                           card(replace(stalled, shown_ms=None), test="none")])
    assert {test: [one.where for one in cases] for test, cases in found.items()} == {
        "a": ["place1"], "b": ["place1"]}
    assert stalls_of_all([]) == {}


@pytest.mark.parametrize(("megabytes", "seconds", "text"), [
    (10.0, 20.0, ["A test loads the line for 20 s with 10 MB, at most 10 MB."]), (10.0, None, []),
    (0.3, 0.4, ["A test loads the line for less than 1 s with less than 1 MB."]),
    (None, 20.0, []), (None, None, [])])
def test_cost_of_a_test_is_told_with_both_its_parts(
        megabytes: float | None, seconds: float | None, text: list[str]) -> None:
    one = replace(run(DirectionValues()), megabytes=megabytes, seconds=seconds)
    assert sentences(Card("x", "x", [one], {}))[1:] == text


@pytest.mark.parametrize(("fault", "text"), [
    (PermissionError(errno.EACCES, "Permission denied"), "x.json: can't be read: Permission"),
    (OSError(errno.EIO, "Input/output error"), "x.json: can't be read: Input/output error"),
    (IsADirectoryError(errno.EISDIR, "Is a directory"), "x.json: not a card, or damaged (Is a"),
    (OSError(errno.ELOOP, "Too many levels"), "x.json: not a card, or damaged (Too many"),
    (ValueError("no JSON"), "x.json: not a card, or damaged (no JSON); if flent-aqm wrote it"),
    (KeyError("test"), "x.json: not a card, or damaged")])
def test_file_that_is_not_told_to_be_removed_may_be_good(fault: Exception, text: str) -> None:
    """Of a file that can't be read, nobody knows what it holds."""
    told = str(refusal(Path("x.json"), fault, "a card", "score again"))
    assert text in told
    assert ("remove it" in told) is ("damaged" in told)


def test_own_test_keeps_its_runs_until_its_file_changes(tmp_path: Path) -> None:
    """The same text again moves nothing. The folder is named after the test, by 60 characters."""
    file, output = tmp_path / "mine.py", tmp_path / "out" / "deep"
    for text, runs in (("# first", 0), ("# first", 1), ("# second", 0)):
        file.write_text(text)
        folder, _ = steps.own_folder(output, f"my: test {'x' * 90}", file)
        assert folder == output / f"own-my-test-{'x' * 52}"
        assert (folder / "tool.py").read_text() == text
        assert len(list(folder.glob("*.flent.gz"))) == runs
        (folder / "1.flent.gz").touch()
    assert [path.parent.name for path in (output / "earlier").rglob("1.flent.gz")] == [
        f"own-my-test-{'x' * 52}-1"]


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """Not the file that would be in it."""
    file = tmp_path / "mine.py"
    file.touch()
    with pytest.raises(ConfigError, match=(
            rf"-o: can't read or write {file}/own-x: Not a directory; choose another folder")):
        steps.own_folder(file, "x", file)


def test_folder_that_cannot_be_moved_is_named_with_the_place(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That it can be read says nothing about its place."""
    file = tmp_path / "mine.py"
    file.write_text("# first")
    folder, _ = steps.own_folder(tmp_path / "out", "mine", file)
    (folder / "1.flent.gz").touch()
    file.write_text("# second")

    def rename(self: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self), None, str(target))

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(ConfigError, match=(
            rf"^-o: can't move {folder} to {folder.parent}/earlier/own-mine-1: Permission denied")):
        steps.own_folder(tmp_path / "out", "mine", file)


@pytest.mark.parametrize(("readings", "searched", "page_there", "made"), [
    (True, False, False, True), (False, True, False, True), (False, False, True, True),
    (False, False, False, False)])
def test_page_is_made_of_numbers_or_renewed(
        readings: bool, searched: bool, page_there: bool, made: bool, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    """A page of an earlier run that now has none would tell old numbers."""
    one = card(DirectionValues(shown_mbps=90.0, possible_mbps=100.0))
    card_of_runs.write(one if readings else replace(one, readings=[], failed={"a": "failed"}),
                       tmp_path / "x")
    if searched:
        error = worst_lines.LineError("a line", "download", 20.0, 100.0)
        worst_lines.write(worst_lines.WorstLine("latency", 9, error, error, [], []), tmp_path / "x")
    if page_there:
        (tmp_path / "scorecard.html").write_text("old")
    steps.print_and_write_page(tmp_path)
    assert (tmp_path / "scorecard.md").exists() is made
    assert ("The page: " in capsys.readouterr().out) is made


def test_page_without_any_card_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "scorecard.html").write_text("old")
    steps.print_and_write_page(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["scorecard.html"]


@pytest.mark.parametrize(("characters", "end"), [(47, "of tests whose"), (48, "of tests")])
def test_comparisons_are_printed_in_lines_of_79_characters(
        characters: int, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """79 fit, 80 don't."""
    monkeypatch.setattr(figure, "write", lambda shown, page: page.with_suffix(".svg").touch())
    monkeypatch.setattr(order, "read_all", lambda output: [
        Order("x", "x" * characters, [ScoreComparison("throughput", 2, 2, [])])])
    card_of_runs.write(card(DirectionValues(shown_mbps=90.0, possible_mbps=100.0)), tmp_path / "x")
    steps.print_and_write_page(tmp_path)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("In xx")]
    assert line == f"In {'x' * characters}, 2 of 2 pairs {end}"


def test_file_of_the_figure_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The path without its ending would be no file's."""
    (tmp_path / "x.png").mkdir()
    with pytest.raises(ConfigError, match=rf"^-o: can't write {tmp_path}/x\.png: Is a directory; "
                                          "mend that, or choose another folder with -o$"):
        figure.write(cards()[:1], tmp_path / "x")


def test_schema_is_shown_as_it_is_written(tmp_path: Path) -> None:
    """As text it looked like the expected number."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / card_of_runs.NAME).write_text('{"schema": "1"}')
    with pytest.raises(BadResult, match=r"its schema is '1'; expected 1; .* name another folder$"):
        list(card_of_runs.read_all(tmp_path))
