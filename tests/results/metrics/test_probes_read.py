# SPDX-License-Identifier: GPL-3.0-or-later
"""When probes were sent, which were lost, and when a tool stood still. Times are binary fractions,
so that limits are met exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.metrics.probes import MAX_LOST, Probe, read_probe, until
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import ProbeTool, Series, SeriesKind

USUAL = [(0.25, 20.0)] * 10


def netperf(*lengths_and_rtts: tuple[float, float], gaps_s: Sequence[float] = ()) -> Probe | None:
    """UDP_RR's intervals from 0 on: length in s and mean RTT in ms of each. gaps_s: before each of
    the last intervals."""
    samples, now_s = [], 0.0
    gaps = [0.0] * (len(lengths_and_rtts) - len(gaps_s)) + list(gaps_s)
    for gap_s, (length_s, rtt_ms) in zip(gaps, lengths_and_rtts, strict=True):
        now_s += gap_s + length_s
        samples.append({"t": now_s, "dur": length_s, "val": rtt_ms})
    return read_probe(Series("Ping UDP", SeriesKind.LATENCY, {}, samples, ProbeTool.UDP_RR))


def stood_still(*lengths_and_rtts: tuple[float, float], gaps_s: Sequence[float] = ()
                ) -> list[Window]:
    probe = netperf(*lengths_and_rtts, gaps_s=gaps_s)
    assert probe is not None
    return list(probe.still)


def test_intervals_of_netperf_begin_at_their_end_less_their_length() -> None:
    probe = netperf(*USUAL)
    assert probe is not None
    assert probe.sent_s.tolist() == [0.25 * place for place in range(10)]
    assert (probe.rtt_ms.tolist(), probe.still) == ([20.0] * 10, ())
    assert "UDP_RR, which stands still after a lost packet" in probe.loss_unknown


@pytest.mark.parametrize(("usual_s", "length_s", "is_stall"), [
    (0.25, 2.5, False), (0.25, 2.625, True), (0.0625, 1.0, False), (0.0625, 1.125, True)])
def test_interval_over_ten_times_the_usual_and_a_second_is_a_stall(
        usual_s: float, length_s: float, is_stall: bool) -> None:
    """In the middle, at the end, and between two intervals."""
    usual, odd = [(usual_s, 20.0)] * 10, (length_s, 20.0)
    start_s = 10 * usual_s
    window = [Window(start_s, start_s + length_s)] if is_stall else []
    assert stood_still(*usual, odd, *usual) == window
    assert stood_still(*usual, odd) == window
    assert stood_still(*usual, usual[0], gaps_s=[length_s]) == window


def test_stall_and_gap_are_told_in_the_order_of_time() -> None:
    """The probes without them."""
    probe = netperf(*USUAL, (2.625, 20.0), *USUAL, gaps_s=[3.0, *[0.0] * 9])
    assert probe is not None
    assert list(probe.still) == [Window(2.5, 5.125), Window(5.125, 8.125)]
    assert probe.sent_s.size == 20
    gap_first = netperf(*USUAL, (2.625, 20.0), *USUAL, gaps_s=[3.0, *[0.0] * 10])
    assert gap_first is not None
    assert list(gap_first.still) == [Window(2.5, 5.5), Window(5.5, 8.125)]


@pytest.mark.parametrize(("rtt_ms", "is_stall"), [(876.0, False), (875.5, False), (875.0, True)])
def test_long_round_trips_explain_a_long_interval(rtt_ms: float, is_stall: bool) -> None:
    """Those of more than a third of it; but not at the end, where one answer tells little."""
    assert bool(stood_still(*USUAL, (2.625, rtt_ms), *USUAL)) is is_stall
    assert stood_still(*USUAL, (2.625, 876.0)) == [Window(2.5, 5.125)]


def test_interval_of_netperf_without_a_length_is_a_moment() -> None:
    """And a gap before it is one."""
    probe = read_probe(Series("Ping UDP", SeriesKind.LATENCY, {}, [
        {"t": at_s, "val": 20.0} for at_s in (1.0, 1.5, 2.0, 3.25)], ProbeTool.UDP_RR))
    assert probe is not None
    assert (probe.sent_s.tolist(), list(probe.still)) == ([1.0, 1.5, 2.0, 3.25],
                                                          [Window(2.0, 3.25)])


def test_few_intervals_have_no_usual_length() -> None:
    """Of four a second is the limit; five are as usual as each other."""
    assert netperf(*[(2.0, 20.0)] * 4) is None
    assert stood_still(*[(2.0, 20.0)] * 5) == stood_still(*[(1.0, 20.0)] * 4) == []
    assert stood_still((2.0, 1000.0)) == []  # a round trip that long


@pytest.mark.parametrize(("length_s", "rtt_ms", "is_stall"), [
    # nine tenths of 1250 ms are 1.125 s; a second and less says nothing
    (1.125, 1250.0, False), (1.125, 1260.0, True), (1.0, 1260.0, False),
    (0.25, 20_000.0, False), (0.25, 20_000.1, True)])
def test_interval_shorter_than_its_round_trip_is_a_stall(
        length_s: float, rtt_ms: float, is_stall: bool) -> None:
    """And so is a round trip longer than any queue makes it."""
    assert bool(stood_still(*USUAL, (length_s, rtt_ms), *USUAL)) is is_stall


def ping(spacing_s: float = 0.25, count: int = 41, rtt_ms: float = 0.0, **more: Any) -> Probe:
    """Probes from 0 on."""
    sent_s = numpy.arange(float(count)) * spacing_s
    return replace(Probe("Ping", ProbeTool.PING, numpy.array(sent_s, float),
                         numpy.full(count, rtt_ms)), **more)


@pytest.mark.parametrize(("spacing_s", "end_s", "lost_s"), [
    (0.25, 11.25, []), (0.25, 11.5, [10.25, 10.5, 10.75, 11.0, 11.25]),
    (0.125, 6.0, []), (0.125, 6.125, [5.125 + place / 8 for place in range(8)])])
def test_ping_that_ends_a_second_and_five_probes_early_lost_the_rest(
        spacing_s: float, end_s: float, lost_s: list[float]) -> None:
    """From the probe after the last one to before the end of the run."""
    probe = until(ping(spacing_s), end_s)
    assert probe.sent_s[probe.lost].tolist() == pytest.approx(lost_s, abs=1e-9)
    assert (~probe.lost).sum() == 41
    assert until(ping(spacing_s, tool=ProbeTool.IRTT), end_s).lost.sum() == 0


@pytest.mark.parametrize(("spacing_s", "rtt_ms", "last_s", "room_s"), [
    # an interval as long as the others, as its round trip, or of unknown length
    (0.25, 20.0, 10.25, 1.25), (0.25, 500.0, 10.5, 1.25), (1.0, 31.25, 40.03125, 5.0)])
def test_netperf_that_ends_early_stood_still(
        spacing_s: float, rtt_ms: float, last_s: float, room_s: float) -> None:
    """From the end of its last interval on."""
    probe = ping(spacing_s, rtt_ms=rtt_ms, tool=ProbeTool.UDP_RR, loss_unknown="why")
    assert until(probe, last_s + room_s).still == ()
    stopped = until(probe, last_s + room_s + 0.5)
    assert stopped.still == (Window(last_s, last_s + room_s + 0.5),)
    assert stopped.stopped_after_s == last_s
    assert stopped.still_in_s(Window(0.0, last_s + 1)) == 1
    later = replace(probe, still=(Window(last_s + 1, last_s + 2),))
    assert until(later, last_s + 2 + room_s).still == later.still


def test_time_in_which_a_tool_was_stopped_is_that_within_the_window() -> None:
    probe = ping(still=(Window(-1.0, 0.5), Window(2.0, 3.0)))
    assert probe.start_s == -1
    assert probe.still_in_s(Window(0.25, 2.5)) == 0.75
    assert probe.still_in_s(Window(4.0, 5.0)) == 0
    assert probe.stopped_after_s is None
    # The last probe was sent at 10 s, from when on it went on.
    assert ping(still=(Window(2.0, 10.0),)).stopped_after_s is None
    assert ping(still=(Window(1.0, 2.0), Window(10.5, 12.0))).stopped_after_s == 10.5
    assert ping(count=1).spacing_ms == math.inf
    assert ping(count=2).spacing_ms == 250


def test_steps_and_replies_were_sent_a_round_trip_before() -> None:
    """Of a lost probe, irtt tells when it was sent."""
    samples = [{"t": 1.5, "val": 500.0}, {"t": 3.0, "val": 1000.0}]
    steps = read_probe(
        Series("Ping", SeriesKind.LATENCY, {}, samples, ProbeTool.PING, of_steps=True))
    irtt = read_probe(Series("Ping", SeriesKind.LATENCY, {}, [*samples, {"t": 1.5, "lost": True}],
                             ProbeTool.IRTT))
    assert steps is not None
    assert irtt is not None
    assert (steps.sent_s.tolist(), steps.rtt_ms.tolist()) == ([1, 2], [500, 1000])
    assert "interpolated steps" in steps.loss_unknown
    assert (irtt.sent_s.tolist(), irtt.lost.tolist()) == ([1, 1.5, 2], [False, True, False])


def numbered(*numbers: int) -> Probe:
    """Pings of 0 ms, a second apart by their place."""
    probe = read_probe(Series("Ping", SeriesKind.LATENCY, {}, [
        {"t": float(place), "val": 0.0, "seq": number} for place, number in enumerate(numbers)],
        ProbeTool.PING))
    assert probe is not None
    return probe


def test_numbers_of_ping_start_again_after_16_bits_and_may_come_twice() -> None:
    assert numbered(65534, 65535, 0, 1).lost.sum() == 0
    # A number that is missing behind the first has the time between its neighbours.
    first = numbered(1, 3, 4)
    assert (first.sent_s.tolist(), first.lost.tolist()) == ([0, 0.5, 1, 2],
                                                            [False, True, False, False])
    twice = numbered(1, 2, 2, 4)
    assert (twice.sent_s.tolist(), twice.lost.tolist()) == ([0, 1, 2, 3],
                                                            [False, False, True, False])


def test_gap_of_too_many_probes_is_refused() -> None:
    """Not one of as many as a day of ping has without an answer."""
    whole = ping(1.0, 11)
    assert until(whole, 11.0 + MAX_LOST).lost.sum() == MAX_LOST
    with pytest.raises(BadResult, match="expected at most 500,000 lost probes after its end"):
        until(whole, 12.0 + MAX_LOST)
    with pytest.raises(BadResult, match="sent at the same time as the one before"):
        until(ping(0.0), 100.0)


@pytest.mark.parametrize(("last_ms", "end_s", "stops"), [
    (2000.0, 5.5, False), (2000.0, 5.75, True), (20.0, 3.75, False), (20.0, 4.0, True)])
def test_last_interval_is_as_long_as_usual_or_as_its_own_round_trip(
        last_ms: float, end_s: float, stops: bool) -> None:
    """Ten intervals of 250 ms, of which the last begins at 2.25 s. 1.25 s later it has stopped."""
    probe = Probe("x", ProbeTool.UDP_RR, numpy.arange(10) / 4, numpy.array([20.0] * 9 + [last_ms]),
                  "unknown")
    found = until(probe, end_s)
    start_s = 2.25 + max(last_ms / 1000, 0.25)
    assert found.still == ((Window(start_s, end_s),) if stops else ())
    assert found.stopped_after_s == (start_s if stops else None)


def test_gap_of_too_many_probes_is_refused_with_its_length() -> None:
    """And probes that have no distance."""
    probe = Probe("x", ProbeTool.PING, numpy.array([0.0, 0.001]), numpy.array([1.0, 1.0]))
    with pytest.raises(BadResult) as caught:
        until(probe, 600.0)
    assert str(caught.value) == ("'x' ends 600 s before the run does, with probes 1 ms apart; "
                                 "expected at most 500,000 lost probes after its end")
    probe = Probe("x", ProbeTool.PING, numpy.array([0.0, 0.0]), numpy.array([1.0, 1.0]))
    with pytest.raises(BadResult) as caught:
        until(probe, 600.0)
    assert str(caught.value) == ("most probes of 'x' were sent at the same time as the one before; "
                                 "expected a distance between them")


@pytest.mark.parametrize(("last", "is_read"), [(MAX_LOST + 17, True), (MAX_LOST + 18, False)])
def test_at_most_half_a_million_numbers_of_ping_may_be_missing(last: int, is_read: bool) -> None:
    """Eighteen probes from number 0 on. The message names the first and the last number."""
    # Steps of less than half of 16 bits, so that it is clear how often numbers began again.
    seqs = [7 + 29_400 * place for place in range(17)] + [7 + last]
    if is_read:
        assert numbered(*seqs).lost.sum() == MAX_LOST
        return
    with pytest.raises(BadResult) as caught:
        numbered(*seqs)
    assert str(caught.value) == (
        "'Ping' has 18 answered probes with numbers from 7 to 500025; expected at most 500,000 "
        "lost probes between them, and 5,000,000 probes")
