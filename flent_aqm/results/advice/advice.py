# SPDX-License-Identifier: GPL-3.0-or-later
"""Say what is wrong with a line and what to do, for people who don't know queues.

docs/home-line.md has the rules and their sources. Each sentence contains what was measured, or a
share of it. If the runs allow no advice, the reason is said. `busy` is what keeps the line busy:
"downloads", "uploads", or BOTH.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from flent_aqm.base.words import significant
from flent_aqm.results.advice.measured import BOTH, BUSY, IDLE, Configuration, Measured, Sqm
from flent_aqm.results.metrics.flows import DIRECTIONS

# Latency that a load may add. DSLReports' grade is B for more (dslreports.com/faq/17930).
MOST_ADDED_MS = 30.0
# ITU-T G.114 (05/2003): above a one-way delay of 150 ms people in a call interrupt each other,
# above 400 ms a call is not possible. The one-way delay is half of the idle RTT, and all that the
# load adds.
_BROKEN = "calls break"
_ONE_WAY_MS = ((400.0, _BROKEN), (150.0, "people in calls talk over each other"))
_SLIGHT = "games and calls suffer"
# Share of lost packets above which words are lost: ITU-T G.1010 (11/2001), table I.1.
MOST_LOST_PCT = 3.0
# A load that carries less of what the line can doesn't keep it busy. CoDel at long round trips
# carries more than half.
LEAST_BUSY_PCT = 50.0
_LOSSY = "words in calls get lost"
# With this loss, a connection of Reno carries 14 Mbit/s at a round trip of 10 ms, and less at a
# longer one: 1.22 segments / (round trip * square root of the loss), Mathis et al., CCR 27 (3),
# 1997.
LEAST_HOLDING_BACK_PCT = 1.0
_NOTHING_ELSE = "Nothing else was measured that could be advised instead."
# Advised rate as a share of the measured throughput (openwrt.org, SQM), and its largest share of
# the line's rate, because that rate varies.
SQM_PCT, MOST_PCT = 90, 95
# Throughput that differs by less than _SAME_SHARE is the same. If runs differ by more than
# _STEADY_SHARE, the line has no constant rate.
_SAME_SHARE, _STEADY_SHARE = 0.01, 0.1

# Latency whose digits tell nobody more.
_SMALL_MS = 0.1

# Configurations without advice that a sentence names.
MOST_LEFT_OUT = 3

# Title of a condition -> configurations that were compared in it.
Conditions = Mapping[str, Sequence[Configuration]]


def advise(conditions: Conditions) -> list[str]:
    """Return sentences on what is wrong with the line and what to do. Empty if there is no
    configuration.

    A configuration is good under a load if all of its runs add less latency than 30 ms
    (MOST_ADDED_MS), and less than 3 % (MOST_LOST_PCT) of the probes are lost, in the median over
    runs and beyond the idle line's. Losses that are not known count as 0. A load is open if some of
    a configuration's runs add less and others don't, or if it adds little, and its losses may be
    chance. There are two sentences, on the worst fault and its remedy, if a configuration is not
    good under a load that isn't open. Otherwise it is one: that runs disagree, that losses may be
    chance, that no load carried half (LEAST_BUSY_PCT) of what the line can, or what the loads add
    at most, and that all is well, or that losses of the line itself may have kept it from being
    full (_may_be_held_back()). Loads that carried less than half in all runs are left out of the
    last one, and named in one more. One more is about a line that loses 3 % of the probes even if
    it is idle: it isn't well then. One more names the configurations that allow no advice, with the
    reason. If none allows any, that reason is the only sentence.

    Args:
        conditions: title of a condition -> the configurations that were compared in it.
    """
    unknown = [(title if len(conditions) > 1 else "", one) for title, tried in conditions.items()
               for one in tried if not one.busy]
    cases = [(title, one, busy) for title, tried in conditions.items() for one in tried
             for busy in one.busy]
    if not cases:
        return [f"No advice: {_why_none(unknown[0][1])}."] if unknown else []
    torn = [case for case in cases if _runs_disagree(case[1], case[2])]
    # A configuration with several loads has a case for each.
    distinct = {id(one): (title if len(conditions) > 1 else "", one) for title, one, _ in cases}
    lossy = [place for place in distinct.values() if _loses_if_idle(place[1])]
    unsure = [case for case in cases if _is_loss_unsure(case[1], case[2])]
    bad = [case for case in cases
           if case not in torn and case not in unsure and not _is_good(case[1], case[2])]
    left_out = [*([_idle_loss_sentence(lossy, len(distinct))] if lossy else []),
                *([_left_out_sentence(unknown)] if unknown else [])]
    # What the idle line loses, too, is told by that sentence.
    unsure = [case for case in unsure if not _loses_if_idle(case[1])]
    if not bad:
        told = ([_disagreement_sentence(*torn[0][1:])] if torn
                else [_unsure_sentence(*unsure[0][1:])] if unsure
                else _good_sentences(cases, not lossy))
        return [*told, *left_out]
    title, worst, busy = max(bad, key=lambda case: (
        max(case[1].added_ms(case[2]), MOST_ADDED_MS), case[1].lost_pct(case[2])))
    return [_fault_sentence(worst, busy, title if len(conditions) > 1 else "",
                            len(cases) > len(worst.busy)),
            _remedy_sentence(worst, busy, title, conditions), *left_out]


def _good_sentences(cases: Sequence[tuple[str, Configuration, str]], is_idle_good: bool
                    ) -> list[str]:
    """Return the sentences for a line on which no load adds or loses too much: that the loads which
    kept it busy are good, or that losses may have kept them from filling the line, and for each
    other one what it carried, or that none kept it busy.

    Args:
        cases: (title of the condition, configuration, load), at least one.
        is_idle_good: the idle line loses little.
    """
    most_pct = _most_utilisation_pct(cases)
    slack = {busy: pct for busy, pct in most_pct.items() if pct < LEAST_BUSY_PCT}
    if len(slack) == len(most_pct):
        return [(f"No advice: the test carried at most {_two(max(slack.values()))} % of what the "
                 "line can, and how its queues behave when it is busy is not known.")]
    busy_cases = [case for case in cases if case[2] not in slack]
    held_back = next((one for _, one, busy in busy_cases if _may_be_held_back(one, busy)), None)
    if held_back is not None:
        lost, sent = held_back.probes(IDLE)
        share = f" ({_two(100 * lost / sent)} % of the probes)" if is_idle_good else ""
        told = (f"{_added_words(busy_cases)}. But what the idle line loses{share} slows TCP down, "
                "and the line's rate is not known, so it may never have been full: how its queues "
                "behave then is not known.")
    else:
        told = _all_good_sentence(busy_cases, is_idle_good and not slack)
    return [told,
            *(f"{busy.capitalize()} carried at most {_two(pct)} % of what the line can: how its "
              "queues behave when they keep it busy is not known." for busy, pct in slack.items())]


def _may_be_held_back(configuration: Configuration, busy: str) -> bool:
    """Return whether losses of the line itself may have kept TCP from filling it: how much of what
    the line can `busy` ("downloads", "uploads" or BOTH) carried is not known, and the idle line
    loses at least 1 % (LEAST_HOLDING_BACK_PCT) of the probes, as does the line in all."""
    return _loses_if_idle(configuration, LEAST_HOLDING_BACK_PCT) and any(
        math.isinf(_utilisation_pct(run, busy)) for run in configuration.runs)


def _most_utilisation_pct(cases: Sequence[tuple[str, Configuration, str]]) -> dict[str, float]:
    """Return load -> the largest share of what TCP can carry that a run carried under it, in
    percent (_utilisation_pct()).

    cases: (title of the condition, configuration, load).
    """
    most_pct: dict[str, float] = {}
    for _, configuration, busy in cases:
        most_pct[busy] = max(most_pct.get(busy, 0.0), *(
            _utilisation_pct(run, busy) for run in configuration.runs))
    return most_pct


def _utilisation_pct(run: Measured, busy: str) -> float:
    """Return the share of what TCP can carry that a run carried while `busy` ("downloads",
    "uploads" or BOTH) kept the line busy, in percent, in the direction in which it is larger.
    Directions that the run loads at another time are left out. Infinite if it is known for no
    other."""
    return max((share for direction, share in run.utilisation_pct.items()
                if BUSY[direction] in (busy, *({*BUSY.values()} - {*run.loaded_ms}))),
               default=math.inf)


def _why_none(configuration: Configuration) -> str:
    """Return the reason why a configuration allows no advice, as a clause to put after a colon.

    configuration: one whose runs have no load in common (its `busy` is empty).
    """
    return configuration.no_advice or "the runs of one setting load different directions"


def _left_out_sentence(unknown: Sequence[tuple[str, Configuration]]) -> str:
    """Return the sentence on configurations that allow no advice: the names of at most three
    (MOST_LEFT_OUT) of them, the number of the others, and the reason of the first.

    Args:
        unknown: (title of the condition, "" if there is only one, configuration), at least one.
    """
    return f"This leaves out {_names(unknown, MOST_LEFT_OUT)}: {_why_none(unknown[0][1])}."


def _names(configurations: Sequence[tuple[str, Configuration]], most: int) -> str:
    """Return the names of configurations, at most `most`, and the number of the others: "a, b (20
    Mbit/s) and 2 more".

    Args:
        configurations: (title of the condition, "" if there is only one, configuration), at least
            one.
        most: number of names.
    """
    names = [f"{one.name} ({title})" if title else one.name for title, one in configurations]
    more = len(names) - most
    return f"{', '.join(names[:most])}{f' and {more} more' if more > 0 else ''}"


def _is_good(configuration: Configuration, busy: str) -> bool:
    """Return whether a configuration is fast (_is_fast()) and not lossy (_is_lossy()) while `busy`
    ("downloads", "uploads" or BOTH) keep the line busy."""
    return _is_fast(configuration, busy) and not _is_lossy(configuration, busy)


def _is_fast(configuration: Configuration, busy: str) -> bool:
    """Return whether all runs of a configuration add less latency than 30 ms (MOST_ADDED_MS) while
    `busy` ("downloads", "uploads" or BOTH) keep the line busy."""
    return all(run.added_ms(busy) < MOST_ADDED_MS for run in configuration.runs)


def _is_lossy(configuration: Configuration, busy: str) -> bool:
    """Return whether a configuration loses at least 3 % (MOST_LOST_PCT) of the probes, in the
    median over runs and beyond the idle line's, while `busy` ("downloads", "uploads" or BOTH) keep
    the line busy. Then words in calls are lost. A run whose losses are not known counts as 0."""
    return configuration.lost_pct(busy) >= MOST_LOST_PCT


def _is_loss_unsure(configuration: Configuration, busy: str) -> bool:
    """Return whether a configuration is fast and lossy (_is_fast(), _is_lossy()) while `busy`
    ("downloads", "uploads" or BOTH) keep the line busy, but by so few probes that it may be
    chance."""
    return (_is_fast(configuration, busy) and _is_lossy(configuration, busy)
            and configuration.loss_may_be_chance(busy))


def _loses_if_idle(configuration: Configuration, least_pct: float = MOST_LOST_PCT) -> bool:
    """Return whether the idle line, and the line in all, idle and busy, lose at least `least_pct`
    percent of the probes. False if probes were not counted."""
    return all(sent and 100 * lost / sent >= least_pct for lost, sent in (
        configuration.probes(IDLE), configuration.probes(IDLE, *configuration.busy)))


def _runs_disagree(configuration: Configuration, busy: str) -> bool:
    """Return whether some runs of a configuration add less latency than 30 ms (MOST_ADDED_MS) and
    others don't, while `busy` ("downloads", "uploads" or BOTH) keep the line busy."""
    return not _is_fast(configuration, busy) and any(
        run.added_ms(busy) < MOST_ADDED_MS for run in configuration.runs)


def _disagreement_sentence(configuration: Configuration, busy: str) -> str:
    """Return the text for a configuration whose runs disagree: its name, the least and the most
    latency that they add, and the advice to repeat them; if the router's queue is not known, to
    give runs of different settings different titles. busy: "downloads", "uploads" or BOTH."""
    added = [run.added_ms(busy) for run in configuration.runs]
    told = ("Repeat them before you change anything." if configuration.managed is not None else
            "If they are of different settings of the router, give each setting a title of its own "
            "(flent -t TITLE); else repeat them before you change anything.")
    return (f"The runs with {configuration.name} disagree: busy {busy} added {_ms(min(added))} to "
            f"{_ms(max(added))}. {told}")


def _unsure_sentence(configuration: Configuration, busy: str) -> str:
    """Return the text for a configuration whose losses may be chance: its name, how many probes
    were lost, and the advice to measure more. busy: "downloads", "uploads" or BOTH."""
    (lost, sent), (idle_lost, idle_sent) = (
        configuration.probes(phase) for phase in (busy, IDLE))
    return (f"The losses with {configuration.name} may be chance: {lost} of {sent} probes while "
            f"{busy} keep the line busy, {idle_lost} of {idle_sent} on the idle line. Measure "
            "again, or for longer, before you change anything.")


def _idle_loss_sentence(lossy: Sequence[tuple[str, Configuration]], tried: int) -> str:
    """Return the sentence on a line that loses packets even if it is idle: the share of the idle
    line's probes that are lost, with which configurations, and that no queue mends it. If it is so
    with all that were tried, none is named.

    Args:
        lossy: (title of the condition, "" if there is only one; configuration) of those with which
            the idle line lost probes, at least one.
        tried: number of all configurations.
    """
    shares = [100 * lost / sent for lost, sent in (one.probes(IDLE) for _, one in lossy)]
    least, most = _two(min(shares)), _two(max(shares))
    where = (f" with {_names(lossy, 1)}" if len(lossy) < tried
             else " with every setting" if tried > 1 else "")
    return (f"The idle line loses {least if least == most else f'{least} to {most}'} % of the "
            f"probes{where}: {_LOSSY}, and no setting of a queue mends that.")


def _all_good_sentence(cases: Sequence[tuple[str, Configuration, str]], is_all_told: bool) -> str:
    """Return the text for a line that is good in all cases: the most latency that a load adds, in
    the median, and that nothing has to be changed. Instead of the latter, it tells by how much the
    95th percentile grows if that is 30 ms (MOST_ADDED_MS) or more, and why losses of a run are not
    known.

    Args:
        cases: (title of the condition, configuration, what kept the line busy), at least one.
        is_all_told: the idle line loses little, and every load kept the line busy. Otherwise the
            text is about the latency alone.
    """
    added = _added_words(cases)
    tail_ms, slow, slowest = max(((one.tail_added_ms(busy), busy, one) for _, one, busy in cases),
                                 key=lambda case: case[0])
    unknown = next((run.loss_unknown for _, one, _ in cases for run in one.runs
                    if run.loss_unknown), "")
    told = []
    if tail_ms >= MOST_ADDED_MS:
        of = f" with {slowest.name}" if len({id(one) for _, one, _ in cases}) > 1 else ""
        told.append(f"But busy {slow} add {_ms(tail_ms)} to the 95th percentile{of}: calls and "
                    "games falter for moments.")
    if unknown:
        told.append(f"Whether packets were lost is not known: {unknown}.")
    if told or not is_all_told:
        return " ".join([f"{added}, which is good.", *told])
    return f"{added}: calls and games run well, and nothing has to be changed."


def _added_words(cases: Sequence[tuple[str, Configuration, str]]) -> str:
    """Return the begin of a sentence: the most latency that a load adds in the median, such as
    "Busy downloads add no more than 5 ms in the median, in any of these runs".

    cases: (title of the condition, configuration, what kept the line busy), at least one.
    """
    most = max(one.added_ms(busy) for _, one, busy in cases)
    everywhere = "" if len({id(one) for _, one, _ in cases}) == 1 else ", in any of these runs"
    busy = list(dict.fromkeys(busy for *_, busy in cases))
    return (f"Busy {' or '.join(busy)} add no more than {_ms(max(most, 0.0))} in the median"
            f"{everywhere}")


def _fault_sentence(worst: Configuration, busy: str, title: str, several: bool) -> str:
    """Return the sentence on what is wrong: that at least half of the probes are lost; or the
    latency that the load adds, and what people notice of it, with the loss if it is too much, and
    with the latency of another direction that adds too much; or the loss alone.

    Args:
        worst: the worst configuration.
        busy: what kept the line busy: "downloads", "uploads" or BOTH.
        title: title of the condition, "" if there is only one.
        several: there are other configurations, so that this one must be named.
    """
    where = f" with {worst.name}" if several else ""
    where += f" ({title})" if title else ""
    if math.isinf(worst.added_ms(busy)):
        return f"At least half of the probes are lost while {busy} keep the line busy{where}."
    lost = f"lose {_lost_share(worst, busy)}"
    if _is_fast(worst, busy):
        too = "".join(f", busy {other} {_two(worst.lost_pct(other))} %" for other in worst.busy
                      if other != busy and _is_fast(worst, other) and _is_lossy(worst, other)
                      and not _is_loss_unsure(worst, other))
        return f"Busy {busy} {lost}{too}{where}: {_LOSSY}."
    also = (f" and {lost}" if _is_lossy(worst, busy) and not worst.loss_may_be_chance(busy)
            else "")
    effect = _noticed_effect(worst.runs, busy)
    if also and effect != _BROKEN:
        effect += f", and {_LOSSY}"
    added = _ms(worst.added_ms(busy))
    # The other direction would seem to be well otherwise.
    others = [other for other in worst.busy if other != busy and not _is_fast(worst, other)]
    alike = [busy, *(one for one in others if not also and _ms(worst.added_ms(one)) == added)]
    too = "".join(f", busy {one} {_ms(worst.added_ms(one))}" for one in others if one not in alike)
    return f"Busy {' or '.join(alike)} add {added}{also}{too}{where}: {effect}."


def _noticed_effect(runs: Sequence[Measured], busy: str) -> str:
    """Return what people notice of a busy line: "calls break", "people in calls talk over each
    other" or "games and calls suffer". It follows from the median over runs of the one-way delay:
    half of the idle RTT, and all that the load adds."""
    one_way_ms = median(run.idle_ms / 2 + run.added_ms(busy) for run in runs)
    return next((effect for limit_ms, effect in _ONE_WAY_MS if one_way_ms > limit_ms), _SLIGHT)


def _remedy_sentence(worst: Configuration, busy: str, title: str, conditions: Conditions) -> str:
    """Return the text on what to do: to use the best of the good configurations that were measured
    in the condition, with the latency that it adds and the throughput that it costs. If there is
    none, it says that nothing better was measured, or why the one that does best under this load
    isn't advised. But if the load adds too much latency, the line has a constant rate, nothing else
    was measured in the condition, and the router is not known to limit latency, it advises SQM for
    the directions whose load adds too much: a lower rate in another one would cost throughput and
    mend nothing. If it is the router's SQM that leaves no room below the line's rate, it advises
    a lower one for these directions.

    Args:
        worst: the worst configuration.
        busy: what kept the line busy: "downloads", "uploads" or BOTH.
        title: title of its condition.
        conditions: all conditions.
    """
    good = _good_configurations(worst, conditions[title], conditions)
    if good:
        best = _best_configuration(good, worst)
        added_ms = _most_added_ms(best)
        price = _price(best, worst)
        lost = f" and lost {_lost_share(best, busy)}" if _is_lossy(worst, busy) else ""
        # A slower setting may have less latency still, and stand first in a report's headline.
        has_slower = len(good) > len(_equally_fast(good, worst))
        room = " and leave room below the line's rate" if best.sqm else ""
        why = (f" It costs the least throughput, to within {100 * _SAME_SHARE:.0f} %, of "
               f"{len(good)} settings that {_what_good_do(worst, conditions, title)}{room}."
               if has_slower else "")
        return (f"{_what_to_set(best, good, worst)}: here they then added {_ms(max(added_ms, 0.0))}"
                f"{lost}{price}.{why}")
    if _is_fast(worst, busy) and len(conditions[title]) > 1:
        return _no_remedy_sentence(worst, busy, conditions[title])
    if _is_fast(worst, busy):
        return _NOTHING_ELSE
    alone = len(conditions[title]) == 1 and worst.fixed_rate and not worst.managed
    slow = [one for one in worst.busy if not _is_fast(worst, one)]
    rates = _steady_rates_mbps(worst, slow)
    if alone and rates:
        return (f"Set SQM in your router to {'/'.join(_two(SQM_PCT / 100 * one) for one in rates)} "
                f"Mbit/s for {'/'.join(slow)} ({SQM_PCT} % of the {'/'.join(map(_two, rates))} "
                "that were measured), then measure again.")
    if alone:
        return (f"Set SQM in your router to {SQM_PCT} % of the line's rate for "
                f"{' and '.join(slow)}, measured one direction at a time, then measure again.")
    if len(conditions[title]) == 1:
        return _room_sentence(worst, slow) or _NOTHING_ELSE
    return _no_remedy_sentence(worst, busy, conditions[title])


def _what_good_do(worst: Configuration, conditions: Conditions, title: str) -> str:
    """Return what distinguishes the good configurations of a condition (_good_configurations())
    from all that were measured there, as words after "settings that": "add less than 30 ms". If
    others add as little, the reason why they don't count is told, too: that they lose probes, or
    that they aren't good in other conditions.

    Args:
        worst: the worst configuration.
        conditions: all conditions.
        title: title of the worst one's condition.
    """
    fast = [one for one in conditions[title] if set(one.busy) >= set(worst.busy)
            and all(_is_fast(one, busy) for busy in one.busy)]
    good = [one for one in fast if not any(_is_lossy(one, busy) for busy in one.busy)]
    lossless = (f" and lose less than {MOST_LOST_PCT:g} % of the probes" if len(good) < len(fast)
                else "")
    everywhere = [one for one in good if _is_good_everywhere(one, conditions)]
    where = " in all conditions" if 0 < len(everywhere) < len(good) else ""
    return f"add less than {MOST_ADDED_MS:g} ms{lossless}{where}"


def _is_good_everywhere(configuration: Configuration, conditions: Conditions) -> bool:
    """Return whether all configurations of the same name, in all conditions, are good (_is_good())
    under all loads under which they were measured."""
    return all(_is_good(other, busy) for tried in conditions.values() for other in tried
               if other.name == configuration.name for busy in other.busy)


def _room_sentence(configuration: Configuration, busy: Sequence[str]) -> str:
    """Return the sentence that SQM's rates leave no room below the line's, with the rates to set,
    90 % (SQM_PCT) of the line's, for the directions that `busy` loads and in which the rate is
    above 95 % (MOST_PCT) of the line's. "" if there is none, or the line has no constant rate.

    Args:
        configuration: the configuration, in which these loads add too much latency.
        busy: the loads.
    """
    sqm = configuration.sqm
    if sqm is None or not configuration.fixed_rate:
        return ""
    lines_mbps = {one: line_mbps for one, own_mbps, line_mbps in (
        (BUSY["download"], sqm.down_mbps, sqm.modem_down_mbps),
        (BUSY["upload"], sqm.up_mbps, sqm.modem_up_mbps))
        if {one, BOTH} & {*busy} and 100 * own_mbps > MOST_PCT * line_mbps}
    if not lines_mbps:
        return ""
    rates = "/".join(f"{SQM_PCT / 100 * one:g}" for one in lines_mbps.values())
    return (f"SQM's rate leaves no room below the line's: set it to {rates} Mbit/s for "
            f"{'/'.join(lines_mbps)} ({SQM_PCT} % of "
            f"{'/'.join(f'{one:g}' for one in lines_mbps.values())}), then measure again.")


def _no_remedy_sentence(worst: Configuration, busy: str, here: Sequence[Configuration]) -> str:
    """Return the sentence that no good configuration was measured. It is about losses if the worst
    one is fast, otherwise about latency. If one kept it below the limit under this load, the best
    of them is named, with the reason why it isn't good. If not, and the best one is SQM without
    room below the line's rate, it says which rate to set. Configurations whose losses are not known
    are left out where the sentence is about losses.

    Args:
        worst: the worst configuration.
        busy: what kept the line busy: "downloads", "uploads" or BOTH.
        here: configurations in its condition, none of them one of _good_configurations().
    """
    tried = [one for one in here if busy in one.busy]
    if _is_fast(worst, busy):
        known = [one for one in tried if all(busy in run.lost_pct for run in one.runs)]
        least = min(known, key=lambda one: one.lost_pct(busy), default=worst)
        if _is_lossy(least, busy):
            return f"Nothing that was measured kept losses below {MOST_LOST_PCT:g} %."
        did = f"least lost {least.name}, {_lost_share(least, busy, '')}"
    else:
        least = min(tried, key=lambda one: one.added_ms(busy))
        did = f"least added {least.name}, {_ms(max(least.added_ms(busy), 0.0))}"
        if least.added_ms(busy) >= MOST_ADDED_MS:
            # Of settings that add the same, none has a lead to tell.
            lead = f"; {did}" if _ms(least.added_ms(busy)) != _ms(worst.added_ms(busy)) else ""
            slow = [one for one in least.busy if not _is_fast(least, one)]
            room = f" {text}" if (text := _room_sentence(least, slow)) else ""
            return f"Nothing that was measured kept it below {_ms(MOST_ADDED_MS)}{lead}.{room}"
    return (f"Nothing that was measured can be advised instead: {did}, but "
            f"{_why_not(least, busy, worst)}.")


def _why_not(configuration: Configuration, busy: str, worst: Configuration) -> str:
    """Return the reason why a configuration isn't one of _good_configurations(), as a clause. The
    first that applies: that it was not measured under a load of the worst one, which is named; its
    fault under `busy`; or its fault under another load, which is named. A fault is that its runs
    disagree, or the latency that it added, or the probes that it lost."""
    for other in worst.busy:
        if other not in configuration.busy:
            return f"it was not measured under busy {other}"
    bad = min((one for one in configuration.busy if not _is_good(configuration, one)),
              key=lambda one: one != busy)
    where = "" if bad == busy else f" under busy {bad}"
    if _runs_disagree(configuration, bad):
        return f"its runs disagree{where}"
    if not _is_fast(configuration, bad):
        return f"it added {_ms(configuration.added_ms(bad))}{where}"
    return f"it lost {_lost_share(configuration, bad, '')}{where}"


def _lost_share(configuration: Configuration, busy: str, of: str = " of the probes") -> str:
    """Return the share of the probes that a configuration loses while `busy` ("downloads",
    "uploads" or BOTH) keep the line busy, as text: "18 % of the probes". If the idle line loses
    some, too, it is the difference: "18 % more of the probes than the idle line". A difference
    below 0 is 0.

    of: words after "%" or "% more".
    """
    idle_lost, _ = configuration.probes(IDLE)
    share = f"{_two(max(configuration.lost_pct(busy), 0.0))} %"
    return f"{share} more{of} than the idle line" if idle_lost else f"{share}{of}"


def _good_configurations(worst: Configuration, here: Sequence[Configuration],
                         conditions: Conditions) -> list[Configuration]:
    """Return configurations that were measured under all loads of the worst one, and are good
    (_is_good()) under all loads under which they were measured. Empty if there is none.

    If there are any, only those that are good in all conditions in which one of the same name was
    measured are returned, and of these only those whose shaper, if any, has at most 95 % (MOST_PCT)
    of the line's rate. A step that would leave none is skipped.

    Args:
        worst: the worst configuration.
        here: configurations in its condition.
        conditions: all conditions.
    """
    good = [one for one in here if set(one.busy) >= set(worst.busy)
            and all(_is_good(one, busy) for busy in one.busy)]
    for is_better in (
            lambda one: _is_good_everywhere(one, conditions),
            lambda one: one.sqm is None or one.sqm.share_pct <= MOST_PCT):
        good = [one for one in good if is_better(one)] or good
    return good


def _best_configuration(good: Sequence[Configuration], worst: Configuration) -> Configuration:
    """Return the good configuration that adds the least latency, of those that lose the least
    throughput, within 1 % (_SAME_SHARE), compared with the worst configuration. Throughput above
    the worst one's is no advantage. Of configurations that add the same it is the first by name.
    Raises ValueError if `good` is empty."""
    return _equally_fast(good, worst)[0]


def _equally_fast(good: Sequence[Configuration], worst: Configuration) -> list[Configuration]:
    """Return the good configurations that lose the least throughput, within 1 % (_SAME_SHARE),
    compared with the worst configuration, in the direction in which they lose most. All that lose
    none count as equally fast, even if one gains throughput. Those that add the least latency are
    first, of equal ones in the order of their names. Raises ValueError if `good` is empty."""
    least = min(_throughput_loss(one, worst) for one in good)
    return sorted(
        (one for one in good if _throughput_loss(one, worst) <= least + _SAME_SHARE),
        key=lambda one: (_most_added_ms(one), one.name))


def _most_added_ms(configuration: Configuration) -> float:
    """Return the latency in ms that the load adds, the median over runs (Configuration.added_ms()),
    under the load under which it is largest. It may be below 0, or infinite. `configuration` must
    have a load in common to its runs."""
    return max(map(configuration.added_ms, configuration.busy))


def _add_alike(one: Configuration, other: Configuration) -> bool:
    """Return whether the load adds the same latency in two configurations, rounded to 0.1 ms:
    nobody notices less."""
    return round(_most_added_ms(one), 1) == round(_most_added_ms(other), 1)


def _price(configuration: Configuration, worst: Configuration) -> str:
    """Return the throughput that a configuration costs, compared with the worst one, as text: ", at
    22 % less throughput" if it is the same in all directions that were measured, else for each
    direction: ", at 4 % less download and 22 % less upload throughput". A direction that changes by
    1 % (_SAME_SHARE) or less isn't named. If one gains more, it is named, too: ", at 22 % less
    upload and 490 % more download throughput". "" if no direction loses more than 1 %."""
    losses = _throughput_losses(configuration, worst)
    if max(losses.values(), default=0.0) <= _SAME_SHARE:
        return ""
    changes = {direction: f"{100 * share:.0f} % less" if share > 0
               else f"{_two(-100 * share)} % more"
               for direction, share in sorted(losses.items(), key=lambda item: item[1] < 0)
               if abs(share) > _SAME_SHARE}
    if len(changes) == len(losses) and len(set(changes.values())) == 1:
        return f", at {changes.popitem()[1]} throughput"
    named = " and ".join(f"{change} {direction}" for direction, change in changes.items())
    return f", at {named} throughput"


def _throughput_losses(configuration: Configuration, worst: Configuration) -> dict[str, float]:
    """Return direction ("download", "upload") -> the share of throughput that a configuration
    loses, compared with the worst one. It is at most 1, and below 0 where the configuration is
    faster. Directions that were not measured with both, or in which the worst one has a throughput
    of 0, are left out."""
    return {direction: 1 - own / its for direction in DIRECTIONS
            if (own := configuration.mbps(direction)) is not None
            and (its := worst.mbps(direction))}


def _throughput_loss(configuration: Configuration, worst: Configuration) -> float:
    """Return the largest share of throughput, 0 to 1, that a configuration loses in a direction,
    compared with the worst one. 0 if it is faster in all, or if no direction was measured with
    both."""
    return max([0.0, *_throughput_losses(configuration, worst).values()])


def _what_to_set(best: Configuration, good: Sequence[Configuration], worst: Configuration) -> str:
    """Return the beginning of the sentence on what to use: "Set SQM to" with rates and queue if the
    best configuration has a shaper. Otherwise "Use" with the name of the best one. Names or queues
    of all good ones with the same rates, or without a shaper, that are equally fast
    (_equally_fast()) and add the same latency to 0.1 ms are named, with "or" between them.

    Args:
        best: the best configuration.
        good: all good configurations, of which it is one.
        worst: the worst configuration, with whose throughput theirs is compared.
    """
    alike = [one for one in _equally_fast(good, worst) if _add_alike(one, best)]
    if best.sqm is None:
        return "Use " + " or ".join(one.name for one in alike if one.sqm is None)
    queues = dict.fromkeys(one.sqm.queue for one in alike if one.sqm is not None
                           and replace(one.sqm, queue="") == replace(best.sqm, queue=""))
    return f"Set SQM to {_sqm_text(best.sqm)}, with {' or '.join(queues)}"


def _sqm_text(sqm: Sqm) -> str:
    """Return the rates of an SQM configuration as text: "90/18 Mbit/s (90 % of 100/20)". The
    brackets are left out if the shares of the two directions differ."""
    shares = {round(100 * own / its, 1) for own, its in (
        (sqm.down_mbps, sqm.modem_down_mbps), (sqm.up_mbps, sqm.modem_up_mbps))}
    of_line = (f" ({shares.pop():g} % of {sqm.modem_down_mbps:g}/{sqm.modem_up_mbps:g})"
               if len(shares) == 1 else "")
    return f"{sqm.down_mbps:g}/{sqm.up_mbps:g} Mbit/s{of_line}"


def _steady_rates_mbps(configuration: Configuration, busy: Sequence[str]) -> list[float]:
    """Return the median over runs of the throughput in Mbit/s in each direction that is loaded,
    download first. Empty if a run lacks one of them, if both directions were loaded at the same
    time, also by cross traffic, and so slowed each other, or if runs differ by more than 10 %
    (_STEADY_SHARE).

    busy: the loads, some of configuration.busy.
    """
    medians_mbps: list[float] = []
    for direction in (one for one in DIRECTIONS if BUSY[one] in busy):
        values = [run.mbps[direction] for run in configuration.runs
                  if direction in run.mbps and direction not in run.slowed]
        if len(values) < len(configuration.runs) or min(values) < (1 - _STEADY_SHARE) * max(values):
            return []
        medians_mbps.append(median(values))
    return medians_mbps


def _ms(value: float) -> str:
    """Return a latency in ms as text, rounded to two significant digits, with its unit: "35 ms", or
    "less than 0.1 ms". Return "more than could be measured" if it is infinite."""
    if 0 < value < _SMALL_MS:
        return f"less than {_SMALL_MS:g} ms"
    return f"{_two(value)} ms" if math.isfinite(value) else "more than could be measured"


def _two(value: float) -> str:
    """Return a number rounded to two significant digits as text: "35", "0.4", "120" for 123."""
    return significant(value, 2)
