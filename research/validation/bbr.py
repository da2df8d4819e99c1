# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the table of docs/results/bbr.md, from runs of batches/bbr.batch.

    .venv/bin/flent -B batches/bbr.batch
    .venv/bin/python -m research.validation.bbr results/bbr-… [-o docs]

Checks the draft's test cases as far as they are visible from outside: in the receiver's throughput,
the probes' latency and the queue's drops. Prints the table and, with -o, writes it between its
marks on the page in that folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.results.metrics.queue import drop_pct
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.throughput import PAYLOAD_SHARE, flow_window, jain, mean_mbps
from flent_aqm.results.metrics.window import Window
from research.validation import from_runs

PAGE, PART = "results/bbr.md", "cases"
WAY = "upload"
# In batches/bbr.batch: when the rate changes, and when a flow has found the rate.
STEP_S, FOUND_S = 10.0, 3.0
# BBR.LossThresh in the draft.
LOSS_PCT = 2.0


@dataclass(frozen=True)
class Outcome:
    """The result of a test case.

    Attributes:
        seen: the result in words.
        holds: whether it is as IETF's draft of BBR wants.
    """

    seen: str
    holds: bool


@dataclass(frozen=True)
class Case:
    """A row of the table. Several cases may judge the same run.

    Attributes:
        check: the run's title in the batch up to its first colon.
        sections: headings of the sections of IETF's draft of BBR that it tests, as text.
        wanted: the result that these sections want, as seen from outside.
        judged: function that judges the run.
    """

    check: str
    sections: str
    wanted: str
    judged: Callable[[Run], Outcome]


def _judge_rate(run: Run) -> Outcome:
    # The median over time leaves out PROBE_RTT, which takes 6 % of the time at 400 ms.
    flow, = run.flows_of(WAY)
    late = flow.at_s > flow_window(flow).start_s + FOUND_S + 2 * _delay_s(run)
    share = float(numpy.median(flow.mbps[late])) / _payload_mbps(run)
    return Outcome(f"{share:.1%}", share >= 0.98)


def _judge_drain(run: Run) -> Outcome:
    wait_ms = _wait_ms(run, FOUND_S, None)
    limit_ms = 0.25 * _delay_s(run) * 1000
    return Outcome(f"{wait_ms:.1f} ms", wait_ms <= limit_ms)


def _judge_dips(run: Run) -> Outcome:
    flow, = run.flows_of(WAY)
    at_s = flow.at_s - flow_window(flow).start_s
    low = at_s[(flow.mbps < 0.7 * numpy.median(flow.mbps)) & (at_s > FOUND_S)]
    begun = low[numpy.diff(low, prepend=-numpy.inf) > 1.0]
    seen = ", ".join(f"{one:.1f}" for one in begun)
    return Outcome(f"at {seen} s" if begun.size else "never", begun.size >= 2)


def _judge_growth(run: Run) -> Outcome:
    flow, = run.flows_of(WAY)
    at_s = flow.at_s - flow_window(flow).start_s
    there = at_s[(at_s > STEP_S) & (flow.mbps >= 0.9 * 100 * PAYLOAD_SHARE)]
    if not there.size:
        return Outcome("never", False)
    took_s = float(there[0]) - STEP_S
    trips = took_s / _delay_s(run)
    # The draft wants O(log(BDP)); ten round trips for each doubling are generous.
    product = 100e6 / 8 * _delay_s(run) / 1514
    return Outcome(f"after {took_s:.2f} s, {trips:.0f} round trips",
                   trips <= 10 * float(numpy.log2(product)))


def _judge_decrease(run: Run) -> Outcome:
    flow, = run.flows_of(WAY)
    length_s = flow_window(flow).length_s
    rate = _rate(run, length_s - 5, length_s) / (10 * PAYLOAD_SHARE)
    wait_ms = _wait_ms(run, length_s - 5, None)
    return Outcome(f"{rate:.1%} of the new rate, {wait_ms:.0f} ms",
                   rate >= 0.95 and wait_ms <= _delay_s(run) * 1000)


def _judge_policer(run: Run) -> Outcome:
    share, dropped = _share(run, FOUND_S, None), drop_pct(run, WAY)
    return Outcome(f"{share:.1%}, {dropped:.2g} % dropped", dropped <= LOSS_PCT and share >= 0.9)


def _judge_fairness(run: Run) -> Outcome:
    index = jain([mean_mbps(flow, _window(run, 20, None)) for flow in run.flows_of(WAY)])
    return Outcome(f"{index:.3f}", index >= 0.9)


CASES = (
    Case("startup", "Exiting STARTUP on Bandwidth Plateau",
         "98 % of the rate or more, 50 Mbit/s and 40 ms", _judge_rate),
    Case("startup-near", "the same", "the same at 1 ms", _judge_rate),
    Case("startup-far", "the same", "the same at 10 Mbit/s and 400 ms", _judge_rate),
    Case("startup", "Exiting DRAIN Based on Inflight; Exiting PROBE_DOWN on Inflight",
         "a probe's median wait of at most a quarter of the round trip", _judge_drain),
    Case("probe-rtt", "Entering and Exiting PROBE_RTT",
         "the flow's rate falls for a moment, again and again", _judge_dips),
    Case("small-product", "Correctly Managing Sub-Packet BDPs",
         "98 % of the rate or more, 10 Mbit/s and 1 ms: 0.8 packets", _judge_rate),
    Case("faster", "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached",
         "90 % of 100 Mbit/s within ten times log2(BDP) round trips, 84", _judge_growth),
    Case("slower", "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down",
         "5 to 10 s after, 95 % of the new rate, and waits below the round trip", _judge_decrease),
    Case("policer", "Handling Token Bucket Policers",
         f"90 % of the rate or more, drops of at most {LOSS_PCT:g} %", _judge_policer),
    Case("two", "none of its sections: two flows of it", "Jain's index of 0.9 or more",
         _judge_fairness),
)


def _window(run: Run, start_s: float, end_s: float | None) -> Window:
    """Return the window between two times in s since the first upload began, as times since the
    epoch. `end_s` None: up to the end of that upload. Raises NotAvailable if the run has no upload
    with data."""
    whole = flow_window(run.flows_of(WAY)[0])
    return Window(whole.start_s + start_s,
                  whole.end_s if end_s is None else whole.start_s + end_s)


def _rate(run: Run, start_s: float, end_s: float | None) -> float:
    return sum(mean_mbps(flow, _window(run, start_s, end_s)) for flow in run.flows_of(WAY))


def _share(run: Run, start_s: float, end_s: float | None) -> float:
    """Return the mean throughput of all uploads together as a share of what TCP can carry at the
    run's rate, between two times in s since the first upload began. 1 is all of it. `end_s` None:
    up to that upload's end. Raises NotAvailable if the run has no upload with data, or the time
    has no length, as if the upload ends before `start_s`."""
    return _rate(run, start_s, end_s) / _payload_mbps(run)


def _payload_mbps(run: Run) -> float:
    return float(str(run.settings["rate_up_mbps"])) * PAYLOAD_SHARE


def _delay_s(run: Run) -> float:
    return float(str(run.settings["base_delay_ms"])) / 1000


def _wait_ms(run: Run, start_s: float, end_s: float | None) -> float:
    """Return the median of irtt's round-trip times minus the path's delay, in ms, of the probes
    that were sent between two times in s since the first upload began: infinite if half of them or
    more are lost, NaN without probes. `end_s` None: up to that upload's end. Raises NotAvailable if
    the run has no latency series, or no upload with data."""
    window = _window(run, start_s, end_s)
    sent_s = run.probe.sent_s
    inside = (sent_s >= window.start_s) & (sent_s <= window.end_s)
    return float(numpy.median(run.probe.rtt_ms[inside])) - _delay_s(run) * 1000


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the Markdown table: its head, and a row for each case of CASES that has a
    run. If several runs have the title of a case, the last one is judged. Raises NotAvailable if a
    run lacks data, ValueError if a case of a single flow has several."""
    yield "| section of the draft | what it wants, from outside | seen | holds |"
    yield "|" + "---|" * 4
    by_check = {str(run.settings.get("title")).partition(":")[0]: run for run in runs}
    for case in CASES:
        if case.check in by_check:
            outcome = case.judged(by_check[case.check])
            yield (f"| {case.sections} | {case.wanted} | {outcome.seen} | "
                   f"{'yes' if outcome.holds else 'no'} |")


if __name__ == "__main__":
    sys.exit(from_runs.main(__doc__, PAGE, PART, lines))
