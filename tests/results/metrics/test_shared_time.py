# SPDX-License-Identifier: GPL-3.0-or-later
"""Flows are compared over the time that they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import carried_mbit, mean_mbps, shared_window
from flent_aqm.results.metrics.window import Window

RATE_MBPS = 100.0
FULL = RATE_MBPS * 1448 / 1514


def run_of(flows: dict[str, list[tuple[float, float, float]]],
           requested: dict[str, Any] | None = None, hosts: dict[str, str] | None = None,
           **aqm: Any) -> Run:
    """A run of flows by name: (start, end, Mbit/s) of each interval. hosts: flow -> its host."""
    series, raw = {}, {}
    for name, spans in flows.items():
        total_s = sum(end - start for start, end, _ in spans)
        mean = sum((end - start) * mbps for start, end, mbps in spans) / total_s
        series[name] = {"RUNNER": "AqmIperf3Runner", "UNITS": "Mbits/s", "MEAN_VALUE": mean,
                        "LOAD_START": spans[0][0], "LOAD_END": spans[-1][1],
                        "FROM_HOST": (hosts or {}).get(name, "")}
        raw[name] = [{"t": end, "dur": end - start, "val": mbps} for start, end, mbps in spans]
    return as_run(as_data_file({
        "version": 4, "raw_values": raw, "metadata": {
            "NAME": "made", "SERIES_META": series, "AQM": {"requested": requested or {
                "rate_down_mbps": RATE_MBPS, "rate_up_mbps": RATE_MBPS}, **aqm}}}, Path("made")))


def value(run: Run, name: str) -> float:
    number = METRICS[name].of(run)
    assert not isinstance(number, Unavailable), number
    return number


def test_throughput_of_flows_that_come_and_go_is_never_more_than_the_link_has() -> None:
    """One flow has the link, and for 2 s of 8 shares it with another: their means add up to
    one and a half links."""
    run = run_of({
        "TCP upload::1": [(n, n + 1, FULL / 2 if 3 <= n < 5 else FULL) for n in range(8)],
        "TCP upload::2": [(n, n + 1, FULL / 2) for n in (3, 4)]})
    assert value(run, "throughput_upload_mbps") == pytest.approx(FULL)


def with_cross() -> Run:
    """Cross traffic is alone for 5 s, shares the link fairly for 10 s, and is alone again."""
    return run_of({
        "TCP upload": [(5 + n, 6 + n, FULL / 2) for n in range(10)],
        "Cross upload": [(n, n + 1, FULL / 2 if 5 <= n < 15 else FULL) for n in range(20)]})


def test_cross_traffic_counts_while_the_test_runs_and_no_longer() -> None:
    """Its whole mean would make 126 % of a link that is exactly full, and less than fair."""
    run = with_cross()
    assert value(run, "utilisation_upload_pct") == pytest.approx(100)
    assert value(run, "fairness_upload") == pytest.approx(1)
    assert value(run, "throughput_upload_mbps") == pytest.approx(FULL / 2)


@pytest.mark.parametrize(("direction", "settings", "factor"), [
    ("upload", {}, 1.0), ("download", {}, 1.0), ("upload", {"burst_shaping": "yes"}, 1.1),
    ("upload", {"link_trace": "x"}, 1.1), ("download", {"link_down_trace": "x"}, 1.1),
    ("upload", {"link_down_trace": "x"}, 1.0), ("upload", {"rate_up_mbps": 0}, 1.1),
    ("upload", {"rate_up_mbps": 2 * RATE_MBPS}, 1.1)])
def test_flows_beside_cross_traffic_have_no_more_than_the_link_carries(
        direction: str, settings: dict[str, Any], factor: float) -> None:
    """Cross traffic's sender counts what is still in its buffers: a drop-tail queue of 20 Mbit/s
    had 103 %, and FQ-CoDel was said to cost 4 % of the throughput."""
    run = run_of({
        f"TCP {direction}": [(5 + n, 6 + n, FULL * 0.1) for n in range(10)],
        f"Cross {direction}": [(n, n + 1, FULL) for n in range(20)]},
        {"rate_down_mbps": RATE_MBPS, "rate_up_mbps": RATE_MBPS, **settings})
    assert value(run, f"total_{direction}_mbps") == pytest.approx(factor * FULL)
    # Of what a trace lets TCP carry, nothing is known.
    if factor == 1 or "burst_shaping" in settings:
        assert value(run, f"utilisation_{direction}_pct") == pytest.approx(100 * factor)


@pytest.mark.parametrize(("from_host", "settings", "aqm", "factor"), [
    ("", {}, {"before": {"routers": {"router2": {}}}}, 1.0),
    ("middle", {}, {"before": {"routers": {"router2": {}}}}, 1.1),
    ("", {"link_outages_s": "3-4"}, {"links": {"up": {"steps": 3}}}, 1.0),
    ("", {"link_outages_s": "3-4", "link_up_access": "starlink"},
     {"links": {"up": {"steps": 9}}}, 1.1)])
def test_several_routers_and_outages_let_no_more_pass_than_the_rate(
        from_host: str, settings: dict[str, Any], aqm: dict[str, Any], factor: float) -> None:
    """All flows of the client go through its router; another host's may not. An access that draws
    rates anew may exceed the link's own."""
    run = run_of({
        "TCP upload": [(5 + n, 6 + n, FULL * 0.1) for n in range(10)],
        "Cross upload": [(n, n + 1, FULL) for n in range(20)]},
        {"rate_down_mbps": RATE_MBPS, "rate_up_mbps": RATE_MBPS, **settings},
        hosts={"Cross upload": from_host}, **aqm)
    assert value(run, "total_upload_mbps") == pytest.approx(factor * FULL)
    assert isinstance(METRICS["utilisation_upload_pct"].of(run), Unavailable)


def test_starved_flow_shows_in_the_shared_time() -> None:
    """A tenth of the link while both run; its rival's whole mean would hide half of that."""
    run = run_of({
        "TCP upload": [(5 + n, 6 + n, FULL * 0.1) for n in range(10)],
        "Cross upload": [(n, n + 1, FULL * 0.9 if n >= 5 else 0.0) for n in range(15)]})
    assert value(run, "fairness_upload") == pytest.approx(1 / (2 * (0.1**2 + 0.9**2)))


def test_flows_that_never_meet_have_no_fairness() -> None:
    """One after the other: there is nothing to be fair about."""
    run = run_of({"TCP upload a": [(0, 10, 10.0)], "TCP upload b": [(10, 20, 10.0)]})
    fairness = METRICS["fairness_upload"].of(run)
    assert isinstance(fairness, Unavailable)
    assert "run together for 0 s" in fairness.because
    assert value(run, "utilisation_upload_pct") == pytest.approx(10 / FULL * 100)


def test_single_flow_has_the_mean_of_its_tool() -> None:
    """Of old uploads the intervals are the sender's and too high; the mean is the receiver's."""
    run = run_of({"TCP upload": [(n, n + 1, 1.1 * FULL) for n in range(10)]})
    flow = run.flows[0]
    reported = Flow(**{**vars(flow), "mean_mbps": FULL})
    assert mean_mbps(reported, Window(0, 10)) == FULL
    assert mean_mbps(reported, Window(0, 5)) == pytest.approx(1.1 * FULL)


@pytest.mark.parametrize(("settings", "counted_bytes"), [
    ({"shaper": "htb"}, 1514), ({"shaper": "tbf"}, 1514), ({"shaper": "cake"}, 1514),
    ({"shaper": "cake", "aqm_parameters": {"overhead": "38"}}, 1538),
    ({"shaper": "cake", "aqm_parameters": {"overhead": 0}}, 1500),
    ({"shaper": "cake", "aqm_parameters": {"overhead": "0", "mpu": "1600"}}, 1600),
    ({"shaper": "htb", "aqm_parameters": {"overhead": "38"}}, 1514),
])
def test_utilisation_is_of_what_the_shaper_counts(
    settings: dict[str, Any], counted_bytes: int
) -> None:
    """CAKE with an overhead counts IP packets and that; all else counts Ethernet frames."""
    requested = {"rate_down_mbps": RATE_MBPS, "rate_up_mbps": RATE_MBPS, **settings}
    run = run_of({"TCP upload": [(0, 10, RATE_MBPS * 1448 / counted_bytes)]}, requested)
    assert value(run, "utilisation_upload_pct") == pytest.approx(100)


def test_utilisation_of_a_changing_rate_is_not_known() -> None:
    """The rate that was asked for is not the one that there was."""
    run = run_of({"TCP upload": [(0, 10, 1.0)]}, {
        "rate_down_mbps": 10.0, "rate_up_mbps": 10.0, "rates_mbps": "10,5"})
    utilisation = METRICS["utilisation_upload_pct"].of(run)
    assert isinstance(utilisation, Unavailable)
    assert "changed" in utilisation.because


def test_utilisation_needs_a_link_of_that_rate() -> None:
    """A default that shapes nothing is none; a modem behind the router is one."""
    flows = {"TCP upload": [(0.0, 10.0, FULL / 2)]}
    rates = {"rate_down_mbps": RATE_MBPS, "rate_up_mbps": RATE_MBPS}
    utilisation = METRICS["utilisation_upload_pct"].of(run_of(flows, {**rates, "shaper": "none"}))
    assert isinstance(utilisation, Unavailable)
    assert "shaper=none" in utilisation.because
    modem = run_of(flows, {**rates, "shaper": "none", "modem_up_mbps": RATE_MBPS / 2})
    assert value(modem, "utilisation_upload_pct") == pytest.approx(100)


def test_utilisation_of_several_bottlenecks_is_not_known() -> None:
    """Flows that share none of them would add up to more than either carries."""
    run = run_of({"TCP upload": [(0, 10, FULL)], "TCP upload (2)": [(0, 10, FULL / 2)]},
                 before={"routers": {"router2": {}}})
    utilisation = METRICS["utilisation_upload_pct"].of(run)
    assert isinstance(utilisation, Unavailable)
    assert "several bottlenecks" in utilisation.because


spans = st.lists(st.tuples(st.floats(0.05, 3), st.floats(0, 3), st.floats(0, 1e3)), min_size=1,
                 max_size=20)


@given(intervals=spans, cut=st.floats(0, 1))
def test_what_is_carried_adds_up(intervals: list[tuple[float, float, float]], cut: float) -> None:
    """Any moment splits the whole in two; pauses between intervals carry nothing."""
    at, pieces, whole = 0.0, [], 0.0
    for length, pause, mbps in intervals:
        pieces.append((at + pause, at + pause + length, mbps))
        at += pause + length
        whole += length * mbps
    flow = run_of({"TCP upload": pieces}).flows[0]
    first, middle, last = carried_mbit(flow, numpy.array([0.0, cut * at, at]))
    assert last - first == pytest.approx(whole)
    assert first <= middle <= last
    by_hand = sum(max(0.0, min(end, cut * at) - start) * mbps for start, end, mbps in pieces)
    assert middle == pytest.approx(by_hand, abs=1e-6 * (1 + whole))


def test_less_than_a_second_together_is_too_little() -> None:
    """Start and end are all that would be compared."""
    run = run_of({"TCP upload a": [(0, 10, 1.0)], "TCP upload b": [(9.5, 20, 1.0)]})
    with pytest.raises(NotAvailable, match=r"run together for 0\.5 s"):
        shared_window(run.flows)
