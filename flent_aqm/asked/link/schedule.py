# SPDX-License-Identifier: GPL-3.0-or-later
"""What a link can carry when: the one form that all traces and models of links come to.

The lab's kernel plays it (setup/kernel/patches/0012-links-that-play-a-schedule.patch).
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from flent_aqm.base.errors import ConfigError

NS = 10**9
# What comes after a trace's end: its beginning, or its last row for ever.
ENDS = ("repeat", "hold")
OPPORTUNITY_BYTES = 1500  # mahimahi's
# As many as the kernel takes: 4 million steps of 32 bytes.
MOST_STEPS = 1 << 22
_MOST_BURST_BYTES = 1 << 30
_STEP = struct.Struct("<QQQII")
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


@dataclass(frozen=True)
class Schedule:
    """Steps in order of time, the first at 0. After period_ns they begin again; 0: the last one
    goes on. counts_frames: bytes are those of frames, with their Ethernet header, as HTB and
    TBF count; else those of IP packets."""

    steps: tuple[Step, ...]
    period_ns: int = 0
    counts_frames: bool = True

    @property
    def mean_mbps(self) -> float:
        """Mbit/s over a period; of a schedule that doesn't begin again, up to its last step's
        time, or that step's alone if it is the only one."""
        end_ns = self.period_ns or self.steps[-1].at_ns
        if not end_ns:
            return self.steps[0].rate_bit_s / 1e6
        return sum(self._bits(end_ns)) / end_ns * 1e3

    def _bits(self, end_ns: int) -> Iterable[float]:
        for one, upto_ns in zip(self.steps, [*(each.at_ns for each in self.steps[1:]), end_ns],
                                strict=True):
            yield one.burst_bytes * 8 + one.rate_bit_s * (upto_ns - one.at_ns) / NS

    def dead_from_ns(self) -> int | None:
        """Return when the link carries for the last time, None if it never ends."""
        if self.period_ns or _passes(self.steps[-1], rate_only=True):
            return None
        last = next((index for index in range(len(self.steps) - 1, -1, -1)
                     if _passes(self.steps[index])), 0)
        return self.steps[last + 1 if self.steps[last].rate_bit_s else last].at_ns

    def longest_gap_s(self) -> tuple[float, Step]:
        """Return the longest time in which nothing arrives, and the step in which it begins."""
        gaps = [(0.0, self.steps[0])]
        since: Step | None = None
        first_pass_ns: int | None = None
        for one in self.steps:
            if _passes(one):
                if since is not None:
                    gaps.append(((one.at_ns - since.at_ns) / NS, since))
                first_pass_ns = one.at_ns if first_pass_ns is None else first_pass_ns
                # A burst is over at once.
                since = None if one.rate_bit_s else one
            elif since is None:
                since = one
        if since is not None and self.period_ns and first_pass_ns is not None:
            gaps.append(((self.period_ns - since.at_ns + first_pass_ns) / NS, since))
        return max(gaps, key=lambda gap: gap[0])

    def packed(self) -> bytes:
        """Return the form in which the kernel reads it."""
        return b"".join(
            _STEP.pack(one.at_ns, one.rate_bit_s, one.delay_ns,
                       min(one.burst_bytes, _MOST_BURST_BYTES),
                       min(round(one.loss * 2**32), 2**32 - 1)) for one in self.steps)


def _passes(one: Step, *, rate_only: bool = False) -> bool:
    return one.loss < 1 and bool(one.rate_bit_s or (one.burst_bytes and not rate_only))


def constant(rate_mbps: float) -> Schedule:
    """Return one rate for ever."""
    return Schedule((Step(0, round(rate_mbps * 1e6)),))


def unrolled(schedule: Schedule, length_ns: int) -> Schedule:
    """Return the schedule repeated until it is at least so long; it then begins again after
    that."""
    if not schedule.period_ns:
        held = tuple(one for one in schedule.steps if one.at_ns < length_ns)
        return replace(schedule, steps=held, period_ns=length_ns)
    rounds = -(-length_ns // schedule.period_ns)
    _refuse_too_many(rounds * len(schedule.steps))
    return replace(schedule, period_ns=rounds * schedule.period_ns, steps=tuple(
        one._replace(at_ns=one.at_ns + number * schedule.period_ns)
        for number in range(rounds) for one in schedule.steps))


def split(schedule: Schedule, times_ns: Iterable[int]) -> Schedule:
    """Return the same with a step at each of these times, of which some may be there."""
    there = [one.at_ns for one in schedule.steps]
    new = sorted({at for at in times_ns if 0 < at < (schedule.period_ns or at + 1)} - {*there})
    added = [schedule.steps[bisect.bisect(there, at) - 1]._replace(at_ns=at, burst_bytes=0)
             for at in new]
    return replace(schedule, steps=tuple(sorted((*schedule.steps, *added))))


def changed(schedule: Schedule, change: Callable[[Step], Step]) -> Schedule:
    """Return the schedule with each step changed."""
    return replace(schedule, steps=tuple(map(change, schedule.steps)))


def without_capacity(one: Step) -> Step:
    """Return the step while the link carries nothing."""
    return one._replace(rate_bit_s=0, burst_bytes=0)


def in_grants(schedule: Schedule, cycle_ns: int) -> Schedule:
    """Return what the link could carry in each cycle, at once at the end of it. A cycle that the
    period cuts short is granted at the period's end. A schedule without period has one rate."""
    if not schedule.period_ns:
        schedule = replace(schedule, steps=schedule.steps[:1], period_ns=cycle_ns)
    _refuse_too_many(schedule.period_ns // cycle_ns)
    whole = split(schedule, range(0, schedule.period_ns, cycle_ns))
    ends = [*(one.at_ns for one in whole.steps[1:]), schedule.period_ns]
    grants: dict[int, float] = {}
    states: dict[int, Step] = {}
    for one, end_ns in zip(whole.steps, ends, strict=True):
        cycle = one.at_ns // cycle_ns
        grants[cycle] = (grants.get(cycle, 0.0) + one.burst_bytes
                         + one.rate_bit_s * (end_ns - one.at_ns) / (8 * NS))
        states[cycle] = one
    steps, owed = [], 0.0
    for cycle, granted in grants.items():
        # Whole bytes, and none lost to rounding.
        owed += granted
        at_ns = min((cycle + 1) * cycle_ns, schedule.period_ns) % schedule.period_ns
        steps.append(states[cycle]._replace(at_ns=at_ns, rate_bit_s=0, burst_bytes=int(owed)))
        owed -= int(owed)
    steps.sort()
    if steps[0].at_ns:
        steps.insert(0, Step(0, delay_ns=steps[0].delay_ns))
    return replace(schedule, steps=tuple(steps))


def unplayable(schedule: Schedule, *, place: str = "") -> str:
    """Return why TCP starves on this link, "" where it doesn't. place: the file, with a colon."""
    if not any(map(_passes, schedule.steps)):
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
