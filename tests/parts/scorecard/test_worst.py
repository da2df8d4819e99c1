# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for a test's worst line, and what of it makes the test wrong."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult, ToolMissing
from flent_aqm.parts.scorecard import worst_lines
from flent_aqm.parts.scorecard.places import CUBIC, AccessLine, Place
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.parts.scorecard.shrink import changes, is_right, simplified
from flent_aqm.parts.scorecard.worst import AIMS, Lines, _draw_place, _round_to_two_digits
from flent_aqm.parts.scorecard.worst_lines import seek


class World:
    """A test that shows the idle round trip, on lines where a drop-tail queue is always full and no
    other queue holds anything. Counts runs."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    def __call__(self, places: Sequence[Place]) -> list[Reading | None]:
        self.runs += [place.name for place in places]
        return [self.reading(place) for place in places]

    def reading(self, place: Place) -> Reading | None:
        """Of one."""
        rtt_ms = place.line.rtt_ms
        way = DirectionValues(shown_mbps=place.line.down_mbps, possible_mbps=place.line.down_mbps,
                              shown_ms=rtt_ms,
                              others_median_ms=rtt_ms + (place.buffer.buffer_ms or 0))
        return Reading(place.name, str(place), place.group, place.without_seed, bool(place.beside),
                       {"download": way, "upload": DirectionValues(), WORSE: way})


def place(queue: str = "fifo_400ms", *, mbps: float = 12, rtt_ms: float = 20, beside: str = CUBIC
          ) -> Place:
    """A line."""
    return Place(AccessLine(mbps, mbps, rtt_ms), queue, beside)


def test_search_finds_long_buffers_on_short_paths_and_repeats() -> None:
    """Of all that may be drawn the worst has 1000 ms on 5 ms, a factor of 201."""
    world, again = World(), World()
    worst_line = seek("latency", 100, world)
    assert len(world.runs) == len(set(world.runs)) == worst_line.runs <= 100
    assert worst_line.worst.true / worst_line.worst.shown > 100
    assert "drop-tail of" in worst_line.worst.line
    assert seek("latency", 100, again) == worst_line
    assert again.runs == world.runs


def test_what_does_not_matter_is_as_on_a_usual_line() -> None:
    """Rate and cross traffic. With a round trip of 40 ms the error would be another."""
    lines = Lines(AIMS["latency"], World(), 100)
    worst = lines.point(place())
    assert worst is not None
    assert simplified(lines, worst).place == place(mbps=50, beside="")


def test_smallest_change_that_makes_it_right_is_found() -> None:
    """10 ms of a buffer are 25 % of 40: no more. No other round trip is long enough."""
    lines = Lines(AIMS["latency"], World(), 100)
    wrong = lines.point(place(rtt_ms=40, beside=""))
    assert wrong is not None
    queue, buffer = changes(lines, wrong)[0]
    assert (queue.before, queue.after) == ("drop-tail of 400 ms", "FQ-CoDel")
    assert (buffer.before, buffer.after) == ("a buffer of 400 ms", "a buffer of 10 ms")
    wrong = lines.point(place("fifo_20ms", rtt_ms=40, beside=""))
    assert wrong is not None
    path = next(one for one in changes(lines, wrong)[0] if "round trip" in one.after)
    assert path.point.place.line.rtt_ms == pytest.approx(80, rel=0.1)


def test_runs_without_a_number_are_passed_over() -> None:
    """Where all are, one line says so."""
    class Odd(World):
        def reading(self, place: Place) -> Reading | None:
            return None if place.queue.startswith("fifo") else super().reading(place)

    class Failing(World):
        def reading(self, place: Place) -> Reading | None:
            return None

    class Silent(World):
        def reading(self, place: Place) -> Reading | None:
            one = None if place.queue.startswith("fifo") else super().reading(place)
            return one and replace(one, ways={})

    assert seek("latency", 20, Odd()).worst.true > 0
    with pytest.raises(BadResult, match=r"no result on any of 15 lines: the test failed on 15$"):
        seek("latency", 20, Failing())
    with pytest.raises(BadResult, match=r"the test failed on \d+; it showed no latency, or 0, "
                                        r"on \d+, or the true one is not known$"):
        seek("latency", 20, Silent())


def test_optuna_that_cannot_be_imported_is_reported_with_the_cause(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be there, and lack a package that it needs."""
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ToolMissing, match=r"optuna can't be imported \(import of optuna halted"):
        seek("latency", 20, World())


def test_simpler_line_that_is_worse_is_the_worst() -> None:
    """Beside a bulk flow this test sees half of the queue, so that those aren't far off."""
    class Half(World):
        def reading(self, place: Place) -> Reading | None:
            one = super().reading(place)
            assert one is not None
            way = replace(one.ways["download"], shown_ms=place.line.rtt_ms + (
                (place.buffer.buffer_ms or 0) / 2 if place.beside else 0))
            return replace(one, ways={**one.ways, "download": way, WORSE: way})

    for runs in range(10, 30):
        line = seek("latency", runs, Half())
        assert line.worst.true / line.worst.shown >= line.simple.true / line.simple.shown


def test_no_more_runs_are_made_than_asked_for() -> None:
    """Shrinking stops, too."""
    world = World()
    assert seek("latency", 10, world).runs == len(world.runs) == 10


def test_change_that_no_run_was_left_for_is_not_denied() -> None:
    """Of 10 runs the last goes to a usual line. With more, FQ-CoDel mends it."""
    few, more = (seek("latency", runs, World()) for runs in (10, 20))
    assert not few.mended
    assert "FQ-CoDel" in few.unknown
    assert few.sentences()[-1].startswith(
        "Whether a change of one setting makes it right is not known: no runs were left, ")
    assert [one.after for one in more.mended][:1] == ["FQ-CoDel"]


def test_change_whose_run_failed_is_not_denied() -> None:
    """All others were tried, and are wrong."""
    def measure(places: Sequence[Place]) -> list[Reading | None]:
        way = DirectionValues(shown_ms=20.0, others_median_ms=200.0)
        return [None if one.queue == "fq_codel" else Reading(one.name, "", "", "", True, {
            "download": way, "upload": DirectionValues(), WORSE: way}) for one in places]

    lines = Lines(AIMS["latency"], measure, 100)
    wrong = lines.point(place())
    assert wrong is not None
    assert changes(lines, wrong) == ([], ["FQ-CoDel"])
    one_run = Lines(AIMS["latency"], measure, 1)
    assert one_run.point(place()) == wrong
    assert changes(one_run, wrong) == ([], [
        "no bulk flow beside", "FQ-CoDel", "a buffer of 10 ms", "a buffer of 1000 ms",
        "a round trip of 5 ms", "a round trip of 160 ms", "10 Mbit/s", "300 Mbit/s"])


def test_step_of_the_bisection_without_a_result_says_nothing() -> None:
    """A failed run doesn't count as one with the error: no smaller change is claimed."""
    class Failing(World):
        def reading(self, place: Place) -> Reading | None:
            return None if place.buffer.buffer_ms not in (None, 10, 400) else super().reading(place)

    lines = Lines(AIMS["latency"], Failing(), 100)
    wrong = lines.point(place(rtt_ms=40, beside=""))
    assert wrong is not None
    buffer = next(one for one in changes(lines, wrong)[0] if "buffer" in one.after)
    assert buffer.after == "a buffer of 10 ms"
    assert lines.failed == 2  # the other end of the range, and one step


def test_test_that_is_right_on_all_lines_has_nothing_to_mend() -> None:
    """Of a throughput that is the possible one."""
    worst_line = seek("throughput", 20, World())
    assert worst_line.is_right
    assert (worst_line.runs, worst_line.mended) == (15, [])
    assert worst_line.sentences()[1:] == ["That is right."]


def test_throughput_is_searched_without_cross_traffic() -> None:
    """Beside others, what is possible depends on what the test takes."""
    world = World()
    seek("throughput", 12, world)
    assert not any("beside" in name for name in world.runs)


def test_found_line_is_kept_and_told_in_words(tmp_path: Path) -> None:
    """As it was found; a damaged file is named."""
    worst_line = seek("latency", 100, World())
    worst_lines.write(worst_line, tmp_path)
    assert worst_lines.read_all(tmp_path) == [worst_line]
    first, *rest = worst_line.sentences()
    assert first.startswith("Its worst latency, of ")
    assert "in place of drop-tail of" in rest[-1]
    assert replace(worst_line, mended=[], unknown=[]).sentences()[-1] == (
        "No change of one setting makes it right.")
    path = tmp_path / "worst-latency.json"
    whole = json.loads(path.read_text())
    whole["worst"]["true"] = 0
    for text in ("{}", json.dumps(whole)):
        path.write_text(text)
        with pytest.raises(BadResult, match=r"worst-latency\.json: not a result of --worst"):
            worst_lines.read_all(tmp_path)


@pytest.mark.parametrize(("shown", "true", "right"), [
    (125.0, 100.0, True), (126.0, 100.0, False), (100.0, 125.0, True), (100.0, 126.0, False),
    (100.0, 100.0, True), (0.5, 100.0, False)])
def test_error_of_a_quarter_is_none(shown: float, true: float, right: bool) -> None:
    """As a factor, in both directions."""
    assert is_right(shown, true) is right


class Errors:
    """Lines whose errors are given by the places' names, in place of runs. Notes what is asked."""

    def __init__(self, errors: Mapping[str, float | None]) -> None:
        self.errors = errors
        self.asked: list[str] = []

    def point(self, place: Place) -> Any:
        self.asked.append(place.without_seed)
        error = self.errors.get(place.without_seed)
        return None if error is None else SimpleNamespace(place=place, error=error)


@pytest.mark.parametrize(("error", "kept"), [(0.8, True), (0.79, False), (None, False)])
def test_simpler_line_keeps_four_fifths_of_the_error(error: float | None, kept: bool) -> None:
    """Compared as logarithms. What is as on a usual line is not changed."""
    lines: Any = Errors({"50mbit-40ms-fifo_400ms": error})
    worst: Any = SimpleNamespace(place=place(mbps=50, rtt_ms=40), error=1.0)
    found = simplified(lines, worst)
    assert lines.asked == ["50mbit-40ms-fifo_400ms"]
    assert (found.place.beside == "") is kept
    assert found.error == (error if kept else 1.0)


def test_usual_line_has_50_mbit_and_40_ms() -> None:
    """One setting after the other; each is compared with the first error."""
    lines: Any = Errors({"12mbit-20ms-fifo_400ms": 0.9, "50mbit-20ms-fifo_400ms": 0.85,
                         "50mbit-40ms-fifo_400ms": 0.8})
    worst: Any = SimpleNamespace(place=place(), error=1.0)
    assert simplified(lines, worst).place.without_seed == "50mbit-40ms-fifo_400ms"
    assert lines.asked == [*lines.errors]


def test_queue_without_a_size_in_ms_keeps_it_and_a_calm_one_stays() -> None:
    """Of FQ-CoDel neither buffer nor queue changes, so that only round trip and rate do."""
    world = World()
    lines = Lines(AIMS["latency"], lambda places: [
        replace(one, ways={**one.ways, "download": replace(
            one.ways["download"], others_median_ms=500.0)}) for one in map(world.reading, places)
        if one], 100)
    wrong = lines.point(place("fq_codel", mbps=10, rtt_ms=40, beside=""))
    assert wrong is not None
    assert changes(lines, wrong) == ([], [])
    # The ends: a rate of 10 Mbit/s is one itself.
    assert lines.runs == 1 + 2 + 1


@pytest.mark.parametrize(("wrong_ms", "cause"), [
    (lambda place: 100 * bool(place.beside), [("a bulk flow beside", "none")]),
    (lambda place: 100, []),
    (lambda place: 100 * (place.queue == "red"), [("RED", "FQ-CoDel")]),
    # 40 ms of a path hide 10 ms: the shortest path that a few halvings find is 44 ms.
    (lambda place: 10, [("a round trip of 20 ms", "a round trip of 44 ms")]),
    (lambda place: 100 * (place.line.down_mbps < 100), [("20 Mbit/s", "110 Mbit/s")])])
def test_setting_that_makes_the_error_vanish_is_found(
        wrong_ms: Callable[[Place], float], cause: list[tuple[str, str]]) -> None:
    """By itself. Of a test that shows the idle round trip, on a line beside a bulk flow."""
    def measure(places: Sequence[Place]) -> list[Reading | None]:
        made: list[Reading | None] = []
        for one in places:
            way = DirectionValues(shown_ms=one.line.rtt_ms,
                                  others_median_ms=one.line.rtt_ms + wrong_ms(one))
            made.append(Reading(one.name, "", "", "", True, {
                "download": way, "upload": DirectionValues(), WORSE: way}))
        return made

    lines = Lines(AIMS["latency"], measure, 100)
    wrong = lines.point(place("red", mbps=20, rtt_ms=20))
    assert wrong is not None
    assert [(one.before, one.after) for one in changes(lines, wrong)[0]] == cause


@pytest.mark.parametrize(("end", "words"), [
    (0, "10 Mbit/s, 5 ms, drop-tail of 10 ms"), (1, "300 Mbit/s, 160 ms, drop-tail of 1000 ms")])
def test_lines_are_drawn_from_those_of_homes(end: int, words: str) -> None:
    """The ends of each range, of which all values are as likely as their logarithms."""
    trial: Any = SimpleNamespace(
        suggest_float=lambda name, *ends, log: ends[end] if log else None,
        suggest_categorical=lambda name, values: values[0])
    drawn = _draw_place(trial, AIMS["latency"])
    assert drawn.words == words
    trial.suggest_categorical = lambda name, values: values[-1]
    assert _draw_place(trial, AIMS["latency"]).words.endswith("ms, CAKE, beside a bulk flow")
    assert _draw_place(trial, AIMS["throughput"]).words.endswith("ms, CAKE")


@pytest.mark.parametrize(("value", "rounded"), [(47.3813, 47.0), (123.4, 120.0), (5.55, 5.5)])
def test_drawn_number_has_two_digits(value: float, rounded: float) -> None:
    assert _round_to_two_digits(value) == rounded


def test_lines_are_run_once_each_and_no_more_than_allowed() -> None:
    """What is left over has no result; neither has a direction without a number, or of 0."""
    world = World()
    lines = Lines(AIMS["throughput"], world, 3)
    named = [place(mbps=mbps) for mbps in (10, 20, 30, 40)]
    assert [bool(one) for one in lines.points([named[0], named[0], named[1]])] == [True] * 3
    assert (lines.runs, len(world.runs)) == (2, 2)
    assert [bool(one) for one in lines.points([named[1], named[2], named[3]])] == [
        True, True, False]
    assert lines.point(named[3]) is None
    assert (lines.runs, len(world.runs)) == (3, 3)


@pytest.mark.parametrize(("median_ms", "counts"), [(50.0, True), (math.inf, False), (None, False)])
def test_direction_that_lost_most_probes_has_no_error(
        median_ms: float | None, counts: bool) -> None:
    """Nor has one whose true latency is unknown."""
    way = DirectionValues(shown_ms=20.0, others_median_ms=median_ms)
    reading = Reading("p", "p", "p", "p", False, {"download": way, "upload": DirectionValues(),
                                                  WORSE: way})
    found = Lines(AIMS["latency"], lambda places: [reading], 9).point(place())
    assert (found is not None) is counts


def test_error_is_that_of_the_worse_direction() -> None:
    """Of the upload a tenth, of the download half."""
    ways = {"download": DirectionValues(shown_ms=50.0, others_median_ms=100.0),
            "upload": DirectionValues(shown_ms=10.0, others_median_ms=100.0)}
    reading = Reading("p", "p", "p", "p", False, {**ways, WORSE: ways["upload"]})
    found = Lines(AIMS["latency"], lambda places: [reading], 9).point(place())
    assert found is not None
    assert found.way == "upload"
    assert found.error == pytest.approx(math.log(10))


def line_error(shown: float = 20.0) -> worst_lines.LineError:
    return worst_lines.LineError("a line", "download", shown, 100.0)


@pytest.mark.parametrize(("simple", "mended", "unknown", "texts"), [
    (line_error(), [], [], ["No change of one setting makes it right."]),
    (line_error(), [], ["FQ-CoDel", "10 Mbit/s"], [
        ("Whether a change of one setting makes it right is not known: no runs were left, or there "
         "was no result, with FQ-CoDel, 10 Mbit/s.")]),
    (line_error(25.0), [], [], [
        "As wrong on a simpler line: a line, down: it says 25.00 of 100.0 ms.",
        "No change of one setting makes it right."]),
    (line_error(), [worst_lines.Mended("A", "B", 99.0, 100.0)], ["10 Mbit/s"], [
        "It is right with B in place of A (99.00 of 100.0 ms)."])])
def test_search_is_told_with_what_was_found(
        simple: worst_lines.LineError, mended: list[worst_lines.Mended], unknown: list[str],
        texts: list[str]) -> None:
    """The simpler line only if it is another one."""
    found = worst_lines.WorstLine("latency", 12, line_error(), simple, mended, unknown)
    first, *others = found.sentences()
    assert first == ("Its worst latency, of 12 lines that a search tried: a line, down: it says "
                     "20.00 of 100.0 ms.")
    assert others == texts
