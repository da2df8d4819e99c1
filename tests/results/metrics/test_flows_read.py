# SPDX-License-Identifier: GPL-3.0-or-later
"""When a flow ran and how fast, from its samples and what its tool reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.flows import Flow, tells_when_it_ran, with_expected_window
from flent_aqm.results.metrics.grades import QooRequirements, qoo
from flent_aqm.results.metrics.probes import MAX_LOST
from flent_aqm.results.metrics.rpm import last_intervals
from flent_aqm.results.metrics.run import Run, _refuse_lost, as_run
from flent_aqm.results.metrics.scores import scores
from flent_aqm.results.metrics.settings import settings_of
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import (
    host_fairness,
    least_host_mbps,
    link_rate_mbps,
    mean_mbps,
    most_host_mbps,
    shared_window,
    throughput_mbps,
)
from flent_aqm.results.metrics.window import Window

NAME = "TCP download"


def run_of(raw: Mapping[str, Sequence[Mapping[str, Any]]], metas: Mapping[str, Mapping[str, Any]],
           **metadata: Any) -> Run:
    """A run of these samples. Series are of iperf3, and those named Ping of irtt."""
    return as_run(as_data_file({"version": 4, "raw_values": {
        name: list(samples) for name, samples in raw.items()}, "metadata": {
        "NAME": "made", "SERIES_META": {name: {
            "RUNNER": "AqmIrttRunner" if name.startswith("Ping") else "AqmIperf3Runner",
            "UNITS": "ms" if name.startswith("Ping") else "Mbits/s", **metas.get(name, {})}
            for name in raw}, **metadata}}, Path("made.flent.gz")))


def flow_of(*samples: Mapping[str, Any], **meta: Any) -> Flow:
    """The flow of a run without probes."""
    flow, = run_of({NAME: samples}, {NAME: meta}).flows
    return flow


def intervals(count: int, length_s: float, mbps: float = 8.0) -> list[dict[str, Any]]:
    """Samples that follow each other from 0 on."""
    return [{"t": (place + 1) * length_s, "dur": length_s, "val": mbps} for place in range(count)]


def test_time_of_a_flow_is_the_tools_if_it_tells_both_ends() -> None:
    """Else from the first interval to the last."""
    samples = intervals(2, 1.0)
    for meta, window in (({"LOAD_START": -5.0, "LOAD_END": 7.0}, (-5, 7, True)),
                         ({"LOAD_START": -5.0}, (0, 2, False)), ({"LOAD_END": 7.0}, (0, 2, False)),
                         ({"LOAD_START": 3.0, "LOAD_END": 3.0}, (3, 3, True))):
        flow = flow_of(*samples, **meta)
        assert (flow.start_s, flow.end_s, flow.has_own_window) == window
    with pytest.raises(BadResult, match="'TCP download' ends before it starts: LOAD_END is before"):
        flow_of(*samples, LOAD_START=3.0, LOAD_END=2.0)


def test_intervals_without_a_length_reach_back_to_the_one_before() -> None:
    """The first has the median of the others; a single one has none, and so no mean."""
    lines = [{"t": at, "val": 8.0} for at in (1.0, 2.0, 4.0)]
    assert flow_of(*lines).length_s.tolist() == [1.5, 1.0, 2.0]
    assert flow_of(*lines[:2]).length_s.tolist() == [1.0, 1.0]
    alone = flow_of(lines[0])
    assert (alone.length_s.tolist(), alone.mean_mbps) == ([0.0], None)


def test_interval_without_a_length_among_others_counts_nothing() -> None:
    flow = flow_of({"t": 1.0, "dur": 1.0, "val": 8.0}, {"t": 2.0, "val": 800.0},
                   {"t": 3.0, "dur": 3.0, "val": 4.0})
    assert flow.mean_mbps == 5
    assert not flow.has_own_mean
    assert flow_of(*intervals(3, 1.0), MEAN_VALUE=7.0).mean_mbps == 7
    assert flow_of(*intervals(1, 0.5)).mean_mbps == 8


def test_host_of_a_flow_is_that_of_the_file() -> None:
    assert flow_of(*intervals(1, 1.0), FROM_HOST="client2").host == "client2"
    assert flow_of(*intervals(1, 1.0)).host == ""
    assert flow_of(*intervals(1, 1.0), FROM_HOST=None).host == ""
    long = flow_of(*intervals(1, 1.0), FROM_HOST="x" * 81, IPERF3={
        "sender_congestion_control": "y" * 81})
    assert (long.host, long.control) == ("x" * 80, "y" * 80)


def test_one_connection_with_one_round_trip_is_enough() -> None:
    """As few as a connection can have."""
    trips = flow_of(*intervals(1, 1.0), ROUND_TRIPS={
        "connections": 1, "samples": 1, "percentiles_ms": [2.0] * 101}).trips
    assert trips is not None
    assert (trips.connections, trips.samples, trips.percentiles_ms[100]) == (1, 1, 2)


@pytest.mark.parametrize(("samples", "meta", "tells"), [
    # of a load of 60 s: half of it, and less
    (intervals(1, 30.0), {}, True), (intervals(1, 29.9), {}, False),
    # few intervals, and ones four times longer than the step of 0.2 s, and more
    (intervals(3, 0.2), {}, True), (intervals(2, 0.2), {}, False),
    (intervals(3, 0.8), {}, True), (intervals(3, 0.9), {}, False),
    # 6 Mbit in 0.75 s: a mean of 4 Mbit/s is that of twice the time, a smaller one of more; one of
    # less than 0.1 Mbit/s is rounded too much to tell
    (intervals(3, 0.25), {"MEAN_VALUE": 4.0}, True),
    (intervals(3, 0.25), {"MEAN_VALUE": 3.9}, False),
    (intervals(3, 0.25), {"MEAN_VALUE": 0.1}, False),
    (intervals(3, 0.25), {"MEAN_VALUE": 0.09}, True),
    # the tool's own times
    (intervals(1, 0.2), {"LOAD_START": 0.0, "LOAD_END": 0.2}, True)])
def test_few_or_long_intervals_do_not_tell_when_a_flow_ran(
        samples: list[dict[str, Any]], meta: dict[str, Any], tells: bool) -> None:
    flow = flow_of(*samples, **meta)
    assert tells_when_it_ran(flow, Window(0.0, 60.0), 0.2) is tells
    assert tells_when_it_ran(flow, Window(5.0, 5.0), 0.2)
    # Whenever that is.
    later = flow_of(*({**one, "t": one["t"] + 100} for one in samples), **meta)
    assert tells_when_it_ran(later, Window(100.0, 160.0), 0.2) is tells


def test_interval_of_less_than_half_a_second_does_not_tell_of_a_load_of_one() -> None:
    flow = flow_of(*intervals(1, 0.25))
    assert [tells_when_it_ran(flow, Window(0.0, length_s), 0.2) for length_s in (
        1.0, 0.75, 0.5, 0.25, -1.0)] == [False, False, True, True, True]


def test_mean_over_the_expected_time_is_spread_unless_the_tool_tells_it() -> None:
    """8 Mbit in 16 s, from before the time that was expected."""
    flow = with_expected_window(flow_of(*intervals(1, 1.0)), Window(0.5, 16.0))
    assert (flow.start_s, flow.end_s, flow.mean_mbps, flow.is_expected) == (0, 16, 0.5, True)
    told = with_expected_window(flow_of(*intervals(1, 1.0), MEAN_VALUE=3.0), Window(-1.0, 0.5))
    assert (told.start_s, told.end_s, told.mean_mbps) == (-1, 1, 3)


PROBES = [{"t": 100.0 + place / 4, "val": 0.0} for place in range(80)]  # to 119.75


@pytest.mark.parametrize(("metadata", "window"), [
    ({"LENGTH": 10, "TOTAL_LENGTH": 20}, (105, 115)),
    ({"LENGTH": 10, "TOTAL_LENGTH": 20, "DELAY": 2}, (102, 112)),
    ({"LENGTH": 10}, (100, 110)), ({"LENGTH": 10, "TOTAL_LENGTH": 5}, (100, 110)),
    ({"LENGTH": 1000, "DELAY": 1}, (101, 119.75)),
])
def test_flow_with_few_samples_ran_while_the_load_was_planned(
        metadata: dict[str, Any], window: tuple[float, float]) -> None:
    """The waits before and after it are equal, and it ends with the last measurement at the latest;
    a note says so."""
    run = run_of({"Ping": PROBES, NAME: [{"t": 106.25, "dur": 0.25, "val": 8.0}]}, {}, **metadata)
    flow, = run.flows
    assert (flow.start_s, flow.end_s, flow.is_expected) == (*window, True)
    note, = run.notes
    assert note == ("the samples of 'TCP download' are too few to tell when the load ran: it is "
                    "taken to last as long as the settings LENGTH and DELAY say")


def test_flow_with_few_samples_may_end_with_another_one() -> None:
    """After the probes; and one that starts later shows when its kind started."""
    few = [{"t": 106.25, "dur": 0.25, "val": 8.0}]
    run = run_of({"Ping": PROBES, NAME: few, "TCP upload": few}, {
        "TCP upload": {"LOAD_START": 103.0, "LOAD_END": 125.0}}, LENGTH=1000, DELAY=1)
    assert [(flow.start_s, flow.end_s) for flow in run.flows] == [(103, 125), (103, 125)]


@pytest.mark.parametrize(("count", "notes"), [
    (3, [f"'Ping {number}'" for number in range(3)]),
    (4, ["4 of the test's series have no data, such as 'Ping 0', 'Ping 1', 'Ping 2' and 1 more: "]),
    (6, ["6 of the test's series have no data, such as 'Ping 0', 'Ping 1', 'Ping 2' and 3 more: "]),
])
def test_up_to_three_series_without_data_have_a_note_each(count: int, notes: list[str]) -> None:
    """More are counted, and the first reason is told."""
    silent = [{"t": 100.0, "val": None, "lost": True}]
    run = run_of({"Ping": PROBES, **{f"Ping {number}": silent for number in range(count)}}, {})
    assert len(run.notes) == len(notes)
    for note, part in zip(run.notes, notes, strict=True):
        assert part in note
        assert "none of the probes of 'Ping" in note


def pings(numbers: Sequence[int], **metadata: Any) -> Run:
    """A ping every 0.25 s, beside irtt for 20 s."""
    return run_of({"Ping": PROBES, "Ping ICMP": [
        {"t": 100 + number / 4, "val": 0.0, "seq": number} for number in numbers]},
        {"Ping ICMP": {"RUNNER": "PingRunner"}}, **metadata)


def test_lost_probes_of_all_series_have_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answered ones don't count, those after the last answer do."""
    _refuse_lost(MAX_LOST)
    with pytest.raises(BadResult, match="lack more than 500,000 probes"):
        _refuse_lost(MAX_LOST + 1)
    monkeypatch.setattr("flent_aqm.results.metrics.run.MAX_LOST", 20)
    assert pings(range(80)).probes[1].lost.sum() == 0
    for numbers in ([*range(30), *range(50, 80)], range(60)):
        assert pings(numbers).probes[1].lost.sum() == pytest.approx(20, abs=1)
    for numbers in ([*range(20), *range(50, 80)], range(50)):
        with pytest.raises(BadResult, match="its latency series lack more than 20 probes"):
            pings(numbers)


def test_rate_of_a_line_needs_both_directions() -> None:
    """One alone is none of both."""
    for requested in ({"rate_down_mbps": 20.0}, {"rate_up_mbps": 20.0}):
        assert "rate_mbps" not in settings_of("ndt7", "", "", {}, requested)


def test_tools_mean_is_taken_for_nineteen_twentieths_of_its_time() -> None:
    """Of less, what the intervals have; half a second is long enough."""
    flow = flow_of(*intervals(100, 1.0), MEAN_VALUE=7.0)
    assert mean_mbps(flow, Window(0.0, 95.0)) == 7
    assert mean_mbps(flow, Window(0.0, 94.0)) == pytest.approx(8)
    assert mean_mbps(flow, Window(1.0, 1.5)) == pytest.approx(8)
    with pytest.raises(NotAvailable, match="from the load's first data to its last is 0 s"):
        mean_mbps(flow, Window(1.0, 1.0))


def test_flows_that_share_a_second_can_be_compared() -> None:
    """Those that share less can't."""
    first = flow_of(*intervals(10, 1.0))
    assert shared_window([first, flow_of({"t": 12.0, "dur": 3.0, "val": 8.0})]) == Window(9.0, 10.0)
    with pytest.raises(NotAvailable, match=r"run together for 0\.5 s, and 1 s are needed"):
        shared_window([first, flow_of({"t": 12.0, "dur": 2.5, "val": 8.0})])
    with pytest.raises(NotAvailable, match=r"run together for 0\.999 s, and 1 s are needed"):
        shared_window([first, flow_of({"t": 12.0, "dur": 2.9997, "val": 8.0})])
    # Rounding of floats decides nothing.
    shared_window([first, flow_of({"t": 12.0, "dur": 3 - 1e-7, "val": 8.0})])
    with pytest.raises(NotAvailable, match="run together for 0 s"):
        shared_window([first, flow_of({"t": 12.0, "dur": 1.0, "val": 8.0})])


def test_sample_without_a_length_tells_no_throughput_over_time() -> None:
    """The tool's mean and its own times do, also where another flow has intervals."""
    total = {"LOAD_START": 0.0, "LOAD_END": 10.0, "MEAN_VALUE": 7.0}
    flow = flow_of({"t": 10.0, "val": 8.0}, **total)
    with pytest.raises(NotAvailable, match=rf"no throughput of '{NAME}' in intervals with a"):
        shared_window([flow, flow_of(*intervals(10, 1.0))])
    run = run_of({NAME: [{"t": 10.0, "val": 8.0}]}, {NAME: total})
    assert throughput_mbps(run, "download") == 7


@pytest.mark.parametrize("rate_mbps", [0, -1, None, "fast"])
def test_line_without_a_rate_above_0_has_no_utilisation(rate_mbps: object) -> None:
    run = run_of({NAME: intervals(3, 1.0)}, {}, AQM={"requested": {"rate_down_mbps": rate_mbps}})
    with pytest.raises(NotAvailable, match="does not record the rate of the link"):
        link_rate_mbps(run, "download")


@pytest.mark.parametrize(("step_s", "is_expected"), [(None, True), (0.2, True), (0.25, False)])
def test_long_intervals_are_so_by_the_step_of_the_run(
        step_s: float | None, is_expected: bool) -> None:
    """Three of 0.875 s are longer than four steps of 0.2 s, the usual ones, and not of 0.25 s."""
    step = {} if step_s is None else {"STEP_SIZE": step_s}
    flow, = run_of({"Ping": PROBES, NAME: [{**one, "t": one["t"] + 105} for one in intervals(
        3, 0.875)]}, {}, LENGTH=10, **step).flows
    assert flow.is_expected is is_expected


def test_flow_starts_with_another_one_that_starts_when_its_first_sample_does() -> None:
    """Both at 106 s."""
    run = run_of({"Ping": PROBES, NAME: [{"t": 106.25, "dur": 0.25, "val": 8.0}],
                  "TCP upload": intervals(1, 1.0)}, {
        "TCP upload": {"LOAD_START": 106.0, "LOAD_END": 115.0}}, LENGTH=10, DELAY=1)
    assert [(flow.start_s, flow.end_s) for flow in run.flows] == [(106, 111), (106, 115)]


def test_flow_that_is_made_without_a_word_has_what_its_tool_reports() -> None:
    """Time and mean."""
    flow = flow_of(*intervals(1, 1.0), MEAN_VALUE=3.0)
    made = Flow(**{name: getattr(flow, name) for name in (
        "name", "runner", "direction", "is_cross", "start_s", "end_s", "mean_mbps", "at_s", "mbps",
        "length_s", "tcp", "noticed", "ndt7", "speedtest")})
    assert tells_when_it_ran(made, Window(0.0, 60.0), 0.2)
    assert with_expected_window(made, Window(0.0, 60.0)).mean_mbps == 3.0
    assert not made.is_expected


def by_hosts(*hosts: str) -> Run:
    """An upload of each host, of 2, 4, 8 … Mbit/s."""
    names = [f"TCP upload::{place}" for place in range(len(hosts))]
    return run_of({name: intervals(10, 1.0, 2.0 ** (place + 1)) for place, name in enumerate(
        names)}, {name: {"FROM_HOST": host} for name, host in zip(names, hosts, strict=True)})


def test_throughput_of_hosts_is_that_of_their_flows_together() -> None:
    """2 and 8 against 4 Mbit/s; a flow without a host counts nothing. One host has no other."""
    run = by_hosts("a", "b", "a", "")
    assert least_host_mbps(run, "upload") == pytest.approx(4)
    assert most_host_mbps(run, "upload") == pytest.approx(10)
    assert host_fairness(run, "upload") == pytest.approx(14 ** 2 / (2 * (10 ** 2 + 4 ** 2)))
    for hosts in (("a", "a"), ("a", ""), ("", "")):
        with pytest.raises(NotAvailable, match=r"^the file doesn't record upload flows of two or "):
            most_host_mbps(by_hosts(*hosts), "upload")
    assert [METRICS[f"host_{which}_upload_mbps"].better for which in ("least", "most")] == [
        "higher", "neither"]


def test_flows_that_tell_no_direction_carry_nothing_that_an_application_needs() -> None:
    """Not even half a Mbit/s. Named ones do."""
    needs = QooRequirements({50.0: (10.0, 20.0)}, (1.0, 2.0), 0.5)
    for name, score in (("TCP cubic", 0.0), ("TCP upload", 100.0)):
        run = run_of({"Ping": PROBES, name: [{**one, "t": one["t"] + 105} for one in intervals(
            10, 1.0)]}, {})
        assert qoo(run, needs) == score


def test_texts_and_settings_of_a_run_are_limited() -> None:
    """200 characters and 200 settings."""
    parameters = {f"s{number:03}": "y" * 201 for number in range(201)}
    run = run_of({NAME: intervals(1, 1.0)}, {}, TITLE="x" * 201, BATCH_NAME="b" * 201,
                 TEST_PARAMETERS=parameters, HOST="z" * 201)
    assert run.title == run.settings["title"] == "x" * 200
    assert (run.settings["host"], run.settings["batch"]) == ("z" * 200, "b" * 200)
    assert [name for name in parameters if name in run.settings] == list(parameters)[:200]
    assert run.settings["s199"] == "y" * 200


@pytest.mark.parametrize(("metadata", "settings"), [
    ({"LENGTH": 7, "HOST": "a"}, {"length_s": 7.0, "host": "a"}), ({}, {}),
    ({"LENGTH": None, "HOST": None}, {}), ({"LENGTH": "7", "HOST": 5}, {})])
def test_length_and_server_are_settings_where_they_are_known(
        metadata: dict[str, Any], settings: dict[str, Any]) -> None:
    found = run_of({NAME: intervals(1, 1.0)}, {}, **metadata).settings
    assert {name: found[name] for name in ("length_s", "host") if name in found} == settings


def test_turns_are_those_of_the_tests_own_flows_in_each_direction() -> None:
    """A download from 0.25 to 1.75 s and an upload from 0.5 to 3.75 s, in steps of 0.5 s. Cross
    traffic is there all the time."""
    way = ["download", "download", "upload", "download", "upload", "upload", "upload", "upload"]
    flows = {"TCP download": (0.25, 1.75), "TCP upload": (0.5, 3.75),
             "Cross download": (0.0, 4.0), "Cross upload": (0.0, 4.0)}
    run = run_of({"Capture": [{"t": (at + 1) / 2, "dur": 0.5, "val": 9.0, one: 9.0}
                              for at, one in enumerate(way)],
                  **{name: intervals(1, 1.0) for name in flows}},
                 {"Capture": {"RUNNER": "AqmCaptureRunner"},
                  **{name: {"LOAD_START": start_s, "LOAD_END": end_s}
                     for name, (start_s, end_s) in flows.items()}})
    assert {name: [(one.start_s, one.end_s) for one in windows]
            for name, windows in run.turns.items()} == {
        "download": [(0.25, 1.0), (1.5, 1.75)], "upload": [(1.0, 1.5), (2.0, 3.75)]}


def test_run_without_round_trips_of_packets_has_the_downloads_reason() -> None:
    """Of both directions, the first one's."""
    run = run_of({name: intervals(1, 1.0) for name in ("TCP upload", NAME)}, {})
    rtt = scores(run).flow_rtt_ms
    assert isinstance(rtt, Unavailable)
    assert rtt.because.startswith("the file has no round trips of the download flows' packets")


def test_direction_has_its_own_throughput_in_what_an_application_needs() -> None:
    """8 Mbit/s of download, 2 of upload; of both the slower one."""
    needs = QooRequirements({50.0: (10.0, 20.0)}, (1.0, 2.0), 4.0)
    run = run_of({"Ping": PROBES, **{name: [{**one, "t": one["t"] + 105} for one in intervals(
        10, 1.0, mbps)] for name, mbps in ((NAME, 8.0), ("TCP upload", 2.0))}}, {})
    assert [qoo(run, needs, direction) for direction in ("download", "upload", None)] == [
        100.0, 0.0, 0.0]


def test_run_ends_as_planned_or_with_its_last_probe() -> None:
    """A ping that ends at 105 s, or at 109.75 s, has lost the rest: until 110 s, or 119.75 s."""
    assert pings(range(21), TOTAL_LENGTH=10.0).probes[1].lost.sum() == 19
    assert pings(range(40)).probes[1].lost.sum() == 39
    assert pings(range(40), TOTAL_LENGTH=100.0).probes[1].lost.sum() == 39


def test_probe_is_idle_if_its_reply_came_before_the_load() -> None:
    """Of two replies, one at the load's start, and two lost ones, one sent at it."""
    probes = [{"t": 104.0, "val": 100.0}, {"t": 105.0, "val": 250.0},
              {"t": 104.9995, "lost": True}, {"t": 105.0, "lost": True}, {"t": 106.0, "val": 0.0}]
    run = run_of({"Ping": probes, NAME: intervals(1, 1.0)}, {
        NAME: {"LOAD_START": 105.0, "LOAD_END": 110.0}})
    idle = run.idle()
    assert idle.sent_s.tolist() == [103.9, 104.9995]
    assert idle.length_s == pytest.approx(1.1)
    assert run.loaded().sent_s.tolist() == [105.0, 106.0]
    whole = run_of({"Ping": PROBES}, {}).idle()
    assert (whole.sent_s.size, whole.length_s) == (80, 19.75)


def test_flow_without_intervals_has_the_mean_of_its_tool() -> None:
    """They are added up, and one that is not known is named."""
    window = {"LOAD_START": 0.0, "LOAD_END": 10.0}
    names = [NAME, "TCP download::2", "TCP download::3"]
    nothing: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    run = run_of(nothing, {name: {**window, "MEAN_VALUE": mbps}
                           for name, mbps in zip(names, (1, 2, 4), strict=True)})
    assert throughput_mbps(run, "download") == 7
    run = run_of(nothing, {NAME: {**window, "MEAN_VALUE": 1}, names[1]: window, names[2]: window})
    with pytest.raises(NotAvailable, match=r"^the throughput of 'TCP download::2' is not known: "):
        throughput_mbps(run, "download")


def test_flow_that_tells_no_time_is_named() -> None:
    """It has a sample, but no value."""
    run = run_of({"Ping": PROBES, NAME: [{"t": 1.0, "lost": True}]}, {})
    assert run.why_no_flow() == "the file doesn't record when 'TCP download' ran"


@pytest.mark.parametrize(("end_s", "start_s"), [(9.0, 5.0), (9.25, 0.0)])
def test_rpm_is_of_the_time_of_flows_that_end_with_the_load(end_s: float, start_s: float) -> None:
    """An upload from 5 to 10 s. A download from 0 s on that ends a second before isn't one."""
    run = run_of({NAME: intervals(1, 1.0), "TCP upload": intervals(1, 1.0)}, {
        NAME: {"LOAD_START": 0.0, "LOAD_END": end_s},
        "TCP upload": {"LOAD_START": 5.0, "LOAD_END": 10.0}})
    assert last_intervals(run, 5.0) == Window(start_s, 10.0)


def test_round_trips_of_a_run_are_those_of_the_direction_that_has_them() -> None:
    """Or the longer ones."""
    def run(*medians_ms: float | None) -> float | Unavailable:
        names = (NAME, "TCP upload")
        return scores(run_of(dict.fromkeys(names, intervals(1, 1.0)), {
            name: {} if rtt_ms is None else {"ROUND_TRIPS": {
                "connections": 1, "samples": 100, "percentiles_ms": [rtt_ms] * 101}}
            for name, rtt_ms in zip(names, medians_ms, strict=True)})).flow_rtt_ms

    assert [run(20.0, 30.0), run(30.0, 20.0), run(None, 20.0), run(30.0, None)] == [
        30.0, 30.0, 20.0, 30.0]


def test_field_that_is_null_in_every_sample_is_not_there() -> None:
    """NDT7's round trips were NaN, of which no table could be made."""
    def run(rtt_ms: float | None) -> Run:
        samples = [{**one, "tcp_rtt": rtt_ms} for one in intervals(3, 1.0)]
        return run_of({NAME: samples}, {NAME: {"NDT7": {"LastServerMeasurement": {}}}})

    metric = METRICS["ndt7_rtt_download_ms"]
    assert metric.of(run(None)) == Unavailable(
        "the file has no RTTs of the NDT7 download, which need the server's TCPInfo")
    assert metric.of(run(20.0)) == 20.0
    assert not run(None).flows[0].tcp


def test_number_of_a_client_is_found_under_the_name_that_older_files_have() -> None:
    """Of both the newer one counts, and no other name."""
    def lost_pct(**numbers: float) -> float | Unavailable:
        return METRICS["webrtc_lost_upload_pct"].of(run_of(
            {"TCP upload": [{"t": 1.0, "val": 5.0, "dur": 1.0}]},
            {"TCP upload": {"SPEEDTEST": {"client": "webrtc_call", "numbers": numbers}}}))

    assert lost_pct(lost_upload_pct=1.5) == lost_pct(lost_upload_percent=1.5) == 1.5
    assert lost_pct(lost_upload_pct=0.0, lost_upload_percent=1.5) == 0.0
    assert lost_pct(lost_upload=1.5) == Unavailable(
        "webrtc_call didn't report lost_upload_pct in this run")


def test_label_has_no_unit() -> None:
    assert METRICS["webrtc_lost_upload_pct"].label == "webrtc lost upload"
    assert METRICS["latency_loaded_p99_ms"].label == "latency under load, p99"
