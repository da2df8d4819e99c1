# SPDX-License-Identifier: GPL-3.0-or-later
"""What a link can carry when: the one form that all traces and models of links come to.

The lab's kernel plays it (setup/kernel/patches/0012-links-that-play-a-schedule.patch). A quarter
of an hour in cycles of a millisecond is almost a million steps: they are a table, and what is done
to them is done to whole columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.links.outages import Outage
from flent_aqm.parts.links.units import NS, OPPORTUNITY_BYTES

# As many as the kernel takes: 4 million steps of 32 bytes.
MOST_STEPS = 1 << 22
_MOST_BURST_BYTES = 1 << 30
# TCP gives a connection up after so long without an answer: tcp_retries2 = 15, of
# Documentation/networking/ip-sysctl.rst.
TCP_GIVES_UP_S = 924


class Step(NamedTuple):
    """From at_ns up to the next step: rate in bit/s, one-way delay, share of packets lost (0 to
    1). At at_ns, and only then, burst_bytes go at once. line: of the file that it comes from."""

    at_ns: int
    rate_bit_s: int = 0
    delay_ns: int = 0
    burst_bytes: int = 0
    loss: float = 0.0
    line: int = 0


# Steps, a row each, with Step's columns.
Table = NDArray[numpy.void]
_COLUMNS = numpy.dtype([(name, "f8" if name == "loss" else "i8") for name in Step._fields])
# struct step of sch_lablink.c
_PACKED = numpy.dtype([("at_ns", "<u8"), ("rate_bit_s", "<u8"), ("delay_ns", "<u8"),
                       ("burst_bytes", "<u4"), ("loss", "<u4")])


@dataclass(frozen=True, eq=False)
class Schedule:
    """Steps in order of time, the first at 0. After period_ns they begin again; 0: the last one
    goes on. counts_frames: bytes are those of frames, with their Ethernet header, as HTB and
    TBF count; else those of IP packets."""

    table: Table
    period_ns: int = 0
    counts_frames: bool = True

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Return them one by one, to look at."""
        return tuple(map(self._step, range(len(self.table))))

    def _step(self, index: int) -> Step:
        return Step(*self.table[index].item())

    @cached_property
    def mean_mbps(self) -> float:
        """Mbit/s over a period; of a schedule that doesn't begin again, up to its last step's
        time, or that step's alone if it is the only one."""
        end_ns = self.period_ns or int(self.table["at_ns"][-1])
        if not end_ns:
            return int(self.table["rate_bit_s"][0]) / 1e6
        lasts = self._lasts_ns(end_ns)
        flowing = self.table["rate_bit_s"] > 0
        # One by one, as the product of a rate and a time can have more than 64 bits.
        bits = sum((rate * ns / NS for rate, ns in zip(
            self.table["rate_bit_s"][flowing].tolist(), lasts[flowing].tolist(), strict=True)),
            start=8.0 * int(self.table["burst_bytes"].sum()))
        return bits / end_ns * 1e3

    def _lasts_ns(self, end_ns: int) -> NDArray[Any]:
        """How long each step lasts."""
        return numpy.diff(self.table["at_ns"], append=end_ns)

    @cached_property
    def passing(self) -> NDArray[Any]:
        """The numbers of the steps in which something arrives."""
        return numpy.flatnonzero((self.table["loss"] < 1) & (
            (self.table["rate_bit_s"] > 0) | (self.table["burst_bytes"] > 0)))

    def dead_from_ns(self) -> int | None:
        """Return when the link carries for the last time, None if it never ends."""
        end = self._step(-1)
        if self.period_ns or (end.rate_bit_s and end.loss < 1):
            return None
        last = int(self.passing[-1]) if len(self.passing) else 0
        return self._step(last + 1 if self._step(last).rate_bit_s else last).at_ns

    def longest_gap_s(self) -> tuple[float, Step]:
        """Return the longest time in which nothing arrives, and the step in which it begins."""
        passing, at_ns = self.passing, self.table["at_ns"]
        if not len(passing):
            return 0.0, self._step(0)
        # A burst is over at once, a rate with its step.
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
        """Return the form in which the kernel reads it."""
        table = numpy.empty(len(self.table), _PACKED)
        for name in ("at_ns", "rate_bit_s", "delay_ns"):
            table[name] = self.table[name]
        table["burst_bytes"] = numpy.minimum(self.table["burst_bytes"], _MOST_BURST_BYTES)
        table["loss"] = numpy.minimum(numpy.rint(self.table["loss"] * 2**32), 2**32 - 1)
        return table.tobytes()


def schedule_of(steps: Sequence[Step], period_ns: int = 0) -> Schedule:
    """Return the schedule of these few steps."""
    return Schedule(numpy.array(steps, _COLUMNS), period_ns)


def constant(rate_mbps: float) -> Schedule:
    """Return one rate for ever."""
    return schedule_of([Step(0, round(rate_mbps * 1e6))])


def of_opportunities(counts: Mapping[int, int], period_ns: int) -> Schedule:
    """Return what carries so many opportunities of 1500 bytes at each of these times, in ms."""
    table = numpy.zeros(len(counts), _COLUMNS)
    at_ms = sorted(counts)
    table["at_ns"] = numpy.array(at_ms) * 10**6
    table["burst_bytes"] = numpy.array([counts[at] for at in at_ms]) * OPPORTUNITY_BYTES
    return Schedule(table, period_ns, counts_frames=False)


def unrolled(schedule: Schedule, length_ns: int) -> Schedule:
    """Return the schedule repeated until it is at least so long; it then begins again after
    that."""
    table, period_ns = schedule.table, schedule.period_ns
    if not period_ns:
        return replace(schedule, table=table[table["at_ns"] < length_ns], period_ns=length_ns)
    rounds = -(-length_ns // period_ns)
    _refuse_too_many(rounds * len(table))
    whole = numpy.tile(table, rounds)
    whole["at_ns"] += numpy.repeat(numpy.arange(rounds) * period_ns, len(table))
    return replace(schedule, table=whole, period_ns=rounds * period_ns)


def split(schedule: Schedule, times_ns: Iterable[int]) -> Schedule:
    """Return the same with a step at each of these times, of which some may be there."""
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
    """Let the link carry nothing in these steps."""
    table["rate_bit_s"][where] = 0
    table["burst_bytes"][where] = 0


def cut(schedule: Schedule, outages: Sequence[Outage]) -> Schedule:
    """Return the schedule, which carries nothing then."""
    if not outages:
        return schedule
    bounds = [at for outage in outages for at in outage]
    whole = split(schedule, bounds)
    # They ascend: behind an odd number of bounds is inside of one.
    without_capacity(whole.table,
                     numpy.searchsorted(bounds, whole.table["at_ns"], "right") % 2 == 1)
    return whole


def in_grants(schedule: Schedule, cycle_ns: int) -> Schedule:
    """Return what the link could carry in each cycle, at once at the end of it. A cycle that the
    period cuts short is granted at the period's end. A schedule without period has one rate."""
    if not schedule.period_ns:
        schedule = replace(schedule, table=schedule.table[:1], period_ns=cycle_ns)
    period_ns = schedule.period_ns
    _refuse_too_many(period_ns // cycle_ns)
    table = split(schedule, range(0, period_ns, cycle_ns)).table
    lasts_ns = numpy.diff(table["at_ns"], append=period_ns)
    cycle = table["at_ns"] // cycle_ns
    granted = numpy.bincount(cycle, table["burst_bytes"]
                             + table["rate_bit_s"].astype(float) * lasts_ns / (8 * NS))
    # What a cycle grants is at the next one's beginning, what the last one grants at the period's.
    numbers = numpy.arange(len(granted))
    steps = table[numpy.searchsorted(cycle, numpy.roll(numbers, 1), "right") - 1]
    steps["at_ns"] = numbers * cycle_ns
    steps["rate_bit_s"] = 0
    steps["burst_bytes"] = numpy.roll(_whole_bytes(granted.tolist()), 1)
    return replace(schedule, table=steps)


def _whole_bytes(granted: Sequence[float]) -> list[int]:
    """None lost to rounding."""
    whole_bytes, owed = [], 0.0
    for each in granted:
        owed += each
        whole = int(owed)
        owed -= whole
        whole_bytes.append(whole)
    return whole_bytes


def unplayable(schedule: Schedule, *, place: str = "") -> str:
    """Return why TCP starves on this link, "" where it doesn't. place: the file, with a colon."""
    if not len(schedule.passing):
        return (f"{place}nothing ever passes this link; give it a rate above 0 and a loss below "
                "100 %")
    gap_s, step = schedule.longest_gap_s()
    if gap_s <= TCP_GIVES_UP_S:
        return ""
    where = f"{place}{step.line}:1: " if step.line else place
    return (f"{where}nothing passes for {gap_s:g} s from {step.at_ns / NS:g} s on, and TCP gives "
            f"up after {TCP_GIVES_UP_S} s; expected less")


def _refuse_too_many(steps: int) -> None:
    if steps > MOST_STEPS:
        raise ConfigError(f"link: its schedule would have {steps} steps; expected at most "
                          f"{MOST_STEPS}: give a shorter trace or a longer cycle_ms")
