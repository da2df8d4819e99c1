# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute statistics between queues, and each factor's share of the variance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flent_aqm.results.grouping import AQM, RATE, collect
from flent_aqm.results.metrics.compare import (
    cliffs_deltas,
    kruskal_wallis,
    summarise,
    variance_share,
)
from flent_aqm.results.metrics.throughput import shares_line
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.slices import (
    Dimension,
    json_value,
    key_of,
    number,
    queue_of,
    rate_of,
)
from flent_aqm.show.row import or_none

# Metrics that are tested. With a hundred metrics, some differences would be significant by chance.
METRICS = ("throughput_download_mbps", "throughput_upload_mbps", "total_download_mbps",
           "total_upload_mbps", "latency_loaded_median_ms",
           "latency_loaded_p99_ms", "jitter_loaded_ms", "loss_loaded_pct",
           "glitches_per_minute_30ms", "rpm_ietf_estimate", "qoo_p99")
ALL_RATES = "all rates"


def between_queues(rows: Sequence[ReportRow], dimensions: Sequence[Dimension]
                   ) -> list[dict[str, Any]]:
    """Return the statistics for each slice, rate and metric of METRICS, without metrics that no run
    has or that don't apply (see _metric_statistics()).

    If a slice has several rates, they are also taken together, provided that all combinations of a
    queue and a rate have the same number of runs. Otherwise, rates would be compared instead of
    queues.

    Each entry has:
    - slice, rate, metric: to which runs and metric it belongs. slice is the list of key_of()'s
    values, and rate is ALL_RATES for all together.
    - queues: queue -> [number of runs that have the metric, at least one, median, low and high end
    of the median's confidence interval, its level in %]. The last three are None without an
    interval. LOST stands for a value that is a lost probe.
    - h, p: of Kruskal and Wallis' test. Missing if the test is not possible, or if each queue has a
    single run.
    - deltas: list of [queue, other queue, Cliff's delta]. Empty with one queue. Missing if each
    queue has a single run.
    """
    entries = []
    for key, members in collect(rows, lambda row: key_of(row, dimensions)).items():
        groups = collect(members, rate_of)
        if len(groups) > 1 and _balanced(members):
            groups = {**groups, ALL_RATES: members}
        for rate, here in groups.items():
            for metric in METRICS:
                entry = _metric_statistics(here, metric)
                if entry:
                    entries.append({"slice": list(key), "rate": rate, "metric": metric, **entry})
    return entries


def _balanced(rows: Sequence[ReportRow]) -> bool:
    """Return whether all combinations of a queue and a rate have the same number of runs, at least
    one. False without rows."""
    cells = collect(rows, lambda row: (queue_of(row), rate_of(row)))
    whole = len({queue for queue, _ in cells}) * len({rate for _, rate in cells})
    return len(cells) == whole and len({len(one) for one in cells.values()}) == 1


def _metric_statistics(rows: Sequence[ReportRow], metric: str) -> dict[str, Any] | None:
    """Return the statistics of a metric: `queues`, `h`, `p` and `deltas` of an entry of
    between_queues(). None if no run has it, or if it doesn't apply: throughput_* if any of the runs
    has cross traffic, total_* if none has.

    Args:
        rows: runs of a slice and rate, or of all rates of a slice.
        metric: name of the metric.
    """
    # With cross traffic, the test's own throughput would compare shares of the line. Without it,
    # the total would only repeat the test's own.
    shared = any(shares_line(row.settings) for row in rows)
    if metric.startswith("throughput_" if shared else "total_"):
        return None
    numbers = {queue: [row.metrics[metric] for row in members if metric in row.metrics]
               for queue, members in collect(rows, queue_of).items()}
    numbers = {queue: values for queue, values in numbers.items() if values}
    if not numbers:
        return None
    queues = {}
    for queue, values in numbers.items():
        one = summarise(values)
        sure = one.interval
        queues[queue] = [one.count, json_value(one.median), *(
            (json_value(sure.low), json_value(sure.high), round(100 * sure.level, 1)) if sure
            else (None, None, None))]
    entry: dict[str, Any] = {"queues": queues}
    # With one run for each queue, no test is possible.
    if max(map(len, numbers.values())) > 1:
        test = or_none(lambda: kruskal_wallis(list(numbers.values())))
        entry |= {"h": number(test.statistic), "p": number(test.probability)} if test else {}
        entry["deltas"] = [[one, other, number(delta)]
                           for (one, other), delta in cliffs_deltas(numbers).items()]
    return entry


def variance(rows: Sequence[ReportRow], dimensions: Sequence[Dimension]
             ) -> Mapping[str, Mapping[str, Mapping[str, float | None]]]:
    """Return each factor's share of the variance between a test's runs (eta squared, 0 to 1): test
    -> metric of METRICS -> factor -> share. Factors are the queue (as queue_of() names it), the
    rate, and the dimensions besides the test. For each metric, only the runs that have it count:
    factors with a single value in them, or as many values as runs, are left out, and so are metrics
    whose values are all the same, or of which one is a lost probe. Tests and metrics without a
    share are missing."""
    factors: dict[str, Callable[[ReportRow], object]] = {AQM: queue_of, RATE: rate_of} | {
        one.name: _setting_getter(one.name) for one in dimensions if one.name != "test"}
    shares: dict[str, dict[str, dict[str, float | None]]] = {}
    for test, members in collect(rows, lambda row: str(row.settings.get("test", ""))).items():
        for metric in METRICS:
            having = [row for row in members if metric in row.metrics]
            values = [row.metrics[metric] for row in having]
            for name, of in factors.items():
                labels = [str(of(row)) for row in having]
                # With as many groups as runs, a factor would explain all of the variance.
                if 1 < len(set(labels)) < len(labels):
                    share = or_none(lambda values=values, labels=labels:  # type: ignore[misc]
                                    variance_share(values, labels))
                    if share is not None:
                        shares.setdefault(test, {}).setdefault(metric, {})[name] = number(share)
    return shares


def _setting_getter(name: str) -> Callable[[ReportRow], object]:
    """Return a function from a row to its setting `name`, None if the run doesn't record it.
    Defaults are not filled in."""
    return lambda row: row.settings.get(name)
