# SPDX-License-Identifier: GPL-3.0-or-later
"""Each formula against numbers of its source, or worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.results.metrics import grades, queue, rpm
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.table import METRICS, Unavailable, digits
from flent_aqm.results.metrics.throughput import jain
from tests.files import RUNS, load

MakeRun = Callable[..., Run]
GOLDEN = RUNS


def value(run: Run, name: str) -> float:
    """A metric that has to be available."""
    number = METRICS[name].of(run)
    assert not isinstance(number, Unavailable), (name, number)
    return number


def reason(run: Run, name: str) -> str:
    """Why a metric isn't available."""
    unavailable = METRICS[name].of(run)
    assert isinstance(unavailable, Unavailable), (name, unavailable)
    return unavailable.because


def stalled_trace() -> list[float]:
    """10 s, a probe every 10 ms, 20 to 22 ms, and three stalls of 150 ms that add 500 ms.

    A few more probes at 20 than at 22 ms: their mean without the slowest 5 % is 20.97.
    """
    trace = [20.0 if step % 20 == 3 else 22.0 if step % 20 == 13 and step % 100 != 13 else 21.0
             for step in range(1000)]
    for start in (200, 500, 800):
        trace[start:start + 15] = [520.0] * 15
    return trace


def test_rpm_when_foreign_is_20_and_self_200_ms_is_1650_and_545() -> None:
    """The draft's example, and what goresponsiveness makes of the same times."""
    assert rpm.ietf_rpm(20, 200) == 1650
    assert rpm.goresponsiveness_rpm(20, 200) == pytest.approx(545.45, abs=0.01)


def test_rpm_of_a_run_with_foreign_20_and_self_200_ms(make_run: MakeRun) -> None:
    """The estimates take probes for foreign and TCP_INFO for self times."""
    run = make_run([20.0] * 1000, tcp_rtt_ms=[200.0] * 1000)
    assert value(run, "rpm_ietf_estimate") == pytest.approx(1650)
    assert value(run, "rpm_foreign_estimate") == pytest.approx(3000)
    assert value(run, "rpm_loaded_estimate") == pytest.approx(300)
    assert value(run, "rpm_goresponsiveness_estimate") == pytest.approx(545.45, abs=0.01)
    assert value(run, "rpm_goresponsiveness_p90_estimate") == pytest.approx(545.45, abs=0.01)


def test_three_stalls_hide_from_all_but_tails_and_glitches(make_run: MakeRun) -> None:
    """Ten seconds with three stalls: averages and grades see nothing of them."""
    trace = stalled_trace()
    run = make_run(trace, tcp_rtt_ms=trace)
    assert value(run, "latency_loaded_min_ms") == 20
    assert value(run, "latency_idle_median_ms") == 21
    assert value(run, "latency_increase_median_ms") == 0
    assert value(run, "latency_increase_mean_ms") == pytest.approx(
        value(run, "latency_loaded_mean_ms") - value(run, "latency_idle_mean_ms"))
    assert 0 < value(run, "latency_increase_mean_ms") < value(run, "latency_loaded_mean_ms")
    assert round(value(run, "ookla_style_iqm_download_ms")) == 21
    assert round(value(run, "aim_loaded_latency_download_ms")) == 21
    assert grades.bufferbloat_grade(value(run, "dslreports_rise_ms")) == "A"
    assert grades.bufferbloat_grade(value(run, "libreqos_rise_ms")) == "A"
    assert round(value(run, "rpm_ietf_estimate")) == pytest.approx(2861, abs=2)
    assert value(run, "latency_loaded_p99_ms") == 520
    assert value(run, "glitches_per_minute_100ms") == pytest.approx(18)
    assert value(run, "longest_glitch_100ms_ms") == pytest.approx(150)
    assert value(run, "glitch_time_100ms_pct") == pytest.approx(4.5)


@pytest.mark.parametrize(("number", "word"), [
    (299, "poor"), (300, "fair"), (999, "fair"), (1000, "good"), (5999, "good"),
    (6000, "excellent")])
def test_rpm_class_at_its_thresholds(number: float, word: str) -> None:
    """A class begins at its threshold."""
    assert rpm.rpm_class(number) == word


@pytest.mark.parametrize(("rise_ms", "grade"), [
    (-1, "A+"), (4.99, "A+"), (5, "A"), (29.9, "A"), (30, "B"), (60, "C"), (199, "C"),
    (200, "D"), (399, "D"), (400, "F")])
def test_dslreports_grade_at_its_thresholds(rise_ms: float, grade: str) -> None:
    """A grade ends below its threshold."""
    assert grades.bufferbloat_grade(rise_ms) == grade


@pytest.mark.parametrize(("rise_ms", "grade"), [
    (0, "A+"), (4.99, "A+"), (5, "A"), (30, "B"), (60, "C"), (200, "D"), (399, "D"), (400, "F")])
def test_libreqos_grade_at_its_thresholds(rise_ms: float, grade: str) -> None:
    """A grade ends below its threshold."""
    assert grades.bufferbloat_grade(rise_ms) == grade


def test_libreqos_grades_phases_apart_and_the_total_is_their_mean(make_run: MakeRun) -> None:
    """A test of both directions at once has the one phase; a slow idle link bounds the total."""
    run = make_run([121.0] * 1000, [21.0] * 300)
    assert value(run, "libreqos_rise_bidirectional_ms") == pytest.approx(100)
    assert "doesn't load the download alone for 1 s" in reason(run, "libreqos_rise_download_ms")
    assert value(run, "libreqos_total") == 3  # C
    assert METRICS["libreqos_total"].text(3.0).startswith("C")
    assert value(make_run([181.0] * 1000, [180.0] * 300), "libreqos_total") == 1  # F, by idle


def test_libreqos_of_ndt7_has_a_phase_for_each_direction() -> None:
    """Download and upload follow each other, so they are graded apart."""
    run = load_run(GOLDEN / "ndt7.flent.gz")
    for way in ("download", "upload"):
        assert value(run, f"libreqos_rise_{way}_ms") == pytest.approx(
            float(run.loaded(way).answered_ms.mean())
            - float(numpy.percentile(run.idle().answered_ms, 25)), rel=1e-3)
    assert "doesn't load both directions at once for 1 s" in reason(
        run, "libreqos_rise_bidirectional_ms")
    assert value(run, "libreqos_total") == 6


def test_goresponsiveness_keeps_the_fastest_twentieth_and_the_draft_drops_the_slowest(
    make_run: MakeRun
) -> None:
    """The program's default keeps 5 % where the draft's trims 5 %; windows of 4 and 20 s."""
    # 25 s: slow before the last 20 s, then 10 ms, and every tenth probe of the last 4 s fast.
    trace = [500.0] * 500 + [10.0] * 1600 + [1.0 if n % 10 == 0 else 10.0 for n in range(400)]
    run = make_run(trace, tcp_rtt_ms=trace)
    assert value(run, "rpm_goresponsiveness_estimate") == pytest.approx(60_000, rel=0.01)
    assert value(run, "rpm_ietf_estimate") == pytest.approx(60_000 / (
        (1960 * 10 + 40 * 1 - 100 * 10) / 1900), rel=0.01)


def counted_run(before: Mapping[str, object], after: Mapping[str, object]) -> Run:
    """A run with these counters of the upload's device."""
    return Run(Path("made"), "made", "", (), (), {
        moment: {"counters": {"up": counters}}
        for moment, counters in (("before", before), ("after", after))}, {})


def test_counters_of_three_tiers_are_added() -> None:
    """Each tier has a queue of its own; HTB's classes and the shaper are none."""
    before = {"shaper": {"drops": 50}, "class 1:11": {"drops": 9}} | {
        f"qdisc {number}:": {"drops": 1, "packets": 0, "ecn_mark": 2} for number in (11, 12, 13)}
    after = {"shaper": {"drops": 60}, "class 1:11": {"drops": 19}} | {
        f"qdisc {number}:": {"drops": number, "packets": 87, "backlog": 5, "ecn_mark": number}
        for number in (11, 12, 13)}
    run = counted_run(before, after)
    assert value(run, "queue_marks_upload") == 30
    assert value(run, "queue_drops_upload") == 33
    assert queue.drop_pct(run, "upload") == pytest.approx(33 / (33 + 3 * 87) * 100)
    assert queue.backlog_bytes(run, "upload") == 15
    assert "has no counter 'drops'" in reason(counted_run(before, after | {"qdisc 11:": {}}),
                                              "queue_drops_upload")


def test_marks_are_counted_in_every_tin_and_of_every_sort() -> None:
    """CAKE has them per tin, DualPI2 two sorts with a dash, CoDel's ce_threshold its own, SFQ those
    of its REDs."""
    def run(before: dict[str, object], after: dict[str, object]) -> Run:
        return counted_run({"qdisc": before}, {"qdisc": after})

    cake = run({"tins": [{"ecn_mark": 1}, {"ecn_mark": 0}]},
               {"tins": [{"ecn_mark": 101}, {"ecn_mark": 32}]})
    assert value(cake, "queue_marks_upload") == 132
    assert value(run({"ecn-mark": 1, "step-mark": 2}, {"ecn-mark": 4, "step-mark": 8}),
                 "queue_marks_upload") == 9
    assert value(run({"ecn_mark": 1}, {"ecn_mark": 4, "ce_mark": 5}), "queue_marks_upload") == 8
    assert value(run({"prob_mark": 1, "forced_mark": 0, "prob_drop": 9}, {
        "prob_mark": 4, "forced_mark": 2, "prob_mark_head": 1, "forced_mark_head": 1,
        "prob_drop": 19}), "queue_marks_upload") == 7
    assert "no counter of marks, which not every queue has, of the router's upload" in reason(
        run({"drops": 1}, {"drops": 2}), "queue_marks_upload")


# Cloudflare's tables (internalConfig.ts): from each value on these points, and before the
# first one those of its front.
AIM_POINTS: dict[str, tuple[int, dict[float, int]]] = {
    "latency_ms": (20, {10: 10, 20: 5, 50: 0, 100: -10, 500: -20}),
    "increase_ms": (20, {10: 10, 20: 5, 50: 0, 100: -10, 500: -20}),
    "jitter_ms": (10, {10: 5, 20: 0, 100: -10, 500: -20}),
    "loss": (10, {0.01: 5, 0.05: 0, 0.25: -10, 0.5: -20}),
    "download_mbps": (0, {1: 5, 10: 10, 50: 20, 100: 30}),
}
AIM_WORDS = {"streaming": (15, 20, 40, 60), "gaming": (5, 15, 25, 30), "rtc": (5, 15, 25, 40)}


@pytest.mark.parametrize("name", AIM_POINTS)
def test_aim_points_change_at_each_threshold(name: str) -> None:
    """The other numbers are at their best, 20 points for each of latency and increase."""
    def points(number: float) -> float:
        inputs: dict[str, Any] = {"latency_ms": 1.0, "increase_ms": 1.0, "loss": None, name: number}
        return grades.aim_points(**inputs)

    others = 20 if name in ("latency_ms", "increase_ms") else 40
    before, table = AIM_POINTS[name]
    for threshold, after in table.items():
        assert points(threshold) == others + after, threshold
        assert points(threshold * 0.999) == others + before, threshold
        before = after


@pytest.mark.parametrize("experience", AIM_WORDS)
def test_aim_word_changes_at_each_threshold(experience: str) -> None:
    """Five words, in the order of points."""
    words = ["bad", "poor", "average", "good", "great"]
    for cut, below, at in zip(AIM_WORDS[experience], words, words[1:], strict=False):
        words_around = [grades.aim_word(experience, points) for points in (cut - 1, cut)]
        assert words_around == [below, at]


def test_aim_loaded_latency_is_of_the_last_20_probes(make_run: MakeRun) -> None:
    """A probe every 10 ms that takes 1 ms more each time: 25 are 400 ms apart, the 40th later
    each, and of the last 20 the two in the middle are the 560th and the 600th."""
    run = make_run([20.0 + place for place in range(1000)])
    assert value(run, "aim_loaded_latency_upload_ms") == pytest.approx(20 + 580, abs=10)


@pytest.mark.parametrize(("loaded_ms", "idle_ms", "gaming", "rtc", "streaming"), [
    # latency 20 + increase 20 + loss 10; jitter 10; 90 Mbit/s 20
    (14.0, 5.0, 50, 60, 70),
    # latency 10 (10 <= 15 < 20), increase 5 (20 <= 30 < 50)
    (45.0, 15.0, 25, 35, 45),
    # latency 5, increase -20, loss 10: the sum is floored at 0
    (600.0, 30.0, 0, 5, 15),
])
def test_aim_points_of_a_steady_run(
    make_run: MakeRun, loaded_ms: float, idle_ms: float, gaming: float, rtc: float,
    streaming: float,
) -> None:
    """Sums of points by Cloudflare's tables."""
    run = make_run([loaded_ms] * 1000, [idle_ms] * 300)
    assert value(run, "aim_gaming") == gaming
    assert value(run, "aim_rtc") == rtc
    assert value(run, "aim_streaming") == streaming


@pytest.mark.parametrize(("lost", "points"), [(0, 10), (4, 10), (5, 5), (25, 0)])
def test_aims_loss_is_a_share_of_the_loaded_probes(
        make_run: MakeRun, lost: int, points: int) -> None:
    """Of 500: none, less than 1 %, 1 % and 5 %. Latency of 21 ms is worth 5 points, and an increase
    below 10 ms 20."""
    trace: list[float | None] = [None] * lost + [20.0] * (500 - lost)
    assert value(make_run(trace), "aim_gaming") == 5 + 20 + points


def test_interquartile_mean_of_three_probes_is_that_of_all(make_run: MakeRun) -> None:
    """A quarter of three is none. Of eight it is two."""
    assert value(make_run([1.0, 2.0, 9.0]), "ookla_style_iqm_upload_ms") == 4
    assert value(make_run([1.0, 2.0, 9.0, 9.0, 3.0, 8.0, 30.0, 40.0]),
                 "ookla_style_iqm_upload_ms") == (3 + 8 + 9 + 9) / 4


def test_archive_of_ndt7_has_the_median_that_clients_do_not_show() -> None:
    """Of the RTTs in the server's measurements; clients show the smallest."""
    whole = load(GOLDEN / "ndt7.flent.gz")
    run = load_run(GOLDEN / "ndt7.flent.gz")
    for direction in ("download", "upload"):
        rtts = [one["tcp_rtt"] for one in whole["raw_values"][f"TCP {direction}"]
                if "tcp_rtt" in one]
        assert value(run, f"ndt7_rtt_{direction}_ms") == pytest.approx(numpy.median(rtts))
        assert min(rtts) < value(run, f"ndt7_rtt_{direction}_ms") <= max(rtts)
        assert value(run, f"ndt7_latency_{direction}_ms") <= min(rtts)


@pytest.mark.parametrize(("lost", "points"), [(0, 10), (6, 5), (200, -10)])
def test_cloudflares_loss_is_that_of_the_idle_line(make_run: MakeRun, lost: int, points: int
                                                   ) -> None:
    """Of 600 probes: none, 1 % and a third, by its table."""
    run = make_run([40.0] * 100, [20.0] * 600)
    gone = numpy.arange(600) < lost
    probe = replace(run.probe, rtt_ms=numpy.where(
        numpy.concatenate([gone, numpy.zeros(100, bool)]), numpy.inf, run.probe.rtt_ms))
    numbers = {"latency_ms": 20.0, "loaded_latency_download_ms": 40.0,
               "loaded_latency_upload_ms": 40.0, "download_mbps": 90.0, "jitter_ms": 0.0}
    flow = replace(run.flows[0], speedtest={"client": "cloudflare", "numbers": numbers})
    there = replace(run, probes=(probe,), flows=(flow,))
    # Latency and increase of 20 ms are worth 5 points each.
    assert value(there, "cloudflare_aim_gaming") == max(0, 5 + 5 + points)


@pytest.mark.parametrize(("client", "factor"), [
    ("librespeed", 1.06), ("librespeed_browser", 1.06), ("cloudflare", 1.0), ("unknown", 1.0)])
def test_headers_that_a_tool_adds_are_no_data(make_run: MakeRun, client: str, factor: float
                                              ) -> None:
    """What LibreSpeed shows is 6 % more than the data: a link of 20 Mbit/s was used by 106 %."""
    run = make_run([20.0] * 100)
    plain, shown = (replace(run, flows=(replace(run.flows[0], speedtest={"client": one}),))
                    for one in ("unknown", client))
    for name, by in (("throughput_download_mbps", 1.0), ("total_download_mbps", factor)):
        assert value(shown, name) == pytest.approx(value(plain, name) / by), name


def test_qoo_of_the_drafts_example_is_50() -> None:
    """Latency 50, loss 75, throughput enough: the least of them."""
    assert grades.qoo_score(grades.QOO_EXAMPLE, {99: 350, 99.9: 375}, 2, 28) == pytest.approx(50)
    assert grades.qoo_score(grades.QOO_EXAMPLE, {99: 350, 99.9: 375}, 2, 3.9) == 0


def test_jain_index_of_equal_and_of_starved_flows() -> None:
    """1 when all get the same, 1/n when one gets all."""
    assert jain([5, 5, 5, 5]) == 1
    assert jain([10, 0, 0, 0]) == 0.25


def test_latency_that_the_kernel_cannot_tell_is_marked() -> None:
    """TCP_INFO has whole microseconds: its 1 is all that is shorter, too."""
    metric = METRICS["ndt7_latency_upload_ms"]
    assert (metric.text(0.001), metric.text(0.002), metric.text(20.0)) == (
        "≤ 0.0010", "0.0020", "20.00")


def test_small_numbers_keep_digits_that_say_something() -> None:
    """0.24 Mbit/s isn't 0.2, and 0.0012 isn't 0.00."""
    assert [digits(one) for one in (0, 0.24, 0.0012, 1.051, 95.6, 119.53, 2811.4)] == [
        "0.00", "0.24", "0.0012", "1.05", "95.60", "119.5", "2811"]


def test_jitter_of_alternating_latencies(make_run: MakeRun) -> None:
    """10 and 14 ms in turn differ by 4; RFC 3550's comes near it from below."""
    run = make_run([10.0, 14.0] * 500)
    assert value(run, "jitter_loaded_ms") == pytest.approx(4)
    assert value(run, "jitter_rfc3550_loaded_ms") == pytest.approx(4, rel=1e-6)


def test_utilisation_of_full_packets_is_100_percent(make_run: MakeRun) -> None:
    """1448 of 1514 bytes at 100 Mbit/s."""
    run = make_run([20.0] * 1000, mbps=100 * 1448 / 1514)
    assert value(run, "utilisation_upload_pct") == pytest.approx(100)


def test_glitches_less_than_100_ms_apart_are_one(make_run: MakeRun) -> None:
    """A pause of 90 ms joins two glitches, one of 110 ms doesn't; lost probes are glitches."""
    trace: list[float | None] = [20.0] * 6000
    trace[1000:1005] = [500.0] * 5
    trace[1014:1016] = [None] * 2  # 90 ms after the end of the one before
    trace[3000:3001] = [500.0]
    trace[3012:3013] = [500.0]  # 110 ms after
    run = make_run(trace)
    assert value(run, "glitches_per_minute_100ms") == pytest.approx(3)
    assert value(run, "longest_glitch_100ms_ms") == pytest.approx(160)


@pytest.mark.parametrize(("name", "lacking", "why"), [
    ("ndt7_retransmission_upload_pct", "", "NDT7 reports retransmissions of downloads only"),
    ("ndt7_retransmission_download_pct", "retransmission_pct",
     ("the file has no retransmissions of the NDT7 download, which need BytesRetrans and a "
      "BytesSent above 0 from the server")),
    ("ndt7_latency_upload_ms", "latency_ms",
     "the file has no latency of the NDT7 upload, which needs the server's MinRTT"),
    ("ndt7_throughput_upload_mbps", "throughput_mbps",
     "the file has no throughput_mbps of the NDT7 upload"),
])
def test_result_that_ndt7_lacks_is_not_blamed_on_the_client(
        name: str, lacking: str, why: str) -> None:
    """An upload never has retransmissions, and its latency is the server's to tell."""
    run = load_run(GOLDEN / "ndt7.flent.gz")
    flow, = run.flows_of("upload" if "upload" in name else "download")
    if lacking:
        assert isinstance(flow.ndt7, dict)
        assert flow.ndt7[lacking] is not None
        flow.ndt7[lacking] = None
    assert why in reason(run, name)


@pytest.mark.parametrize(("name", "options", "why"), [
    ("latency_loaded_p99_9_ms", {}, "only 1 of 1000 samples lies above p99.9"),
    ("glitches_per_minute_100ms", {"spacing_s": 0.05}, "probes are 50 ms apart"),
    ("latency_idle_median_ms", {"idle_ms": ()}, "no probe was sent and answered before the load"),
    ("dslreports_rise_ms", {"directions": ("upload",)}, "the test has no download"),
    ("aim_gaming", {"directions": ("download",)}, "the test has no upload"),
    ("latency_loaded_mean_ms", {"directions": ()}, "the test doesn't load the link"),
    ("rpm_ietf_estimate", {}, "no RTT of TCP_INFO"),
    ("ndt7_latency_upload_ms", {}, "the upload is not NDT7's, or its client gave no results"),
    ("fairness_upload", {}, "only one upload flow"),
    ("synchronisation_upload", {}, "only one upload flow"),
    ("queue_drops_upload", {}, "the file has no counters of the router's upload queue before"),
])
def test_missing_input_is_told_as_the_reason(
    make_run: MakeRun, name: str, options: dict[str, object], why: str
) -> None:
    """A number that can't be known is neither 0 nor NaN, but says what is missing."""
    assert why in reason(make_run([20.0] * 1000, **options), name)
