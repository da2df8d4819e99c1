# SPDX-License-Identifier: GPL-3.0-or-later
"""Formulas at the edges of their windows and limits, by numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import BadResult, LostProbe, NotAvailable
from flent_aqm.results.metrics import cross, grades, latency, percentiles, rpm
from flent_aqm.results.metrics.delay_parts import delay_parts
from flent_aqm.results.metrics.flows import Flow, Points
from flent_aqm.results.metrics.queue import (
    backlog_bytes,
    drop_pct,
    empty_l_queue_warnings,
    marks,
    requeues,
)
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.results.metrics.throughput import payload_share

MakeRun = Callable[..., Run]
NOTHING = numpy.empty(0)


def run_with(aqm: dict[str, object]) -> Run:
    """A run of which only the router is known."""
    return Run(Path("made"), "made", "", (), (), aqm, {})


def test_percentile_needs_ten_samples_beyond_it_on_its_nearer_side() -> None:
    """Exactly ten will do; the message tells the side."""
    thousand = numpy.arange(1000.0)
    assert percentiles.percentile(thousand, 99) == pytest.approx(989.01)
    assert percentiles.percentile(thousand, 1) == pytest.approx(9.99)
    with pytest.raises(NotAvailable, match=r"^only 9 of 940 samples lie above p99; 10 are needed"):
        percentiles.percentile(thousand[:940], 99)
    with pytest.raises(NotAvailable, match="only 9 of 940 samples lie below p1; "):
        percentiles.percentile(thousand[:940], 1)
    with pytest.raises(NotAvailable, match="only 9 of 18 samples lie above p50"):
        percentiles.percentile(thousand[:18], 50)
    assert percentiles.percentile(thousand[:20], 50) == 9.5


def test_percentile_between_a_sample_and_a_lost_one_is_lost() -> None:
    """And one that lies on the last answered sample isn't."""
    samples = [*map(float, range(91)), *[numpy.inf] * 10]
    assert percentiles.percentile_or_lost(samples, 90) == 90
    assert percentiles.of_any(samples, 90.5) == numpy.inf
    with pytest.raises(LostProbe, match=r"^9\.9 % of the probes were lost, so p90\.1 has no"):
        percentiles.percentile([*samples, *samples], 90.1)


@pytest.mark.parametrize("percent", [0, 10, 25, 37.5, 50, 62.5, 75, 99, 100])
def test_percentile_is_numpys(percent: float) -> None:
    """Below the middle of two samples and above it, to the last bit."""
    samples = numpy.array([0.1, 0.7, 0.9, 1.3, 2.7, 31.4])
    assert percentiles.of_any(samples, percent) == numpy.percentile(samples, percent)


def samples_of(rtt_ms: list[float], spacing_ms: float = 10.0) -> Samples:
    """Probes from 0 on."""
    sent_s = numpy.arange(len(rtt_ms)) * spacing_ms / 1000
    return Samples(sent_s, numpy.array(rtt_ms), len(rtt_ms) * spacing_ms / 1000, spacing_ms)


def test_glitch_is_above_the_threshold_and_lasts_to_the_next_probe() -> None:
    """A probe at the threshold is none yet; probes 20 ms apart are near enough."""
    events = latency.find_glitches(samples_of([20, 120, 120.1, 20, 20], 20), 20, 100)
    assert [(one.start_s, one.length_ms) for one in events] == [(0.04, 20.0)]
    assert latency.find_glitches(samples_of([20, 120]), 20, 100) == []
    with pytest.raises(NotAvailable, match=r"20\.1 ms apart, and glitches need 20 ms at most"):
        latency.find_glitches(samples_of([20], 20.1), 20, 100)


def test_glitches_are_one_up_to_a_pause_of_100_ms() -> None:
    """Ten good probes 10 ms apart are between two glitches, nine within one."""
    trace = [500.0, *[20.0] * 9, 500.0, *[20.0] * 11, 500.0]
    events = latency.find_glitches(samples_of(trace), 20, 100)
    assert [one.length_ms for one in events] == pytest.approx([110, 10])


def test_glitch_time_is_a_share_of_the_load(make_run: MakeRun) -> None:
    """Half of 10 s, and never more than all of it."""
    half = make_run([20.0] * 500 + [500.0] * 500)
    assert latency.glitch_time_pct(half, 100) == pytest.approx(50, abs=0.2)
    assert latency.glitches_per_minute(half, 100) == pytest.approx(6)
    assert latency.glitch_time_pct(make_run([500.0] * 1000), 100) == pytest.approx(100)
    assert latency.longest_glitch_ms(make_run([20.0] * 1000), 100) == 0


def test_glitches_are_told_for_each_threshold(make_run: MakeRun) -> None:
    """One probe each at 40, 80, 150 and 300 ms above idle, a second apart, in 10 s."""
    trace = [20.0] * 1000
    for place, rise_ms in enumerate((40, 80, 150, 300)):
        trace[100 + 100 * place] += rise_ms
    run = make_run(trace, [20.0] * 300)
    rates = {name: METRICS[name].of(run) for name in METRICS if name.startswith("glitches_per_")}
    assert rates == {f"glitches_per_minute_{threshold}ms": pytest.approx(6 * count)
                     for threshold, count in ((30, 4), (60, 3), (100, 2), (200, 1))}


def test_reports_list_the_glitches_of_the_least_threshold() -> None:
    """Which the others are among."""
    assert latency.LISTED_GLITCH_MS == min(latency.GLITCH_THRESHOLDS_MS) == 30


def test_goresponsiveness_keeps_one_of_20_samples_and_has_none_of_19() -> None:
    """The fastest 5 %."""
    assert rpm.go_mean_ms(numpy.arange(20.0, 0, -1)) == 1
    assert rpm.go_mean_ms(numpy.arange(40.0, 0, -1)) == 1.5
    with pytest.raises(NotAvailable, match="keeps 5% of the samples, rounded down, which leaves "
                                           "none of 19"):
        rpm.go_mean_ms(numpy.arange(19.0))
    assert rpm.p90_ms(numpy.arange(10.0)) == 9
    assert rpm.p90_ms(numpy.arange(11.0)[::-1]) == 9
    assert rpm.ietf_mean_ms(numpy.array([10.0] * 19 + [1000])) == 10


@pytest.mark.parametrize("formula", [rpm.ietf_rpm, rpm.goresponsiveness_rpm])
def test_rpm_of_no_time_is_not_available(formula: Callable[[float, float], float]) -> None:
    """In place of an infinite one."""
    with pytest.raises(NotAvailable, match="the round trips took 0 ms; expected more than 0"):
        formula(0, 0)


def test_rpm_looks_at_the_last_four_intervals(make_run: MakeRun) -> None:
    """20 s for the draft, 4 for the program; what is before doesn't count."""
    run = make_run([10.0] * 3000, tcp_rtt_ms=[10.0] * 3000)
    window = run.load_window
    assert window is not None
    late = rpm.last_intervals(run, rpm.IETF_INTERVAL_S)
    assert late.end_s == window.end_s
    assert late.length_s == pytest.approx(20)
    assert rpm.last_intervals(run, rpm.GO_INTERVAL_S).length_s == pytest.approx(4)
    # 400 probes 10 ms apart, half a probe away from the edges
    assert rpm.foreign_ms(run, rpm.GO_INTERVAL_S).size == 400
    assert rpm.self_ms(run, rpm.GO_INTERVAL_S).size == 800  # two flows
    short = make_run([10.0] * 500, tcp_rtt_ms=[10.0] * 500)
    assert rpm.last_intervals(short, rpm.IETF_INTERVAL_S).length_s == pytest.approx(5)


def test_rpm_needs_ten_samples(make_run: MakeRun) -> None:
    """Nine are told, with how long that was."""
    ten = make_run([10.0] * 10, tcp_rtt_ms=[10.0] * 10)
    assert rpm.foreign_ms(ten, rpm.IETF_INTERVAL_S).size == 10
    with pytest.raises(NotAvailable, match=r"^the last 0\.09 s under load have 9 answered probes, "
                                           "and 10 are needed"):
        rpm.foreign_ms(make_run([10.0] * 9), rpm.IETF_INTERVAL_S)
    with pytest.raises(NotAvailable, match=r"have 1 answered probe, and 10 are needed$"):
        rpm.foreign_ms(make_run([10.0]), rpm.IETF_INTERVAL_S)


@pytest.mark.parametrize(("points", "grade"), [
    (6, "A+"), (5.5, "A+"), (5.4, "A"), (4.5, "A"), (4.4, "B"), (3.5, "B"), (3.4, "C"), (2.5, "C"),
    (2.4, "D"), (1.5, "D"), (1.4, "F"), (1, "F")])
def test_libreqos_total_grade_at_its_thresholds(points: float, grade: str) -> None:
    """A grade begins at half a point below its number."""
    assert grades.libreqos_grade(points) == grade


@pytest.mark.parametrize(("idle_ms", "most"), [
    (74.0, 6), (75.0, 5), (99.0, 5), (100.0, 4), (125.0, 3), (150.0, 2), (174.0, 2), (175.0, 1)])
def test_libreqos_total_is_bounded_by_the_idle_link(
        make_run: MakeRun, idle_ms: float, most: float) -> None:
    """Where the load adds nothing."""
    assert grades.libreqos_points(make_run([idle_ms] * 200, [idle_ms] * 300)) == most


def test_libreqos_wants_a_second_of_a_phase(make_run: MakeRun) -> None:
    """102 probes 10 ms apart are more than one, 98 aren't."""
    assert grades.libreqos_rise_ms(make_run([31.0] * 102)) == pytest.approx(10)
    with pytest.raises(NotAvailable, match="no phase of the load has 1 s in which probes were"):
        grades.libreqos_rise_ms(make_run([31.0] * 98))


def test_libreqos_counts_the_time_of_a_probe_that_waits_for_replies(make_run: MakeRun) -> None:
    """Such as UDP_RR: four probes in 8 s of load are more than a second of it."""
    run = make_run([2000.0] * 1000)
    loaded = run.loaded()
    late = loaded.sent_s[::200]
    kept = (run.probe.sent_s < loaded.sent_s[0]) | numpy.isin(run.probe.sent_s, late[:4])
    sparse = replace(run, probes=(replace(run.probe, sent_s=run.probe.sent_s[kept],
                                          rtt_ms=run.probe.rtt_ms[kept]),))
    assert grades.libreqos_rise_ms(sparse) == pytest.approx(2000 - 21)


def test_libreqos_of_a_probe_that_stopped_early_does_not_deny_the_load(make_run: MakeRun) -> None:
    """The load goes on for 10 s without probes."""
    run = make_run([31.0] * 1000)
    kept = run.probe.sent_s < run.loaded().sent_s[50]
    short = replace(run, probes=(replace(run.probe, sent_s=run.probe.sent_s[kept],
                                         rtt_ms=run.probe.rtt_ms[kept]),))
    with pytest.raises(NotAvailable, match=r"has 1 s in which probes were sent and answered$"):
        grades.libreqos_rise_ms(short)


def test_libreqos_of_flows_without_direction_names_them(make_run: MakeRun) -> None:
    """As the flows of Flent's own tests, whose names are those of congestion controls."""
    run = make_run([31.0] * 1000, directions=("cubic",))
    assert [flow.direction for flow in run.speed_test] == [""]
    for metric in (grades.libreqos_rise_ms, grades.libreqos_points):
        with pytest.raises(NotAvailable, match=r"^no flow has download in its name, and the names "
                                               r"of 'TCP cubic' tell no direction$"):
            metric(run)


def test_libreqos_phase_of_a_direction_without_flow(make_run: MakeRun) -> None:
    """The reason is that of all metrics of the direction."""
    run = make_run([31.0] * 1000, directions=("download",))
    for phase in ("upload", "bidirectional"):
        with pytest.raises(NotAvailable, match=r"^the test has no upload$"):
            grades.libreqos_phase_rise_ms(run, phase)


def test_qoo_falls_from_optimal_to_unusable() -> None:
    """Each of the draft's bounds; the least counts; throughput is enough or not."""
    def score(p99: float, p999: float, loss: float, mbps: float = 4) -> float:
        return grades.qoo_score(grades.QOO_EXAMPLE, {99: p99, 99.9: p999}, loss, mbps)

    assert score(200, 300, 1) == score(100, 100, 0) == 100
    assert score(500, 300, 1) == score(200, 600, 1) == score(200, 300, 5) == 0
    assert score(900, 300, 1) == score(200, 300, 100) == 0
    assert score(230, 300, 1) == pytest.approx(90)
    assert score(200, 360, 1) == pytest.approx(80)
    assert score(200, 300, 2) == pytest.approx(75)
    assert score(230, 360, 2) == pytest.approx(75)
    assert score(200, 300, 1, 3.99) == 0
    p99 = grades.QOO_EXAMPLE_P99
    assert grades.qoo_score(p99, {99: 350}, 0, 4) == 50
    assert (p99.latency_ms, p99.loss_pct, p99.throughput_mbps) == ({99: (200, 500)}, (1, 5), 4)


def test_aim_thins_probes_to_400_ms_less_a_little() -> None:
    """Probes every 395 ms are all kept, of those every 394 each second; lost ones never."""
    def kept(spacing_ms: float, count: int = 10) -> list[float]:
        return [*grades.thinned_ms(samples_of([float(n) for n in range(count)], spacing_ms))]

    assert kept(396) == list(range(10))
    assert kept(394) == [0, 2, 4, 6, 8]
    lost = samples_of([numpy.inf, 1.0, numpy.inf, 3.0], 400)
    assert grades.thinned_ms(lost).tolist() == [1, 3]
    with pytest.raises(NotAvailable, match="none of the probes of this phase came back"):
        grades.thinned_ms(samples_of([numpy.inf]))


def noticed(start_s: float = 0.0, end_s: float = 10.0, **points: list[tuple[float, float]]) -> Flow:
    """Cross traffic with what people noticed of it: (when, value)."""
    return Flow("cross traffic upload", "AqmCallRunner", "upload", True, start_s, end_s, None,
                NOTHING, NOTHING, NOTHING, {},
                {field: Points(numpy.array([at for at, _ in given]),
                               numpy.array([value for _, value in given]))
                 for field, given in points.items()}, {}, {})


def test_what_is_noticed_counts_from_the_loads_start_to_its_end(make_run: MakeRun) -> None:
    """Both included; a frame of 100 ms can still be shown."""
    run = make_run([20.0] * 1000)
    window = run.load_window
    assert window is not None
    frames = [(window.start_s - 0.1, 500.0), (window.start_s, 100.0), (window.start_s + 1, 100.1),
              (window.start_s + 2, 1.0), (window.end_s, 1.0), (window.end_s + 0.1, 500.0)]
    call = noticed(frame_ms=frames, frame_lost=[(window.start_s + n, float(n == 1))
                                                for n in range(5)])
    seen = replace(run, flows=(*run.flows, call))
    assert cross.late_frames_pct(seen, "upload") == 25
    assert cross.lost_frames_pct(seen, "upload") == 20
    with pytest.raises(NotAvailable, match="with a known delay in the download"):
        cross.late_frames_pct(seen, "download")
    with pytest.raises(NotAvailable, match="the run has no cross traffic"):
        cross.late_frames_pct(run, "upload")


def test_video_and_pages_of_a_run_without_a_load() -> None:
    """Of their own time; 500 ms of 10 s are 5 %."""
    watched = noticed(segment_mbps=[(1, 2.0), (2, 4.0)], stalled_ms=[(1, 200.0), (2, 300.0)],
                      page_ms=[(1, 100.0), (2, 900.0), (3, 200.0)])
    run = replace(run_with({}), flows=(watched,))
    assert cross.video_bitrate_mbps(run) == 3
    assert cross.video_stall_pct(run) == pytest.approx(5)
    assert cross.page_time_ms(run, "median") == 200
    assert cross.page_time_ms(run, "max") == 900
    with pytest.raises(NotAvailable, match="from the video's first data to its last is 0 s"):
        cross.video_stall_pct(replace(run, flows=(replace(watched, end_s=0.0),)))
    with pytest.raises(NotAvailable, match=r"has no complete frames of a call with a known delay$"):
        cross.late_frames_pct(run, "upload")


def test_stall_counts_as_far_as_it_lies_within_the_load(make_run: MakeRun) -> None:
    """Whether it began before, or ended after: it is told when the picture moves again."""
    run = make_run([20.0] * 1000)
    window = run.load_window
    assert window is not None
    def stalled(until_s: float, milliseconds: float) -> Run:
        return replace(run, flows=(*run.flows, noticed(stalled_ms=[(until_s, milliseconds)])))

    # The load takes 10 s.
    assert cross.video_stall_pct(stalled(window.start_s + 3, 2500)) == pytest.approx(25)
    assert cross.video_stall_pct(stalled(window.start_s + 1, 2500)) == pytest.approx(10)
    assert cross.video_stall_pct(stalled(window.end_s + 1, 2500)) == pytest.approx(15)
    assert cross.video_stall_pct(stalled(window.end_s + 1, 25_000)) == pytest.approx(100)
    assert cross.video_stall_pct(stalled(window.end_s + 5, 2500)) == 0


def counted(**queue: tuple[float, float]) -> Run:
    """Counters before and after."""
    return run_with({moment: {"counters": {"up": {"qdisc": {
        name: pair[place] for name, pair in queue.items()}}}}
        for place, moment in enumerate(("before", "after"))})


def test_queues_counters_are_those_after_less_those_before() -> None:
    """Of 100 that came 20 were dropped; what still stands there is of the end."""
    run = counted(drops=(5, 25), packets=(100, 180), requeues=(1, 4), backlog=(7, 3000))
    assert drop_pct(run, "upload") == 20
    assert requeues(run, "upload") == 3
    assert backlog_bytes(run, "upload") == 3000
    assert drop_pct(counted(drops=(5, 6), packets=(9, 9)), "upload") == 100
    with pytest.raises(NotAvailable, match="no packet went through the queue"):
        drop_pct(counted(drops=(5, 5), packets=(9, 9)), "upload")
    with pytest.raises(NotAvailable, match="no counters of the router's download queue before"):
        marks(run, "download")


def test_marks_of_a_device_with_several_queues_are_those_of_all() -> None:
    """The whole's and each one's."""
    run = run_with({moment: {"counters": {"up": {"qdisc": {"drops": 0}, "queues": {
        "10:1": {"tins": [{"ecn_mark": first}]}, "10:2": {"ecn_mark": second}}}}}
        for moment, first, second in (("before", 1, 2), ("after", 11, 102))})
    assert marks(run, "upload") == 110


@pytest.mark.parametrize(("requested", "bytes_counted"), [
    ({}, 1514), ({"shaper": "cake"}, 1514),
    ({"shaper": "htb", "aqm_parameters": {"overhead": "38"}}, 1514),
    ({"shaper": "cake", "aqm_parameters": {"overhead": "38"}}, 1538),
    ({"shaper": "cake", "aqm_parameters": {"overhead": 0, "mpu": 64}}, 1500),
    ({"shaper": "cake", "aqm_parameters": {"overhead": -20, "mpu": "1490"}}, 1490),
    ({"shaper": "cake", "aqm_parameters": {"overhead": "much"}}, 1514),
    ({"shaper": "cake", "up_aqm": "cake", "aqm_parameters": {"overhead": 38},
      "up_aqm_parameters": {"overhead": 44}}, 1544),
    ({"shaper": "cake", "up_aqm": "cake", "aqm_parameters": {"overhead": 38}}, 1514),
    # 1544 bytes in 33 cells; 1500 + 30 and a byte for each 64; 1514 + 38 of the frame itself
    ({"shaper": "cake", "aqm_parameters": {"overhead": "44", "linklayer": "atm"}}, 1749),
    ({"shaper": "cake", "aqm_parameters": {"overhead": "pppoe-ptm"}}, 1554),
    ({"shaper": "cake", "aqm_parameters": {"overhead": "raw ethernet"}}, 1552),
    ({"shaper": "cake", "aqm_parameters": {"overhead": "docsis ether-vlan"}}, 1522),
    ({"shaper": "htb", "shaper_parameters": {"overhead": "44"}}, 1558),
    ({"shaper": "tbf", "shaper_parameters": {"overhead": "44", "linklayer": "atm"}}, 1749),
    # One that leaves nothing, of a file that somebody wrote.
    ({"shaper": "htb", "shaper_parameters": {"overhead": -1514}}, 1514),
    ({"shaper": "htb", "shaper_parameters": {"overhead": -9999}}, 1514),
    ({"shaper": "htb", "shaper_parameters": {"overhead": -1513}}, 1),
])
def test_payload_share_is_of_what_the_shaper_counts(
        requested: dict[str, object], bytes_counted: int) -> None:
    """A frame of Ethernet, or with CAKE's overhead the packet and that."""
    run = run_with({"requested": requested})
    assert payload_share(run, "upload") == pytest.approx(1448 / bytes_counted, rel=1e-12)


def test_loss_of_udp_is_that_of_all_flows_whose_receiver_tells(make_run: MakeRun) -> None:
    """By packets and not by flows; numbers that can't be are none."""
    run = make_run([20.0] * 100, directions=("upload", "upload 2", "upload 3", "download"))

    def with_losses(*losses: tuple[float | None, float | None]) -> Run:
        uploads = [replace(flow, packets=sent, lost_packets=lost)
                   for flow, (sent, lost) in zip(run.flows_of("upload"), losses, strict=True)]
        return replace(run, flows=(*uploads, *run.flows_of("download")))

    assert latency.udp_loss_pct(with_losses((900, 9), (100, 11), (None, None)), "upload") == 2
    assert latency.udp_loss_pct(with_losses((10, 0), (None, 5), (None, None)), "upload") == 0
    for counts in ((0, 1), (10, 11), (10, -1)):
        with pytest.raises(NotAvailable, match="the UDP receiver reports"):
            latency.udp_loss_pct(with_losses(counts, (None, None), (None, None)), "upload")
    with pytest.raises(NotAvailable, match="no count of lost packets of a UDP download"):
        latency.udp_loss_pct(with_losses((900, 9), (100, 11), (1, 1)), "download")


@pytest.mark.parametrize(("sample", "why"), [
    ({"seq": 1, "queue": 1.0, "ring": 2.0}, "'processor' is missing"),
    ({"seq": None}, "a value is of another kind than expected")])
def test_damaged_part_of_a_delay_is_refused_in_one_line(sample: dict[str, Any], why: str) -> None:
    with pytest.raises(BadResult, match=f"^a sample of 'Probe parts' or .* is damaged: {why}$"):
        delay_parts({"Probe parts": [sample]})


@pytest.mark.parametrize(("control", "in_c", "in_l", "warned"), [
    ("prague", (5, 15), (3, 3), True), ("dctcp", (None, 10), (0, 0), True),
    ("cubic", (5, 15), (3, 3), False), ("prague", (5, 15), (3, 4), False),
    ("prague", (5, 5), (3, 3), False), ("prague", (5, 15), (None, None), False)])
def test_scalable_flow_that_never_was_in_the_l_queue_is_warned_of(
        make_run: MakeRun, control: str, in_c: tuple[int | None, int], in_l: tuple[int | None, int],
        warned: bool) -> None:
    """RFC 9332: without ECT(1) DualPI2 serves it as a classic one."""
    run = make_run([20.0] * 100)
    flows = [replace(flow, control=control) for flow in run.flows]
    counters = {moment: {"counters": {"up": {"qdisc": {
        name: counts[place] or 0 for name, counts in (("pkts-in-c", in_c), ("pkts-in-l", in_l))
        if counts[1] is not None}}}} for place, moment in enumerate(("before", "after"))}
    warnings = empty_l_queue_warnings(replace(run, flows=flows, aqm=counters))
    assert [line.partition(":")[0] for line in warnings] == ["upload"] * warned
    # A single packet is enough.
    counters["after"]["counters"]["up"]["qdisc"]["pkts-in-c"] = (in_c[0] or 0) + 1
    lines = empty_l_queue_warnings(replace(run, flows=flows, aqm=counters))
    assert bool(lines) is (control != "cubic" and in_l[1] is not None and in_l[0] == in_l[1])
    if warned:
        assert f"none of 10 packets were in DualPI2's L queue, though {control} sent" in warnings[0]


@pytest.mark.parametrize(("scalable", "is_warned"), [("upload", True), ("download", False)])
def test_l_queue_is_that_of_the_flows_direction(
        make_run: MakeRun, scalable: str, is_warned: bool) -> None:
    """DualPI2 counts in the upload's device; the other direction's flow is cubic."""
    run = make_run([20.0] * 100)
    flows = [replace(flow, control="prague" if flow.direction == scalable else "cubic")
             for flow in run.flows]
    counters = {moment: {"counters": {"up": {"qdisc": {"pkts-in-c": count, "pkts-in-l": 0}}}}
                for moment, count in (("before", 5), ("after", 15))}
    assert bool(empty_l_queue_warnings(replace(run, flows=flows, aqm=counters))) is is_warned
