# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the findings into sentences.

Each sentence rests on comparisons of findings.py, and contains the values that were compared.
`Cases` are conditions, each with some of its queues.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from flent_aqm.base.words import counted
from flent_aqm.results.grouping import harmless
from flent_aqm.results.metrics.compare import two_groups
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.show.report.findings import (
    FALSE_SHARE,
    LEAST_LOST_PCT,
    SAME_THROUGHPUT_SHARE,
    Condition,
    Outcome,
    QueueRuns,
    Standing,
    is_less_mbps,
    is_more,
    least_p,
    lose_alike,
    standing,
)
from flent_aqm.show.report.words import LATENCY_DIGITS, listed, ms, number, percentile, span

# Smallest difference in Jain's index that counts. Two flows with shares of 55 and 45 % have an
# index of 0.99, with 75 and 25 % of 0.8.
UNFAIR = 0.1
# Throughput of the fastest queue as a multiple of the slowest one's, from which it is told as a
# gain.
LEAST_GAIN = 1.1
# Runs whose latencies differ by more than this factor have no typical one.
FAR_FACTOR = 2.0
# Most characters of two conditions' titles that a sentence names in brackets.
MOST_TITLES = 40

Cases = Sequence[tuple[Standing, Sequence[QueueRuns]]]


def headline(conditions: Sequence[Condition], compared_word: str, all_runs: int,
             apart: Sequence[str] = (), also: Sequence[str] = (),
             why_none: Sequence[str] = ()) -> list[str]:
    """Return the findings as a list of at least one text, each with one or more sentences on one
    subject: latency, throughput, losses, number of runs and so on.

    Args:
        conditions: conditions with their queues. May be empty.
        compared_word: name of the things that are compared, such as "queue".
        all_runs: number of runs, also of those without latency under load.
        apart: names of the settings in which conditions differ.
        also: names of the settings besides the queue in which the compared configurations differ.
        why_none: for each run without a latency under load, the reason. It is told only if there
            are no conditions.
    """
    if not conditions:
        return [_no_latency_sentence(why_none)]
    standings = [standing(one) for one in conditions if len(one.lines) > 1]
    if not standings:
        names = f"; they differ in {_listed_settings(apart)}" if apart else ""
        return [_single_queue_sentence(conditions),
                f"Nothing to compare: no two runs are alike in all but the {compared_word}{names}."]
    sentences = [_latency_sentences(standings), _throughput_sentences(standings),
                 _sharing_sentence(standings), _two_groups_sentence(standings),
                 _loss_sentence(standings)]
    if also:
        sentences.append(f"What is compared differs in {_listed_settings(also)}, too.")
    return [*filter(None, sentences),
            _number_of_runs_sentence(standings, compared_word, all_runs, apart)]


def _no_latency_sentence(why_none: Sequence[str]) -> str:
    """Return the sentences that no run has a latency under load, with the most frequent reason, or
    the sentence that there are no runs if `why_none` is empty. why_none: as for headline()."""
    reasons = Counter(why_none).most_common()
    if not reasons:
        return "There are no runs."
    most, runs = reasons[0]
    of = "" if len(reasons) == 1 else f" (so in {runs} of {len(why_none)} runs)"
    return (f"None of these runs has a latency under load: {most}{of}. The tables below have "
            "the rest.")


def _single_queue_sentence(conditions: Sequence[Condition]) -> str:
    """Return the sentence for conditions, at least one, with a single queue each. If there are
    several conditions, it is their number. If there is one, it is the queue's percentile of latency
    under load (Condition.tail_pct), or that at least half of its probes were lost. The percentile
    is the median over runs. If it is finite in all runs, and more than twice (FAR_FACTOR) as long
    in one run as in another, it is the least and the most of them."""
    lines = [(one, line) for one in conditions for line in one.lines]
    if len(lines) > 1:
        return f"{len(lines)} conditions were measured."
    (one, line), = lines
    if line.is_lost:
        return f"With {line.queue}, at least half of the probes under load were lost."
    of_runs = line.latency_ms[one.tail_pct]
    latency = (f"{span(of_runs, 'ms')} in {counted(len(of_runs), 'run')}"
               if math.isfinite(most := max(of_runs)) and most > FAR_FACTOR * min(of_runs)
               else ms(line.within_ms(one.tail_pct)))
    return f"With {line.queue}, the {percentile(one.tail_pct)} of latency under load was {latency}."


# ---- latency ----

def _latency_sentences(standings: Sequence[Standing]) -> str:
    """Return sentences on latency under load, for each outcome that conditions have: which queues
    have the lowest and the highest, that all are alike, that the runs don't tell because they
    overlap, or that all lost at least half of the probes. If there are several outcomes, each of
    the last three tells in how many conditions it is so."""
    by = {outcome: [one for one in standings if one.outcome is outcome] for outcome in Outcome}
    parts = [_best_and_worst(by[Outcome.DIFFER])] if by[Outcome.DIFFER] else []
    alone = len(by) - list(by.values()).count([]) == 1

    def where(standings: Sequence[Standing]) -> str:
        """Return " in N conditions" for the number of standings, or "" if all conditions have the
        same outcome."""
        return "" if alone else f" in {counted(len(standings), 'condition')}"

    if alike := by[Outcome.ALIKE]:
        within = _latencies_text([(one, one.condition.lines) for one in alike])
        losses = ("" if all(lose_alike(one.condition.lines) for one in alike)
                  else ", but for the probes that they lost")
        parts.append(f"All kept latency under load alike{where(alike)}{losses}: {within}.")
    if untold := by[Outcome.UNTOLD]:
        within = _latencies_text([(one, [line for line in one.condition.lines if not line.is_lost])
                          for one in untold])
        parts.append("Whose latency under load was lower, the runs don't tell"
                     f"{where(untold)}, as they overlap: {within}.")
    if lost := by[Outcome.LOST]:
        parts.append(f"With all{where(lost)}, at least half of the probes under load were lost.")
    return " ".join(parts)


def _best_and_worst(standings: Sequence[Standing]) -> str:
    """Return a sentence on the queues that most often have the lowest latency, and one on those
    that most often have the highest. The second is left out if no condition has a worst queue
    (Standing.worst), or if a queue would be in both. It tells in how many conditions it lost at
    least half of the probes, which have no latency.

    standings: conditions in which queues differ (Outcome.DIFFER), at least one.
    """
    winners, best = _most_named([(one, one.best) for one in standings])
    losers, worst = _most_named([(one, one.worst) for one in standings])
    text = (f"{listed(winners)} kept latency under load lowest"
            f"{_in_how_many(winners, best, standings, titled=True)}: "
            f"{_latencies_text(best)}.")
    if not losers or set(losers) & set(winners):
        return text
    text += f" With {listed(losers)}, the worst{_in_how_many(losers, worst, standings)}, "
    if all(line.is_lost for _, lines in worst for line in lines):
        return f"{text}at least half of the probes were lost."
    lost = sum(any(line.is_lost for line in lines) for _, lines in worst)
    also = (f", and in {counted(lost, 'condition')} at least half of the probes were lost" if lost
            else "")
    worst = [(one, [line for line in lines if not line.is_lost]) for one, lines in worst]
    percentiles = {one.percent for one, lines in [*worst, *best] if lines}
    told_ms = (f"it was {_latency_range(worst)}" if len(percentiles) == 1
               else _latencies_text(worst))
    return f"{text}{told_ms}{_times_as_long(worst, winners)}{also}."


def _most_named(cases: Cases) -> tuple[list[str], Cases]:
    """Return the names of the queues that are named in the largest number of cases, and the cases
    reduced to these queues. Cases without them are left out. Both are empty if no case names a
    queue. cases: conditions, each with some of its queues."""
    times = Counter(line.queue for _, lines in cases for line in lines)
    names = [name for name, count in times.items() if count == max(times.values())]
    named = [(one, [line for line in lines if line.queue in names]) for one, lines in cases]
    return names, [(one, lines) for one, lines in named if lines]


def _in_how_many(names: Sequence[str], cases: Cases, among: Sequence[Standing], *,
                 titled: bool = False) -> str:
    """Return in how many conditions each of the queues was named: " in both conditions", " in all 4
    conditions", " in 3 of 4 conditions", or ", each in 3 of 4 conditions" if these are not the same
    conditions for all. "" if there is only one condition.

    Args:
        names: the queues, at least one, all named in equally many conditions.
        cases: conditions with those of the queues that are named in them.
        among: all conditions.
        titled: whether to add the titles of the two conditions, in brackets, after "in both
            conditions". Titles that are long together (MOST_TITLES) are left out.
    """
    if len(among) == 1:
        return ""
    times = sum(len(lines) for _, lines in cases) // len(names)
    each = "each " if times < len(cases) else ""
    every = "both" if len(among) == 2 else f"all {len(among)}"
    titles = listed([one.condition.title for one in among])
    which = f" ({titles})" if titled and len(among) == 2 and len(titles) <= MOST_TITLES else ""
    return (f", {each}" if each else " ") + (
        f"in {every} conditions{which}" if times == len(among)
        else f"in {times} of {len(among)} conditions")


def _latencies_text(cases: Cases) -> str:
    """Return percentiles of latency under load as text: for each percentile at which conditions are
    compared, the highest first, the range over its cases: "99th percentile 12 to 15 ms; in 2
    conditions, 95th percentile 20 ms". At least one case must have a queue. cases: conditions, each
    with some of its queues."""
    by: dict[float, list[tuple[Standing, Sequence[QueueRuns]]]] = {}
    for one, lines in sorted(cases, key=lambda case: -case[0].percent):
        if lines:
            by.setdefault(one.percent, []).append((one, lines))
    (first, nearest), *others = by.items()
    return f"{percentile(first)} {_latency_range(nearest)}" + "".join(
        f"; in {counted(len(more), 'condition')}, {percentile(percent)} {_latency_range(more)}"
        for percent, more in others)


def _latency_range(cases: Cases) -> str:
    """Return the range of latencies as text: "12 to 15 ms", or "12 ms" if the rounded ends are the
    same. A queue's latency is its median over runs of the condition's percentile. cases:
    conditions, each with some of its queues, at least one queue in all."""
    return span([line.within_ms(one.percent) for one, lines in cases for line in lines], "ms")


def _times_as_long(worst: Cases, winners: Sequence[str]) -> str:
    """Return how many times as long the latency of the worst queues is as the winners': ", 5 to 8
    times as long", or ", 5 times as long" if the rounded ends are the same. Return "" if the lowest
    factor is below 1.5, or if any of the conditions has none of the winners among its best.

    Args:
        worst: conditions with their worst queues, without those that are lost. Conditions without
            queues don't count.
        winners: names of the queues that are compared with them.
    """
    factors = []
    for one, lines in worst:
        best = [line.within_ms(one.percent) for line in one.best if line.queue in winners]
        if lines and not best:
            return ""
        factors += [line.within_ms(one.percent) / own for line in lines for own in best if own]
    if not factors or min(factors) < 1.5:
        return ""
    texts = list(dict.fromkeys(number(one, 2) for one in (min(factors), max(factors))))
    return f", {' to '.join(texts)} times as long"


# ---- throughput ----

def _throughput_sentences(standings: Sequence[Standing]) -> str:
    """Return the sentence on the price of low latency: how much less throughput the queues with the
    lowest latency have than the queue with most, and one on differences in the conditions whose
    queues don't differ in latency. If these are all conditions, return sentences on how throughput
    differs between queues, or that it is alike. A difference that may be chance is left out. If no
    queue has a throughput, return a sentence that says so. May be ""."""
    ways = [direction for direction in DIRECTIONS if any(direction in line.mbps for one in standings
                                             for line in one.condition.lines)]
    if not ways:
        return "These runs don't tell their throughput."
    differing = [one for one in standings if one.outcome is Outcome.DIFFER]
    if not differing:
        return " ".join(filter(None, (_throughput_difference(standings, direction, len(ways) > 1)
                                      for direction in ways)))
    costs = [text for direction in ways
             if (text := _throughput_cost(differing, direction, len(ways) > 1))]
    others = [one for one in standings if one.outcome is not Outcome.DIFFER]
    elsewhere = [text for direction in ways
                 if (text := _throughput_difference(others, direction, len(ways) > 1))
                 and not _is_throughput_alike(others, direction)]
    where = f"In {'the other condition' if len(others) == 1 else 'other conditions'}, "
    return " ".join([*([f"It cost {'; '.join(costs)}."] if costs else []),
                     *(f"{where}{text[0].lower()}{text[1:]}" for text in elsewhere)])


def _throughput_name(standings: Sequence[Standing], direction: str, several: bool) -> str:
    """Return the name of the throughput in a sentence: "throughput", "upload throughput of all
    flows", or with what it leaves out if the test reports more than the line carried.

    Args:
        standings: conditions. If the line is shared in any, "of all flows" is added.
        direction: "download" or "upload", which is named if there are several directions or the
            line is shared.
        several: whether the runs have both directions.
    """
    shared = any(line.is_shared for one in standings for line in one.condition.lines)
    name = f"{direction} throughput" if several or shared else "throughput"
    if shared:
        return f"{name} of all flows"
    reports_more = any(
        of_any(line.own_mbps[direction], 50) > (1 + SAME_THROUGHPUT_SHARE)
        * line.middle_mbps(direction)
        for one in standings for line in one.condition.lines
        if direction in line.mbps and direction in line.own_mbps)
    return f"{name} (without headers and unsent bytes)" if reports_more else name


def _throughput_cost(standings: Sequence[Standing], direction: str, several: bool) -> str:
    """Return what the queues with the lowest latency (the best) cost in throughput in a direction,
    as the end of the sentence "It cost …":

    - their largest loss against the queue with most in its condition: "up to 12 % of throughput:
      8.8 Mbit/s with codel, 10 with no_aqm";
    - or that the runs can't tell a loss, as they overlap;
    - or, with one condition, that it was none, with the throughput of the queues;
    - or, with several conditions, that it was none, with the largest gain over the worst queues if
      it reaches LEAST_GAIN, else that it was less than 1 %.

    "" if no condition has two queues with a throughput, one of them among the best.

    Args:
        standings: conditions whose queues differ in latency.
        direction: "download" or "upload".
        several: whether the runs have both directions.
    """
    what = _throughput_name(standings, direction, several)
    comparable = [(one, lines) for one in standings
                  if len(lines := [line for line in one.condition.lines
                                   if direction in line.mbps]) > 1
                  and any(line in one.best for line in lines)]
    if not comparable:
        return ""
    cases = [(1 - line.middle_mbps(direction) / most.middle_mbps(direction), line, most, one)
             for one, lines in comparable for most in [_highest_throughput(lines, direction)]
             for line in lines if line in one.best and most.middle_mbps(direction) > 0]
    tested = [case for case in cases if is_less_mbps(case[1], case[2], direction)]
    if tested:
        part, line, most, one = max(tested, key=lambda case: case[0])
        up_to = "up to " if len(cases) > 1 else ""
        return (f"{up_to}{100 * part:.0f} % of {what}: "
                f"{_two_rates(line, most, direction)}{_in_brackets(one, standings)}")
    if any(part > SAME_THROUGHPUT_SHARE for part, *_ in cases):
        return f"no {what} that the runs could tell, as they overlap"
    if len(comparable) > 1:
        gains = [(line.middle_mbps(direction) / slow.middle_mbps(direction), line, slow, one)
                 for one, lines in comparable for line in lines if line in one.best
                 for slow in lines if slow in one.worst and slow.middle_mbps(direction) > 0
                 and is_less_mbps(slow, line, direction)]
        largest = max(gains, key=lambda gain: gain[0], default=None)
        if largest is not None and largest[0] >= LEAST_GAIN:
            factor, line, slow, one = largest
            up_to = "up to " if len(gains) > 1 else ""
            return (f"no {what}, which was {up_to}{number(factor, 2)} times as high: "
                    f"{_two_rates(line, slow, direction)}{_in_brackets(one, standings)}")
        return f"less than 1 % of {what} in any of {len(comparable)} conditions"
    (one, lines), = comparable
    best = [line for line in lines if line in one.best]
    others = [line for line in lines if line not in one.best]
    mbps = span([line.middle_mbps(direction) for line in best], "Mbit/s")
    if not any(is_less_mbps(line, _highest_throughput(lines, direction), direction)
               for line in lines):
        mbps = span([line.middle_mbps(direction) for line in lines], "Mbit/s")
        return f"no {what}: {mbps} with all"
    return (f"no {what}: {mbps} with {listed([line.queue for line in best])}, "
            f"{span([line.middle_mbps(direction) for line in others], 'Mbit/s')} with "
            f"{listed([line.queue for line in others])}")


def _throughput_difference(standings: Sequence[Standing], direction: str, several: bool) -> str:
    """Return the sentence on the largest difference in throughput in a direction between queues of
    a condition, or on throughput that is alike. Return "" if no condition has two queues with a
    throughput, or if they differ by what may be chance.

    Args:
        standings: conditions.
        direction: "download" or "upload".
        several: whether the runs have both directions.
    """
    what = _throughput_name(standings, direction, several)
    comparable = [(one, lines) for one in standings
                  if len(lines := [line for line in one.condition.lines
                                   if direction in line.mbps]) > 1]
    pairs = [(1 - least.middle_mbps(direction) / most.middle_mbps(direction), least, most, one)
             for one, lines in comparable for most in [_highest_throughput(lines, direction)]
             for least in lines if is_less_mbps(least, most, direction)]
    if pairs:
        part, least, most, one = max(pairs, key=lambda pair: pair[0])
        up_to = "up to " if len(pairs) > 1 else ""
        return (f"{what.capitalize()} differed by {up_to}{100 * part:.0f} %: "
                f"{_two_rates(least, most, direction)}{_in_brackets(one, standings)}.")
    if comparable and _is_throughput_alike(standings, direction):
        mbps = span([line.middle_mbps(direction) for _, lines in comparable for line in lines],
                    "Mbit/s")
        too = ", too," if any(one.outcome is Outcome.ALIKE for one in standings) else ""
        return f"{what.capitalize()}{too} was alike: {mbps}."
    return ""


def _is_throughput_alike(standings: Sequence[Standing], direction: str) -> bool:
    """Return whether, in each condition, no queue has a median throughput that is lower than the
    highest by more than SAME_THROUGHPUT_SHARE of it. Queues without one are left out.

    Args:
        standings: conditions.
        direction: "download" or "upload".
    """
    told = [[line.middle_mbps(direction) for line in one.condition.lines if direction in line.mbps]
            for one in standings]
    return all(one >= (1 - SAME_THROUGHPUT_SHARE) * max(mbps) for mbps in told for one in mbps)


def _two_rates(first: QueueRuns, second: QueueRuns, direction: str) -> str:
    """Return the median throughputs of two queues in a direction, "download" or "upload", as text:
    "8.8 Mbit/s with codel, 10 with no_aqm"."""
    return (f"{number(first.middle_mbps(direction))} Mbit/s with {first.queue}, "
            f"{number(second.middle_mbps(direction))} with {second.queue}")


def _highest_throughput(lines: Sequence[QueueRuns], direction: str) -> QueueRuns:
    """Return the queue with the highest median throughput in a direction, the first of equal ones.

    Args:
        lines: queues, at least one, each with a throughput in the direction.
        direction: "download" or "upload".
    """
    return max(lines, key=lambda line: line.middle_mbps(direction))


# ---- shares and groups ----

def _sharing_sentence(standings: Sequence[Standing]) -> str:
    """Return the sentence on how test and cross traffic shared the line with the fairest and the
    least fair queue, for the condition and direction in which Jain's index of these two differs
    most. Return "" if it nowhere differs by more than UNFAIR and what may be chance."""
    cases = []
    for result in standings:
        for direction in DIRECTIONS:
            lines = [line for line in result.condition.lines if line.is_shared
                     and all(direction in values
                             for values in (line.mbps, line.own_mbps, line.fairness))]
            if len(lines) > 1:
                fair = max(lines, key=lambda line: of_any(line.fairness[direction], 50))
                unfair = min(lines, key=lambda line: of_any(line.fairness[direction], 50))
                if is_more(unfair.fairness[direction], fair.fairness[direction], UNFAIR,
                           fair.p_limit):
                    difference = (of_any(fair.fairness[direction], 50)
                                  - of_any(unfair.fairness[direction], 50))
                    cases.append((difference, direction, fair, unfair, result))
    if not cases:
        return ""
    _, direction, fair, unfair, one = max(cases, key=lambda case: case[0])
    own, other = (_own_of_all(line, direction) for line in (fair, unfair))
    rest = max(0.0, unfair.middle_mbps(direction) - of_any(unfair.own_mbps[direction], 50))
    where = f"; {one.condition.title}" if len(standings) > 1 else ""
    jain = " and ".join(number(of_any(line.fairness[direction], 50), 2) for line in (fair, unfair))
    return (f"Test and cross traffic share the line: the test's {direction} got {own} Mbit/s with "
            f"{fair.queue}, and {other} with {unfair.queue}, which left about {number(rest, 2)} "
            f"for the other (Jain's index {jain}{where}).")


def _own_of_all(line: QueueRuns, direction: str) -> str:
    """Return the median throughput of the test and of all flows in Mbit/s: "43 of 86"."""
    return (f"{number(of_any(line.own_mbps[direction], 50))} of "
            f"{number(line.middle_mbps(direction))}")


def _two_groups_sentence(standings: Sequence[Standing]) -> str:
    """Return sentences on a queue whose runs fall into two groups (see two_groups()), so that their
    median is no typical value: for the throughput or latency whose groups' medians have the largest
    ratio, with both medians, the sizes of the groups, and the number of other values of which it is
    true. Return "" if no value has two groups."""
    found = []
    for result in standings:
        for line in result.condition.lines:
            numbers = [(f"{direction} throughput", values, "Mbit/s", 3)
                       for direction, values in line.mbps.items()]
            numbers += [(f"{percentile(result.percent)} of latency",
                         line.latency_ms[result.percent], "ms", LATENCY_DIGITS)]
            for what, values, unit, digits in numbers:
                if groups := two_groups(values):
                    low, high = (of_any(group, 50) for group in groups)
                    found.append((1 - low / high if high else 0.0, line.queue, what, unit, digits,
                                  groups, result))
    if not found:
        return ""
    _, queue, what, unit, digits, (low_runs, high_runs), one = max(found, key=lambda each: each[0])
    more = f" So it is with {counted(len(found) - 1, 'other number')}." if len(found) > 1 else ""
    return (f"Runs fall into two groups, so that a median is no typical value: {what} with {queue} "
            f"was {number(of_any(low_runs, 50), digits)} {unit} in "
            f"{counted(len(low_runs), 'run')}, {number(of_any(high_runs, 50), digits)} in "
            f"{len(high_runs)}{_in_brackets(one, standings)}.{more}")


# ---- losses and runs ----

def _loss_sentence(standings: Sequence[Standing]) -> str:
    """Return sentences on the queues with the largest share of lost probes, by the median over
    runs: the share, and those queues of one condition that have it. If the difference is not chance
    (see is_more()), they also name the queue of that condition that lost least. Return "" if no
    queue lost at least LEAST_LOST_PCT, or if no probe can tell losses."""
    told = [(lost_pct, line, one) for one in standings for line in one.condition.lines
            if (lost_pct := line.middle_lost_pct) is not None]
    most_pct, most, one = max(told, key=lambda case: case[0], default=(0.0, None, None))
    if most is None or one is None or most_pct < LEAST_LOST_PCT:
        return ""
    least_pct, least, _ = min((case for case in told if case[2] is one), key=lambda case: case[0])
    less = (f", {number(least_pct, 2)} % with {least.queue}"
            if is_more(least.lost_pct, most.lost_pct, LEAST_LOST_PCT, most.p_limit) else "")
    alike = [line.queue for lost_pct, line, its in told
             if its is one and number(lost_pct) == number(most_pct)]
    return (f"Up to {number(most_pct, 2)} % of the probes were lost: with {listed(alike)}"
            f"{_in_brackets(one, standings)}{less}. A lost probe counts as later than any other.")


def _in_brackets(one: Standing, among: Sequence[Standing]) -> str:
    """Return " (TITLE)", the title of a condition after a blank, or "" if there is only one
    condition.

    Args:
        one: the condition.
        among: all conditions.
    """
    return f" ({one.condition.title})" if len(among) > 1 else ""


def _number_of_runs_sentence(standings: Sequence[Standing], compared_word: str, all_runs: int,
                             apart: Sequence[str]) -> str:
    """Return the sentence on the number of runs that were compared, followed by one on runs that
    were not, if any. It warns of chance if a queue has so few runs, three or fewer, that chance
    alone keeps them apart from as many others with a probability of 5 % (FALSE_SHARE) or more.

    Args:
        standings: conditions with several queues. The other arguments are as for headline().
    """
    counts = [line.runs for one in standings for line in one.condition.lines]
    low, high = min(counts), max(counts)
    each = f"{low}" if low == high else f"{low} to {high}"
    where = " in each condition" if len(standings) > 1 else ""
    few = "single" if low == 1 else "so few"
    chance = (f": how much of the difference is chance, {few} runs don't tell."
              if least_p(low, low) >= FALSE_SHARE else ".")
    others = all_runs - sum(counts)
    but = f" that is alike in {_listed_settings(apart)}" if apart else ""
    rest = (f" {'One more run has' if others == 1 else f'{others} more runs have'} no latency "
            f"under load, or no other {compared_word} to be compared with{but}." if others else "")
    return (f"From {counted(sum(counts), 'run')}, {each} of each {compared_word}{where}{chance}"
            f"{rest}")


def _listed_settings(settings: Sequence[str]) -> str:
    """Return names of settings, at least one, as a list in a sentence: "a, b and c". Names are cut,
    and unprintable characters in them replaced, see harmless()."""
    return listed([harmless(name) for name in settings])
