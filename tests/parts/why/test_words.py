# SPDX-License-Identifier: GPL-3.0-or-later
"""Each sentence, with records that make it true and records that make it false."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flent_aqm.parts.why.command import WIDTH, as_text
from flent_aqm.parts.why.story import (
    CARDS_AND_PROCESSOR,
    ROUNDED,
    Cause,
    Decisions,
    DropOrMark,
    Idle,
    Share,
    StandingQueue,
    Story,
    TimePart,
)
from flent_aqm.parts.why.what_if import RunOutcome
from flent_aqm.parts.why.words import behind, concluding, did, since, title, where

STANDING = StandingQueue(Cause.FILLS, 5.2, 6.0, "the test's upload", 1, 20.8, 20.0,
                    (59.0, 155.0), 0.0)
STORY = Story(
    "Ping (ms) UDP irtt", 599, 5.99, 63.32, [TimePart("base delay", 20.0), TimePart("up", 43.316),
                       TimePart("client side", 0.004)],
    "up", 43.316, [Share("the test's upload", 71, 107.5), Share("the probes", 4, 0.4)],
    False, STANDING, Decisions("pie", [DropOrMark(5.9, "the test's upload", marked=False)], 709.6,
                               Idle.ACTED, 80, 1000))


def _story(cause: Cause, **changes: Any) -> Story:
    return replace(STORY, standing=replace(STANDING, cause=cause, **changes))


def test_parts_add_up_or_what_is_missing_is_told() -> None:
    assert where(STORY) == ("20.00 ms base delay + 43.32 ms in the router's "
                            "upload queue + 0.004 ms elsewhere = 63.32 ms.")
    assert "can't be told" not in where(STORY)
    assert "1000 us can't be told" in where(replace(STORY, rtt_ms=64.32))


def test_probe_without_a_wait_is_told_as_that() -> None:
    parts = [TimePart("up", 0.0), TimePart("client side", 0.008)]
    short = replace(STORY, rtt_ms=0.008, parts=parts)
    assert where(short) == "0.008 ms in all, less than 0.05 ms of it in any place."
    assert where(replace(short, rtt_ms=0.018)) == (
        "0.018 ms in all, less than 0.05 ms of it in any place; 10 us can't be told.")


def test_time_in_the_router_outside_of_its_queue_has_a_place() -> None:
    slow = replace(STORY, rtt_ms=50.0, parts=[TimePart("base delay", 20.0), TimePart("up", 0.0),
                                              TimePart(CARDS_AND_PROCESSOR, 30.0)])
    assert where(slow) == ("20.00 ms base delay + 30.00 ms in the router's cards and processor "
                           "= 50.00 ms.")


def test_lost_probe_is_told_where_it_was_dropped_or_that_it_was_not() -> None:
    lost = replace(_story(Cause.DROPPED), rtt_ms=None, parts=[])
    assert where(lost) == "It was dropped at the router's upload queue."
    inside = replace(lost, standing=_story(Cause.INSIDE).standing)
    assert where(inside) == "It was still in the router's upload queue when the capture ended."
    by_link = replace(lost, place="up (modem)", standing=_story(Cause.LOST).standing)
    assert where(by_link) == "It was lost on the link behind the modem's upload queue."
    either = replace(by_link, standing=_story(Cause.DROPPED_OR_LOST).standing)
    assert where(either) == ("It was dropped at the modem's upload queue, or lost on the link "
                             "behind it.")
    assert (by_link.bottleneck, either.bottleneck, lost.bottleneck) == ("", "up (modem)", "up")
    assert "router passed it on" in where(replace(lost, standing=STANDING))
    assert "never came back" in title(lost, 20.0)
    assert "took 63.32 ms (median before the load: 20.00 ms)" in title(STORY, 20.0)
    assert "before the load" not in title(STORY, None)


def test_packets_ahead_are_counted_by_flow() -> None:
    assert behind(STORY) == ("In the router's upload queue, 75 packets, 107.9 kB, were ahead "
                             "of it: 71 of the test's upload, 107.5 kB; 4 of the probes, 0.4 kB.")
    assert "were sent before its turn" in behind(replace(STORY, flow_queueing=True))
    assert "1 packet, 1.5 kB, was ahead of it: 1 of ping, 1.5 kB." in behind(
        replace(STORY, behind=[Share("ping", 1, 1.5)]))
    assert behind(replace(STORY, behind=[])).startswith("No packet left")
    # There was no departure.
    dropped = replace(STORY, behind=[], standing=replace(STORY.standing, cause=Cause.DROPPED))
    assert behind(dropped) == "No packet was ahead of it in the router's upload queue."
    many = [Share(name, packets, 1.0) for name, packets in (
        ("a", 9), ("b", 8), ("c", 7), ("d", 6), ("e", 5))]
    assert behind(replace(STORY, behind=many)).startswith(
        "In the router's upload queue, 35 packets, 5.0 kB, were ahead of it: ")
    assert behind(replace(STORY, behind=many)).endswith("7 of c, 1.0 kB; 11 of 2 others.")
    assert behind(replace(STORY, behind=many[:4])).endswith("7 of c, 1.0 kB; 6 of d, 1.0 kB.")


# Words that a sentence has for its own cause alone.
_WORDS = {
    Cause.FILLS: "keeps the queue filled", Cause.BUNCH: "in a bunch",
    Cause.SLOW_START: "slow start",
    Cause.BANDWIDTH_PROBE: "probes for bandwidth", Cause.CARD: "interrupt moderation",
    Cause.TIMEOUT: "retransmission timeout", Cause.BURST: "then sent a burst",
    Cause.NOT_TCP: "is not TCP", Cause.DIP: "slower than its usual",
    Cause.STOP: "stood still", Cause.SENDING: "still sending a packet",
    Cause.SHARED_BUCKET: "in one bucket", Cause.TURN: "before the probe's turn",
    Cause.PROCESSOR: "processor was busy", Cause.WIFI: "Wi-Fi channel",
    Cause.DROPPED: "dropped the probe", Cause.LOST: "link lost the probe at random",
    Cause.DROPPED_OR_LOST: "don't tell which",
    Cause.INSIDE: "before the probe left",
    Cause.NO_QUEUE: "No queue of the router",
    Cause.CANT_TELL: "can't tell why",
}


@pytest.mark.parametrize("cause", Cause)
def test_each_cause_has_a_sentence_of_its_own(cause: Cause) -> None:
    sentence = since(_story(cause, silence_ms=471.0)).lower()
    assert [one for one, words in _WORDS.items() if words.lower() in sentence] == [cause]


def test_standing_queue_is_told_with_its_time_only_if_it_stood_before_the_probe() -> None:
    assert since(STORY).startswith("When the probe left, packets had waited longer than 5 ms for "
                                   "800 ms, since 5.200 s: the test's upload keeps")
    assert since(_story(Cause.FILLS, since_s=5.99)).startswith("The test's upload keeps")
    assert since(replace(_story(Cause.DROPPED), waited_ms=0.0)).startswith(
        "When the probe came, packets had waited longer than 5 ms for 800 ms, since 5.200 s: the "
        "queue dropped the probe")
    assert "155 kB in flight, and 59 kB when" in since(STORY)
    assert "in flight" not in since(_story(Cause.FILLS, flight_kb=None))


def test_flow_that_came_to_a_standing_queue_did_not_begin_it() -> None:
    late = _story(Cause.FILLS, first_flow="the cross traffic's upload", joined_s=5.5)
    assert since(late).startswith(
        "When the probe left, packets had waited longer than 5 ms for 800 ms, since 5.200 s, at "
        "first behind the cross traffic's upload, from 5.500 s on also behind the test's upload: "
        "the test's upload keeps the queue filled")
    assert "at first" not in since(_story(Cause.FILLS))


def test_several_flows_of_one_name_are_told_as_several() -> None:
    """Together what they sent and had in flight; of the silent one that it is one of them."""
    four = since(_story(Cause.FILLS, flows=4))
    assert "the 4 flows of the test's upload keep the queue filled: their windows" in four
    assert "they had 155 kB" in four
    assert "flows" not in since(_story(Cause.FILLS))
    small = "the test's small flows"
    assert since(_story(Cause.FILLS, flow=small, flows=4, since_s=6.0)).startswith(
        "4 of the test's small flows keep the queue filled")
    assert since(_story(Cause.FILLS, flow=small, since_s=6.0)).startswith(
        "One of the test's small flows keeps the queue filled")
    assert since(_story(Cause.SLOW_START, flow=small, flows=4, since_s=6.0)).startswith(
        "One of the test's small flows is in slow start")
    timeout = since(_story(Cause.TIMEOUT, flows=4, silence_ms=300.0))
    assert "one of 4 flows of the test's upload was silent for 300 ms" in timeout
    assert "their packets came at" in timeout


@pytest.mark.parametrize(("rate_mbps", "line_mbps", "told"), [
    (20.8, 20.0, "its packets came at 20.8 Mbit/s, and the line carries 20.0"),
    (10.5, 20.0, ("its packets came in bursts, at 10.5 Mbit/s on average, and the line carries "
                  "20.0")),
    (10.5, 0.0, "its packets came at 10.5 Mbit/s;")])
def test_queue_of_a_flow_slower_than_the_line_comes_of_its_bursts(
        rate_mbps: float, line_mbps: float, told: str) -> None:
    """A rate below the line's explains no queue. A rate that isn't known is not told."""
    assert told in since(_story(Cause.SLOW_START, rate_mbps=rate_mbps, line_mbps=line_mbps))


def test_series_is_told_unless_it_is_the_usual_one() -> None:
    assert title(STORY, 20.0).startswith("Probe 599, sent 5.990 s")
    assert title(replace(STORY, series="Ping (ms) UDP BE"), 20.0).startswith(
        "Probe 599 of Ping (ms) UDP BE, sent")


def test_negative_part_is_subtracted() -> None:
    """ping rounds its times."""
    parts = [TimePart("base delay", 20.0), TimePart("up", 43.64), TimePart(ROUNDED, -0.32)]
    assert "queue - 0.32 ms client side and ping's rounding = 63.32 ms." in where(
        replace(STORY, parts=parts))


def test_what_the_queue_did_is_told_and_why_it_did_nothing() -> None:
    assert did(STORY) == ("Until then pie dropped 1 packet of the test's upload, the first 710 ms "
                          "after packets began to wait longer than 5 ms.")
    losses = [DropOrMark(5.9, name, marked=marked) for name, marked in (
        ("the upload", False), ("ping", True), ("the upload", False), ("the probes", False))]
    assert ("dropped 2 packets of the upload, 1 of the probes and marked 1 packet of ping, the"
            ) in did(replace(STORY, decisions=replace(STORY.decisions, losses=losses)))
    calm = did(replace(STORY, decisions=replace(STORY.decisions, first_after_ms=None)))
    assert calm == ("While the probe was there, and in the 10 ms before, pie dropped 1 packet of "
                    "the test's upload.")
    marked = replace(STORY.decisions, losses=[DropOrMark(5.9, "ping", marked=True)])
    assert "then pie marked 1 packet of ping" in did(replace(STORY, decisions=marked))
    nothing = {idle: did(replace(STORY, decisions=Decisions("x", (), None, idle, 552, 1000)))
               for idle in Idle if idle is not Idle.ACTED}
    assert "552 of its 1,000 packets" in nothing[Idle.NEVER_FULL]
    assert "PIE lets a burst pass" in nothing[Idle.BURST_ALLOWANCE]
    assert "CoDel waits for an interval" in nothing[Idle.INTERVAL]
    assert "no packet waited longer than 5 ms" in nothing[Idle.BELOW_TARGET]
    assert "don't tell why" in nothing[Idle.CANT_TELL]
    assert all(" because " not in sentence for idle, sentence in nothing.items()
               if idle is Idle.CANT_TELL)
    assert len(set(nothing.values())) == len(nothing)


# The probe is in the second of the run's two glitches.
WAS = RunOutcome("nothing changed", 95.0, 80.0, 10.0, 18.9, sent_s=5.5,
              glitches=[(1.0, 2.0), (5.0, 6.0)])
GONE = RunOutcome("aqm=sfq", 20.1, 22.0, 0.0, 18.9, glitches=[])
FIRST_STAYS = replace(GONE, glitches=[(1.5, 2.5)], glitches_per_minute=5.0)
MOVED = RunOutcome("aqm=codel", 21.0, 30.0, 9.5, 18.8, glitches=[(1.5, 2.5), (7.0, 8.0)])
SHORTER = replace(MOVED, glitches=[(1.5, 2.5), (5.6, 5.7)])
UNKNOWN = replace(MOVED, glitches=None, glitches_per_minute=None)
STAYS = RunOutcome("aqm_limit=500", 60.0, 70.0, 10.0, 18.9)
LOST = RunOutcome("aqm=pie", None, 70.0, 10.0, 18.9)
# A link loses single probes: at 3 s and 5.5 s with the change, of which the second is the probe.
SINGLE = [(3.0, 3.01), (5.5, 5.51)]
ELSEWHERE = replace(GONE, sent_s=5.5, glitches=SINGLE[:1], glitches_per_minute=6.0,
                    lost_alone=SINGLE[:1])
BY_CHANCE = replace(ELSEWHERE, probe_ms=None, glitches=SINGLE, lost_alone=SINGLE)
SLOW_TOO = replace(ELSEWHERE, glitches=[(2.5, 2.7), SINGLE[0]], glitches_per_minute=12.0)
# The load had ended before the probe was sent.
OVER = replace(GONE, sent_s=5.5, load_end_s=5.0)
OVER_BUT_SLOW = replace(OVER, glitches=[(5.0, 5.1)], glitches_per_minute=6.0)


@pytest.mark.parametrize(("sentence", "true", "false"), [
    ("Removes the glitch: aqm=sfq (20.1 ms).", [GONE], [MOVED]),
    ("Removes the glitch: aqm=sfq (20.1 ms, 1 glitch elsewhere in the run stays).", [FIRST_STAYS],
     [GONE]),
    ("(20.1 ms, 2 glitches elsewhere in the run stay, upload 18.9 to 12.0 Mbit/s).",
     [replace(FIRST_STAYS, glitches=[(1.0, 1.2), (1.7, 1.9)], upload_mbps=12.0)],
     [FIRST_STAYS]),
    ("Removes the glitch", [FIRST_STAYS], [SHORTER]),
    ("None of these changes removes the glitch.", [MOVED, SHORTER, STAYS], [FIRST_STAYS, STAYS]),
    ("None of these changes removes the glitch.", [MOVED, STAYS], [GONE, STAYS]),
    ("Spares this probe, but not others: aqm=codel (21.0 ms, 9.5 glitches/min).", [GONE, MOVED],
     [GONE, STAYS]),
    ("Does not remove it: aqm_limit=500 (60.0 ms).", [STAYS], [GONE]),
    ("Does not remove it: aqm=pie (lost).", [LOST], [replace(LOST, probe_ms=20.0)]),
    ("Spares this probe; there are too few probes to tell about others: aqm=codel (21.0 ms).",
     [UNKNOWN], [MOVED]),
    ("None of these changes removes the glitch.", [STAYS],
     [UNKNOWN, STAYS]),
    ("Spares this probe, but not others", [MOVED], [UNKNOWN]),
    ("(20.1 ms, upload 18.9 to 12.0 Mbit/s)", [replace(GONE, upload_mbps=12.0)],
     [replace(GONE, upload_mbps=18.0)]),
    ("Removes the glitch: aqm=sfq", [GONE], [replace(GONE, fault="refused"), STAYS]),
    ("Each is one run on the same seed: flows react", [GONE], []),
    # Lost probes alone, where the link loses packets at random, say nothing of a queue.
    ("Removes the glitch: aqm=sfq (20.1 ms).", [ELSEWHERE], [replace(ELSEWHERE, lost_alone=[])]),
    ("Removes the glitch: aqm=sfq (lost at random).", [BY_CHANCE],
     [replace(BY_CHANCE, lost_alone=SINGLE[:1])]),
    ("Spares this probe, but not others: aqm=sfq (20.1 ms, 6.0 glitches/min).", [SLOW_TOO],
     [ELSEWHERE]),
    ("The link loses packets at random, so glitches of lost probes", [ELSEWHERE], [GONE]),
    ("Removes the glitch: aqm=sfq (20.1 ms after the load had ended).", [OVER],
     [replace(OVER, load_end_s=6.0)]),
    ("Does not remove it: aqm=sfq (20.1 ms after the load had ended, 6.0 glitches/min).",
     [OVER_BUT_SLOW], [replace(OVER_BUT_SLOW, load_end_s=6.0), OVER]),
    ("Spares this probe, but not others", [replace(OVER_BUT_SLOW, load_end_s=6.0)],
     [OVER_BUT_SLOW]),
    ("Removes the glitch: aqm=sfq (not sent, as the run had ended).",
     [replace(OVER, probe_ms=None, was_sent=False)], [replace(OVER, probe_ms=None)]),
])
def test_conclusion_on_changes_has_data_that_make_it_true_and_false(
        sentence: str, true: list[RunOutcome], false: list[RunOutcome]) -> None:
    """The median before the load is 20 ms, so a glitch takes more than 50 ms."""
    assert sentence in concluding([WAS, *true], 20.0)
    assert sentence not in concluding([WAS, *false], 20.0)


def test_probe_that_the_link_lost_is_not_told_to_be_removed() -> None:
    """Any change moves the losses to other probes, and says nothing of their cause."""
    was = replace(WAS, probe_ms=None, glitches=[SINGLE[1]], lost_alone=[SINGLE[1]])
    told = concluding([was, ELSEWHERE], 20.0)
    assert "Spares this probe, but not others: aqm=sfq (20.1 ms, 6.0 glitches/min)." in told
    assert "at random" not in told


def test_conclusion_needs_a_glitch_and_the_usual_time() -> None:
    calm = replace(WAS, probe_ms=50.0)
    assert concluding([calm, GONE, MOVED], 20.0).startswith(
        "The probe was no glitch, which is 30 ms longer than before the load. Fastest: aqm=sfq (")
    for slower in (STAYS, LOST, replace(GONE, probe_ms=49.95), OVER):
        assert "None of these changes made it faster" in concluding([calm, slower], 20.0)
    assert "no glitch" not in concluding([replace(WAS, probe_ms=50.1), GONE], 20.0)
    assert "no glitch" not in concluding([replace(WAS, probe_ms=None), GONE], 20.0)
    assert concluding([WAS, GONE], None).startswith("Can't tell what removes the glitch")
    assert not concluding([WAS], 20.0)


def test_conclusion_names_the_changes_that_failed() -> None:
    refused = [RunOutcome(f"aqm={name}", fault="refused") for name in ("x", "y")]
    assert concluding([WAS, refused[0]], 20.0) == "Failed, so nothing is known of it: aqm=x."
    both = concluding([WAS, GONE, *refused], 20.0)
    assert "Removes the glitch: aqm=sfq (" in both
    assert "Failed, so nothing is known of them: aqm=x, aqm=y. Each is one run" in both
    assert "Failed" not in concluding([WAS, GONE, STAYS], 20.0)


@pytest.mark.parametrize("outcomes", [[WAS], [WAS, STAYS]])
def test_probe_in_the_modem_is_told_that_the_routers_queue_is_not_the_bottleneck(
        outcomes: list[RunOutcome]) -> None:
    """Also where nothing could be tried. Not where a change removes the glitch or spares the probe,
    so that it has moved the queue, or at a router."""
    sentence = ("The bottleneck is the modem's upload queue, not the router's: only a shaper below "
                "the modem's rate (rate_mbps) moves the queue to the router.")
    assert sentence in concluding(outcomes, 20.0, "up (modem)")
    for moved in (GONE, MOVED, FIRST_STAYS):
        assert sentence not in concluding([*outcomes, moved], 20.0, "up (modem)")
    assert "bottleneck" not in concluding(outcomes, 20.0, "up")
    refused = concluding([WAS, RunOutcome("aqm=x", fault="refused")], 20.0, "up (modem)")
    assert refused.startswith(sentence)
    assert "Failed, so nothing is known of it: aqm=x." in refused
    # A shaper doesn't help a line that stands still.
    still = concluding(outcomes, 20.0, "up (modem)", Cause.STOP)
    assert "The line itself stood still" in still
    assert "shaper" not in still
    assert sentence in concluding(outcomes, 20.0, "up (modem)", Cause.DIP)


def test_terminal_gets_every_row_in_80_columns() -> None:
    """Rows were left out from the 25th line on, also of changes that the user had asked for."""
    story = replace(STORY, behind=[Share("acknowledgements of the cross traffic's download", 10**5,
                                         1e6)] * 9)
    outcomes = [RunOutcome(f"aqm=fq_codel,rate_mbps={number}", 20.0, None, 1.0, 9.0)
                for number in range(30)]
    refused = RunOutcome("aqm=cake", fault="no module " * 30 + "of it")
    text = as_text(story, [*outcomes, refused], 20.0, "a setting, " * 40)
    assert max(map(len, text)) <= WIDTH
    assert " ".join(" ".join(text).split()).count("a setting,") == 40
    assert sum(line.startswith("aqm=fq_codel,rate") for line in text) == 30
    at = next(number for number, line in enumerate(text) if line.startswith("aqm=cake: failed: no"))
    assert any(line.strip().endswith("of it") for line in text[at:])
    short = as_text(STORY, [WAS, GONE, MOVED, STAYS], 20.0, "no_aqm, limit 1000 packets")
    assert short[0] == "Run     no_aqm, limit 1000 packets"
    assert len({len(line) for line in short if line.startswith(("nothing", "aqm"))}) == 1
