# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold for each metric on any trace."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from flent_aqm.results.metrics.compare import cliffs_delta, summarise, variance_share
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Unavailable, values
from flent_aqm.tools.tool import HIGHER, LOWER

MakeRun = Callable[..., Run]

latency_ms = st.floats(1, 2000, allow_nan=False)
# Long stretches of alike latencies, as queues make them.
traces = st.lists(st.tuples(latency_ms, st.integers(1, 40)), min_size=30, max_size=60).map(
    lambda stretches: [ms for ms, count in stretches for _ in range(count)])
# The same examples each time: what CI says of a change is of that change.
few = settings(max_examples=int(os.environ.get("EXAMPLES", "30")), deadline=None,
               derandomize=True)

# Worse latencies can make these better, by their definitions: jitter when all get equally
# bad, and counts of glitches when two grow into one.
NOT_MONOTONE = ("jitter", "glitches_per_minute")
# These count a probe as slower than any other when it is lost.
SEE_LOSS = ("_median_", "_p90_", "_p95_", "_p99_", "loss_", "glitch_time", "longest_glitch")


def got_better(name: str, before: float | Unavailable, after: float | Unavailable) -> bool:
    """Whether a metric is better after a change; one that isn't known is neither."""
    if isinstance(before, Unavailable) or isinstance(after, Unavailable):
        return False
    slack = 1e-6 * max(1.0, abs(before))
    better = METRICS[name].better
    return (better == LOWER and after < before - slack) or (
        better == HIGHER and after > before + slack)


def improved(before: Run, after: Run) -> list[str]:
    """Names of all metrics that are better after a change."""
    old, new = values(before), values(after)
    return [name for name in METRICS if got_better(name, old[name], new[name])]


@few
@given(trace=traces, data=st.data())
def test_slower_probes_improve_no_score(make_run: MakeRun, trace: list[float],
                                        data: st.DataObject) -> None:
    """Latency added to some probes, and to TCP's round trips, makes nothing better."""
    start = data.draw(st.integers(0, len(trace) - 1))
    end = data.draw(st.integers(start + 1, len(trace)))
    added = data.draw(latency_ms)
    slower = [ms + added if start <= place < end else ms for place, ms in enumerate(trace)]
    better = improved(make_run(trace, tcp_rtt_ms=trace), make_run(slower, tcp_rtt_ms=slower))
    assert [name for name in better if not any(word in name for word in NOT_MONOTONE)] == []


@few
@given(trace=traces, data=st.data())
def test_probes_lost_besides_improve_no_score(make_run: MakeRun, trace: list[float],
                                              data: st.DataObject) -> None:
    """Lost probes among the others make nothing better, glitches that join apart."""
    places = data.draw(st.sets(st.integers(0, len(trace) - 1), min_size=1,
                               max_size=len(trace) // 4))
    lost = make_run(trace, tcp_rtt_ms=trace, lost_at_s=[(one + 0.75) * 0.01 for one in places])
    better = improved(make_run(trace, tcp_rtt_ms=trace), lost)
    assert [name for name in better if "glitch" not in name] == []


@few
@given(trace=traces, data=st.data())
def test_probe_that_gets_lost_improves_no_tail(make_run: MakeRun, trace: list[float],
                                               data: st.DataObject) -> None:
    """A probe lost in place of answered, even the slowest, makes no percentile better."""
    places = data.draw(st.sets(st.integers(0, len(trace) - 1), min_size=1, max_size=20))
    lost = [None if place in places else ms for place, ms in enumerate(trace)]
    better = improved(make_run(trace), make_run(lost))
    assert [name for name in better if any(word in name for word in SEE_LOSS)] == []


@few
@given(trace=traces)
def test_every_metric_is_finite_or_has_a_reason(make_run: MakeRun, trace: list[float]) -> None:
    """Neither NaN nor infinity, and no empty reason."""
    for name, value in values(make_run(trace, tcp_rtt_ms=trace)).items():
        assert value.because if isinstance(value, Unavailable) else math.isfinite(value), name


@few
@given(numbers=st.lists(st.floats(0, 1000), min_size=5, max_size=20), seed=st.randoms())
def test_order_of_runs_changes_no_comparison(numbers: list[float], seed: object) -> None:
    """Median and quartiles, Cliff's delta and shares of variance are the same in any order."""
    labels = [place % 3 for place in range(len(numbers))]
    pairs = list(zip(numbers, labels, strict=True))
    seed.shuffle(pairs)  # type: ignore[attr-defined]
    mixed, mixed_labels = [one for one, _ in pairs], [label for _, label in pairs]
    one, other = summarise(numbers), summarise(mixed)
    assert (one.median, one.lower_quartile) == (other.median, other.lower_quartile)
    assert cliffs_delta(numbers, [500.0]) == cliffs_delta(mixed, [500.0])
    if len(set(numbers)) > 1 and max(numbers) - min(numbers) > 1e-3:
        assert math.isclose(variance_share(numbers, labels),
                            variance_share(mixed, mixed_labels), rel_tol=1e-6, abs_tol=1e-9)
