# SPDX-License-Identifier: GPL-3.0-or-later
"""What a queue does to the flow that fills it: its own round trips, and the queue's delay and
backlog, by numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import METRICS, Unavailable

START_S = 1_767_225_600.0


def run_of(trips: Sequence[Any] = (), queue: Sequence[tuple[int, int]] = (), load_s: float = 3.0,
           parameters: Mapping[str, str] | None = None) -> Run:
    """An upload of load_s s in flows with these round trips; queue: backlog and bytes sent since
    the start, every 0.5 s from the load's start on; parameters: of the test."""
    series: dict[str, Any] = {f"TCP upload::{number}": {
        "RUNNER": "AqmIperf3Runner", "UNITS": "Mbits/s", "MEAN_VALUE": 8.0, "LOAD_START": START_S,
        "LOAD_END": START_S + load_s, **({"ROUND_TRIPS": one} if one else {})}
        for number, one in enumerate(trips or [None])}
    raw: dict[str, Any] = {name: [{"t": START_S + load_s, "val": 8.0, "dur": load_s}]
                           for name in series}
    if queue:
        series["Queues"] = {"RUNNER": "AqmQdiscRunner", "UNITS": "bytes"}
        raw["Queues"] = [{"t": START_S + 0.5 * number, "val": standing, **{
            f"{device}_{field}": value for device in ("down", "up") for field, value in {
                "backlog_bytes": standing * (device == "up"), "backlog_packets": 0, "drops": 0,
                "marks": 0, "sent_bytes": sent}.items()}}
            for number, (standing, sent) in enumerate(queue)]
    return as_run(as_data_file({"version": 4, "raw_values": raw, "metadata": {
        "NAME": "made", "TEST_PARAMETERS": parameters or {}, "SERIES_META": series}},
        Path("made.flent.gz")))


def trips(first_ms: float, connections: int = 1, samples: int = 2000) -> dict[str, Any]:
    return {"connections": connections, "samples": samples,
            "percentiles_ms": [first_ms + percent for percent in range(101)]}


def test_round_trips_of_several_flows_count_by_their_connections() -> None:
    """One of 20 ms and more, and three of 60 ms and more."""
    run = run_of([trips(20), trips(60, connections=3)])
    assert {name: METRICS[f"flow_rtt_upload_{name}_ms"].of(run)
            for name in ("min", "median", "p90", "p95", "p99", "max")} == {
        "min": 50, "median": 100, "p90": 140, "p95": 145, "p99": 149, "max": 150}
    assert METRICS["flow_rtt_download_median_ms"].of(run) == Unavailable(
        "the test has no download")


def test_a_percentile_of_too_few_round_trips_is_none() -> None:
    """As with probes: ten beyond it."""
    assert METRICS["flow_rtt_upload_p99_ms"].of(run_of([trips(20, samples=1000)])) == 119
    few = run_of([trips(20, samples=500)])
    assert METRICS["flow_rtt_upload_p95_ms"].of(few) == 115
    assert METRICS["flow_rtt_upload_p99_ms"].of(few) == Unavailable(
        "500 round trips are too few for p99: 10 have to lie beyond it")


ASKED = ("the file has no round trips of the upload flows' packets, which take a test of flent-aqm "
         "with the parameter round_trips=yes, and TCP with time stamps")
FEW = ("no TCP connection of the upload flows has 20 round trips of packets, which percentiles "
       "need; packets of TCP with time stamps have them")


@pytest.mark.parametrize(("parameters", "why"), [
    ({}, ASKED), ({"round_trips": "no"}, ASKED), ({"round_trips": "yes"}, FEW)])
def test_round_trips_are_not_asked_for_where_the_run_has_too_few(
        parameters: dict[str, str], why: str) -> None:
    """As of a flow that an overload starves."""
    metric, run = METRICS["flow_rtt_upload_median_ms"], run_of(parameters=parameters)
    assert metric.of(replace(run, is_captured=True)) == Unavailable(why)
    assert metric.of(run) == Unavailable(ASKED)  # a test that captures nothing


@pytest.mark.parametrize("round_trips", [
    {"connections": 1, "samples": 50, "percentiles_ms": [1.0] * 100},
    {"connections": 0, "samples": 50, "percentiles_ms": [1.0] * 101},
    {"samples": 50, "percentiles_ms": [1.0] * 101},
    {"connections": 1, "percentiles_ms": [1.0] * 101},
    {"connections": 1, "samples": 50, "percentiles_ms": 101},
    {"connections": 1, "samples": 50, "percentiles_ms": "x" * 101},
    {"connections": 1, "samples": 50, "percentiles_ms": [1.0] * 100 + ["x"]},
    [1.0] * 101, "fast"])
def test_round_trips_that_a_file_made_up_are_refused(round_trips: Any) -> None:
    """In a line with its path."""
    with pytest.raises(BadResult, match=r"^made.flent.gz: .*TCP upload::0"):
        run_of([round_trips])


def test_delay_of_a_queue_is_the_time_until_what_stands_in_it_was_sent() -> None:
    """At 8 Mbit/s, a MB in a second. 0.5 MB take half a second. What stands there while nothing is
    sent waits for that, too; what is still there at the end has waited until then at least."""
    run = run_of(queue=[(0, 0), (500_000, 500_000), (250_000, 1_000_000), (250_000, 1_250_000),
                        (250_000, 1_250_000), (0, 1_500_000), (600_000, 2_000_000)])
    delays_ms = run.queue_by_direction["upload"].delay_ms
    assert list(delays_ms) == pytest.approx([0, 500, 500, 1000, 500, 0, 0], abs=0.01)
    value = {name: METRICS[f"queue_{name}"].of(run) for name in (
        "delay_upload_mean_ms", "delay_upload_max_ms", "standing_upload_mean_bytes",
        "standing_upload_max_bytes")}
    assert value == pytest.approx({
        "delay_upload_mean_ms": 2500 / 7, "delay_upload_max_ms": 1000,
        "standing_upload_mean_bytes": 1_850_000 / 7, "standing_upload_max_bytes": 600_000},
        abs=0.01)
    p95 = METRICS["queue_delay_upload_p95_ms"].of(run)
    assert isinstance(p95, Unavailable)


def test_queue_that_runs_empty_does_so_at_the_rate_at_which_it_sent_before() -> None:
    """A MB in a second. The last 0.1 MB are gone after 0.1 s, though the sample that finds the
    queue empty is 0.4 s later, and though one of its packets was dropped and the bytes sent reach
    their sum much later. Where the queue sends faster at its end than before, that rate counts."""
    run = run_of(queue=[(500_000, 0), (500_000, 500_000), (100_000, 1_000_000), (0, 1_090_000),
                        (0, 1_091_000), (0, 1_200_000)])
    delays_ms = run.queue_by_direction["upload"].delay_ms
    assert list(delays_ms) == pytest.approx([500, 500, 100, 0, 0, 0], abs=0.01)
    run = run_of(queue=[(100_000, 0), (100_000, 100_000), (100_000, 200_000), (0, 400_000)])
    delays_ms = run.queue_by_direction["upload"].delay_ms
    assert list(delays_ms) == pytest.approx([500, 500, 250, 0], abs=0.01)


def test_single_byte_waits_until_it_was_sent() -> None:
    """200 bytes in half a second: half of the byte, which tells it from the next, in 1.25 ms."""
    run = run_of(queue=[(1, 0), (0, 200)])
    assert list(run.queue_by_direction["upload"].delay_ms) == pytest.approx([1.25, 0], abs=0.01)


def test_samples_before_and_behind_the_load_count_nothing() -> None:
    """A load of 0.4 s has one."""
    run = run_of(queue=[(100_000, 0), (900_000, 500_000), (0, 1_500_000)], load_s=0.4)
    assert METRICS["queue_standing_upload_max_bytes"].of(run) == 100_000
    assert METRICS["queue_delay_upload_max_ms"].of(run) == pytest.approx(100, abs=0.01)
    assert METRICS["queue_delay_upload_max_ms"].of(run_of()) == Unavailable(
        "the file has no samples of the router's upload queue, which tests of flent-aqm take in "
        "the lab and in namespaces")


def test_95th_percentile_of_a_queue_is_that_of_its_samples_under_load() -> None:
    """Of 0 to 398 bytes, each of which takes half a millisecond, by interpolation."""
    run = run_of(queue=[(number, 1000 * number) for number in range(400)], load_s=199.0)
    assert METRICS["queue_delay_upload_p95_ms"].of(run) == pytest.approx(
        0.95 * 398 / 2 - 0.25, abs=0.01)
