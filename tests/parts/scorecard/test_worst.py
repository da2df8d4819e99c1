# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for a test's worst line, and what of it makes the test wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.scorecard import worst_lines
from flent_aqm.parts.scorecard.places import CUBIC, Line, Place
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.parts.scorecard.shrink import changes, simplified
from flent_aqm.parts.scorecard.worst import AIMS, Lines
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
    return Place(Line(mbps, mbps, rtt_ms), queue, beside)


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
    queue, buffer = changes(lines, wrong)
    assert (queue.before, queue.after) == ("drop-tail of 400 ms", "FQ-CoDel")
    assert (buffer.before, buffer.after) == ("a buffer of 400 ms", "a buffer of 10 ms")
    wrong = lines.point(place("fifo_20ms", rtt_ms=40, beside=""))
    assert wrong is not None
    path = next(one for one in changes(lines, wrong) if "round trip" in one.after)
    assert path.point.place.line.rtt_ms == pytest.approx(80, rel=0.1)


def test_runs_without_a_number_are_passed_over() -> None:
    """Where all are, one line says so."""
    class Odd(World):
        def reading(self, place: Place) -> Reading | None:
            return None if place.queue.startswith("fifo") else super().reading(place)

    class Silent(World):
        def reading(self, place: Place) -> Reading | None:
            return None

    assert seek("latency", 20, Odd()).worst.true > 0
    with pytest.raises(BadResult, match="no rate or latency on any of 15 lines"):
        seek("latency", 20, Silent())


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
    assert replace(worst_line, mended=[]).sentences()[-1] == (
        "No change of one setting makes it right.")
    path = tmp_path / "worst-latency.json"
    whole = json.loads(path.read_text())
    whole["worst"]["true"] = 0
    for text in ("{}", json.dumps(whole)):
        path.write_text(text)
        with pytest.raises(BadResult, match=r"worst-latency\.json: not a result of --worst"):
            worst_lines.read_all(tmp_path)
