# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the latency probes of a run: when each was sent, its round-trip time, and which were lost.

latency.py computes the share that was lost. Tools differ in how they report losses:

- irtt says of each probe whether it was lost. The time of a lost probe is that of sending, of
  others that of the reply.
- ping and fping leave a lost probe out: its number is missing. The time is the reply's. A series
  that ends before the run lost the rest: the run's end is that of the last sample of any probe or
  flow.
- netperf's UDP_RR and TCP_RR send the next packet when the reply has come, and give a mean per
  interval `dur` that ends at the sample's time. After a lost packet they stand still, mostly until
  the run ends. They tell round trips while they ran, and can't count losses.
- A ping whose samples lack numbers, and steps that Flent interpolated, can't either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import Numbers, a_number, numbers
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import ProbeTool, Series

# Larger series are refused: they are damaged, or made to exhaust the memory.
MAX_PROBES = 5_000_000
# Largest number of lost probes that are known only from gaps, in all series of a file. It is that
# of a day of ping without an answer.
MAX_LOST = 500_000
# A series has stalled if it ends this long before the run, and this many probes.
STALL_S = 1.0
STALL_PROBES = 5
# An interval of netperf that is so many times longer than usual contains a stall, unless its RTT is
# as long. Flent leaves such intervals out of its steps.
UNUSUAL = 10
_EXPLAINED_BY_TRIPS = 3
LEAST_TRANSACTION, LONGEST_TRIP_MS = 0.9, 20_000.0


@dataclass(frozen=True, eq=False)
class Probe:
    """A latency series: when each probe was sent, and its RTT. It has at least one probe.

    Attributes:
        name: name of the series.
        tool: the tool that sent the probes.
        sent_s: when each probe was sent, also a lost one, in epoch seconds, ascending. For netperf,
            the start of each interval.
        rtt_ms: RTT of each probe, infinite if it was lost. For netperf, the mean of each interval.
        loss_unknown: reason why losses are not known, "" if they are.
        still: times in which the tool was stopped and measured nothing.
        of_steps: whether the RTTs are Flent's interpolated steps, not raw samples.
    """

    name: str
    tool: ProbeTool
    sent_s: Numbers
    rtt_ms: Numbers
    loss_unknown: str = ""
    still: Sequence[Window] = ()
    of_steps: bool = False

    @property
    def lost(self) -> NDArray[numpy.bool_]:
        """Mask of the probes that were lost. All are False if losses are not known."""
        return numpy.isinf(self.rtt_ms)

    @cached_property
    def spacing_ms(self) -> float:
        """Median time between two successive probes in ms, infinite with fewer than two."""
        gaps_s = numpy.diff(self.sent_s)
        return float(numpy.median(gaps_s)) * 1000 if gaps_s.size else numpy.inf

    @cached_property
    def start_s(self) -> float:
        """Time in epoch seconds when the first probe was sent, or the tool first stopped, if that
        was earlier."""
        return min([float(self.sent_s[0]), *(one.start_s for one in self.still)])

    def still_in_s(self, window: Window) -> float:
        """Return for how many seconds of `window` the tool was stopped."""
        return sum(max(0.0, min(one.end_s, window.end_s) - max(one.start_s, window.start_s))
                   for one in self.still)

    @cached_property
    def stopped_after_s(self) -> float | None:
        """Seconds after the start at which the tool stopped for the rest of the run. None if it
        went on to the end."""
        last = self.still[-1] if self.still else None
        if last is None or last.end_s <= float(self.sent_s[-1]):
            return None
        return last.start_s - self.start_s


def read_probe(series: Series) -> Probe | None:
    """Return the probes of a latency series. Probes missing at its end are not yet added, see
    until(). None if no probe was answered, or if netperf was stopped in all intervals. Raises
    BadResult if values are not numbers, RTTs are below 0, or too many probes are missing."""
    name, tool, samples = series.name, series.tool, series.samples
    assert tool is not None  # of latency series
    answered = [one for one in samples if one.get("val") is not None]
    if not answered:
        return None
    at_s = numbers([one.get("t") for one in answered], f"time in {name!r}")
    rtt_ms = numbers([one["val"] for one in answered], f"latency in {name!r}")
    if (rtt_ms < 0).any():
        raise BadResult(f"{name!r} has a latency of {rtt_ms.min():g} ms; expected 0 or more")
    nothing = numpy.empty(0)
    if series.of_steps:
        return _merged(Probe(name, tool, at_s - rtt_ms / 1000, rtt_ms,
                             "the file has Flent's interpolated steps only, and no raw samples, "
                             "so nothing tells losses", of_steps=True), nothing)
    if tool.is_request_response:
        return _netperf_probe(name, tool, answered, at_s, rtt_ms)
    at_s = at_s - rtt_ms / 1000
    if tool is ProbeTool.IRTT:
        lost_s = numbers([one.get("t") for one in samples if one.get("val") is None],
                         f"time in {name!r}")
        return _merged(Probe(name, tool, at_s, rtt_ms), lost_s)
    if any(one.get("seq") is None for one in answered):
        return _merged(Probe(name, tool, at_s, rtt_ms, f"samples of {name!r} lack the number of "
                             "their ping (seq), so nothing tells losses"), nothing)
    at_s, rtt_ms, lost_s = _split_lost(name, answered, at_s, rtt_ms)
    return _merged(Probe(name, tool, at_s, rtt_ms), lost_s)


def until(probe: Probe, end_s: float) -> Probe:
    """Return the series with the time between its last probe and the end of the run filled in. For
    a ping that numbers its lines, lost probes are added. For other series, whose losses are not
    known, that time becomes one in which the tool was stopped (`still`). irtt's series are returned
    unchanged, and so are those of a single probe, and all whose last probe (netperf: the end of its
    last interval) is at most a second, or five probes if that is longer, before the end.

    Args:
        probe: the latency series.
        end_s: end of the run in epoch seconds.

    Raises BadResult if more than 500,000 (MAX_LOST) probes would be lost, or if most probes of a
    ping were sent at the same time as the one before.
    """
    if probe.tool is ProbeTool.IRTT:
        return probe  # irtt reports all losses itself
    spacing_s = probe.spacing_ms / 1000
    last_s = float(probe.sent_s[-1])
    if probe.tool.is_request_response:
        # Only the start of the last interval is known. It is taken to be as long as the others, or
        # as its RTT.
        length_s = max(float(probe.rtt_ms[-1]) / 1000, spacing_s if spacing_s < STALL_S else 0.0)
        last_s = max([last_s + length_s, *(one.end_s for one in probe.still)])
    if not end_s - last_s > max(STALL_S, STALL_PROBES * spacing_s):
        return probe
    if probe.loss_unknown:
        return replace(probe, still=(*probe.still, Window(last_s, end_s)))
    _refuse_gap(probe.name, end_s - last_s, spacing_s)
    return _merged(probe, numpy.arange(last_s + spacing_s, end_s, spacing_s))


def _merged(probe: Probe, lost_s: Numbers) -> Probe:
    """Return the probe with lost ones added, in the order of sending. lost_s: when lost ones were
    sent, in epoch seconds."""
    sent_s = numpy.concatenate((probe.sent_s, lost_s))
    order = numpy.argsort(sent_s, kind="stable")
    whole = numpy.concatenate((probe.rtt_ms, numpy.full(lost_s.size, numpy.inf)))
    return replace(probe, sent_s=sent_s[order], rtt_ms=whole[order])


def _netperf_probe(name: str, tool: ProbeTool, answered: Sequence[Mapping[str, Any]],
                      end_s: Numbers, rtt_ms: Numbers) -> Probe | None:
    """Return netperf's intervals without those in which it was stopped: mostly those that last far
    longer than the others and than their RTT explains. `still` has these, and gaps between
    intervals that are 10 times (UNUSUAL) longer than usual intervals, and longer than 1 s
    (STALL_S). None if it was stopped in all intervals. An interval without a duration counts as 0 s
    long.

    Args:
        name: name of the series.
        tool: netperf's test.
        answered: samples with an RTT.
        end_s: end of each interval in epoch seconds.
        rtt_ms: mean RTT in each interval.
    """
    order = numpy.argsort(end_s, kind="stable")
    end_s, rtt_ms = end_s[order], rtt_ms[order]
    lasted_s = numbers([a_number(one.get("dur")) or 0.0 for one in answered],
                       f"interval in {name!r}")[order]
    start_s = end_s - lasted_s
    usual_s = float(numpy.median(lasted_s))
    still = lasted_s > max(UNUSUAL * usual_s, STALL_S)
    explained = lasted_s * 1000 < _EXPLAINED_BY_TRIPS * rtt_ms
    # With few intervals there is no usual length. Only the RTTs tell whether it is a stall.
    still = still | (lasted_s > STALL_S) if lasted_s.size < STALL_PROBES else still
    still &= ~explained
    # The interval is shorter than a transaction, or a transaction took longer than a queue can
    # delay a packet.
    still |= (lasted_s > STALL_S) & (lasted_s * 1000 < LEAST_TRANSACTION * rtt_ms)
    still |= rtt_ms > LONGEST_TRIP_MS
    # A long last interval may end with a single answered packet, or with the end of waiting for it.
    still[-1] |= bool(lasted_s[-1] > max(UNUSUAL * usual_s, STALL_S))
    spans = [Window(float(start_s[at]), float(end_s[at])) for at in numpy.flatnonzero(still)]
    gaps_s = start_s[1:] - end_s[:-1]
    spans += [Window(float(end_s[at]), float(start_s[at + 1])) for at in numpy.flatnonzero(
        gaps_s > max(UNUSUAL * usual_s, STALL_S))]
    if still.all():
        return None
    return Probe(name, tool, start_s[~still], rtt_ms[~still],
                 f"{name!r} is of {tool.value}, which stands still after a lost packet, so "
                 "nothing tells losses; irtt on both ends counts them",
                 tuple(sorted(spans, key=lambda one: one.start_s)))


def _split_lost(name: str, answered: Sequence[Mapping[str, Any]], sent_s: Numbers,
              rtt_ms: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return sending times (epoch seconds) and RTTs of numbered probes in the order of their
    numbers, the first of each number, and the sending times of missing numbers, interpolated.
    Numbers before the first answered probe and after the last one are not known as missing. Numbers
    may start again after 65535. Raises BadResult if a `seq` is not a number, if more than 500,000
    (MAX_LOST) numbers are missing, or if there are more than 5,000,000 (MAX_PROBES) with the
    missing ones.

    Args:
        name: name of the series, for messages.
        answered: samples with an RTT and a number `seq`.
        sent_s: when each was sent.
        rtt_ms: RTT of each.
    """
    # The number in an ICMP packet has 16 bits, after which ping starts again.
    number = numpy.unwrap(numbers([one["seq"] for one in answered], f"number in {name!r}"),
                          period=65536)
    number, first = numpy.unique(numpy.round(number), return_index=True)
    if number[-1] - number[0] + 1 > min(MAX_PROBES, number.size + MAX_LOST):
        raise BadResult(f"{name!r} has {number.size} answered probes with numbers from "
                        f"{number[0]:.0f} to {number[-1]:.0f}; expected at most {MAX_LOST:,} lost "
                        f"probes between them, and {MAX_PROBES:,} probes")
    sent_s, rtt_ms = sent_s[first], rtt_ms[first]
    missing = numpy.setdiff1d(numpy.arange(number[0], number[-1]), number, assume_unique=True)
    return sent_s, rtt_ms, numpy.interp(missing, number, sent_s)


def _refuse_gap(name: str, gap_s: float, spacing_s: float) -> None:
    """Raise BadResult if the time from the end of a ping's series to the end of the run would have
    more than 500,000 (MAX_LOST) probes, or if their spacing is not above 0. name: name of the
    series, for messages."""
    if not spacing_s > 0:
        raise BadResult(f"most probes of {name!r} were sent at the same time as the one before; "
                        "expected a distance between them")
    if gap_s / spacing_s > MAX_LOST + 1:
        raise BadResult(f"{name!r} ends {gap_s:.0f} s before the run does, with probes "
                        f"{spacing_s * 1000:g} ms apart; expected at most {MAX_LOST:,} lost probes "
                        "after its end")
