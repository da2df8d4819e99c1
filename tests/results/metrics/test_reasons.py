# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a run has no such number: the reason holds in each circumstance that leads to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import BadResult, LostProbe, NotAvailable
from flent_aqm.parts.why.probe_series import with_series
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.metrics.flows import Points, read_flow
from flent_aqm.results.metrics.percentiles import percentile
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.queue_samples import QueueSamples
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import ProbeTool, Series, SeriesKind
from tests.files import RUNS


def reason(run: Any, name: str) -> str:
    """Return why a run lacks a metric."""
    value = METRICS[name].of(run)
    assert isinstance(value, Unavailable)
    return value.because


def test_probes_of_a_phase_are_missing_not_those_of_the_run(make_run: Any) -> None:
    """Those of the other phase came back."""
    short = make_run([20.0] * 100, idle_ms=(21.0,) * 3)
    assert reason(short, "jitter_idle_ms") == "only one probe before the load came back"
    assert reason(make_run([None] * 100), "latency_loaded_mean_ms") == (
        "none of the probes under load came back")


def test_load_without_probes_is_named_and_a_tool_that_stood_still(make_run: Any) -> None:
    run = make_run([20.0] * 100, directions=("download",))
    window = run.load_window
    sent_s = numpy.array([window.start_s - 2, window.start_s - 1])
    probe = Probe("UDP", ProbeTool.UDP_RR, sent_s, numpy.array([20.0, 20.0]), "stands still")
    early = replace(run, probes=(probe,))
    assert reason(early, "latency_loaded_mean_ms") == "no probe was answered under load"
    assert reason(early, "ookla_style_iqm_download_ms") == (
        "no probe was answered during the download")
    stood = replace(run, probes=(replace(probe, still=(Window(window.start_s, window.end_s),)),))
    assert reason(stood, "latency_loaded_mean_ms") == (
        "no probe was answered under load; netperf UDP_RR stood still then")


def test_series_whose_probes_are_all_lost_is_no_missing_series(make_run: Any) -> None:
    silent = make_run([None] * 100, idle_ms=())
    why = "none of the probes of 'Ping (ms) UDP irtt' came back"
    assert reason(silent, "latency_loaded_mean_ms") == why
    with pytest.raises(Exception, match=f"because {why.replace('(', '.').replace(')', '.')}; "):
        with_series(silent)
    with pytest.raises(NotAvailable, match="no latency series of irtt, ping or netperf"):
        _ = replace(silent, silent_probes={}).probe


def test_cross_traffic_that_failed_is_not_missing(make_run: Any) -> None:
    run = make_run([20.0] * 100)
    assert reason(run, "page_time_max_ms") == "the run has no cross traffic"
    failed = replace(run, failed_series={"TCP upload": "x", "Cross download": "web: no server"})
    for name in ("page_time_max_ms", "call_lost_frames_download_pct"):
        assert reason(failed, name) == "the cross traffic failed: web: no server"
    assert reason(failed, "call_lost_frames_upload_pct") == "the run has no cross traffic"


def test_frames_of_another_direction_are_not_meant(make_run: Any) -> None:
    run = make_run([20.0] * 100)
    late = Points(numpy.array([run.load_window.end_s + 1]), numpy.array([1.0]))
    call = replace(run.flows[0], is_cross=True, noticed={"frame_lost": late})
    assert reason(replace(run, flows=(*run.flows, call)), "call_lost_frames_download_pct") == (
        "none of the cross traffic's frames of a call in the download began under load")


def test_increase_tells_of_which_phase_the_reason_is(make_run: Any) -> None:
    """Also if probes are too few, which stays told as that; without a load, that is the reason."""
    short = METRICS["latency_increase_p99_ms"].of(make_run([20.0] * 2000))
    assert isinstance(short, Unavailable)
    assert short.too_few
    assert short.because.startswith("before the load only 3 of 298 samples lie above p99; 10 are")
    run = make_run([20.0] * 2000)
    lost = Probe("lost", ProbeTool.IRTT, run.probe.sent_s,
                 numpy.full(run.probe.sent_s.size, numpy.inf))
    assert reason(replace(run, probes=(lost,), flows=()), "latency_increase_median_ms") == (
        "the test doesn't load the link")


def test_percentile_beside_a_lost_probe_is_not_called_lost() -> None:
    """p90 of 101 lies on an answered probe, that of 102 between it and a lost one."""
    values = [1.0] * 91 + [numpy.inf] * 11
    with pytest.raises(LostProbe, match=r"^10\.8 % of the probes were lost, so p90 has no number$"):
        percentile(values, 90)
    assert percentile(values[:-1], 90) == 1.0


@pytest.mark.parametrize(("packets", "lost", "why"), [
    (0.0, 0.0, "the UDP download sent no packet"),
    (1234567.0, 1234568.0, ("the UDP receiver reports 1,234,568 lost packets of 1,234,567, which "
                            "is impossible")),
    (None, None, ("the file has no count of lost packets of a UDP download, which iperf3's "
                  "receiver reports"))])
def test_counts_of_udp_packets_are_told_whole(
        make_run: Any, packets: float | None, lost: float | None, why: str) -> None:
    run = make_run([20.0] * 100, directions=("download",))
    flow = replace(run.flows[0], packets=packets, lost_packets=lost)
    assert reason(replace(run, flows=(flow,)), "udp_loss_download_pct") == why


def test_interval_below_zero_is_told_of() -> None:
    series = Series("TCP upload", SeriesKind.THROUGHPUT, {}, [{"t": 5.0, "val": 1.0, "dur": -1.0}])
    with pytest.raises(BadResult, match="ends before it starts: an interval is below 0 s; the"):
        read_flow(series)


def counted(before: dict[str, float], after: dict[str, float]) -> dict[str, Any]:
    """Return AQM with counters of the download's queue."""
    return {moment: {"counters": {"down": {"qdisc": counters}}}
            for moment, counters in (("before", before), ("after", after))}


def test_counters_that_fell_are_no_queue_without_packets(make_run: Any) -> None:
    run = make_run([20.0] * 100)
    anew = replace(run, aqm=counted({"drops": 5, "packets": 50, "ecn_mark": 2},
                                    {"drops": 1, "packets": 20, "ecn_mark": 1}))
    for name, what in (("queue_drop_download_pct", "counter 'drops'"),
                       ("queue_marks_download", "count of marks")):
        assert reason(anew, name) == (f"the {what} of the router's download queue fell during the "
                                      "run, as if the queue had been set up anew")


def test_queue_that_was_sampled_at_other_times_is_told_of_its_direction(make_run: Any) -> None:
    run = make_run([20.0] * 100)
    nothing = numpy.zeros(1)
    queue = QueueSamples(numpy.array([run.load_window.start_s - 1]), *[nothing] * 5)
    assert reason(replace(run, queue_by_direction={"upload": queue}),
                  "queue_standing_upload_max_bytes") == (
        "no sample of the router's queues was taken during the upload")


@pytest.mark.parametrize("requested", [True, False])
def test_round_trips_without_a_capture_are_not_too_few(requested: bool, make_run: Any) -> None:
    run = make_run([20.0] * 100)
    run = replace(run, settings={**run.settings, "round_trips": requested})
    assert "not captured" not in reason(run, "flow_rtt_upload_median_ms")
    failed = replace(run, capture_failure="Capture: no permission")
    assert reason(failed, "flow_rtt_upload_median_ms") == (
        "the packets of the upload flows were not captured: Capture: no permission")


def test_queue_whose_sampling_failed_tells_the_failure() -> None:
    """Tests of this package sample queues, so that the run's test is not at fault."""
    data = read_data_file(RUNS / "ndt7.flent.gz")
    data.series_meta["Queues"] = {"RUNNER": "AqmQdiscRunner", "ERROR": ["timed out"]}
    assert reason(as_run(replace(data, raw_values={
        name: samples for name, samples in data.raw_values.items() if name != "Queues"})),
        "queue_standing_upload_max_bytes") == "Queues: timed out"


@pytest.mark.parametrize(("metric", "why"), [
    ("fairness_upload", "only one upload flow has data: 2: refused"),
    ("synchronisation_upload", "only one upload flow has data: 2: refused"),
    ("host_fairness_upload",
     "the file doesn't record upload flows of two or more hosts; 2: refused"),
    ("cloudflare_latency_ms",
     "the test did not run cloudflare, or its client gave no results; 2: refused")])
def test_flow_that_failed_is_told_where_flows_are_missing(
        make_run: Any, metric: str, why: str) -> None:
    run = make_run([20.0] * 100)
    failed = replace(run, failed_series={"TCP upload 2": "2: refused"})
    assert reason(failed, metric) == why
    assert "refused" not in reason(run, metric)


def test_other_direction_is_ndt7s(make_run: Any) -> None:
    """The client gave no results for the upload, so nothing is said of the server."""
    run = make_run([20.0] * 100, directions=("upload",), tcp_rtt_ms=[1.0] * 100)
    assert reason(run, "ndt7_rtt_upload_ms") == (
        "the upload is not NDT7's, or its client gave no results")


def test_result_of_ndt7_is_that_of_the_first_flow_that_has_it(make_run: Any) -> None:
    run = make_run([20.0] * 100, directions=("upload", "upload 2"))
    one, two = (replace(flow, ndt7=result) for flow, result in zip(
        run.flows, ({"latency_ms": None}, {"latency_ms": 3.0}), strict=True))
    assert METRICS["ndt7_latency_upload_ms"].of(replace(run, flows=(one, two))) == 3


def test_flow_without_samples_lacks_no_durations_of_them(make_run: Any) -> None:
    run = make_run([20.0] * 100, directions=("upload",))
    nothing = numpy.empty(0)
    flow = replace(run.flows[0], mean_mbps=None, at_s=nothing, mbps=nothing, length_s=nothing)
    assert reason(replace(run, flows=(flow,)), "throughput_upload_mbps") == (
        "the throughput of 'TCP upload' is not known: its tool reports no mean, and the file has "
        "no samples of it with a duration")
