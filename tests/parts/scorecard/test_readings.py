# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scorecard reads of a run: the traffic in 10^6 bytes, and the name of a test that is
given by a command."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.cli import main
from flent_aqm.parts.scorecard import reading, steps
from flent_aqm.parts.scorecard.contestant import Verdict, contestant, why_not
from flent_aqm.parts.scorecard.own_commands import write_tool
from flent_aqm.parts.scorecard.places import Line, Place
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading, _megabytes
from flent_aqm.parts.scorecard.worst import AIMS, Lines, Point
from flent_aqm.results.data_file import parse_data_file
from flent_aqm.results.metrics import latency
from flent_aqm.results.metrics.run import Samples, as_run
from tests.files import RUNS, load

GOLDEN = RUNS / "ndt7.flent.gz"


def megabytes(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    """Of a run whose router counted these bytes, by direction."""
    whole = load(GOLDEN)
    for moment, counted in (("before", before), ("after", after)):
        counters = whole["metadata"]["AQM"][moment]["counters"]
        for way, device in (("download", "down"), ("upload", "up")):
            counters[device] = {"shaper": {"bytes": counted[way]}}
    return _megabytes(as_run(parse_data_file(json.dumps(whole).encode(), GOLDEN)))


def test_traffic_is_what_the_router_counted_during_the_run_in_both_directions() -> None:
    found = megabytes({"download": 1_000_000, "upload": 500_000},
                      {"download": 5_000_000, "upload": 750_000})
    assert found == pytest.approx(4.25)


@pytest.mark.parametrize("missing", ["before", "after"])
def test_traffic_that_was_not_counted_is_unknown(missing: str) -> None:
    """Not 0, which would look like a test that sends nothing."""
    counted: dict[str, dict[str, Any]] = {
        moment: {"download": 1000, "upload": None if moment == missing else 1000}
        for moment in ("before", "after")}
    assert megabytes(**counted) is None


def test_command_is_named_after_its_program_unless_a_name_is_given(tmp_path: Path) -> None:
    """Not after its arguments."""
    for name, file in ((None, "sh"), ("mine", "mine")):
        path = write_tool(tmp_path, name, "/bin/sh -c {host} {port}", "/bin/sleep {port}",
                          "json: down=download_mbps", 60)
        assert path == tmp_path / "own" / f"{file}.py"


NDT7 = contestant("ndt7")
PLACE = Place(Line(50, 50, 40), "fq_codel")


def read_with(monkeypatch: pytest.MonkeyPatch, **shown: float | None) -> Reading:
    """The golden run, whose test showed these metrics instead of its own."""
    monkeypatch.setattr(reading, "_metric_or_none", lambda run, name: shown.get(name))
    return reading.read(NDT7, PLACE, parse_data_file(json.dumps(load(GOLDEN)).encode(), GOLDEN))


def test_possible_throughput_is_the_payload_of_the_lines_rate(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """1448 bytes of 1514 at 50 Mbit/s; beside a bulk flow, nobody knows."""
    ways = read_with(monkeypatch).ways
    assert ways["download"].possible_mbps == pytest.approx(50 * 1448 / 1514)
    beside = reading.read(NDT7, Place(PLACE.line, PLACE.queue, "cubic"), parse_data_file(
        json.dumps(load(GOLDEN)).encode(), GOLDEN))
    assert beside.ways["download"].possible_mbps is None


@pytest.mark.parametrize(("mbps", "is_read"), [
    (0.0, True), (0.5, True), (380.0, True), (-0.1, False), (383.0, False)])
def test_throughput_of_another_unit_is_refused(
        monkeypatch: pytest.MonkeyPatch, mbps: float, is_read: bool) -> None:
    """Eight times what is possible is 382.6 Mbit/s. A test may show 0."""
    name = next(iter(NDT7.shown.rates))
    if is_read:
        assert read_with(monkeypatch, **{name: mbps}).ways["download"].shown_mbps == mbps
    else:
        with pytest.raises(BadResult, match="expected a rate of 0 or more, in Mbit/s"):
            read_with(monkeypatch, **{name: mbps})


@pytest.mark.parametrize(("rpm", "good"), [
    (200.0, False), (500.0, None), (2000.0, True), (7000.0, True), (None, None)])
def test_verdict_is_that_of_the_tests_own_classes(
        monkeypatch: pytest.MonkeyPatch, rpm: float | None, good: bool | None) -> None:
    """Poor is bad, fair is neither. A number without words is good unless it is 0."""
    verdict = contestant("responsiveness").verdict
    assert verdict is not None
    monkeypatch.setattr(reading, "_metric_or_none", lambda run, name: rpm)
    run: Any = None
    assert reading._own_verdict(run, verdict) is good
    assert reading._own_verdict(run, None) is None
    for value in (0.0, 1.0):
        monkeypatch.setattr(reading, "_metric_or_none", lambda run, name, it=value: it)
        assert reading._own_verdict(run, Verdict("throughput_upload_mbps")) is bool(value)


def test_load_without_a_length_has_no_rate_of_glitches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an endless one; 3 in 10 s are 18 a minute."""
    monkeypatch.setattr(latency, "idle_median_ms", lambda run: 20.0)
    rtt_ms = numpy.full(1000, 20.0)
    rtt_ms[[100, 300, 500]] = 200.0
    for length_s, rate in ((10.0, 18.0), (0.0, None)):
        samples = Samples(numpy.arange(1000) / 100, rtt_ms, length_s, 10.0)
        run: Any = SimpleNamespace(loaded=lambda way, it=samples: it)
        assert reading._finite_or_none(
            partial(reading._glitches_per_minute, run, "upload")) == rate


def test_test_that_takes_an_hour_is_left_out_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words that make it run; others aren't, where their tools are there."""
    monkeypatch.setattr("flent_aqm.parts.scorecard.contestant.check_tools", lambda tools: None)
    assert why_not(contestant("cloudflare_browser")) == (
        "it takes an hour; name it: scorecard cloudflare_browser")
    assert why_not(NDT7) == ""


@pytest.mark.parametrize(("complete", "exit_status"), [((True, True), 0), ((True, False), 1)])
def test_command_fails_if_a_run_has_no_reading(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: tuple[bool, bool],
        exit_status: int) -> None:
    outcomes = iter(complete)
    monkeypatch.setattr(steps, "score", lambda *words: next(outcomes))
    assert main(["scorecard", "ndt7", "nuttcp", "-o", str(tmp_path)]) == exit_status


def test_shown_value_without_a_true_one_is_no_error() -> None:
    """Nor a true one that the test doesn't show."""
    def lines(way: DirectionValues) -> Point | None:
        one = Reading("place", "words", "group", "cell", False, {
            "download": way, "upload": DirectionValues(), WORSE: way})
        return Lines(AIMS["throughput"], lambda places: [one], 10).point(PLACE)

    assert lines(DirectionValues(shown_mbps=5.0)) is None
    assert lines(DirectionValues(possible_mbps=5.0)) is None
    found = lines(DirectionValues(shown_mbps=5.0, possible_mbps=10.0))
    assert found is not None
    assert (found.way, found.shown, found.true) == ("download", 5, 10)
