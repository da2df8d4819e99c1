# SPDX-License-Identifier: GPL-3.0-or-later
"""The schedule of a link: rate, delay, loss and bursts over time.

All traces and models of links are converted into it. The lab's kernel plays it
(setup/kernel/patches/0012-links-that-play-a-schedule.patch). A quarter of an hour in cycles of a
millisecond is almost a million steps. They are therefore rows of a numpy array, and functions work
on whole columns.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.links.keys import NS, OPPORTUNITY_BYTES, Access, Outage

# The kernel's module takes at most 4 million steps of 32 bytes.
MOST_STEPS = 1 << 22
_MOST_BURST_BYTES = 1 << 30
# TCP gives a connection up after so many seconds without an acknowledgement: tcp_retries2 = 15 in
# Documentation/networking/ip-sysctl.rst.
TCP_GIVES_UP_S = 924
# Random reallocations and outages are computed for so many seconds. Then the schedule repeats.
ROUND_S = 900


class Step(NamedTuple):
    """A step of a schedule, from `at_ns` up to the next step.

    Attributes:
        at_ns: beginning of the step.
        rate_bit_s: rate in bit/s.
        delay_ns: extra one-way delay.
        burst_bytes: bytes that the link sends at once, at `at_ns` only.
        loss: share of packets that is lost, from 0 to 1.
        line: number of the trace file's line that the step comes from, 0 for none.
    """

    at_ns: int
    rate_bit_s: int = 0
    delay_ns: int = 0
    burst_bytes: int = 0
    loss: float = 0.0
    line: int = 0


# A numpy array with a row per step, and the fields of Step as columns.
Table = NDArray[numpy.void]
_COLUMNS = numpy.dtype([(name, "f8" if name == "loss" else "i8") for name in Step._fields])
# Layout of struct step in sch_lablink.c.
_PACKED = numpy.dtype([("at_ns", "<u8"), ("rate_bit_s", "<u8"), ("delay_ns", "<u8"),
                       ("burst_bytes", "<u4"), ("loss", "<u4")])


@dataclass(frozen=True, eq=False)
class Schedule:
    """Steps of a link in order of time, the first at 0.

    Attributes:
        table: the steps, a row each, with the fields of Step as columns.
        period_ns: the schedule repeats after this time. 0: the last step lasts for ever.
        counts_frames: True: sizes include the Ethernet header, as HTB and TBF count. False: sizes
            are those of IP packets.
    """

    table: Table
    period_ns: int = 0
    counts_frames: bool = True

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps as records, in order of time."""
        return tuple(map(self._step, range(len(self.table))))

    def _step(self, index: int) -> Step:
        """Return the step with this number. Negative numbers count from the end."""
        return Step(*self.table[index].item())

    @cached_property
    def mean_mbps(self) -> float:
        """Mean rate in Mbit/s over a period, with what is lost. If the schedule doesn't repeat, it
        is the mean up to the beginning of the last step, with that step's burst, or the rate of the
        only step."""
        end_ns = self.period_ns or int(self.table["at_ns"][-1])
        if not end_ns:
            return int(self.table["rate_bit_s"][0]) / 1e6
        lasts = self._lasts_ns(end_ns)
        flowing = self.table["rate_bit_s"] > 0
        # In Python's integers, because the product of a rate and a time can have more than 64 bits.
        bits = sum((rate * ns / NS for rate, ns in zip(
            self.table["rate_bit_s"][flowing].tolist(), lasts[flowing].tolist(), strict=True)),
            start=8.0 * int(self.table["burst_bytes"].sum()))
        return bits / end_ns * 1e3

    def _lasts_ns(self, end_ns: int) -> NDArray[Any]:
        """Return the duration of each step in ns. The last step ends at `end_ns`."""
        return numpy.diff(self.table["at_ns"], append=end_ns)

    @cached_property
    def passing(self) -> NDArray[Any]:
        """Indices of the steps in which some packets arrive: rate or burst above 0, and loss below
        100 %."""
        return numpy.flatnonzero((self.table["loss"] < 1) & (
            (self.table["rate_bit_s"] > 0) | (self.table["burst_bytes"] > 0)))

    def dead_from_ns(self) -> int | None:
        """Return the time from which the link carries nothing any more, in ns: the end of the last
        step in which packets pass, or the time of its burst if it has nothing but a burst. 0 if
        nothing ever passes. None if there is no such time, as for each schedule that repeats."""
        end = self._step(-1)
        if self.period_ns or (end.rate_bit_s and end.loss < 1):
            return None
        if not len(self.passing):
            return 0
        last = int(self.passing[-1])
        return self._step(last + 1 if self._step(last).rate_bit_s else last).at_ns

    def longest_gap_s(self) -> tuple[float, Step]:
        """Return the longest time in which nothing arrives, in s, and the step in which it begins.
        If the schedule repeats, it may reach into the next round. 0 and the first step if there is
        no such time, or if nothing ever arrives. The time after a schedule that ends, see
        dead_from_ns(), doesn't count."""
        passing, at_ns = self.passing, self.table["at_ns"]
        if not len(passing):
            return 0.0, self._step(0)
        # A gap begins right after a burst, but after a rate only with the next step.
        since = passing + (self.table["rate_bit_s"][passing] > 0)
        begins, ends = since[:-1], at_ns[passing[1:]]
        if passing[0]:
            begins, ends = numpy.append(0, begins), numpy.append(at_ns[passing[0]], ends)
        if self.period_ns and since[-1] < len(at_ns):
            begins = numpy.append(begins, since[-1])
            ends = numpy.append(ends, self.period_ns + at_ns[passing[0]])
        gaps = ends - at_ns[begins]
        if not gaps.any():
            return 0.0, self._step(0)
        longest = int(gaps.argmax())
        return int(gaps[longest]) / NS, self._step(int(begins[longest]))

    def packed(self) -> bytes:
        """Return the steps as bytes in the layout that the kernel's module reads, 32 a step. Bursts
        above 2^30 bytes are cut to that."""
        table = numpy.empty(len(self.table), _PACKED)
        for name in ("at_ns", "rate_bit_s", "delay_ns"):
            table[name] = self.table[name]
        table["burst_bytes"] = numpy.minimum(self.table["burst_bytes"], _MOST_BURST_BYTES)
        table["loss"] = numpy.minimum(numpy.rint(self.table["loss"] * 2**32), 2**32 - 1)
        return table.tobytes()


def schedule_of(steps: Sequence[Step], period_ns: int = 0) -> Schedule:
    """Return the schedule that consists of these steps. Its sizes include the Ethernet header.

    Args:
        steps: the steps in order of time, the first at 0.
        period_ns: the schedule repeats after this time. 0: it doesn't repeat.
    """
    return Schedule(numpy.array(steps, _COLUMNS), period_ns)


def constant(rate_mbps: float) -> Schedule:
    """Return a schedule with one rate for ever."""
    return schedule_of([Step(0, round(rate_mbps * 1e6))])


def of_opportunities(counts: Mapping[int, int], period_ns: int) -> Schedule:
    """Return a schedule that sends bursts of packets at given times, and nothing between. Its sizes
    are those of IP packets.

    Args:
        counts: time in ms -> number of delivery opportunities of 1500 bytes. It has the time 0,
            with 0 if there are none.
        period_ns: the schedule repeats after this time. 0: never, so nothing is sent after the last
            burst.
    """
    table = numpy.zeros(len(counts), _COLUMNS)
    at_ms = sorted(counts)
    table["at_ns"] = numpy.array(at_ms) * 10**6
    table["burst_bytes"] = numpy.array([counts[at] for at in at_ms]) * OPPORTUNITY_BYTES
    return Schedule(table, period_ns, counts_frames=False)


def unrolled(schedule: Schedule, length_ns: int) -> Schedule:
    """Return the schedule repeated in whole rounds until it is at least `length_ns` long. A
    schedule without a period is cut at `length_ns`, up to which its last step lasts. The result
    repeats.

    Raises ConfigError if the result has too many steps.
    """
    table, period_ns = schedule.table, schedule.period_ns
    if not period_ns:
        return replace(schedule, table=table[table["at_ns"] < length_ns], period_ns=length_ns)
    rounds = -(-length_ns // period_ns)
    _refuse_too_many(rounds * len(table), "link_…_trace",
                     "a trace with fewer changes per second, or earlier outages")
    whole = numpy.tile(table, rounds)
    whole["at_ns"] += numpy.repeat(numpy.arange(rounds) * period_ns, len(table))
    return replace(schedule, table=whole, period_ns=rounds * period_ns)


def split(schedule: Schedule, times_ns: Iterable[int]) -> Schedule:
    """Return the same schedule with further steps that begin at `times_ns`. A new step is as the
    one that it divides, without its burst. Times at which a step begins already, and times outside
    the schedule, are ignored."""
    there = schedule.table["at_ns"]
    times = numpy.array(times_ns if isinstance(times_ns, range) else list(times_ns), "i8")
    inside = (times > 0) & (times < (schedule.period_ns or times + 1))
    at_ns = numpy.sort(numpy.concatenate([there, times[inside]]), kind="stable")
    at_ns = at_ns[numpy.append(True, numpy.diff(at_ns) > 0)]
    before = numpy.searchsorted(there, at_ns, "right") - 1
    table = schedule.table[before]
    table["burst_bytes"][there[before] != at_ns] = 0
    table["at_ns"] = at_ns
    return replace(schedule, table=table)


def without_capacity(table: Table, where: NDArray[Any]) -> None:
    """Set rate and burst of the steps selected by `where` (a boolean mask) to 0, in place."""
    table["rate_bit_s"][where] = 0
    table["burst_bytes"][where] = 0


def cut(schedule: Schedule, outages: Sequence[Outage]) -> Schedule:
    """Return the schedule without capacity during the outages. If it repeats, outages count from
    the beginning of each round, and their parts beyond the period don't count.

    Args:
        schedule: the schedule.
        outages: (begin, end) in ns, ascending and without overlap.
    """
    if not outages:
        return schedule
    bounds = [at for outage in outages for at in outage]
    whole = split(schedule, bounds)
    # Bounds ascend, so a time with an odd number of bounds before it is inside an outage.
    without_capacity(whole.table,
                     numpy.searchsorted(bounds, whole.table["at_ns"], "right") % 2 == 1)
    return whole


def in_grants(schedule: Schedule, cycle_ns: int) -> Schedule:
    """Return a schedule that sends in grants: the capacity of each cycle is sent at once at its
    end.

    A grant has the delay and the loss of the end of its cycle. A cycle that the period cuts short
    is granted at the period's end.

    Args:
        schedule: rates and bursts before granting. It repeats, and so does the result.
        cycle_ns: length of a cycle.

    Raises ConfigError if there are too many cycles.
    """
    period_ns = schedule.period_ns
    _refuse_too_many(period_ns // cycle_ns, "link_…_access",
                     "a longer cycle_ms, a shorter trace, or earlier outages")
    table = split(schedule, range(0, period_ns, cycle_ns)).table
    lasts_ns = numpy.diff(table["at_ns"], append=period_ns)
    cycle = table["at_ns"] // cycle_ns
    granted = numpy.bincount(cycle, table["burst_bytes"]
                             + table["rate_bit_s"].astype(float) * lasts_ns / (8 * NS))
    # The grant of a cycle is sent when the next cycle begins, that of the last one when the period
    # begins.
    numbers = numpy.arange(len(granted))
    steps = table[numpy.searchsorted(cycle, numpy.roll(numbers, 1), "right") - 1]
    steps["at_ns"] = numbers * cycle_ns
    steps["rate_bit_s"] = 0
    steps["burst_bytes"] = numpy.roll(_whole_bytes(granted.tolist()), 1)
    return replace(schedule, table=steps)


def _whole_bytes(granted: Sequence[float]) -> list[int]:
    """Round bytes down to integers, and add each fraction that is cut off to the next value, so
    that the sum loses less than a byte."""
    whole_bytes, owed = [], 0.0
    for each in granted:
        owed += each
        whole = int(owed)
        owed -= whole
        whole_bytes.append(whole)
    return whole_bytes


def unplayable(schedule: Schedule, *, prefix: str = "") -> str:
    """Return the reason why TCP starves on this link, "" if it doesn't. Reasons are that nothing
    ever passes, or that nothing passes for more than 924 s. The time after a schedule that ends
    doesn't count.

    Args:
        schedule: the schedule.
        prefix: path of the trace file and a colon, put before the message. If the gap begins in a
            step that comes from a line of the file, the line's number follows. "" for none.
    """
    blank = " " if prefix else ""
    if not len(schedule.passing):
        return (f"{prefix}{blank}nothing ever passes this link; give it a rate above 0 and a loss "
                "below 100 %")
    gap_s, step = schedule.longest_gap_s()
    if gap_s <= TCP_GIVES_UP_S:
        return ""
    where = f"{prefix}{step.line}:1: " if prefix and step.line else f"{prefix}{blank}"
    return (f"{where}nothing passes for {gap_s:.12g} s from {step.at_ns / NS:.12g} s on, and TCP "
            f"gives up after {TCP_GIVES_UP_S} s; expected {TCP_GIVES_UP_S} s at most")


def _refuse_too_many(steps: int, key: str, advice: str) -> None:
    """Raise ConfigError if there are more than MOST_STEPS steps, 4,194,304.

    Args:
        steps: number of the schedule's steps.
        key: the batch key to blame.
        advice: what to give instead.
    """
    if steps > MOST_STEPS:
        raise ConfigError(f"{key}: the link's schedule would have {steps:,} steps; expected at "
                          f"most {MOST_STEPS:,}: give {advice}")


def allot(schedule: Schedule, access: Access, outages: Sequence[Outage], seed: int,
          direction: str) -> Schedule:
    """Return the schedule after reallocations, outages and grants, in this order.

    With reallocations, and with outages of a schedule that repeats, the result repeats after 900 s
    (ROUND_S), or at the last outage's end or the last step if those are later; if `schedule`
    repeats, at the end of its round at that time. So it does with grants of a schedule that changes
    and doesn't repeat, because of its steps or of outages. The outages are in each round of the
    result.

    Args:
        schedule: rate, delay and loss of the link before its medium access.
        access: the access model.
        outages: times at which the link carries nothing, (begin, end) in ns.
        seed: seed of the random numbers of reallocations.
        direction: "down" or "up". Each direction has its own random numbers.

    Raises ConfigError if the schedule gets too many steps.
    """
    round_ns = max([ROUND_S * NS, int(schedule.table["at_ns"][-1]), *(end for _, end in outages)])
    if access.period_s or (schedule.period_ns and outages):
        schedule = unrolled(schedule, round_ns)
    if access.period_s:
        schedule = _with_reallocations(schedule, access, seed, direction)
    schedule = cut(schedule, outages)
    cycle_ns = round(access.cycle_ms * 1e6)
    if not cycle_ns:
        return schedule
    if not schedule.period_ns:
        schedule = unrolled(schedule, round_ns if len(schedule.table) > 1 else cycle_ns)
    return in_grants(schedule, cycle_ns)


def _with_reallocations(schedule: Schedule, access: Access, seed: int, direction: str) -> Schedule:
    """Return the schedule with random changes of capacity and delay, and a gap without capacity, at
    each reallocation. Between two of them, rates and bursts are multiplied by one random factor,
    and a random delay is added. The time before the first has a factor and a delay of its own.

    Args:
        schedule: a schedule that repeats.
        access: the access model, whose period is above 0.
        seed: seed of the random numbers.
        direction: "down" or "up". Each direction has its own random numbers.

    Raises ConfigError if there are too many reallocations.
    """
    chance = random.Random(f"{seed} {direction} access").random
    every, offset, gap = (round(value * NS) for value in (
        access.period_s, access.offset_s % access.period_s, access.gap_ms / 1000))
    # A period of less than half a nanosecond is rounded to 0.
    _refuse_too_many(len(schedule.table) + 2 * schedule.period_ns // max(every, 1),
                     f"link_{direction}_access",
                     "a longer period_s, a shorter trace, or earlier outages")
    # Begins with the reallocation before the first one: it holds when the link begins.
    begins = range(offset - every, schedule.period_ns, every)
    drawn = [(1 + access.rate_spread_pct / 100 * (2 * chance() - 1),
              round(access.delay_spread_ms * 1e6 * chance())) for _ in begins]
    factors, delays_ns = map(numpy.array, zip(*drawn, strict=True))
    whole = split(schedule, [at for begin in begins for at in (begin, begin + gap)])
    since_ns = whole.table["at_ns"] - begins[0]
    number = since_ns // every
    whole.table["delay_ns"] += delays_ns[number]
    for name in ("rate_bit_s", "burst_bytes"):
        whole.table[name] = numpy.rint(whole.table[name] * factors[number])
    without_capacity(whole.table, since_ns % every < gap)
    return whole
