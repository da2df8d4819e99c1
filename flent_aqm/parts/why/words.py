# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes sentences of a story's records. Each sentence says what the records hold, and nothing is
said that the packets don't show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flent_aqm.base.words import counted, plain
from flent_aqm.parts.why.flow_names import DIRECTION, SMALL_FLOWS
from flent_aqm.parts.why.story import (
    CARDS_AND_PROCESSOR,
    STANDING_MS,
    Cause,
    Decisions,
    Idle,
    Share,
    StandingQueue,
    Story,
)
from flent_aqm.parts.why.what_if import (
    RunOutcome,
    Verdict,
    in_modem,
    is_glitch,
    judge,
    that_count,
)
from flent_aqm.results.metrics.delay_parts import PROBES
from flent_aqm.results.metrics.latency import LISTED_GLITCH_MS

# Parts shorter than this are left out of the sum, and named as the rest.
_SMALL_MS = 0.05
_MOST_NAMED = 3


def title(story: Story, idle_ms: float | None) -> str:
    """Return the heading: "Probe 7, sent 0.140 s after the first, took 90.12 ms (median before the
    load: 20.31 ms)", or "Probe 7 of SERIES, …" for a series other than PROBES. A lost one "never
    came back".

    Args:
        story: the explanation.
        idle_ms: median RTT before the load, None if it isn't known. Then the heading lacks it.
    """
    idle = "" if idle_ms is None else f" (median before the load: {idle_ms:.2f} ms)"
    took = ("never came back" if story.rtt_ms is None
            else f"took {story.rtt_ms:.2f} ms{idle}")
    series = "" if story.series == PROBES else f" of {plain(story.series)}"
    return f"Probe {story.number}{series}, sent {story.sent_s:.3f} s after the first, {took}"


def _place(place: str) -> str:
    """Return the words for a place of a round trip: "the router's upload queue" for "up", "the
    modem's download queue" for "down (modem)". Places that aren't queues are returned as they are.
    """
    direction, _, router = place.partition(" (")
    if direction not in DIRECTION:
        return place
    return f"the {router.removesuffix(')') or 'router'}'s {DIRECTION[direction]} queue"


def _in(place: str) -> str:
    """Return the words for a place of a round trip, with "in" before a queue: "in the router's
    upload queue", or the router's cards and processor. Other places are returned as _place() names
    them."""
    words = _place(place)
    return words if words == place and place != CARDS_AND_PROCESSOR else f"in {words}"


def where(story: Story) -> str:
    """Return the sentence on where the probe's time went, as a sum of waits that gives its round
    trip, with waits below 0.05 ms added up as "elsewhere", or that all are below that. If the parts
    give another sum, by more than 1 us, the sentence tells the difference. For a lost probe: where
    it was dropped or still was when the capture ended, or that the router passed it on, and its
    waits of 0.05 ms or more in the queues that it left."""
    large = [part for part in story.parts if abs(part.ms) >= _SMALL_MS]
    if story.rtt_ms is None:
        told = ", ".join(f"{part.ms:.2f} ms in {_place(part.place)}" for part in large)
        lost = {
            Cause.DROPPED: f"It was dropped at {_place(story.place)}",
            Cause.LOST: f"It was lost on the link behind {_place(story.place)}",
            Cause.DROPPED_OR_LOST: (f"It was dropped at {_place(story.place)}, or lost on the link "
                                    "behind it"),
            Cause.INSIDE: f"It was still in {_place(story.place)} when the capture ended"}.get(
                story.standing.cause, "The router passed it on, so it was lost elsewhere, or its "
                                      "reply came too late")
        return f"{lost}." + (f" Before: {told}." if told else "")
    rest = sum(part.ms for part in story.parts) - sum(part.ms for part in large)
    told = " + ".join(f"{part.ms:.2f} ms {_in(part.place)}" for part in large)
    gap_us = (sum(part.ms for part in story.parts) - story.rtt_ms) * 1000
    missing = "" if abs(gap_us) <= 1 else f"; {-gap_us:.0f} us can't be told"
    if not large:
        return (f"{story.rtt_ms:.3f} ms in all, less than {_SMALL_MS:g} ms of it in any place"
                f"{missing}.")
    tail = f" + {rest:.3f} ms elsewhere" if abs(rest) >= 0.0005 else ""
    told, tail = told.replace("+ -", "- "), tail.replace("+ -", "- ")
    return f"{told}{tail} = {story.rtt_ms:.2f} ms{missing}."


def behind(story: Story) -> str:
    """Return the sentence on the packets ahead of the probe: their number and kB in all and by the
    name of their flows, or that there were none. Of five names or more, the three with the most
    bytes are told, and the number of all other packets."""
    if not story.behind:
        if story.standing.cause in (Cause.DROPPED, Cause.LOST, Cause.DROPPED_OR_LOST, Cause.INSIDE):
            return f"No packet was ahead of it in {_place(story.place)}."
        return f"No packet left {_place(story.place)} between its arrival and its departure."
    packets = sum(share.packets for share in story.behind)
    kb = sum(share.kb for share in story.behind)
    # A single other name is as short as "1 other".
    count = len(story.behind) if len(story.behind) == _MOST_NAMED + 1 else _MOST_NAMED
    named = "; ".join(map(_share, story.behind[:count]))
    if rest := story.behind[count:]:
        named += f"; {sum(share.packets for share in rest):,} of {counted(len(rest), 'other')}"
    verb = (f"{'was' if packets == 1 else 'were'} "
            f"{'sent before its turn' if story.flow_queueing else 'ahead of it'}")
    return f"In {_place(story.place)}, {counted(packets, 'packet')}, {kb:.1f} kB, {verb}: {named}."


def _share(share: Share) -> str:
    """Return packets of a flow in words: number, name of the flow, kB."""
    return f"{share.packets:,} of {share.name}, {share.kb:.1f} kB"


def since(story: Story) -> str:
    """Return the sentence on since when and why the queue stood until the probe left, or came if it
    was dropped, and behind whom it began to, if the flows that are told as the cause came later. If
    it didn't stand longer than the probe waited, or the cause is in _NOT_OF_A_QUEUE, return only
    why."""
    standing = story.standing
    because = _BECAUSE[standing.cause](standing)
    if standing.cause in _NOT_OF_A_QUEUE or standing.until_s <= standing.since_s:
        return because
    lasted_ms = (standing.until_s - standing.since_s) * 1000
    if lasted_ms <= story.waited_ms + 0.001:
        return because
    did = "came" if standing.cause is Cause.DROPPED else "left"
    joined = "" if not standing.first_flow else (
        f", at first behind {standing.first_flow}, from {standing.joined_s:.3f} s on also behind "
        f"{standing.flow}")
    return (f"When the probe {did}, packets had waited longer than {STANDING_MS:g} ms for "
            f"{lasted_ms:,.0f} ms, since {standing.since_s:.3f} s{joined}: "
            f"{because[0].lower()}{because[1:]}")


def _rates(one: StandingQueue) -> str:
    """Return the rates of the flows' packets and of the line, if that is known, as a part of a
    sentence. Packets that came no faster than the line sends on average came in bursts."""
    whose = "its" if one.flows == 1 else "their"
    came = f"{whose} packets came at {one.rate_mbps:.1f} Mbit/s"
    if not one.line_mbps:
        return came
    if one.rate_mbps <= one.line_mbps:
        return (f"{whose} packets came in bursts, at {one.rate_mbps:.1f} Mbit/s on average, and "
                f"the line carries {one.line_mbps:.1f}")
    return f"{came}, and the line carries {one.line_mbps:.1f}"


def _keeps(one: StandingQueue) -> str:
    """Return what one flow does, or several do, that fill a queue, from the verb on and before
    "than the path holds": "keeps the queue filled: its window is larger"."""
    return ("keeps the queue filled: its window is larger" if one.flows == 1
            else "keep the queue filled: their windows are larger")


def _window(one: StandingQueue) -> str:
    """Return the kB in flight when the probe came, and if they were others when the queue began to
    stand, those, as the end of a sentence without its point. "" for flows that are not TCP."""
    if one.flight_kb is None:
        return ""
    before, after = (f"{kb:,.0f} kB" for kb in one.flight_kb)
    who = "it" if one.flows == 1 else "they"
    return f"; {who} had {after} in flight" + (
        "" if before == after else f", and {before} when the queue began to stand")


_NOT_OF_A_QUEUE = (Cause.PROCESSOR, Cause.CARD, Cause.NO_QUEUE, Cause.LOST, Cause.DROPPED_OR_LOST,
                   Cause.INSIDE, Cause.SENDING)
# The sentence for each cause.
_BECAUSE: Mapping[Cause, Callable[[StandingQueue], str]] = {
    Cause.FILLS: lambda one: (
        f"{_who(one)} {_keeps(one)} than the path holds{_window(one)}."),
    Cause.BUNCH: lambda one: (
        f"{_who(one)} sent packets in a bunch: what {'it' if one.flows == 1 else 'they'} had in "
        f"flight fits into the path, which holds {one.path_kb:,.0f} kB{_window(one)}."),
    Cause.SLOW_START: lambda one: (
        f"{_one_of(one)} is in slow start: {_rates(one)}{_window(one)}."),
    Cause.BANDWIDTH_PROBE: lambda one: (
        f"{_one_of(one)} uses BBR and probes for bandwidth: for a round trip it sends a quarter "
        f"faster than the line; {_rates(one)}{_window(one)}."),
    Cause.TIMEOUT: lambda one: (
        f"{_one_of(one)} was silent for {one.silence_ms:.0f} ms and then sent again what "
        f"it had sent before, which is a retransmission timeout; then {_rates(one)}."),
    Cause.BURST: lambda one: (
        f"{_one_of(one)} was silent for {one.silence_ms:.0f} ms and then sent a burst: "
        f"{_rates(one)}."),
    Cause.NOT_TCP: lambda one: (
        f"{_one_of(one)} is not TCP, so the packets don't tell whether and when it slows down: "
        f"{_rates(one)}."),
    Cause.DIP: lambda one: (
        f"The line was slower than its usual {one.line_mbps:.1f} Mbit/s while the probe waited."),
    Cause.STOP: lambda one: (
        f"The line stood still: no packet left for {one.silence_ms:.0f} ms while the probe "
        "waited."),
    Cause.SENDING: lambda one: (
        f"The line was still sending a packet of {one.flow}, which had left the queue before the "
        f"probe came: at {one.line_mbps:.1f} Mbit/s that takes {one.silence_ms:.2f} ms."),
    Cause.TURN: lambda one: (
        f"Fair queueing sent other flows' packets before the probe's turn, most of {one.flow}: no "
        "more than the line sends in that time."),
    Cause.SHARED_BUCKET: lambda one: (
        f"Fair queueing had put the probe behind packets of {one.flow}, in the order in which "
        "they came: both flows are in one bucket of its hash."),
    Cause.PROCESSOR: lambda one: (
        "The router's processor was busy: the packets waited for it in the receive ring of the "
        "router's card, not in the queue."),
    Cause.CARD: lambda one: (
        "The cards of client and server held the packets for the next interrupt, longer than any "
        "queue: their interrupt moderation (host_moderation_us)."),
    Cause.WIFI: lambda one: (
        "The probe waited for the Wi-Fi channel, where stations take turns and packets leave in "
        "aggregates" + (f"; most of them were of {one.flow}." if one.flow else ".")),
    Cause.DROPPED: lambda one: (
        "The queue dropped the probe" + (
            f"; {one.flow} had most of the bytes in it." if one.flow else ".")),
    Cause.LOST: lambda one: (
        "The link lost the probe at random (link_loss, or a trace's loss_pct): its queue dropped "
        "nothing in the run."),
    Cause.DROPPED_OR_LOST: lambda one: (
        "Either the queue dropped it, or the link lost it at random (link_loss, or a trace's "
        "loss_pct): both happened in the run, and the packets don't tell which."),
    Cause.INSIDE: lambda one: (
        "The capture ended before the probe left the queue: whether it would have been dropped is "
        "not known."),
    Cause.NO_QUEUE: lambda one: "No queue of the router held the probe for 1 ms.",
    Cause.CANT_TELL: lambda one: (
        "Can't tell why: the packets at the router show no cause that this command knows."),
}


def _who(one: StandingQueue) -> str:
    """Return the flow at a sentence's beginning. If several flows share its name: "The N flows of
    …". Of small flows: "One of …" or "N of …"."""
    if one.flow.endswith(SMALL_FLOWS):
        return _one_of(one) if one.flows == 1 else f"{one.flows} of {one.flow}"
    return (f"The {one.flows} flows of {one.flow}" if one.flows > 1
            else f"{one.flow[:1].upper()}{one.flow[1:]}")


def _one_of(one: StandingQueue) -> str:
    """Return the flow at a sentence's beginning. If several flows share its name: "One of N flows
    of …". Of small flows always "One of …"."""
    if one.flow.endswith(SMALL_FLOWS):
        return f"One of {one.flow}"
    return f"One of {one.flows} flows of {one.flow}" if one.flows > 1 else _who(one)


def did(story: Story) -> str:
    """Return the sentence on what the queue did: the number of packets that it dropped and marked,
    by names of flows, and when the first was, if the queue stood, or that it did neither, and
    why."""
    one = story.decisions
    if not one.losses:
        return f"{one.aqm} neither dropped nor marked in that time{_idle(one)}."
    counts: dict[tuple[bool, str], int] = {}
    for loss in one.losses:
        key = (loss.marked, loss.name)
        counts[key] = counts.get(key, 0) + 1
    told = " and ".join(
        f"{verb} " + ", ".join(
            f"{counted(number, 'packet') if first == 0 else f'{number:,}'} of {name}"
            for first, (name, number) in enumerate(
                (name, number) for (is_mark, name), number in counts.items() if is_mark is marked))
        for marked, verb in ((False, "dropped"), (True, "marked"))
        if any(is_mark is marked for is_mark, _ in counts))
    if one.first_after_ms is None:
        return (f"While the probe was there, and in the {2 * STANDING_MS:g} ms before, {one.aqm} "
                f"{told}.")
    return (f"Until then {one.aqm} {told}, the first {one.first_after_ms:,.0f} ms after packets "
            f"began to wait longer than {STANDING_MS:g} ms.")


def _idle(one: Decisions) -> str:
    """Return the reason why a queue neither dropped nor marked, or that the packets don't tell it,
    as the end of a sentence without its point."""
    if one.idle is Idle.NEVER_FULL:
        limit = "" if one.limit_packets is None else f" of its {one.limit_packets:,}"
        return (", because a drop-tail queue drops only when it is full: "
                f"{one.most_packets:,}{limit} packets were in it at most")
    if one.idle is Idle.BURST_ALLOWANCE:
        return ", because PIE lets a burst pass for 150 ms"
    if one.idle is Idle.BELOW_TARGET:
        return f", because no packet waited longer than {STANDING_MS:g} ms"
    if one.idle is Idle.INTERVAL:
        return ", because CoDel waits for an interval, 100 ms unless set, above its target"
    return "; the packets don't tell why"


# What the runs with something changed can't show.
LIMITS = ("Each is one run on the same seed: flows react to a change, and another seed may "
          "differ.")
_SPARES = "Spares this probe; there are too few probes to tell about others"
# A change of throughput by more than this share is told with the change.
_CARRIES_LESS = 0.05
# RTTs of two runs that differ by less are told as the same.
_SHOWN_MS = 0.1
_AT_RANDOM = ("The link loses packets at random, so glitches of lost probes alone are not counted "
              "here.")


def concluding(outcomes: Sequence[RunOutcome], idle_ms: float | None, place: str = "",
               cause: Cause | None = None) -> str:
    """Return the sentences on which change removes the glitch and which does not, and on the
    changes whose run failed. If the probe was no glitch, return those on the fastest change
    instead of the former. If no change removes the glitch of a probe that waited in the modem, or
    spares this probe, a sentence says that the router's queue isn't the bottleneck, or that the
    line stood still. It is there, too, if no changed run was made or succeeded. The text ends with
    LIMITS if a changed run succeeded. Return "" for any other probe without changed runs.

    Args:
        outcomes: the run itself first, then the runs with something changed.
        idle_ms: median RTT before the load. With None, the text says that nothing can be told of
            the runs that didn't fail.
        place: place of the queue that is the cause, see Story.bottleneck.
        cause: cause of the wait, None if it isn't known.
    """
    was, *changed = outcomes
    ran = [one for one in changed if not one.fault]
    failed = [one.change for one in changed if one.fault]
    if ran:
        told = _judged(was, ran, idle_ms, place, cause)
    else:
        told = [_not_the_router(place, cause)] if in_modem(place) else []
    if failed:
        told.append(f"Failed, so nothing is known of {'it' if len(failed) == 1 else 'them'}: "
                    f"{', '.join(failed)}.")
    return " ".join([*told, LIMITS] if ran else told)


def _judged(was: RunOutcome, ran: Sequence[RunOutcome], idle_ms: float | None, place: str,
            cause: Cause | None) -> list[str]:
    """Return the sentences of concluding() on changed runs that didn't fail, at least one.

    Args:
        was: outcome of the run itself.
        ran: outcomes of the runs with something changed.
        idle_ms: median RTT before the load, None if it isn't known.
        place: place of the queue that is the cause.
        cause: cause of the wait, None if it isn't known.
    """
    if idle_ms is None:
        return [("Can't tell what removes the glitch: no probe before the load tells how long "
                 "probes take without it.")]
    if not is_glitch(was.probe_ms, idle_ms):
        return [_fastest(was, ran)]
    told = []
    verdicts = [judge(was, one, idle_ms) for one in ran]
    for verdict, words in ((Verdict.REMOVES, "Removes the glitch"),
                           (Verdict.SPARES, _SPARES),
                           (Verdict.MOVES, "Spares this probe, but not others"),
                           (Verdict.KEEPS, "Does not remove it")):
        some = [_changed(was, one, verdict)
                for one, its in zip(ran, verdicts, strict=True) if its is verdict]
        if some:
            told.append(f"{words}: {', '.join(some)}.")
        elif verdict is Verdict.REMOVES and Verdict.SPARES not in verdicts:
            told.append("None of these changes removes the glitch.")
    if not was.is_lost_alone and any(one.lost_alone for one in ran):
        told.append(_AT_RANDOM)
    # A change that spares the probe has moved the queue.
    if in_modem(place) and not {Verdict.REMOVES, Verdict.SPARES, Verdict.MOVES} & {*verdicts}:
        told.append(_not_the_router(place, cause))
    return told


def _not_the_router(place: str, cause: Cause | None) -> str:
    """Return the sentence that the router's queue isn't the bottleneck, and what moves the queue to
    the router, or that nothing does because the line stood still.

    Args:
        place: the modem's queue, see Story.bottleneck.
        cause: cause of the wait, None if it isn't known.
    """
    if cause is Cause.STOP:
        return ("The line itself stood still, so the packets waited wherever they were: no setting "
                "of the router removes that.")
    return (f"The bottleneck is {_place(place)}, not the router's: only a shaper below the "
            "modem's rate (rate_mbps) moves the queue to the router.")


def _fastest(was: RunOutcome, ran: Sequence[RunOutcome]) -> str:
    """Return the sentences on the change with which a probe that was no glitch was fastest, or that
    no change made it faster, by 0.1 ms (_SHOWN_MS) or more. Runs whose load had ended before the
    probe don't count.

    Args:
        was: outcome of the run itself, in which the probe was answered.
        ran: outcomes of the runs with something changed, without failed ones.
    """
    assert was.probe_ms is not None
    before = (f"The probe was no glitch, which is {LISTED_GLITCH_MS:g} ms longer than before the "
              "load. ")
    faster = [one for one in ran if one.probe_ms is not None and not one.is_over
              and one.probe_ms <= was.probe_ms - _SHOWN_MS]
    if not faster:
        return f"{before}None of these changes made it faster."
    best = min(faster, key=lambda one: one.probe_ms or 0.0)
    return f"{before}Fastest: {_changed(was, best, None)}."


def _changed(was: RunOutcome, now: RunOutcome, verdict: Verdict | None) -> str:
    """Return a change in words: what was changed, and in brackets the probe's RTT ("lost" without
    one) and whether load or run had ended before it, the number of other glitches, and the
    throughput before and after of each direction in which it fell by more than 5 %.

    Args:
        was: outcome of the run itself.
        now: outcome of the run with the change.
        verdict: what the change does to the glitch, None if the probe was none. Glitches that count
            are told with REMOVES (those that stay), and with MOVES, or KEEPS where the load had
            ended (all, per minute).
    """
    at_random = verdict is not Verdict.KEEPS and now.is_lost_alone and not was.is_lost_alone
    facts = [f"lost{' at random' if at_random else ''}" if now.probe_ms is None
             else f"{now.probe_ms:.1f} ms"]
    if not now.was_sent:
        facts = ["not sent, as the run had ended"]
    elif now.is_over:
        facts[0] += " after the load had ended"
    others = that_count(was, now)
    if verdict is Verdict.REMOVES and others:
        facts.append(f"{counted(len(others), 'glitch', 'glitches')} elsewhere in the run "
                     f"{'stays' if len(others) == 1 else 'stay'}")
    if verdict is Verdict.MOVES or (verdict is Verdict.KEEPS and now.is_over):
        facts.append(f"{_per_minute(now, others):.1f} glitches/min")
    for name, before, after in (("upload", was.upload_mbps, now.upload_mbps),
                                ("download", was.download_mbps, now.download_mbps)):
        if before and after is not None and after < (1 - _CARRIES_LESS) * before:
            facts.append(f"{name} {before:.1f} to {after:.1f} Mbit/s")
    return f"{now.change} ({', '.join(facts)})"


def _per_minute(now: RunOutcome, counted_ones: Sequence[object] | None) -> float:
    """Return how many of a run's glitches there are per minute of load, 0 if that isn't known.
    counted_ones: those of them that count, None if they aren't known."""
    if not now.glitches or counted_ones is None or now.glitches_per_minute is None:
        return 0.0
    return now.glitches_per_minute * len(counted_ones) / len(now.glitches)


def lines(story: Story, idle_ms: float | None) -> Sequence[tuple[str, str]]:
    """Return (heading, sentence) of each part of the explanation, in this order: Probe, Where,
    Behind, Since, Queue.

    Args:
        story: the explanation.
        idle_ms: median RTT before the load, None if it isn't known.
    """
    return [("Probe", title(story, idle_ms)), ("Where", where(story)),
            ("Behind", behind(story)), ("Since", since(story)), ("Queue", did(story))]
