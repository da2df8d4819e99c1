# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of real data files: ours, Flent's own tests, and Flent's oldest formats."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import Run, as_run, load_run
from flent_aqm.results.metrics.scores import NOT_TOLD, Scores, scores
from flent_aqm.results.metrics.settings import settings_of
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.reading.series import ProbeTool
from tests.files import RUNS, load

GOLDEN = RUNS


def flents_own(name: str) -> Path:
    """A data file of Flent's unit tests, which its wheel installs."""
    spec = find_spec("unittests")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "test_data" / name


def test_run_of_ours_has_all_that_metrics_need() -> None:
    """NDT7's two directions follow each other, with TCP_INFO; irtt is the probe."""
    run = load_run(GOLDEN / "ndt7.flent.gz")
    assert run.test == "ndt7"
    assert run.probe.tool is ProbeTool.IRTT
    assert run.probe.spacing_ms == pytest.approx(10, rel=0.05)
    assert [flow.direction for flow in run.speed_test] == ["download", "upload"]
    down, up = run.speed_test
    assert down.end_s <= up.start_s
    assert down.ndt7["throughput_mbps"] == down.mean_mbps
    assert down.tcp["tcp_rtt"].values.min() > 0
    assert run.settings["aqm"] == "fq_codel"
    assert run.settings["rate_mbps"] == 50
    assert run.counters("after", "upload")["qdisc"]["packets"] > 0


def test_cross_traffic_is_no_part_of_the_test() -> None:
    """Its flows are known and not of the test; idle ends when they start."""
    run = load_run(GOLDEN / "iperf3_bidirectional.flent.gz")
    cross = [flow for flow in run.flows if flow.is_cross]
    assert len(cross) == len(run.speed_test) == 2
    assert min(flow.start_s for flow in cross) < min(flow.start_s for flow in run.speed_test)
    assert run.idle().sent_s.max() < min(flow.start_s for flow in cross)
    assert run.load_window is not None
    assert run.loaded().sent_s.min() >= run.load_window.start_s


def test_stock_rrul_is_read_with_its_losses() -> None:
    """Eight flows, four probes; irtt says which probes it lost, ping leaves them out."""
    run = load_run(GOLDEN / "stock_rrul.flent.gz")
    assert sorted(flow.direction for flow in run.speed_test) == ["download"] * 4 + ["upload"] * 4
    lost = {probe.name: int(probe.lost.sum()) for probe in run.probes}
    assert lost == {"Ping (ms) UDP BE": 2, "Ping (ms) UDP BK": 1, "Ping (ms) UDP EF": 1,
                    "Ping (ms) ICMP": 2}
    assert run.load_window is not None
    assert run.load_window.length_s == pytest.approx(10, abs=0.5)
    assert METRICS["throughput_download_mbps"].of(run) == pytest.approx(17.43)


def test_stock_test_without_irtt_tells_what_it_can() -> None:
    """Ping every 200 ms gives a median; glitches need more."""
    run = load_run(GOLDEN / "stock_tcp_download.flent.gz")
    assert run.probe.tool is ProbeTool.PING
    assert METRICS["latency_loaded_median_ms"].of(run) == pytest.approx(20, abs=5)
    value = METRICS["glitches_per_minute_100ms"].of(run)
    assert isinstance(value, Unavailable)
    assert "200 ms apart" in value.because


def test_stock_ping_is_idle_all_the_time() -> None:
    """A test without load has idle latencies alone."""
    run = load_run(GOLDEN / "stock_ping.flent.gz")
    assert run.idle().sent_s.size == 20
    value = METRICS["latency_loaded_mean_ms"].of(run)
    assert isinstance(value, Unavailable)
    assert "doesn't load" in value.because


def test_stalled_udp_rr_tells_when_it_stopped() -> None:
    """Flent's own sample, in which netperf's UDP_RR stopped after 8 of 150 s; ping went on."""
    run = load_run(flents_own("test-rrul.flent.gz"))
    stalled = next(probe for probe in run.probes if probe.name == "Ping (ms) UDP BE2")
    assert stalled.tool is ProbeTool.UDP_RR
    assert not stalled.lost.any()
    assert stalled.stopped_after_s == pytest.approx(8, abs=1)
    # That format has transactions a second: 95 of them are 10.5 ms.
    assert stalled.rtt_ms[0] == pytest.approx(10.6, abs=0.1)
    assert run.probe.tool is ProbeTool.PING
    assert METRICS["loss_loaded_pct"].of(run) == pytest.approx(9.18, abs=0.01)


@pytest.mark.parametrize("name", [
    "test-http-1up", "test-http", "test-rrul-icmp", "test-rrul", "test-rrul_be-socket_stats",
    "test-rtt-fair", "test-tcp_nup", "test-voip-1up", "test-voip-rrul"])
def test_flents_own_samples_are_read(name: str) -> None:
    """Files of ten years, formats 2 to 4; each metric is a number or has a reason."""
    run = load_run(flents_own(f"{name}.flent.gz"))
    for metric in METRICS.values():
        value = metric.of(run)
        assert value.because if isinstance(value, Unavailable) else numpy.isfinite(value)


def test_means_of_flows_agree_with_flents_own_sum() -> None:
    """What Flent adds up as 'TCP download sum' is our throughput."""
    path = flents_own("test-rrul-icmp.flent.gz")
    metadata = load(path)["metadata"]
    assert METRICS["throughput_download_mbps"].of(load_run(path)) == pytest.approx(
        metadata["SERIES_META"]["TCP download sum"]["MEAN_VALUE"])


def pings(count: int, missing: set[int], total_s: float) -> Run:
    """A run of ping every 200 ms beside irtt until the end, some of ping's missing."""
    ping = [{"t": 100 + 0.2 * step, "val": 1.0, "seq": step}
            for step in range(count) if step not in missing]
    irtt = [{"t": 100 + 0.2 * step, "val": 1.0} for step in range(int(total_s * 5))]
    return as_run(as_data_file({"version": 4, "metadata": {
        "NAME": "made", "TOTAL_LENGTH": total_s, "SERIES_META": {
            "ping": {"RUNNER": "PingRunner", "UNITS": "ms"},
            "irtt": {"RUNNER": "IrttRunner", "UNITS": "ms"}}},
        "raw_values": {"ping": ping, "irtt": irtt}}, Path("made")))


def test_ping_numbers_that_are_missing_are_lost() -> None:
    """Three missing numbers, each at the time between its neighbours."""
    probe = pings(100, {10, 11, 50}, 20).probes[1]
    assert probe.tool is ProbeTool.PING
    assert list(numpy.flatnonzero(probe.lost)) == [10, 11, 50]
    assert probe.sent_s[11] == pytest.approx(100 + 0.2 * 11 - 0.001)


def test_ping_that_ends_early_has_lost_the_rest() -> None:
    """Half of the run without an answer, on the word of the other probe."""
    probe = pings(50, set(), 20).probes[1]
    assert int(probe.lost.sum()) == pytest.approx(50, abs=1)
    assert not pings(99, set(), 20).probes[1].lost.any()


def test_scores_count_probes_under_load_only(make_run: Callable[..., Run]) -> None:
    """Probes before the load don't count."""
    run = make_run([100.0] * 1000, [1.0] * 1000)
    assert replace(scores(run), flow_rtt_ms=NOT_TOLD) == Scores(90.0, 90.0, 100.0, 100.0)


def test_scores_of_a_run_without_speed_test_are_unknown() -> None:
    """A stock test has no throughput of a speed test of ours, nor has ping a load."""
    run_scores = scores(load_run(GOLDEN / "stock_ping.flent.gz"))
    assert all(isinstance(getattr(run_scores, field.name), Unavailable) for field in fields(Scores)
               if not field.name.endswith("warnings"))
    assert run_scores.warnings == ()


def test_reading_a_run_imports_neither_flent_nor_matplotlib() -> None:
    """Scores of many files must start fast; only SciPy and NumPy are big here."""
    code = ("import sys; from pathlib import Path;"
            "from flent_aqm.results.metrics.table import values;"
            "from flent_aqm.results.metrics.run import load_run;"
            f"values(load_run(Path({str(GOLDEN / 'ndt7.flent.gz')!r})));"
            "print([name for name in ('flent', 'matplotlib', 'rich') if name in sys.modules])")
    done: Any = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                               text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("requested", "link", "shaper"), [
    ({"rate_down_mbps": 100.0, "rate_up_mbps": 100.0}, 100.0, None),
    ({"rate_down_mbps": 90.0, "rate_up_mbps": 31.5}, "90/31.5", None),
    ({"rate_down_mbps": 36.0, "rate_up_mbps": 9.0, "shaper": "cake", "modem_down_mbps": 40.0,
      "modem_up_mbps": 10.0}, "40/10", "36/9"),
    ({"rate_down_mbps": 100.0, "rate_up_mbps": 100.0, "shaper": "none", "modem_down_mbps": 40.0,
      "modem_up_mbps": 10.0}, "40/10", "off"),
    # 100 Mbit/s of the shaper are not the rate of a line that plays a trace.
    ({"rate_down_mbps": 100.0, "rate_up_mbps": 100.0, "link_down_trace": "a/t.csv",
      "link_up_trace": "a/t.csv"}, "trace t.csv", 100.0),
    ({"rate_down_mbps": 100.0, "rate_up_mbps": 50.0, "link_down_trace": "t.csv",
      "link_up_trace": "", "modem_down_mbps": 20.0, "modem_up_mbps": 20.0}, "trace t.csv/20",
     "100/50"),
    ({"rate_down_mbps": 100.0, "rate_up_mbps": 50.0, "link_down_trace": "",
      "link_up_trace": "seeded"}, "100/trace seeded", "100/50"),
    # Nothing limits a line without both to the requested rate.
    ({"rate_down_mbps": 100.0, "rate_up_mbps": 100.0, "shaper": "none",
      "wifi_rates_mbps": "2x144.4+7.2"}, "Wi-Fi 2x144.4+7.2", "off"),
    ({"rate_down_mbps": 50.0, "rate_up_mbps": 50.0, "shaper": "htb",
      "wifi_rates_mbps": "2x144.4+7.2"}, "Wi-Fi 2x144.4+7.2", 50.0),
    ({"rate_down_mbps": 100.0, "rate_up_mbps": 100.0, "shaper": "none"}, "no shaper", None)])
def test_rate_of_a_line_is_that_of_its_modem(
        requested: dict[str, Any], link: float | str, shaper: str | None) -> None:
    settings = settings_of("ndt7", "", "", {}, requested)
    assert (settings["rate_mbps"], settings.get("shaper_mbps")) == (link, shaper)
