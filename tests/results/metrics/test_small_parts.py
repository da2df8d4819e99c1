# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of worked values for the small parts that metrics are made of, each limit at its edge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.compare import (
    cliffs_deltas,
    interval_caveat,
    kruskal_wallis,
    p_value_caveat,
    summarise,
    two_groups,
    variance_share,
)
from flent_aqm.results.metrics.cross import video_stall_pct
from flent_aqm.results.metrics.flows import read_flow
from flent_aqm.results.metrics.grades import (
    QooRequirements,
    libreqos_phase_rise_ms,
    libreqos_rise_ms,
    qoo_score,
)
from flent_aqm.results.metrics.latency import (
    Glitch,
    bad_probes,
    find_glitches,
    glitch_time_pct,
    glitches_per_minute,
    idle_median_ms,
    longest_glitch_ms,
    loss_pct,
    mean_jitter_ms,
    smoothed_jitter_ms,
    udp_loss_pct,
)
from flent_aqm.results.metrics.percentiles import trimmed_mean
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.rpm import goresponsiveness_rpm, ietf_rpm
from flent_aqm.results.metrics.run import Run, Samples, probe_kind
from flent_aqm.results.metrics.settings import settings_of
from flent_aqm.results.metrics.throughput import (
    drop_correlation,
    jain,
    link_rate_mbps,
    payload_share,
    rates_mbps,
    shares_line,
)
from flent_aqm.results.metrics.turns import turns
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import ProbeTool, Series, SeriesKind


def run(settings: Mapping[str, Any], aqm: Mapping[str, Any]) -> Run:
    """Return a run without samples."""
    return Run(Path("x"), "x", "", (), (), aqm, settings)


@pytest.mark.parametrize(("values", "groups"), [
    ([0, 2, 9, 9], None), ([0, 0, 7, 9], None), ([0, 2, 10, 10], ([0, 2], [10, 10])),
    ([0, 0, 8, 10], ([0, 0], [8, 10])), ([95, 95, 105, 105], ([95, 95], [105, 105])),
    ([95, 95, 104.9, 104.9], None), ([-95, -95, -105, -105], ([-105, -105], [-95, -95])),
    ([0.1, 0.1, 0.9, 0.9], ([0.1, 0.1], [0.9, 0.9])),
    ([1, 1, 9], None), ([1, 1, 9, 9, math.inf], None), ([0, 0, 0, 0], None),
    # A tenth of the middle between 1001 and 1106.4 is 105.37, of that below 1106.3 105.365.
    ([999, 1001, 1106.4, 1108.4], ([999, 1001], [1106.4, 1108.4])),
    ([999, 1001, 1106.3, 1108.3], None),
    ([1, 9, 9, 9], None), ([1, 1, 1, 2, 20, 20], ([1, 1, 1, 2], [20, 20])),
    ([1, 1, 20, 21, 21, 21], ([1, 1], [20, 21, 21, 21]))])
def test_groups_of_runs(
        values: list[float], groups: tuple[list[float], list[float]] | None) -> None:
    """The gap is four times either range, and a tenth of its middle, or more."""
    assert two_groups(values) == groups


@pytest.mark.parametrize(("tests", "fewest", "text"), [
    (1, 6, "p is the chi-square approximation"),
    (1, 5, "p is the chi-square approximation, rough with 5 runs in a group"),
    (1, 1, "p is the chi-square approximation, rough with 1 run in a group"),
    (2, 6, ("2 p-values: by chance alone one in 20 is below 0.05; divided among them that limit is "
            "0.025 (Bonferroni)")),
    (3, 2, ("3 p-values: by chance alone one in 20 is below 0.05; divided among them that limit is "
            "0.017 (Bonferroni); p is the chi-square approximation, rough with 2 runs in a "
            "group"))])
def test_note_on_p_values_as_a_whole(tests: int, fewest: int, text: str) -> None:
    assert p_value_caveat(tests, fewest) == text


def test_rank_tests_of_groups() -> None:
    """H of 1 2 3 against 4 5 6 is 27/7. Empty groups don't count."""
    found = kruskal_wallis([[1, 2, 3], [], [4, 5, 6]])
    assert found.statistic == pytest.approx(27 / 7)
    assert found.probability == pytest.approx(0.04953, abs=1e-5)
    for groups, why in (([[1.0], []], "fewer than two groups have a value"),
                        ([[1.0], [1.0, 1.0]], "all runs have the same value"),
                        ([[math.inf], [math.inf]], ("the value of each run is a lost probe, and "
                                                    "which is slower is not known"))):
        with pytest.raises(NotAvailable) as caught:
            kruskal_wallis(groups)
        assert str(caught.value) == why
    assert cliffs_deltas({"a": [1, 2], "b": [], "c": [3, 4], "d": [1.5]}) == {
        ("a", "c"): -1.0, ("a", "d"): 0.0, ("c", "d"): 1.0}
    with pytest.raises(NotAvailable):
        summarise([])
    found_summary = summarise([1, 2, 3, 4, 9])
    assert (found_summary.count, found_summary.lower_quartile, found_summary.median,
            found_summary.upper_quartile) == (5, 2, 3, 4)


@pytest.mark.parametrize(("values", "labels", "share"), [
    ([1, 1, 3, 3], "aabb", 1.0), ([1, 3, 1, 3], "aabb", 0.0), ([0, 2, 4, 6], "aabb", 0.8),
    ([0, 0, 3], "aab", 1.0), ([0, 0.5, 0, 0.5], "aabb", 0.0), ([0, 0, 0.5, 0.5], "aabb", 1.0)])
def test_share_of_variance(values: list[float], labels: str, share: float) -> None:
    assert variance_share(values, labels) == pytest.approx(share)


@pytest.mark.parametrize(("values", "why"), [
    ([], "no run has a value"), ([2.0, 2.0], "all runs have the same value"),
    ([1.0, math.inf], "for some runs the value is a lost probe, so there is no variance")])
def test_share_of_no_variance(values: list[float], why: str) -> None:
    with pytest.raises(NotAvailable) as caught:
        variance_share(values, ["a"] * len(values))
    assert str(caught.value) == why


@pytest.mark.parametrize(("testbeds", "is_told"), [
    ([], False), (["virtual"], True), (["virtual", "virtual"], True), (["virtual", "netns"], False),
    (["netns"], False)])
def test_seeds_are_told_of_in_the_lab_alone(testbeds: list[str], is_told: bool) -> None:
    assert interval_caveat(testbeds) == (
        "the lab's runs differ in their seeds alone: their interval tells how much random draws "
        "matter, not how other hosts, routers or days would differ" if is_told else "")


@pytest.mark.parametrize(("mbps", "loss_pct", "latency_ms", "score"), [
    (5.0, 0.0, 10.0, 100.0), (4.99, 0.0, 10.0, 0.0), (5.0, 1.0, 10.0, 50.0),
    (5.0, 0.0, 55.0, 50.0), (9.0, 2.0, 10.0, 0.0), (9.0, 3.0, 500.0, 0.0), (9.0, 0.0, 1.0, 100.0)])
def test_qoo_is_the_worst_of_its_parts(
        mbps: float, loss_pct: float, latency_ms: float, score: float) -> None:
    """5 Mbit/s, 10 to 100 ms, 0 to 2 % of loss."""
    needs = QooRequirements({99.0: (10.0, 100.0)}, (0.0, 2.0), 5.0)
    assert qoo_score(needs, {99.0: latency_ms}, loss_pct, mbps) == pytest.approx(score)


@pytest.mark.parametrize(("aqm", "direction", "size"), [
    ({}, "upload", 1514), ({"requested": 5}, "upload", 1514),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"overhead": 10}}}, "upload", 1524),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"overhead": "10"}}}, "upload", 1524),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"mpu": 2000}}}, "upload", 2000),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"mpu": 64}}}, "upload", 1514),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"linklayer": "atm"}}}, "upload",
     32 * 53),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"linklayer": "ptm"}}}, "upload", 1538),
    # 1536 bytes are 32 whole cells of ATM, and 24 whole pieces of 64 bytes.
    *(({"requested": {"shaper": "htb", "shaper_parameters": {
        "linklayer": layer, "overhead": overhead}}}, "upload", size)
      for layer, overhead, size in (("atm", 22, 32 * 53), ("atm", 23, 33 * 53),
                                    ("ptm", 22, 1536 + 24), ("ptm", 23, 1537 + 25))),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"burst": 1}}}, "upload", 1514),
    ({"requested": {"shaper": "htb", "shaper_parameters": {"overhead": "x"}}}, "upload", 1514),
    ({"requested": {"shaper": "htb", "shaper_parameters": []}}, "upload", 1514),
    ({"requested": {"shaper": "htb", "aqm_parameters": {"overhead": 10}}}, "upload", 1514),
    ({"requested": {"shaper": "cake", "aqm_parameters": {"overhead": 36}}}, "download", 1536),
    ({"requested": {"shaper": "cake", "aqm_parameters": {"mpu": 64}}}, "download", 1514),
    ({"requested": {"shaper": "cake", "aqm_parameters": {"overhead": "raw"}}}, "download", 1514),
    ({"requested": {"shaper": "cake", "aqm_parameters": {"overhead": "conservative"}}}, "download",
     33 * 53),
    ({"requested": {"shaper": "cake", "aqm_parameters": {
        "overhead": "conservative", "linklayer": "noatm"}}}, "download", 1548),
    ({"requested": {"shaper": "cake", "aqm_parameters": {"overhead": 1}, "up_aqm": "sfq",
                    "up_aqm_parameters": {"overhead": 2}}}, "download", 1501),
    ({"requested": {"shaper": "cake", "aqm_parameters": {"overhead": 1}, "up_aqm": "sfq",
                    "up_aqm_parameters": {"overhead": 2}}}, "upload", 1502),
    ({"requested": {"shaper": "cake", "aqm_parameters": {"overhead": 1}, "up_aqm": "",
                    "up_aqm_parameters": {"overhead": 2}}}, "upload", 1501)])
def test_payload_of_a_full_packet(aqm: dict[str, Any], direction: str, size: int) -> None:
    """1448 bytes of what the shaper counts."""
    assert 1448 / payload_share(run({}, aqm), direction) == pytest.approx(size)


def test_modem_narrower_than_the_shaper_counts_frames_without_overhead() -> None:
    aqm = {"requested": {"shaper": "cake", "aqm_parameters": {"overhead": 36}}}
    rates = {"rate_down_mbps": 20, "shaper": "cake"}
    assert 1448 / payload_share(run({**rates, "modem_down_mbps": 10}, aqm),
                                "download") == pytest.approx(1514)
    assert 1448 / payload_share(run({**rates, "modem_down_mbps": 21}, aqm),
                                "download") == pytest.approx(1536)


@pytest.mark.parametrize(("settings", "aqm", "rate"), [
    ({"rate_down_mbps": 20, "rate_up_mbps": 5.0}, {}, 20),
    ({"rate_down_mbps": 0.5}, {}, 0.5),
    ({}, {}, "the file does not record the rate of the link"),
    ({"rate_down_mbps": 0}, {}, "the file does not record the rate of the link"),
    ({"rate_down_mbps": 20, "modem_down_mbps": 40, "shaper": "none"}, {}, 40),
    ({"rate_down_mbps": 20, "modem_down_mbps": 40, "shaper": "htb"}, {}, 20),
    ({"rate_down_mbps": 100, "modem_down_mbps": 50, "shaper": "htb"}, {}, 50),
    ({"rate_down_mbps": 100, "modem_down_mbps": 20}, {"links": {"down": {"steps": 1}}}, 20),
    ({"rate_down_mbps": 100, "modem_down_mbps": 50}, {"links": {"down": {"steps": 121}}},
     "the rate of the link changed during the run, by link_access or link_outages_s"),
    ({"rate_down_mbps": 100, "modem_down_mbps": 50}, {"links": {"up": {"steps": 121}}}, 50),
    # As a run inside `flent-aqm lab`, which records the settings alone.
    *(({"modem_down_mbps": 50, "shaper": "none", **link}, {},
       ("the file does not record how the rate of the link changed, by link_access or "
        "link_outages_s")) for link in ({"link_down_access": "starlink"},
                                        {"link_outages_s": "1-2"})),
    ({"modem_down_mbps": 50, "shaper": "none", "link_up_access": "starlink"}, {}, 50),
    ({"rate_down_mbps": 100, "link_down_trace": "t.csv"}, {},
     "the rate of the link followed a trace (t.csv)"),
    ({"rate_down_mbps": 100, "link_up_trace": "t.csv", "link_down_trace": ""}, {"links": 5}, 100),
    ({"rate_down_mbps": 20, "modem_down_mbps": 0, "shaper": "none"}, {},
     "the run had shaper=none, so nothing limited the link to rate_mbps"),
    ({"rate_down_mbps": 20, "rates_mbps": "20,10"}, {},
     "the rate of the link changed during the run"),
    ({"rate_down_mbps": 20}, {"before": {"routers": {"a": 1}}},
     "the run has several bottlenecks, and flows may go through different ones"),
    ({"rate_down_mbps": 20}, {"before": {"routers": {}}}, 20),
    ({"rate_down_mbps": 20}, {"before": 5}, 20)])
def test_rate_of_the_link(
        settings: dict[str, Any], aqm: dict[str, Any], rate: float | str) -> None:
    if not isinstance(rate, str):
        assert link_rate_mbps(run(settings, aqm), "download") == rate
        return
    with pytest.raises(NotAvailable) as caught:
        link_rate_mbps(run(settings, aqm), "download")
    assert str(caught.value) == rate


@pytest.mark.parametrize(("value", "is_shared"), [
    (None, False), ("", False), ("no", False), ("0", False), (False, False), ("yes", True),
    (True, True), ("4xcubic", True)])
def test_cross_traffic_shares_the_line(value: object, is_shared: bool) -> None:
    assert shares_line({"cross_traffic": value}) is is_shared
    assert shares_line({}) is False


@pytest.mark.parametrize(("rates", "index"), [
    ([1, 1], 1.0), ([1, 0], 0.5), ([1, 3], 0.8), ([0, 0, 3], 1 / 3), ([2], 1.0)])
def test_jains_index(rates: list[float], index: float) -> None:
    assert jain(rates) == pytest.approx(index)


def test_no_flow_has_no_fairness() -> None:
    with pytest.raises(NotAvailable):
        jain([0.0, 0.0])


def test_times_at_a_windows_edges() -> None:
    """Both edges belong to it, or only the end, then with a microsecond's tolerance."""
    window = Window(0.0, 2.0)
    assert window.length_s == 2.0
    assert window.holds(numpy.array([-1e-9, 0.0, 1.0, 2.0, 2.1])).tolist() == [
        False, True, True, True, False]
    assert window.holds_behind_start(numpy.array(
        [0.0, 1e-6, 1.1e-6, 2.0, 2.0 + 1e-6, 2.0 + 2e-6])).tolist() == [
            False, False, True, True, True, False]


def steps(download: Sequence[float], upload: Sequence[float]) -> list[dict[str, float]]:
    """Return steps of a capture, of 1 s each, from 0 s on."""
    return [{"t": at + 1.0, "dur": 1.0, "download": down, "upload": up}
            for at, (down, up) in enumerate(zip(download, upload, strict=True))]


WHOLE = {"download": Window(0.0, 6.0), "upload": Window(0.0, 6.0)}


@pytest.mark.parametrize(("download", "upload", "spans", "found"), [
    ([9, 9, 0, 0, 9, 0], [0, 0, 9, 0, 0, 9], WHOLE,
     {"download": [(0, 2), (4, 5)], "upload": [(2, 3), (5, 6)]}),
    # A step without data lies in between. A hundredth of the largest step is no data, and more is.
    ([9, 0, 9, 0, 0, 0], [0, 0, 0.09, 9, 0, 9], WHOLE,
     {"download": [(0, 3)], "upload": [(3, 6)]}),
    ([9, 0, 9, 0, 0, 0], [0, 0, 0.1, 9, 0, 9], WHOLE,
     {"download": [(0, 1)], "upload": [(3, 6)]}),
    # Both in half of the steps are at once, in fewer not.
    ([9, 9, 9, 0, 0, 0], [0, 0, 9, 9, 0, 0], WHOLE, {"download": [(0, 2)], "upload": [(3, 4)]}),
    ([9, 9, 0, 0, 0, 0], [0, 9, 0, 0, 0, 0], WHOLE, {}),
    ([9, 9, 9, 0, 0, 0], [0, 9, 9, 9, 0, 0], WHOLE, {}),
    ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], WHOLE, {}), ([], [], WHOLE, {}),
    # A step up to the start of the time in which both are under way, or from its end on, doesn't
    # count: with it, half of the steps would have data of both.
    ([0, 9, 9, 9, 0, 0], [0, 9, 9, 0, 9, 0], {
        "download": Window(0.0, 6.0), "upload": Window(2.0, 5.0)},
     {"download": [(3, 4)], "upload": [(4, 5)]}),
    ([0, 0, 9, 9, 0, 9], [0, 0, 9, 0, 9, 9], {
        "download": Window(0.0, 6.0), "upload": Window(2.0, 5.0)},
     {"download": [(3, 4)], "upload": [(4, 5)]}),
    # One after the other, and one alone, don't alternate.
    ([9, 9, 9, 0, 0, 0], [0, 0, 0, 9, 9, 9], {
        "download": Window(0.0, 3.0), "upload": Window(3.0, 6.0)}, {}),
    ([9, 9, 9, 0, 0, 0], [0, 0, 0, 9, 9, 9], {
        "download": Window(0.0, 2.5), "upload": Window(2.5, 6.0)}, {}),
    ([9, 9, 9, 0, 0, 0], [0, 0, 0, 9, 9, 9], {"download": Window(0.0, 3.0), "upload": None}, {}),
    # Intervals lie within the load.
    ([9, 9, 0, 0, 9, 0], [0, 0, 9, 0, 0, 9], {
        "download": Window(0.5, 4.5), "upload": Window(2.25, 5.5)},
     {"download": [(0.5, 2), (4, 4.5)], "upload": [(2.25, 3), (5, 5.5)]}),
    ([9, 9, 0, 0, 9, 0], [0, 0, 9, 0, 0, 9], {
        "download": Window(0.0, 4.0), "upload": Window(2.0, 5.0)},
     {"download": [(0, 2)], "upload": [(2, 3)]}),
])
def test_turns_of_a_test_that_alternates(
        download: list[float], upload: list[float], spans: dict[str, Window | None],
        found: dict[str, list[tuple[float, float]]]) -> None:
    assert {name: [(one.start_s, one.end_s) for one in windows] for name, windows in turns(
        steps(download, upload), spans).items()} == found


def test_intervals_of_a_flow_without_lengths_begin_where_the_one_before_ends() -> None:
    """The first is as long as usual ones. A sample before its predecessor has no length."""
    def lengths_s(*at_s: float) -> list[float]:
        flow = read_flow(Series("TCP upload", SeriesKind.THROUGHPUT, {}, [
            {"t": one, "val": 1.0} for one in at_s]))
        assert flow is not None
        return list(flow.length_s)

    assert lengths_s(1.0, 1.5, 2.0, 2.25) == [0.5, 0.5, 0.5, 0.25]
    assert lengths_s(1.0, 3.0, 2.0, 4.0) == [2.0, 2.0, 0.0, 2.0]
    assert lengths_s(1.0) == [0.0]


@pytest.mark.parametrize(("video_s", "share_pct"), [(0.5, 50.0), (2.0, 12.5)])
def test_stalls_of_a_video_are_a_share_of_its_time(video_s: float, share_pct: float) -> None:
    """In a test without load, however short. A stall of 250 ms."""
    flow = SimpleNamespace(start_s=0.0, end_s=video_s, is_cross=True, direction="download",
                           noticed={"stalled_ms": SimpleNamespace(
                               at_s=numpy.array([0.25]), values=numpy.array([250.0]))})
    one: Any = SimpleNamespace(flows=[flow], load_window=None)
    assert video_stall_pct(one) == pytest.approx(share_pct)
    flow.end_s = 0.0
    with pytest.raises(NotAvailable, match="from the video's first data to its last is 0 s"):
        video_stall_pct(one)


def loaded(sent_s: Sequence[float], rtts_ms: Sequence[float], length_s: float = 1.0,
           spacing_ms: float = 20.0, **more: Any) -> Samples:
    """Return probes under load."""
    return Samples(numpy.array(sent_s), numpy.array(rtts_ms), length_s, spacing_ms, **more)


@pytest.mark.parametrize(("gap_s", "count"), [(0.11, 1), (0.11999, 1), (0.12001, 2), (0.2, 2)])
def test_bad_probes_within_a_tenth_of_a_second_are_a_glitch(gap_s: float, count: int) -> None:
    """Beyond the 20 ms between probes."""
    found = find_glitches(loaded([0.0, gap_s, 1.0], [60.0, math.inf, 50.0]), 20.0, 30.0)
    assert len(found) == count
    assert found[0].start_s == 0.0
    assert found[0].length_ms == pytest.approx(20.0 if count == 2 else gap_s * 1000 + 20)
    assert find_glitches(loaded([0.0], [50.0]), 20.0, 30.0) == []


@pytest.mark.parametrize(("spacing_ms", "unknown", "why"), [
    (20.0, "", ""), (20.04, "", ""),
    (20.06, "", "probes are 20.1 ms apart, and glitches need 20 ms at most"),
    (20.1, "", "probes are 20.1 ms apart, and glitches need 20 ms at most"),
    (math.inf, "", "the latency series has a single probe"), (20.0, "it stops", "it stops")])
def test_glitches_need_dense_probes_that_count_losses(
        spacing_ms: float, unknown: str, why: str) -> None:
    """The spacing is compared as it is shown, with one decimal."""
    samples = loaded([0.0], [60.0], spacing_ms=spacing_ms, loss_unknown=unknown)
    if not why:
        assert len(find_glitches(samples, 20.0, 30.0)) == 1
        return
    with pytest.raises(NotAvailable) as caught:
        find_glitches(samples, 20.0, 30.0)
    assert str(caught.value) == why


@pytest.mark.parametrize(("length_s", "per_minute", "share_pct"), [
    (0.5, 240.0, 8.0), (0.03, 4000.0, 100.0), (60.0, 2.0, 4 / 60), (0.0, None, None)])
def test_glitches_of_a_minute(
        length_s: float, per_minute: float | None, share_pct: float | None) -> None:
    """Two glitches of 20 ms, however short the load. At most all of the time."""
    idle = loaded([at / 10 for at in range(30)], [20.0] * 30)
    one: Any = SimpleNamespace(loaded=lambda: loaded([0.0, 0.3], [60.0, 70.0], length_s),
                               idle=lambda probe=None: idle)
    assert longest_glitch_ms(one, 30.0) == pytest.approx(20.0)
    if per_minute is None:
        for metric in (glitches_per_minute, glitch_time_pct):
            with pytest.raises(NotAvailable, match="from the load's first data to its last is 0 s"):
                metric(one, 30.0)
        return
    assert glitches_per_minute(one, 30.0) == pytest.approx(per_minute)
    assert glitch_time_pct(one, 30.0) == pytest.approx(share_pct)


@pytest.mark.parametrize(("count", "rtt_ms", "has_phase"), [
    (8, 30.0, True), (7, 30.0, False), (8, math.inf, False)])
def test_phase_of_a_second_with_an_answer_counts(
        count: int, rtt_ms: float, has_phase: bool) -> None:
    """Eight probes 125 ms apart, the first at the flow's start and the last at its end. The lower
    quartile of the idle line is 10 ms."""
    samples = loaded([at / 8 for at in range(1, count + 1)], [rtt_ms] * count, spacing_ms=125.0)
    one: Any = SimpleNamespace(
        loaded=lambda: samples, idle=lambda: loaded([0.0] * 5, [5.0, 10.0, 20.0, 20.0, 20.0]),
        speed_test=[SimpleNamespace(start_s=1 / 8, end_s=count / 8, direction="download")])
    if has_phase:
        assert libreqos_phase_rise_ms(one, "download") == 20.0
        assert libreqos_rise_ms(one) == 20.0
        return
    with pytest.raises(NotAvailable, match=r"^no phase of the load has 1 s in which probes were"):
        libreqos_rise_ms(one)


@pytest.mark.parametrize(("counts", "pct"), [
    ([(10.0, 0.0)], 0.0), ([(10.0, 10.0)], 100.0), ([(10.0, 1.0), (30.0, 3.0)], 10.0),
    ([(10.0, 11.0)], None), ([(10.0, -1.0)], None), ([(0.0, 0.0)], None), ([(None, 1.0)], None),
    ([(10.0, None), (10.0, 5.0)], 50.0), ([], None)])
def test_share_of_udp_packets_that_were_lost(
        counts: list[tuple[float | None, float | None]], pct: float | None) -> None:
    """As the receiver counts them, if it can be."""
    flows = [SimpleNamespace(packets=packets, lost_packets=lost) for packets, lost in counts]
    one: Any = SimpleNamespace(flows_of=lambda direction: flows)
    if pct is not None:
        assert udp_loss_pct(one, "upload") == pct
        return
    with pytest.raises(NotAvailable):
        udp_loss_pct(one, "upload")


def test_jitter_is_of_answered_probes() -> None:
    """Mean, and smoothed by a sixteenth each. A lost one is left out."""
    samples = loaded([0, 1, 2, 3], [10.0, math.inf, 26.0, 10.0])
    assert mean_jitter_ms(samples) == 16.0
    assert smoothed_jitter_ms(samples) == 1.0 + 15.0 / 16
    assert mean_jitter_ms(loaded([0, 1], [1.0, 3.0])) == 2.0
    for odd in (loaded([0], [1.0]), loaded([0, 1], [1.0, 3.0], of_steps=True)):
        with pytest.raises(NotAvailable):
            mean_jitter_ms(odd)
    assert loss_pct(samples) == 25.0


@pytest.mark.parametrize(("intervals", "columns"), [(28, 20), (27, None), (40, 32)])
def test_steps_for_synchronisation_are_those_after_the_start_up(
        intervals: int, columns: int | None) -> None:
    """Quarters of a second, without the first 2 s. Twenty are enough."""
    flow = read_flow(Series("TCP upload", SeriesKind.THROUGHPUT, {}, [
        {"t": (at + 1) / 4, "val": float(at), "dur": 0.25} for at in range(intervals)]))
    assert flow is not None
    if columns is None:
        with pytest.raises(NotAvailable) as caught:
            rates_mbps([flow])
        assert str(caught.value) == ("all flows run together for less than 7 s, of which the first "
                                     "2 s are left out as start-up")
        return
    assert rates_mbps([flow, flow]).tolist() == [pytest.approx(list(range(8, 8 + columns)))] * 2


def test_few_intervals_tell_no_synchronisation() -> None:
    """Nineteen of a second, or a maker's program that reports one rate; twenty of half a second
    do. Which of both it is can't be told."""
    flow = read_flow(Series("TCP upload", SeriesKind.THROUGHPUT, {}, [
        {"t": (at + 1) / 2, "val": 1.0, "dur": 0.5} for at in range(20)]))
    assert flow is not None
    assert rates_mbps([flow]).shape == (1, (10 - 2) * 4)
    for count, seen in ((19, "19 intervals"), (1, "1 interval")):
        flow = read_flow(Series("TCP upload", SeriesKind.THROUGHPUT, {}, [
            {"t": at + 1.0, "val": 1.0, "dur": 1.0} for at in range(count)]))
        assert flow is not None
        with pytest.raises(NotAvailable) as caught:
            rates_mbps([flow])
        assert str(caught.value) == (
            f"the flow 'TCP upload' has {seen} of throughput; expected 20 or more, as a longer "
            "test has, unless its tool reports only the whole test")


def test_bad_probes_of_a_glitch_are_above_the_limit_and_within_its_time() -> None:
    """From its start to before its end, which is when the next probe was due."""
    sent_s = numpy.array([0.5, 1.0, 1.25, 1.7495, 1.75])
    probe = Probe("x", ProbeTool.IRTT, sent_s, numpy.array([90.0, 50.1, 50.0, math.inf, 90.0]))
    assert bad_probes(probe, Glitch(1.0, 750.0), 50.0).tolist() == [
        False, True, False, True, False]
    assert bad_probes(probe, Glitch(1.0, 751.0), 49.0).tolist() == [False, True, True, True, True]


def test_idle_median_is_the_middle_of_the_idle_probes() -> None:
    """Of 1 to 41 ms it is 21. With half of them lost there is none."""
    rtts_ms = [float(at) for at in range(1, 42)]
    one: Any = SimpleNamespace(idle=lambda probe=None: loaded(rtts_ms, rtts_ms))
    assert idle_median_ms(one) == 21.0
    one.idle = lambda probe=None: loaded(rtts_ms, [1.0] * 20 + [math.inf] * 21)
    with pytest.raises(NotAvailable, match=r"^before the load 51\.2 % of the probes were lost"):
        idle_median_ms(one)


def test_samples_and_probes_made_without_a_word_are_raw_and_never_stood_still() -> None:
    one, probe = loaded([0.0], [1.0]), Probe("x", ProbeTool.IRTT, numpy.zeros(1), numpy.ones(1))
    assert (one.still_s, one.of_steps, one.loss_unknown) == (0.0, False, "")
    assert (probe_kind(probe), list(probe.still), probe.loss_unknown) == ("irtt", [], "")


def test_means_without_a_share_leave_nothing_out() -> None:
    """Of five values, a fifth of the lowest or the highest is one."""
    values = numpy.array([5.0, 1.0, 2.0, 3.0, 9.0])
    assert trimmed_mean(values) == 4.0
    assert trimmed_mean(values, lowest=0.2) == 4.75
    assert trimmed_mean(values, highest=0.2) == 2.75


def test_rpm_of_less_than_a_millisecond() -> None:
    """As on a machine itself."""
    assert ietf_rpm(0.5, 0.25) == 180_000
    assert goresponsiveness_rpm(0.5, 0.25) == 160_000


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6])
def test_synchronisation_is_the_same_in_any_unit(scale: float) -> None:
    """Also where flows carry next to nothing."""
    rates = numpy.array([[4, 2, 2, 3], [4, 4, 2, 7]], float)
    assert drop_correlation(rates * scale) == pytest.approx(-0.5)


def test_lab_with_a_modem_and_no_rates_has_no_shaper() -> None:
    """Or with a shaper of none."""
    modem = {"modem_down_mbps": 40.0, "modem_up_mbps": 10.0}
    rates = {"rate_down_mbps": 36.0, "rate_up_mbps": 9.0}
    assert [settings_of("x", "", "", {}, requested).get("shaper_mbps") for requested in (
        modem, {**modem, "rate_up_mbps": 9.0}, {**modem, **rates, "shaper": "none"},
        {**modem, **rates, "shaper": "cake"}, rates)] == ["off", "off", "off", "36/9", None]
