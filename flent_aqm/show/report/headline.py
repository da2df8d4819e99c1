# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings in words, and how their picture is drawn: a scale, and places on it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.show.report.findings import Condition, Line, is_lost

# Latencies that differ by less than both are called alike: no user can tell, and few runs.
ALIKE_SHARE, ALIKE_MS = 0.1, 0.5
SAME_THROUGHPUT_SHARE = 0.01
LEAST_LOST_PCT = 0.5
# More panels than this stand behind a click.
MOST_PANELS = 8


def headline(conditions: Sequence[Condition], words: str, all_runs: int) -> list[str]:
    """Sentences that say what was found; words: what its lines are, such as "queue";
    all_runs: how many there are, also without load."""
    compared = [one for one in conditions if len(one.lines) > 1]
    if not conditions:
        return ["None of these runs measured latency under load; the tables below have the rest."]
    if not compared:
        alone = _alone(conditions)
        return [alone, f"Nothing to compare: no two runs are alike in all but the {words}."]
    return [_lowest(compared), _cost(compared), *_loss(compared), _runs(compared, words, all_runs)]


def _alone(conditions: Sequence[Condition]) -> str:
    lines = [(one, line) for one in conditions for line in one.lines]
    if len(lines) > 1:
        return f"{len(lines)} conditions were measured."
    (one, line), = lines
    return (f"With {line.queue}, {_share(one.tail_pct)} of the probes under load were back "
            f"within {ms(line.tail_ms)}.")


def _lowest(compared: Sequence[Condition]) -> str:
    """Who kept latency lowest, and who was worst."""
    share = _share(min(one.tail_pct for one in compared))
    differing = [one for one in compared if len(_best(one)) < len(one.lines)]
    if not differing:
        span = _span([line.tail_ms for one in compared for line in one.lines])
        return f"All kept latency under load alike: {share} of the probes were back within {span}."
    alike, compared = len(compared) - len(differing), differing
    bests = [_best(one) for one in compared]
    winners, won = _most([line.queue for best in bests for line in best])
    losers, lost = _most([line.queue for one in compared for line in one.lines
                          if _order(line) == max(map(_order, one.lines))])
    loser = losers[0]
    span = _span(_tails(compared, winners))
    text = (f"{_listed(winners)} kept latency under load lowest{_where(won, compared)}: "
            f"{share} of the probes were back within {span}.")
    if loser not in winners:
        factor = _factor(compared, winners, loser)
        times = f", {factor} times as long" if factor else ""
        worst = _where(lost, compared)
        tails = _tails(compared, [loser])
        took = f"it took {_span(tails)}{times}" if any(map(_is_known, tails)) else (
            f"fewer than {share} came back at all")
        text += f" With {loser}, the worst{worst}, {took}."
    return text + (f" In {alike} more conditions all did alike." if alike else "")


def _most(queues: Sequence[str]) -> tuple[list[str], int]:
    """Return those that are named most often, and how often."""
    counted = Counter(queues)
    most = max(counted.values())
    return [queue for queue in counted if counted[queue] == most], most


def _where(times: int, compared: Sequence[Condition]) -> str:
    if len(compared) == 1:
        return ""
    every = "both" if len(compared) == 2 else f"all {len(compared)}"
    return (f" in {every} conditions" if times == len(compared)
            else f" in {times} of {len(compared)} conditions")


def _tails(compared: Sequence[Condition], queues: Sequence[str]) -> list[float | None]:
    return [line.tail_ms for one in compared for line in one.lines if line.queue in queues]


def _cost(compared: Sequence[Condition]) -> str:
    """Return what the best in latency lost in throughput, in the condition where it was most."""
    found = []
    for one in compared:
        known = [line for line in one.lines if line.total_mbps]
        if known:
            best = min(known, key=_order)
            most = max(known, key=lambda line: line.total_mbps or 0)
            found.append((1 - (best.total_mbps or 0) / (most.total_mbps or 1), best, most, one))
    if not found:
        return "These runs don't tell their throughput."
    share, best, most, one = max(found, key=lambda cost: cost[0])
    if share < SAME_THROUGHPUT_SHARE:
        alike = (f"{number(best.total_mbps or 0)} Mbit/s with all" if len(compared) == 1
                 else "it differed by less than 1 %")
        return f"It cost no throughput: {alike}."
    where = f" ({one.title})" if len(compared) > 1 else ""
    most_of_all = "at most " if len(compared) > 1 else ""
    return (f"It cost {most_of_all}{100 * share:.0f} % of throughput: "
            f"{number(best.total_mbps or 0)} Mbit/s with {best.queue}, "
            f"{number(most.total_mbps or 0)} with {most.queue}{where}.")


def _loss(compared: Sequence[Condition]) -> list[str]:
    """Who lost most probes, and how losses count; nothing where hardly any was lost."""
    line = max((line for one in compared for line in one.lines), key=lambda line: line.lost_pct)
    if line.lost_pct < LEAST_LOST_PCT:
        return []
    return [(f"Up to {number(line.lost_pct)} % of the probes were lost, with {line.queue}; a lost "
             "probe counts as later than any other.")]


def _runs(compared: Sequence[Condition], words: str, all_runs: int) -> str:
    counts = [line.runs for one in compared for line in one.lines]
    low, high = min(counts), max(counts)
    each = f"{low}" if low == high else f"{low} to {high}"
    where = " in each condition" if len(compared) > 1 else ""
    chance = (": how much of the difference is chance, single runs don't tell." if high == 1
              else ".")
    others = all_runs - sum(counts)
    rest = (f" {'One more run has' if others == 1 else f'{others} more runs have'} no latency "
            f"under load, or no other {words} to be compared with." if others else "")
    return f"From {sum(counts)} runs, {each} of each {words}{where}{chance}{rest}"


def _best(one: Condition) -> list[Line]:
    least = min(one.lines, key=_order)
    if least.tail_ms is None or is_lost(least.tail_ms):
        return [line for line in one.lines if _order(line) == _order(least)]
    room = max(least.tail_ms * (1 + ALIKE_SHARE), least.tail_ms + ALIKE_MS)
    return [line for line in one.lines if line.tail_ms is not None and line.tail_ms <= room]


def _order(line: Line) -> float:
    return math.inf if line.tail_ms is None else line.tail_ms


def _factor(compared: Sequence[Condition], winners: Sequence[str], loser: str) -> str:
    found = []
    for one in compared:
        tails = {line.queue: line.tail_ms for line in one.lines}
        low = min((ms for name in winners if (ms := tails.get(name))), default=None)
        high = tails.get(loser)
        if low and high and math.isfinite(low) and math.isfinite(high):
            found.append(high / low)
    if not found or max(found) < 1.5:
        return ""
    low, high = min(found), max(found)
    return number(low, 2) if high < 1.2 * low else f"{number(low, 2)} to {number(high, 2)}"


def _span(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    if ms(low) == ms(high):
        return ms(low)
    if is_lost(high):
        return f"{_span(list(filter(_is_known, known)))} where so many came back at all"
    return f"{ms(low).removesuffix(' ms')} to {ms(high)}"


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _share(percent: float) -> str:
    return "half" if percent == 50 else f"{percent:g} %"


def ms(value: float | None) -> str:
    """Return a latency with its unit; words for none and for lost ones."""
    if value is None:
        return "not measured"
    return "lost" if is_lost(value) else f"{number(value)} ms"


def number(value: float, digits: int = 3) -> str:
    """Return a number in so many significant digits, without an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return f"{rounded:,.{max(0, places)}f}".rstrip("0").rstrip(".") if places > 0 \
        else f"{rounded:,.0f}"


@dataclass(frozen=True)
class Scale:
    """A logarithmic scale of latencies that all panels share, in % of its width."""

    low_ms: float
    high_ms: float

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Decades inside: (place, text)."""
        first, last = math.ceil(math.log10(self.low_ms) - 1e-9), math.floor(
            math.log10(self.high_ms) + 1e-9)
        return [(self.place(10.0 ** at), number(10.0 ** at)) for at in range(first, last + 1)]

    def place(self, value_ms: float | None) -> float:
        """Return where a latency stands; lost ones at the end."""
        if value_ms is None or is_lost(value_ms):
            return 100.0
        inside = min(max(value_ms, self.low_ms), self.high_ms)
        return round(100 * math.log(inside / self.low_ms)
                     / math.log(self.high_ms / self.low_ms), 2)


def scale(conditions: Sequence[Condition]) -> Scale:
    """From the decade below the least latency to the one above the highest."""
    known = [value for one in conditions for line in one.lines
             for value in (line.middle_ms, line.tail_ms)
             if value is not None and 0 < value < math.inf]
    low, high = min(known, default=1.0), max(known, default=10.0)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return Scale(10.0 ** first, 10.0 ** max(last, first + 1))


def panels(conditions: Sequence[Condition]) -> Mapping[str, Any]:
    """Return what the template draws: panels at once, more behind a click, and the ticks."""
    common = scale(conditions)
    drawn = [{"title": one.title, "tail": _share(one.tail_pct), "lines": [{
        "queue": line.queue,
        # Black would not be seen on dark ground.
        "colour": "var(--ink)" if line.colour == "#000000" else line.colour, "runs": line.runs,
        "from": common.place(line.middle_ms), "to": common.place(line.tail_ms),
        "lost": is_lost(line.tail_ms), "middle": ms(line.middle_ms), "latency": ms(line.tail_ms),
        "lost_pct": number(line.lost_pct, 2) if line.lost_pct else "",
        "throughput": _throughput(line)} for line in one.lines]} for one in conditions]
    return {"first": drawn[:MOST_PANELS], "more": drawn[MOST_PANELS:], "ticks": common.ticks}


def _throughput(line: Line) -> str:
    """Return Mbit/s of the directions, once where they are alike."""
    if not line.mbps:
        return ""
    values = [number(one) for one in line.mbps.values()]
    return values[0] if len(set(values)) == 1 else " / ".join(values)
