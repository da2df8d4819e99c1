# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sweep measures, against arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.scores import scores

pytestmark = pytest.mark.lab

# Payload of a full-sized IPv4 segment with timestamps, of the bytes HTB counts for it.
GOODPUT_SHARE = 1448 / 1514


@pytest.mark.parametrize("rate_mbps", [100, 500, 1000])
@pytest.mark.parametrize("tool", ["ndt7", "iperf3_upload"])
def test_goodput_is_the_rate_without_headers(goodput: Any, tool: str, rate_mbps: int) -> None:
    """Each direction's throughput, as the tool reports it, is within 0.5 % of arithmetic."""
    run = load_run(goodput.file(f"{tool}-fq_codel-{rate_mbps}mbit"))
    assert len(run.speed_test) == (2 if tool == "ndt7" else 1)
    for flow in run.speed_test:
        assert flow.mean_mbps == pytest.approx(rate_mbps * GOODPUT_SHARE, rel=0.005), flow.name


def test_capture_agrees_with_the_tool(goodput: Any) -> None:
    """Throughput from the packets' headers, per 100 ms, is what iperf3 counted."""
    data = goodput.data("iperf3_upload-fq_codel-500mbit")
    captured = [name for name, meta in data["metadata"]["SERIES_META"].items()
                if meta.get("RUNNER") == "AqmCaptureRunner"]
    assert captured
    rates = sorted(sample["val"] for sample in data["raw_values"][captured[0]]
                   if sample.get("val"))
    assert rates[len(rates) // 2] == pytest.approx(500 * GOODPUT_SHARE, rel=0.01)


def test_drop_tail_fills_its_queue(full_queue: Any) -> None:
    """Under load, the RTT through pfifo comes near that of its 1000 packets in full."""
    full_ms = 1000 * 1514 * 8 / 100e6 * 1000
    run_scores = scores(load_run(full_queue.file("no_aqm")))
    assert isinstance(run_scores.latency_p99_ms, float)
    assert 0.9 * full_ms < run_scores.latency_p99_ms <= full_ms + 1
    assert isinstance(run_scores.latency_median_ms, float)
    assert run_scores.latency_median_ms > 0.6 * full_ms


@pytest.mark.parametrize("aqm", ["fq_codel", "sfq"])
def test_fair_queue_keeps_probes_fast(full_queue: Any, aqm: str) -> None:
    """The probe has a queue of its own under fq_codel and sfq."""
    run_scores = scores(load_run(full_queue.file(f"-{aqm}-")))
    assert isinstance(run_scores.latency_p99_ms, float)
    assert run_scores.latency_p99_ms < 5


def test_codel_holds_the_queue_near_its_target(full_queue: Any) -> None:
    """CoDel's one queue stays near 5 ms, far from drop-tail's."""
    run_scores = scores(load_run(full_queue.file("-codel-")))
    assert isinstance(run_scores.latency_median_ms, float)
    assert 1 < run_scores.latency_median_ms < 10


def test_router_settings_are_proved_before_and_after(full_queue: Any) -> None:
    """The file holds what was asked, what the kernel reported twice, and counters."""
    aqm = full_queue.data("-fq_codel-")["metadata"]["AQM"]
    assert aqm["requested"]["aqm"] == "fq_codel"
    for moment in ("before", "after"):
        applied = aqm[moment]["applied"]["up"]
        assert (applied["shaper"], applied["qdisc"]) == ("htb", "fq_codel")
        assert applied["rate_mbps"] == 100
    sent = [aqm[moment]["counters"]["up"]["class"]["bytes"] for moment in ("before", "after")]
    assert sent[1] - sent[0] > 100e6
    assert aqm["kernel"]["hash"]
    assert aqm["tools"]["iperf3"]
    assert aqm["virtual_s"] > 12
    assert aqm["hosts"]["moderation_us"] == {"client": 50, "server": 50}
