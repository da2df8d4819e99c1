# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice: each sentence with runs that carry it, and with runs that don't."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy
import pytest

from flent_aqm.results.advice.advice import advise
from flent_aqm.results.advice.measured import (
    BOTH,
    Configuration,
    Measured,
    measured,
    measured_of_samples,
    tried,
)
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import Samples, as_run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import Unavailable
from tests.files import RUNS, load

MODEM: Mapping[str, Setting] = {"aqm": "cake", "shaper": "cake", "modem_down_mbps": 40.0,
                                "modem_up_mbps": 10.0}


def run(down_ms: float = 1.0, up_ms: float = 1.0, idle_ms: float = 20.0,
        mbps: tuple[float, float] = (38.0, 9.5)) -> Measured:
    """A run whose downloads and uploads add so much to an idle round trip."""
    return Measured(idle_ms, {"downloads": idle_ms + down_ms, "uploads": idle_ms + up_ms},
                    dict(zip(("download", "upload"), mbps, strict=True)))


def output(*names_and_runs: Configuration) -> str:
    """All sentences on configurations of one condition."""
    return " ".join(advise({"": names_and_runs}))


def line(*runs: Measured, **more: Any) -> Configuration:
    return Configuration("the line", runs, **more)


def sqm(share: float, *runs: Measured, aqm: str = "cake", name: str = "") -> Configuration:
    """A configuration with SQM at a share of 40/10 Mbit/s."""
    settings = {**MODEM, "aqm": aqm, "rate_down_mbps": 40 * share, "rate_up_mbps": 10 * share}
    return tried(name or f"{share:.0%} {aqm}", [(settings, one) for one in runs])


@pytest.mark.parametrize(("added_ms", "idle_ms", "effect"), [
    (31, 20, "games and calls suffer"), (139, 20, "games and calls suffer"),
    (141, 20, "people in calls talk over each other"),
    (130, 60, "people in calls talk over each other"),
    (389, 20, "people in calls talk over each other"), (391, 20, "calls break")])
def test_effect_follows_one_way_delay(added_ms: float, idle_ms: float, effect: str) -> None:
    """ITU-T G.114: 150 and 400 ms; half of the idle trip counts, too."""
    assert f": {effect}." in output(line(run(up_ms=added_ms, idle_ms=idle_ms)))


def test_line_that_adds_little_needs_nothing() -> None:
    text = output(line(run(12, 29)))
    assert text == ("Busy downloads or uploads add no more than 29 ms in the median: calls "
                    "and games run well, and nothing has to be changed.")


def lossy(lost_pct: float, added_ms: float = 1.0) -> Measured:
    """A run in which the load adds little and loses packets."""
    return Measured(20.0, {"uploads": 20.0 + added_ms}, {"upload": 9.5}, {"uploads": lost_pct})


@pytest.mark.parametrize(("added_ms", "lost_pct", "effect"), [
    (200, 39, "people in calls talk over each other, and words in calls get lost"),
    (100, 39, "games and calls suffer, and words in calls get lost"),
    (500, 39, "calls break"), (200, 2, "people in calls talk over each other")])
def test_effect_of_losses_beside_latency_is_told(added_ms: float, lost_pct: float, effect: str
                                                 ) -> None:
    """People may talk over each other and not hear half of it."""
    assert f": {effect}." in output(line(lossy(lost_pct, added_ms)))


@pytest.mark.parametrize(("lost_pct", "is_fine"), [(2.9, True), (3.0, False), (18, False)])
def test_line_that_loses_packets_is_not_fine(lost_pct: float, is_fine: bool) -> None:
    """However little it adds: a short queue is fast, and drops."""
    assert ("nothing has to be changed" in output(line(lossy(lost_pct)))) == is_fine


def test_losses_are_mended_by_what_loses_less() -> None:
    """It says what each lost; where nothing else was measured, or all lose, that."""
    short, fair = Configuration("no_aqm", [lossy(18)]), Configuration("fq_codel", [lossy(0.0)])
    assert output(short, fair) == (
        "Busy uploads lose 18 % of the probes with no_aqm: words in calls get lost. Use fq_codel: "
        "here they then added 1 ms and lost 0 % of the probes.")
    assert output(short).endswith("Nothing else was measured that could be advised instead.")
    policed = Configuration("police", [lossy(9)])
    assert output(short, policed).endswith("Nothing that was measured kept losses below 3 %.")
    assert "add 400 ms and lose 18 % of the probes" in output(line(lossy(18, added_ms=400)))


def test_losses_of_both_directions_are_named() -> None:
    """Of one alone it would seem that the other is well."""
    def fault(down_pct: float, up_pct: float) -> str:
        return output(of_loads("x", {"downloads": (1, down_pct), "uploads": (1, up_pct)}))

    assert fault(5, 18).startswith(
        "Busy uploads lose 18 % of the probes, busy downloads 5 %: words in calls get lost.")
    assert fault(2, 18).startswith("Busy uploads lose 18 % of the probes: words")


def probes(lost: int, sent: int) -> Samples:
    """Probes of which the first ones are lost, and the others take 10 ms."""
    rtts_ms = numpy.where(numpy.arange(sent) < lost, math.inf, 10.0)
    return Samples(numpy.arange(float(sent)), rtts_ms, float(sent), 1000.0)


def of_probes(idle: tuple[int, int], *runs: tuple[int, int], name: str = "the line"
              ) -> Configuration:
    """A configuration of runs that have these idle probes (lost, sent) and those under uploads."""
    measured = [measured_of_samples(probes(*idle), {"uploads": probes(*one)}, {}) for one in runs]
    return tried(name, [({}, one) for one in measured])


def spiky(spikes: int, ms: float, idle_spikes: int = 0, sent: int = 100) -> Measured | Unavailable:
    """A run of which some probes take longer than the 10 ms of the others, under uploads and on the
    idle line."""
    def of(number: int) -> Samples:
        rtts_ms = numpy.where(numpy.arange(sent) < number, ms, 10.0)
        return Samples(numpy.arange(float(sent)), rtts_ms, float(sent), 1000.0)

    return measured_of_samples(of(idle_spikes), {"uploads": of(spikes)}, {})


@pytest.mark.parametrize(("runs", "text"), [
    ([spiky(8, 120.0)],
     ("Busy uploads add no more than 0 ms in the median, which is good. But busy uploads add 110 "
      "ms to the 95th percentile: calls and games falter for moments.")),
    # In one run of three; in one probe of 25; by less; on the idle line, too; of too few probes.
    *(([*runs], ("Busy uploads add no more than 0 ms in the median: calls and games run well, and "
                 "nothing has to be changed.")) for runs in (
        [spiky(8, 120.0), spiky(0, 0.0), spiky(0, 0.0)], [spiky(4, 120.0)], [spiky(8, 39.0)],
        [spiky(8, 120.0, 8)], [spiky(3, 120.0, 0, 19)])),
])
def test_spikes_that_the_median_hides_are_told(
        runs: list[Measured | Unavailable], text: str) -> None:
    assert output(tried("the line", [({}, one) for one in runs])) == text


def test_configuration_with_spikes_is_named() -> None:
    calm, bad = (tried(name, [({}, spiky(spikes, 120.0))]) for name, spikes in (
        ("fq_codel", 0), ("no_aqm", 9)))
    assert output(calm, bad) == (
        "Busy uploads add no more than 0 ms in the median, in any of these runs, which is good. "
        "But busy uploads add 110 ms to the 95th percentile with no_aqm: calls and games falter "
        "for moments.")


@pytest.mark.parametrize(("idle", "runs", "text"), [
    # 7.3 and 8 percentage points, of 60 probes and of 600.
    ((6, 61), [(11, 62)],
     ("Busy uploads add no more than 0 ms in the median. But what the idle line loses slows TCP "
      "down, and the line's rate is not known, so it may never have been full: how its queues "
      "behave then is not known. The idle line loses 9.8 % of the probes: words in calls get lost, "
      "and no setting of a queue mends that.")),
    # A connection of Reno carries no more than 14 Mbit/s with 1 %, at 10 ms.
    ((6, 600), [(6, 600)],
     ("Busy uploads add no more than 0 ms in the median. But what the idle line loses (1 % of the "
      "probes) slows TCP down, and the line's rate is not known, so it may never have been full: "
      "how its queues behave then is not known.")),
    ((5, 600), [(6, 600)],
     ("Busy uploads add no more than 0 ms in the median: calls and games run well, and nothing "
      "has to be changed.")),
    ((60, 610), [(110, 620)],
     ("Busy uploads lose 7.9 % more of the probes than the idle line: words in calls get lost. "
      "Nothing else was measured that could be advised instead. The idle line loses 9.8 % of the "
      "probes: words in calls get lost, and no setting of a queue mends that.")),
    ((6, 300), [(60, 300)],
     ("Busy uploads lose 18 % more of the probes than the idle line: words in calls get lost. "
      "Nothing else was measured that could be advised instead.")),
    ((0, 61), [(3, 60)],
     ("The losses with the line may be chance: 3 of 60 probes while uploads keep the line busy, 0 "
      "of 61 on the idle line. Measure again, or for longer, before you change anything.")),
    # Twice as many runs tell what one doesn't.
    ((0, 61), [(3, 60)] * 2,
     ("Busy uploads lose 5 % of the probes: words in calls get lost. Nothing else was measured "
      "that could be advised instead.")),
    ((0, 61), [(6, 60)],
     ("Busy uploads lose 10 % of the probes: words in calls get lost. Nothing else was measured "
      "that could be advised instead.")),
    # Less than 3 %, and one lost probe of few on the idle line.
    ((0, 61), [(1, 60)],
     ("Busy uploads add no more than 0 ms in the median: calls and games run well, and nothing "
      "has to be changed.")),
    ((1, 25), [(0, 300)],
     ("Busy uploads add no more than 0 ms in the median: calls and games run well, and nothing "
      "has to be changed.")),
])
def test_losses_are_the_loads_only_beyond_the_idle_lines_and_chance(
        idle: tuple[int, int], runs: list[tuple[int, int]], text: str) -> None:
    assert output(of_probes(idle, *runs)) == text


def test_remedy_is_said_to_lose_more_than_the_idle_line() -> None:
    """Not to lose 1 %, where all of its probes count."""
    worst, better = of_probes((20, 1000), (200, 1000), name="a"), of_probes(
        (20, 1000), (30, 1000), name="b")
    assert output(worst, better).endswith(
        "Use b: here they then added 0 ms and lost 1 % more of the probes than the idle line.")


def test_queues_that_do_as_well_as_each_other_are_all_named() -> None:
    """None of them is better, but one that adds more isn't one of them."""
    good = [Configuration(name, [run(added, added)]) for name, added in (
        ("sfq", 0.11), ("fq_codel", 0.12), ("codel", 5))]
    assert "Use sfq or fq_codel: here they then added 0.11 ms." in output(
        Configuration("no_aqm", [run(95, 95)]), *good)


def test_losses_of_the_idle_line_are_not_the_loads() -> None:
    """Five of 100 probes are lost either way."""
    some = numpy.where(numpy.arange(100) % 20 == 0, math.inf, 10.0)
    probes = Samples(numpy.arange(100.0), some, 100.0, 1000.0)
    measured = measured_of_samples(probes, {"uploads": probes}, {})
    assert isinstance(measured, Measured)
    assert measured.lost_pct == {"uploads": 0.0}


@pytest.mark.parametrize(("added_ms", "advised"), [
    ((620, 620), "36/9 Mbit/s for downloads/uploads (90 % of the 40/10"),
    ((30, 620), "36/9 Mbit/s for downloads/uploads (90 % of the 40/10"),
    ((29, 620), "9 Mbit/s for uploads (90 % of the 10"),
    ((620, 0.8), "36 Mbit/s for downloads (90 % of the 40")])
def test_slow_direction_is_told_sqm_at_a_share_of_what_was_measured(
        added_ms: tuple[float, float], advised: str) -> None:
    """The other one would lose a tenth of its rate with each round of this advice."""
    assert output(line(run(*added_ms, mbps=(40, 10)))).endswith(
        f": calls break. Set SQM in your router to {advised} that were measured), then measure "
        "again.")


def test_directions_at_once_give_no_rates() -> None:
    """Each slows the other's acknowledgements, so neither tells the line's rate."""
    busy = Measured(20.0, {BOTH: 300.0}, {"download": 24.0, "upload": 9.0})
    text = output(line(busy))
    assert "Busy downloads and uploads add 280 ms" in text
    assert ("90 % of the line's rate for downloads and uploads, measured one direction at a time"
            in text)
    assert "Mbit/s" not in text


@pytest.mark.parametrize("more", [{"managed": True}, {"fixed_rate": False}])
def test_no_rate_where_router_manages_latency_or_line_has_no_one_rate(
        more: Mapping[str, bool]) -> None:
    text = output(line(run(up_ms=300), **more))
    assert "SQM" not in text
    assert "Nothing else was measured" in text


@pytest.mark.parametrize(("share", "down_ms", "up_ms", "rates"), [
    (1.0, 300, 300, "36/9 Mbit/s for downloads/uploads (90 % of 40/10)"),
    (0.96, 1, 300, "9 Mbit/s for uploads (90 % of 10)"), (0.95, 300, 300, "")])
def test_sqm_without_room_below_the_line_is_told_a_lower_rate(
        share: float, down_ms: float, up_ms: float, rates: str) -> None:
    """Alone, and where it is the best that was measured. At 95 % the cause is another."""
    set_it = f"SQM's rate leaves no room below the line's: set it to {rates}, then measure again."
    tight = sqm(share, run(down_ms, up_ms))
    assert output(tight).endswith(
        set_it if rates else "Nothing else was measured that could be advised instead.")
    if share == 1:
        text = output(tight, line(run(600, 600)))
        assert text.endswith(f"kept it below 30 ms; least added 100% cake, 300 ms. {set_it}")
        assert "room" not in output(replace(tight, fixed_rate=False))
    if not rates:
        assert "room" not in output(tight, line(run(600, 600)))


def test_no_rate_where_runs_differ_in_throughput() -> None:
    """In the slow direction; that of the other one is not advised."""
    text = output(line(run(300, mbps=(38, 9.5)), run(300, mbps=(30, 9.5))))
    assert "Set SQM in your router to 90 % of the line's rate for downloads, measured" in text
    text = output(line(run(up_ms=300, mbps=(38, 9.5)), run(up_ms=300, mbps=(30, 9.5))))
    assert "Set SQM in your router to 8.6 Mbit/s for uploads (90 % of the 9.5" in text


@pytest.mark.parametrize(("least_mbps", "steady"), [(34.3, True), (34.1, False), (31.0, False)])
def test_runs_of_a_line_of_one_rate_differ_by_a_tenth_at_most(
        least_mbps: float, steady: bool) -> None:
    """34.2 is nine tenths of 38."""
    text = output(line(run(300, mbps=(38, 9.5)), run(300, mbps=(least_mbps, 9.5))))
    assert ("90 % of the line's rate for downloads" in text) is not steady
    assert ("to 33 Mbit/s for downloads (90 % of the 36 that were measured)" in text) is steady


def test_runs_that_disagree_are_to_be_repeated() -> None:
    """Where the router's queue isn't known, they may be of different settings."""
    text = output(line(run(up_ms=12), run(up_ms=80), managed=False))
    disagree = "The runs with the line disagree: busy uploads added 12 ms to 80 ms. "
    assert text == f"{disagree}Repeat them before you change anything."
    assert output(line(run(up_ms=12), run(up_ms=80))) == (
        f"{disagree}If they are of different settings of the router, give each setting a title of "
        "its own (flent -t TITLE); else repeat them before you change anything.")


def test_measured_remedy_is_advised_with_what_it_did() -> None:
    off = Configuration("SQM off", [run(5, 620, mbps=(40, 10))], managed=False)
    assert output(off, sqm(0.9, run(3, 12, mbps=(36, 9)))) == (
        "Busy uploads add 620 ms with SQM off: calls break. Set SQM to 36/9 Mbit/s (90 % of "
        "40/10), with cake: here they then added 12 ms, at 10 % less throughput.")


def test_remedy_says_that_it_costs_least_where_slower_ones_add_less() -> None:
    """As a headline may praise one of these; not where all are as fast."""
    off = Configuration("SQM off", [run(5, 620, mbps=(40, 10))], managed=False)
    fast, slow = sqm(0.9, run(3, 12, mbps=(36, 9))), sqm(0.85, run(3, 4, mbps=(34, 8.5)))
    text = output(off, fast, slow)
    assert "Set SQM to 36/9 Mbit/s" in text
    assert text.endswith("It costs the least throughput, to within 1 %, of 2 settings that add "
                         "less than 30 ms and leave room below the line's rate.")
    assert "It costs the least" not in output(off, fast)


def test_remedy_says_why_settings_that_add_as_little_do_not_count() -> None:
    """The third loses too much, or isn't good in another condition."""
    off = Configuration("off", [run(5, 620, mbps=(40, 10))])
    fast, slow = (Configuration(name, [run(3, 4, mbps=mbps)])
                  for name, mbps in (("fast", (36, 9)), ("slow", (30, 8))))
    lossy = Configuration("lossy", [replace(run(3, 4, mbps=(40, 10)), lost_pct={"uploads": 9.0})])
    words = "It costs the least throughput, to within 1 %, of 2 settings that add less than 30 ms"
    assert output(off, fast, slow).endswith(f"{words}.")
    assert output(off, fast, slow, lossy).endswith(f"{words} and lose less than 3 % of the probes.")
    elsewhere = {"here": [off, fast, slow, replace(lossy, runs=[run(3, 4, mbps=(40, 10))])],
                 "there": [replace(lossy, runs=[run(3, 90, mbps=(40, 10))])]}
    assert advise(elsewhere)[1].endswith(f"{words} in all conditions.")


def test_line_that_loses_probes_if_it_is_idle_is_named_among_several() -> None:
    lossy = of_probes((60, 610), (60, 620), name="lossy")
    well = of_probes((0, 610), (0, 620), name="well")
    words = "The idle line loses 9.8 % of the probes{}: words in calls get lost, and no setting of"
    assert words.format("") in " ".join(advise({"": [lossy]}))
    assert words.format(" with lossy") in " ".join(advise({"": [well, lossy]}))
    assert words.format(" with lossy (b)") in " ".join(advise({"a": [well], "b": [lossy]}))
    other, worse = (of_probes((lost, 610), (lost, 620), name="other") for lost in (60, 70))
    assert words.format(" with lossy and 1 more") in " ".join(advise({"": [well, lossy, other]}))
    # What each setting loses isn't a setting's doing.
    assert words.format(" with every setting") in " ".join(advise({"": [lossy, other]}))
    assert "loses 9.8 to 11 % of the probes with every setting" in " ".join(
        advise({"": [lossy, worse]}))


def test_remedy_leaves_room_below_the_line_where_one_was_measured() -> None:
    off = Configuration("SQM off", [run(5, 620, mbps=(40, 10))], managed=False)
    full, room = sqm(1.0, run(mbps=(40, 10))), sqm(0.9, run(mbps=(36, 9)))
    assert "36/9" in output(off, full, room)
    assert "40/10 Mbit/s (100 % of 40/10)" in output(off, full)
    bad = sqm(0.9, run(up_ms=90, mbps=(36, 9)))
    assert "40/10 Mbit/s (100 %" in output(off, full, bad)


def test_fastest_remedy_wins_and_of_equally_fast_ones_the_one_that_adds_least() -> None:
    off = Configuration("SQM off", [run(5, 620, mbps=(40, 10))], managed=False)
    fast, slow = sqm(0.9, run(9, 9, mbps=(36, 9))), sqm(0.85, run(1, 1, mbps=(34, 8.5)))
    assert "36/9" in output(off, slow, fast)
    calm = sqm(0.9, run(2, 2, mbps=(36, 9)), aqm="fq_codel")
    assert "with fq_codel" in output(off, fast, calm)


def test_remedy_that_some_runs_deny_is_none() -> None:
    off = Configuration("SQM off", [run(5, 620)], managed=False)
    text = output(off, sqm(0.9, run(), run(up_ms=70)))
    assert "Nothing that was measured kept it below 30 ms" in text


def of_loads(name: str, *runs: Mapping[str, tuple[float, float]]) -> Configuration:
    """A configuration whose runs have for each load what it adds in ms, and loses in percent."""
    return Configuration(name, [
        Measured(20.0, {busy: 20 + added for busy, (added, _) in loads.items()}, {},
                 {busy: lost for busy, (_, lost) in loads.items()}) for loads in runs])


@pytest.mark.parametrize(("other", "sentence"), [
    ([{"uploads": (35, 5)}],
     "Nothing that was measured kept it below 30 ms; least added police, 35 ms."),
    ([{"uploads": (12, 5)}], "{none}, but it lost 5 %."),
    ([{"uploads": (11, 0)}, {"uploads": (12, 0)}, {"uploads": (80, 0)}],
     "{none}, but its runs disagree."),
    ([{"uploads": (12, 5), "downloads": (80, 0)}], "{none}, but it lost 5 %."),
    ([{"uploads": (12, 0), "downloads": (80, 0)}],
     "{none}, but it added 80 ms under busy downloads."),
    ([{"uploads": (12, 0), "downloads": (5, 7)}],
     "{none}, but it lost 7 % under busy downloads."),
    ([{"uploads": (12, 0), "downloads": (5, 0)}, {"uploads": (12, 0), "downloads": (50, 0)}],
     "{none}, but its runs disagree under busy downloads."),
    ([{"uploads": (12, 0)}], "Use police: here they then added 12 ms."),
])
def test_setting_that_adds_little_and_is_not_advised_is_told_with_the_reason(
        other: list[Mapping[str, tuple[float, float]]], sentence: str) -> None:
    """It stood there as the least that was measured, and above 30 ms."""
    none = "Nothing that was measured can be advised instead: least added police, 12 ms"
    assert output(of_loads("no_aqm", {"uploads": (400, 0)}), of_loads("police", *other)).endswith(
        f"calls break. {sentence.format(none=none)}")


@pytest.mark.parametrize(("other", "sentence"), [
    ([{"uploads": (5, 4)}], "Nothing that was measured kept losses below 3 %."),
    ([{"uploads": (5, 1)}, {"uploads": (80, 1)}],
     "{none}, but its runs disagree."),
    ([{"uploads": (5, 1), "downloads": (5, 7)}], "{none}, but it lost 7 % under busy downloads."),
    ([{"uploads": (5, 1)}], "Use police: here they then added 5 ms and lost 1 % of the probes."),
])
def test_setting_that_loses_little_and_is_not_advised_is_told_with_the_reason(
        other: list[Mapping[str, tuple[float, float]]], sentence: str) -> None:
    none = "Nothing that was measured can be advised instead: least lost police, 1 %"
    worst = of_loads("no_aqm", {"uploads": (5, 18)})
    assert output(worst, of_loads("police", *other)).endswith(
        f"get lost. {sentence.format(none=none)}")


def test_setting_that_was_measured_under_fewer_loads_is_not_advised() -> None:
    """Nor is one whose losses are not known said to have kept them low."""
    worst = of_loads("no_aqm", {"uploads": (400, 0), "downloads": (5, 0)})
    assert output(worst, of_loads("police", {"uploads": (12, 0)})).endswith(
        "least added police, 12 ms, but it was not measured under busy downloads.")
    worst = of_loads("no_aqm", {"uploads": (5, 18), "downloads": (5, 0)})
    assert output(worst, of_loads("police", {"uploads": (5, 1)})).endswith(
        "least lost police, 1 %, but it was not measured under busy downloads.")
    unknown = Configuration("police", [Measured(20.0, {"uploads": 25.0}, {}, {}, "no numbers")])
    assert "least lost" not in output(worst, unknown)


def test_queue_that_is_good_in_all_conditions_goes_before_others() -> None:
    def of(name: str, added_ms: float) -> Configuration:
        return Configuration(name, [run(added_ms, added_ms)], managed=name != "no_aqm")

    sentences = advise({"10 Mbit/s": [of("no_aqm", 500), of("codel", 5), of("sfq", 6)],
                        "1 Mbit/s": [of("no_aqm", 400), of("codel", 60), of("sfq", 20)]})
    assert sentences == [
        "Busy downloads or uploads add 500 ms with no_aqm (10 Mbit/s): calls break.",
        "Use sfq: here they then added 6 ms."]


def test_fault_names_both_directions_where_both_are_bad() -> None:
    """Of one alone it would seem that the other is well. A direction that loses packets, too, has
    its own number."""
    def fault(**of_run: Any) -> str:
        return output(Configuration("SQM off", [run(**of_run)], managed=False)).partition(":")[0]

    assert fault(down_ms=420, up_ms=440) == "Busy uploads add 440 ms, busy downloads 420 ms"
    assert fault(down_ms=441, up_ms=440) == "Busy downloads or uploads add 440 ms"
    assert fault(down_ms=29, up_ms=440) == "Busy uploads add 440 ms"
    assert fault(down_ms=31, up_ms=440) == "Busy uploads add 440 ms, busy downloads 31 ms"


def test_remedy_is_the_same_in_any_order_of_the_settings() -> None:
    """Of the queues that do as well, all with its rates are named, the one that adds least first,
    of equal ones by name."""
    off = Configuration("SQM off", [run(5, 620, mbps=(40, 10))], managed=False)
    calm, same = (sqm(0.9, run(2, 2, mbps=(36, 9)), aqm=aqm) for aqm in ("fq_codel", "cake"))
    other = sqm(0.89, run(2.01, 2.01, mbps=(35.9, 9)), aqm="sfq")
    for settings in ((off, calm, same, other), (same, other, off, calm)):
        assert "Set SQM to 36/9 Mbit/s (90 % of 40/10), with cake or fq_codel:" in output(*settings)
    calmer = sqm(0.9, run(1.98, 1.98, mbps=(36, 9)), aqm="fq_codel")
    assert ", with fq_codel or cake: here they then added 2 ms" in output(off, same, calmer)


def test_no_setting_leads_among_those_that_add_the_same() -> None:
    """Though one of them adds a little less than the others."""
    worst, alike, better = (of_loads(name, {"uploads": (added_ms, 0)}) for name, added_ms in (
        ("10 Mbit/s", 500.4), ("20 Mbit/s", 500), ("30 Mbit/s", 400)))
    assert output(worst, alike).endswith("Nothing that was measured kept it below 30 ms.")
    assert output(worst, alike, better).endswith("below 30 ms; least added 30 Mbit/s, 400 ms.")


def test_lost_packets_are_said_as_such() -> None:
    assert output(line(run(up_ms=math.inf))).startswith(
        "At least half of the probes are lost while uploads keep the line busy.")


def test_too_few_probes_carry_no_advice() -> None:
    def samples(count: int) -> Samples:
        return Samples(numpy.arange(float(count)), numpy.full(count, 20.0), 1.0, 100.0)

    assert isinstance(measured_of_samples(samples(10), {"uploads": samples(10)}, {}), Measured)
    for idle, loaded, why in (
            (9, {"uploads": samples(10)}, "it takes 10 probes on the idle line, and there are 9"),
            (10, {"uploads": samples(9)},
             "it takes 10 probes while uploads keep the line busy, and there are 9"),
            (10, {}, "nothing loads the line")):
        assert measured_of_samples(samples(idle), loaded, {}) == Unavailable(why)


def test_report_of_speedtest_says_where_its_advice_is() -> None:
    """Its idle line is a run of its own, of which there is no file. Other tests have one file."""
    data = load(RUNS / "speedtest_sequential.flent.gz")
    for name, samples in data["raw_values"].items():
        if name.startswith("Ping"):
            data["raw_values"][name] = samples[::50]
    one = as_run(as_data_file(data, RUNS))
    without = measured(one)
    assert isinstance(without, Unavailable)
    assert without.because.startswith("it takes 10 probes on the idle line, and there are ")
    assert "; what `flent-aqm speedtest -i -s` measures of the idle line" in without.because
    other = measured(replace(one, settings={**one.settings, "test": "rrul"}))
    assert isinstance(other, Unavailable)
    assert "speedtest -i" not in other.because


def test_configuration_with_a_run_that_tells_nothing_is_left_out_and_named() -> None:
    """With the reason, also where nothing is left that advice could be about."""
    cake = tried("cake", [(MODEM, run()), (MODEM, Unavailable("it has no clock"))])
    assert output(cake) == "No advice: in 1 of 2 runs it has no clock."
    assert output(Configuration("no_aqm", [run(5, 5)]), cake) == (
        "Busy downloads or uploads add no more than 5 ms in the median: calls and games run "
        "well, and nothing has to be changed. This leaves out cake: in 1 of 2 runs it has no "
        "clock.")
    assert advise({"": []}) == []


def test_no_more_than_three_are_named_as_left_out_each_with_its_condition() -> None:
    none = [tried(name, [({}, Unavailable("it rained"))]) for name in ("a", "b", "c", "d")]
    fine = Configuration("no_aqm", [run(5, 5)])
    assert advise({"20 Mbit/s": [fine, *none[:1]], "50 Mbit/s": none[1:3]})[-1] == (
        "This leaves out a (20 Mbit/s), b (50 Mbit/s), c (50 Mbit/s): it rained.")
    assert advise({"": [fine, *none]})[-1] == "This leaves out a, b, c and 1 more: it rained."


def test_runs_that_load_different_directions_carry_no_advice() -> None:
    down, up = (Measured(10.0, {busy: 20.0}, {}) for busy in ("downloads", "uploads"))
    assert output(Configuration("x", [down, up])) == (
        "No advice: the runs of one setting load different directions.")


@pytest.mark.parametrize(("settings", "managed"), [
    ({}, None), ({"aqm": "no_aqm"}, False), ({"aqm": "sfq"}, True),
    ({"aqm": "sfq", "up_aqm": "no_aqm"}, False), ({**MODEM, "shaper": "none"}, False),
    (MODEM, True)])
def test_settings_tell_what_the_router_does(
        settings: dict[str, Any], managed: bool | None) -> None:
    one = tried("x", [(settings, run())])
    assert one.managed is managed


@pytest.mark.parametrize(("least_ms", "disagree"), [(29.9, True), (30, False)])
def test_run_that_adds_30_ms_is_as_bad_as_one_that_adds_more(
        least_ms: float, disagree: bool) -> None:
    """DSLReports' grade of 30 ms is the worse one."""
    text = output(line(run(up_ms=least_ms), run(up_ms=80)))
    assert text.startswith("The runs with the line disagree") is disagree
    assert ("nothing has to be changed" in output(line(run(up_ms=least_ms)))) is disagree


def test_remedy_whose_throughput_is_not_known_has_no_price() -> None:
    """As where the speed test gave none."""
    bad = Configuration("no_aqm", [Measured(20.0, {"uploads": 400.0}, {})])
    good = Configuration("fq_codel", [Measured(20.0, {"uploads": 25.0}, {"upload": 9.5})])
    assert output(bad, good).endswith("Use fq_codel: here they then added 5 ms.")


@pytest.mark.parametrize(("mbps", "price"), [(39.7, ""), (39.5, ", at 1 % less throughput"),
                                             (41.0, "")])
def test_remedy_that_costs_over_a_hundredth_says_so(mbps: float, price: str) -> None:
    bad = Configuration("no_aqm", [Measured(20.0, {"uploads": 400.0}, {"upload": 40.0})])
    good = Configuration("fq_codel", [Measured(20.0, {"uploads": 25.0}, {"upload": mbps})])
    assert output(bad, good).endswith(f"here they then added 5 ms{price}.")


@pytest.mark.parametrize(("mbps", "price"), [
    ((87.2, 7.8), ", at 22 % less upload and 490 % more download throughput"),
    ((14.75, 7.8), ", at 22 % less upload throughput"),
    ((14.0, 9.0), ", at 5 % less download and 10 % less upload throughput"),
    ((13.32, 9.0), ", at 10 % less throughput"),
    ((14.0, 11.0), ", at 5 % less download and 10 % more upload throughput"),
    ((87.2, 9.95), "")])
def test_price_of_a_remedy_names_the_direction_that_pays_it(
        mbps: tuple[float, float], price: str) -> None:
    """One number is of both directions only if both lose as much. The first is as where
    acknowledgements of a download waited in the upload's queue."""
    both = dict(zip(("download", "upload"), mbps, strict=True))
    bad = Configuration("no_aqm", [Measured(20.0, {"uploads": 400.0}, {
        "download": 14.8, "upload": 10.0})])
    good = Configuration("cake", [Measured(20.0, {"uploads": 25.0}, both)])
    assert output(bad, good).endswith(f"here they then added 5 ms{price}.")


@pytest.mark.parametrize(("shares_pct", "advice"), [
    (({"upload": 39.4}, {"upload": 12.0}), "No advice: the test carried at most 39 % of what the "),
    (({"upload": 39.4}, {"upload": 51.0}), "Busy uploads add no more than "),
    (({"download": 97.0, "upload": 5.0}, {"upload": 5.0}), "Busy uploads add no more than "),
    (({"upload": 39.4}, {}), "Busy uploads add no more than ")])
def test_line_that_was_never_busy_is_not_called_good(
        shares_pct: tuple[dict[str, float], ...], advice: str) -> None:
    """Any run that kept it busy, or whose rate isn't known, is enough to say so."""
    tried = [Configuration(f"queue{number}", [
        Measured(20.0, {"uploads": 20.5}, {"upload": 4.7}, utilisation_pct=share)])
        for number, share in enumerate(shares_pct)]
    assert advise({"": tried})[0].startswith(advice)


@pytest.mark.parametrize(("downloads_pct", "slack"), [
    (50.0, ""), (13.4, (" Downloads carried at most 13 % of what the line can: how its queues "
                        "behave when they keep it busy is not known."))])
def test_direction_that_was_never_busy_is_not_called_good(downloads_pct: float, slack: str) -> None:
    """A lossy line lets TCP fill the slow direction only. What another direction carried at another
    time tells nothing of it; at the same time it does."""
    def one(*loads: str) -> Configuration:
        return Configuration("x", [Measured(
            20.0, dict.fromkeys(loads, 20.5), {},
            utilisation_pct={"download": downloads_pct, "upload": 60.0})])

    text = output(one("downloads", "uploads"))
    assert text == (
        f"Busy uploads add no more than 0.5 ms in the median, which is good.{slack}" if slack else
        "Busy downloads or uploads add no more than 0.5 ms in the median: calls and games run "
        "well, and nothing has to be changed.")
    for loads in ("downloads", BOTH):
        assert output(one(loads)).endswith("nothing has to be changed.")
    assert output(replace(one("downloads", "uploads"), runs=[
        *one("downloads", "uploads").runs, replace(one("downloads", "uploads").runs[0],
                                                   utilisation_pct={})])).startswith(
        "Busy downloads or uploads add no more than ")


def test_bad_line_is_told_though_the_test_carried_little() -> None:
    """Latency that was seen needs no busy line to be true."""
    bad = Configuration("no_aqm", [Measured(20.0, {"uploads": 400.0}, {"upload": 4.7},
                                            utilisation_pct={"upload": 39.4})])
    assert advise({"": [bad]})[0].startswith("Busy uploads add ")
