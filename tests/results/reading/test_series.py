# SPDX-License-Identifier: GPL-3.0-or-later
"""Series of old files: each tool's way of telling time, loss and unit gives the right number."""

from __future__ import annotations

import copy
import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.advice.advice import advise
from flent_aqm.results.advice.measured import measured, tried
from flent_aqm.results.data_file import as_data_file, read_data_file
from flent_aqm.results.export.samples import sample_batch
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.reading.series import ProbeTool, SeriesKind, series_of, unit_of
from flent_aqm.show.report.gather import row_of
from flent_aqm.show.report.model import build
from tests.results.old_files import (
    MBPS,
    MS,
    STEP_S,
    T0_S,
    TOTAL_S,
    metadata,
    ping,
    request_response,
    tcp,
    whole,
    write,
)

ICMP, UDP, RR_TCP = "Ping (ms) ICMP", "Ping (ms) UDP BE1", "Ping (ms) TCP BE1"
DOWN, UP = "TCP download BE", "TCP upload BE"
FLOWS = {DOWN: tcp(20.0), UP: tcp(5.0)}
ABOUT: dict[str, dict[str, Any]] = {ICMP: MS, UDP: MS, DOWN: {**MBPS, "MEAN_VALUE": 20.0},
                                    UP: {**MBPS, "MEAN_VALUE": 5.0}}


def run_of(content: Mapping[str, Any]) -> Run:
    """Return the run in a file's content."""
    return as_run(as_data_file(copy.deepcopy(content), Path("made.flent.gz")))


def number(run: Run, name: str) -> float:
    """Return a metric that the run has."""
    value = METRICS[name].of(run)
    assert not isinstance(value, Unavailable), value.because
    return value


def reason(run: Run, name: str) -> str:
    """Return why a run hasn't got a metric."""
    value = METRICS[name].of(run)
    assert isinstance(value, Unavailable), value
    return value.because


def advice_on(run: Run) -> str:
    """Return what a report would advise on a run."""
    return " ".join(advise({"": [tried("line", [(run.settings, measured(run))])]}))


@pytest.mark.parametrize("last", [(1.1, 64.0), (0.0145, 64.0), None])
def test_a_stalled_udp_rr_beside_ping_loses_nothing(last: tuple[float, float] | None) -> None:
    """All 350 pings came back: UDP_RR, which stood still from 6 s on, is not asked."""
    run = run_of(whole({ICMP: ping(), UDP: request_response(4.0, 6.0, last), **FLOWS}, ABOUT))
    assert run.probe.tool is ProbeTool.PING
    assert number(run, "loss_loaded_pct") == 0
    assert number(run, "latency_loaded_median_ms") == 5
    assert run.settings["probe"] == "ping"
    assert "nothing has to be changed" in advice_on(run)


@pytest.mark.parametrize("name", [UDP, RR_TCP])
@pytest.mark.parametrize("last", [(1.1, 64.0), (0.0145, 64.0), None])
def test_a_stalled_request_response_alone_tells_round_trips_while_it_ran(
        name: str, last: tuple[float, float] | None) -> None:
    """No loss, no round trip of 69 s, no advice: the probe says that it stopped."""
    run = run_of(whole({name: request_response(4.0, 6.0, last), **FLOWS},
                       {**ABOUT, name: MS}))
    assert run.probe.tool is (ProbeTool.UDP_RR if name == UDP else ProbeTool.TCP_RR)
    assert not run.probe.lost.any()
    assert number(run, "latency_loaded_max_ms") == pytest.approx(4)
    assert "counts them" in reason(run, "loss_loaded_pct")
    assert any(f"netperf {name.split()[2]}_RR ({name}) stopped 6 s after its start" in note
               for note in run.notes)
    assert advice_on(run) == ("No advice: it takes 10 probes while downloads and uploads keep the "
                              "line busy, and there are 5.")


def test_a_request_response_that_ran_to_the_end_says_that_losses_are_unknown() -> None:
    """Its latencies carry advice; whether packets were lost, nothing tells."""
    run = run_of(whole({UDP: request_response(4.0, TOTAL_S), **FLOWS},
                       {UDP: MS, DOWN: MBPS, UP: MBPS}))
    assert number(run, "latency_loaded_median_ms") == pytest.approx(4)
    assert run.notes == []
    advice = advice_on(run)
    assert "lost is not known" in advice
    assert "nothing has to be changed" not in advice


def test_long_round_trips_of_a_request_response_are_no_stall() -> None:
    """4 s of queue under load: each interval has one transaction, and is as long as that took."""
    slow = [{"t": T0_S + 5 + 4 * (one + 1), "val": 0.25, "dur": 4.0} for one in range(15)]
    fast = request_response(20.0, 5.0)
    run = run_of(whole({UDP: [*fast, *slow, {"t": T0_S + TOTAL_S, "val": 50.0, "dur": STEP_S}],
                        **FLOWS}, ABOUT))
    assert number(run, "latency_loaded_max_ms") == pytest.approx(4000)
    assert run.loaded().rtt_ms.size == 15


def test_report_says_nothing_of_a_load_that_its_probe_did_not_see() -> None:
    """UDP_RR that saw 20 of 60 s has a median, and the headline has none."""
    def said(until_s: float) -> str:
        content = whole({UDP: request_response(4.0, until_s), **FLOWS},
                        {UDP: MS, DOWN: MBPS, UP: MBPS})
        row = row_of(as_data_file(content, Path("made.flent.gz")))
        assert row.metrics["latency_loaded_median_ms"] == pytest.approx(4)
        return " ".join(build([row], [], [], "made").headline)

    assert said(25.0).startswith("None of these runs has a latency under load: netperf UDP_RR "
                                 f"({UDP}) stopped 25 s after its start")
    assert "latency under load was 4 ms" in said(TOTAL_S)


def test_a_pause_of_a_request_response_is_left_out() -> None:
    """30 s with 60 transactions of 4 ms can't be one of 500 ms."""
    samples = request_response(4.0, 20.0)
    samples.append({"t": T0_S + 50, "val": 2.0, "dur": 30.0})
    samples += [{**one, "t": one["t"] + 50} for one in request_response(4.0, 20.0)]
    run = run_of(whole({UDP: samples, **FLOWS}, ABOUT))
    assert number(run, "latency_loaded_max_ms") == pytest.approx(4)
    assert [one.length_s for one in run.probe.still] == [pytest.approx(30)]
    assert "stood still for 30 s" in run.notes[0]
    assert advice_on(run) == ("No advice: the probe was stopped for 30 of 60 s while downloads and "
                              "uploads keep the line busy.")


@pytest.mark.parametrize("samples", [
    [{"t": T0_S + 70, "val": 0.0145, "dur": 69.0}],  # no transaction
    [{"t": T0_S + 70, "val": 1.1, "dur": 69.0}],  # 70 that took 0.9 s each, or one that was lost
    [{"t": T0_S + 70, "val": 0.02, "dur": 69.0}]])  # one of 50 s
def test_an_interval_that_is_a_stall_tells_no_round_trip(samples: list[dict[str, Any]]) -> None:
    """A series of nothing else has none."""
    run = run_of(whole({UDP: samples, **FLOWS}, {UDP: MS, DOWN: MBPS, UP: MBPS}))
    assert run.probes == ()
    assert reason(run, "latency_loaded_median_ms") == (
        f"netperf UDP_RR of '{UDP}' stood still in all of its intervals")


def test_a_claimed_length_makes_no_load_longer_than_what_was_measured() -> None:
    """Metrics cut time into steps: a file that claims years must not make years of them."""
    content = whole({ICMP: ping(), UP: [{"t": T0_S + 16.9, "val": 0.25, "dur": 4.2}]},
                    {ICMP: MS, UP: MBPS})
    content["metadata"] |= {"LENGTH": 1e8, "TOTAL_LENGTH": 1e8}
    run = run_of(content)
    assert run.load_window is not None
    assert run.load_window.length_s < 71


def test_of_several_request_responses_the_longest_counts() -> None:
    """One of three stalled at once."""
    run = run_of(whole({UDP: request_response(4.0, 6.0), "Ping (ms) UDP BE2":
                        request_response(7.0, TOTAL_S), **FLOWS},
                       {**ABOUT, "Ping (ms) UDP BE2": MS}))
    assert run.probe.name == "Ping (ms) UDP BE2"


def test_ping_without_numbers_tells_no_losses() -> None:
    """Nor does one that ends early lose the rest: nothing tells what was sent."""
    run = run_of(whole({ICMP: ping(numbered=False)[:200], **FLOWS}, ABOUT))
    assert "lack the number of their ping" in reason(run, "loss_loaded_pct")
    assert not run.probe.lost.any()


def test_ping_without_numbers_and_answers_under_load_is_not_said_to_send_none() -> None:
    """With numbers they are known to be lost."""
    answered = [[one for one in ping(numbered=numbered) if not 5 <= one["t"] - T0_S <= 65]
                for numbered in (True, False)]
    numbered, other = (run_of(whole({ICMP: one, **FLOWS}, ABOUT)) for one in answered)
    assert number(numbered, "loss_loaded_pct") == 100
    assert reason(other, "latency_loaded_median_ms") == "no probe was answered under load"


def test_irtt_without_runner_and_unit_is_known_by_its_samples() -> None:
    """Losses and all."""
    irtt: list[dict[str, Any]] = [{"t": T0_S + at * STEP_S, "val": 9.0, "owd_up": 4.0, "seq": at}
                                  for at in range(350)]
    irtt[100] = {"t": T0_S + 20.0, "lost": True, "seq": 100}
    run = run_of(whole({ICMP: ping(), UDP: irtt, **FLOWS},
                       {name: {} for name in ABOUT}, version=4))
    assert run.probe.tool is ProbeTool.IRTT
    assert number(run, "loss_loaded_pct") == pytest.approx(100 / 300, rel=0.02)


@pytest.mark.parametrize("about", [{name: {} for name in ABOUT}, None])
def test_files_without_units_have_all_numbers(about: Mapping[str, Any] | None) -> None:
    """SERIES_META without UNITS, or none at all: the names of series tell their kinds."""
    run = run_of(whole({ICMP: ping(5.5), **FLOWS}, about, version=4))
    assert number(run, "throughput_download_mbps") == pytest.approx(20)
    assert number(run, "throughput_upload_mbps") == pytest.approx(5)
    assert number(run, "latency_loaded_median_ms") == 5.5


def test_unknown_unit_is_the_reason_for_what_is_missing() -> None:
    """Not that the test has no download, or the run no latency series."""
    about = {name: {"UNITS": "s" if name.startswith("Ping") else "kbit/s"} for name in ABOUT}
    run = run_of(whole({ICMP: ping(5.5), **FLOWS}, about, version=4))
    assert reason(run, "throughput_download_mbps") == (
        f"{DOWN!r} has the unit 'kbit/s', which is not read; expected Mbits/s or bits/s")
    assert f"{ICMP!r} has the unit 's', which is not read; expected ms" in reason(
        run, "latency_loaded_median_ms")
    known = run_of(whole({ICMP: ping(5.5), **FLOWS, "cpu_stats_router::load": ping(5.5)},
                         {**about, ICMP: {"UNITS": "ms"}, DOWN: {"UNITS": "Mbits/s"},
                          "cpu_stats_router::load": {"UNITS": "misc"}}, version=4))
    assert number(known, "throughput_download_mbps") == pytest.approx(20)
    assert [one for one in known.notes if "kbit" in one] == [
        f"{UP!r} has the unit 'kbit/s', which is not read; expected Mbits/s or bits/s"]


def test_steps_stand_in_for_raw_samples_and_say_so() -> None:
    """netperf-wrapper of 2012: no version, no raw samples; sums of others are no flows."""
    steps = round(TOTAL_S / STEP_S) + 1
    flow: list[float | None] = [None] * 25 + [2.0] * 300 + [None] * 26
    content = {"metadata": metadata(None), "x_values": [at * STEP_S for at in range(steps)],
               "results": {ICMP: [30.0] * steps, UDP: [31.0] * steps, UP: flow,
                           "TCP upload CS5": flow, "Ping (ms) avg": [99.0] * steps,
                           "TCP upload sum": [4.0] * steps, "TCP totals": [4.0] * steps}}
    run = run_of(content)
    assert number(run, "throughput_upload_mbps") == pytest.approx(4)
    assert number(run, "latency_loaded_median_ms") == 30
    assert run.settings["probe"] == "ping, steps"
    assert "interpolated steps" in run.notes[0]
    for name in ("loss_loaded_pct", "jitter_loaded_ms"):
        assert "interpolated steps" in reason(run, name)
    assert reason(run, "throughput_download_mbps") == "the test has no download"


def test_iperfs_bits_per_second_are_mbits() -> None:
    """udp_flood of 2015, whose samples tell no intervals."""
    udp = [{"t": T0_S + 5.5 + at * 0.5, "val": 6e6} for at in range(120)]
    run = run_of(whole({ICMP: ping(), "UDP upload": udp}, {
        ICMP: MS, "UDP upload": {"UNITS": "bits/s", "MEAN_VALUE": 6e6}}))
    assert number(run, "throughput_upload_mbps") == 6
    assert run.load_window is not None
    assert run.load_window.length_s == pytest.approx(60)
    assert number(run_of(whole({"UDP upload": udp}, {"UDP upload": {}})),
                  "throughput_upload_mbps") == 6


def test_a_failed_tool_is_told_of_as_that() -> None:
    """Not as a property of the test, whose definition has an upload."""
    run = run_of(whole({ICMP: ping(), DOWN: tcp(20.0), UP: []}, ABOUT))
    assert reason(run, "throughput_upload_mbps") == f"the tool of '{UP}' gave no data"
    assert f"the tool of '{UP}' gave no data" in run.notes
    said = {**ABOUT, UP: {**MBPS, "ERROR": ["iperf3 failed: refused"]}, ICMP: MS}
    run = run_of(whole({ICMP: [], DOWN: tcp(20.0), UP: []}, said))
    assert reason(run, "throughput_upload_mbps") == f"{UP}: iperf3 failed: refused"
    assert reason(run, "latency_loaded_median_ms") == f"the tool of '{ICMP}' gave no data"
    nothing = run_of(whole({ICMP: ping(), DOWN: [], UP: []}, ABOUT))
    assert reason(nothing, "latency_loaded_median_ms") == f"the tool of '{DOWN}' gave no data"


def test_many_failed_tools_are_one_note() -> None:
    flows = {f"TCP upload::{at}": tcp(5.0) if at < 3 else [] for at in range(9)}
    run = run_of(whole({ICMP: ping(), **flows}, {ICMP: MS, **dict.fromkeys(flows, MBPS)}))
    assert run.notes == [
        ("6 of the test's series have no data, such as 'TCP upload::3', 'TCP upload::4', "
        "'TCP upload::5' and 3 more: the tool of 'TCP upload::3' gave no data")]
    assert number(run, "throughput_upload_mbps") == pytest.approx(15)


def test_flows_whose_names_tell_no_direction_are_told_of() -> None:
    run = run_of(whole({ICMP: ping(), "TCP cubic": tcp(20.0)}, {ICMP: MS, "TCP cubic": MBPS}))
    assert reason(run, "throughput_upload_mbps") == (
        "no flow has upload in its name, and the names of 'TCP cubic' tell no direction")


@pytest.mark.parametrize("samples", [
    [{"t": T0_S + 16.9, "val": 0.25, "dur": 4.2}],
    [{"t": T0_S + 30.0, "val": 0.25, "dur": 6.0}, {"t": T0_S + 44.0, "val": 0.3, "dur": 9.0}],
    tcp(3.0, 5.0, 9.0)])
def test_the_load_lasts_as_planned_where_samples_are_sparse(samples: list[dict[str, Any]]) -> None:
    """One or two intervals of 60 s, or 4 s of 3 Mbit/s whose mean over the test is 0.2."""
    echo = [{**one, "val": 500.0 if 5 <= one["t"] - T0_S <= 65 else 5.0} for one in ping()]
    run = run_of(whole({ICMP: echo, UP: samples}, {ICMP: MS, UP: {**MBPS, "MEAN_VALUE": 0.2}}))
    assert number(run, "latency_idle_median_ms") == 5
    assert number(run, "latency_loaded_median_ms") == 500
    assert number(run, "throughput_upload_mbps") == pytest.approx(0.2)
    assert run.load_window is not None
    assert run.load_window.length_s == pytest.approx(60)
    assert "too few to tell when the load ran" in run.notes[0]


@pytest.mark.parametrize(("begin_s", "end_s"), [(5.0, 20.0), (9.8, 69.8), (35.0, 65.0), (5.0, 7.0)])
def test_the_load_lasts_as_long_as_dense_samples_tell(begin_s: float, end_s: float) -> None:
    """A flow that begins late, or ends early, by its own intervals."""
    run = run_of(whole({ICMP: ping(), UP: tcp(5.0, begin_s, end_s)},
                       {ICMP: MS, UP: {**MBPS, "MEAN_VALUE": 5.0}}))
    assert run.load_window is not None
    assert run.load_window.start_s - T0_S == pytest.approx(begin_s)
    assert run.load_window.end_s - T0_S == pytest.approx(end_s)
    assert run.notes == []


def test_gaps_between_samples_count_as_time_without_data() -> None:
    """Flent leaves out netperf's intervals that are ten times as long as usual: the flow stalled,
    and the other one did not."""
    stalled = [one for one in tcp(5.0) if not 20 < one["t"] - T0_S <= 50]
    other = "TCP upload::2"
    run = run_of(whole({ICMP: ping(), UP: stalled, other: tcp(5.0)},
                       {ICMP: MS, UP: MBPS, other: MBPS}))
    assert number(run, "total_upload_mbps") == pytest.approx(5 + 5 * 30 / 60, rel=0.01)
    assert number(run, "fairness_upload") == pytest.approx(0.9, abs=0.01)  # (1+0.5)²/(2·1.25)
    assert run.notes == [(f"no samples of '{UP}' for up to 30 s in all, which count as 0 Mbit/s: "
                          "Flent leaves out intervals in which a flow hardly sent")]
    told = run_of(whole({ICMP: ping(), UP: stalled}, {ICMP: MS, UP: {**MBPS, "MEAN_VALUE": 4.8}}))
    assert number(told, "total_upload_mbps") == 4.8  # netperf's own mean has all
    assert told.notes == []
    whole_time = run_of(whole({ICMP: ping(), UP: tcp(5.0)}, {ICMP: MS, UP: MBPS}))
    assert number(whole_time, "total_upload_mbps") == pytest.approx(5)
    assert whole_time.notes == []


def test_clock_that_was_set_back_is_told(tmp_path: Path) -> None:
    """By an hour in the middle of the load; replies that overtake each other are none."""
    late, back = ping(), ping()
    late[100]["t"] -= 20
    for one in back[150:]:
        one["t"] -= 3600
    assert run_of(whole({ICMP: late, UP: tcp(5.0)}, {ICMP: MS, UP: MBPS})).probes
    path = write(tmp_path / "back.flent.gz", whole({ICMP: back, UP: tcp(5.0)},
                                                   {ICMP: MS, UP: MBPS}))
    with pytest.raises(BadResult, match=rf"times in '{re.escape(ICMP)}' go back by 3600 s: a "
                                        "clock was set back during the run, .*; repeat the run, "):
        read_data_file(path)


def test_exported_samples_have_the_unit_that_documents_name(tmp_path: Path) -> None:
    """250 transactions per second are 4 ms; ping's are ms already."""
    raw = {ICMP: ping(), UDP: request_response(4.0, 6.0), RR_TCP: request_response(8.0, 6.0),
           "HTTP latency": [{"t": T0_S, "val": 0.5}], "UDP upload": [{"t": T0_S + 6, "val": 6e6}]}
    path = write(tmp_path / "old.flent.gz", whole(raw, {
        **ABOUT, RR_TCP: MS, "HTTP latency": MS, "UDP upload": {"UNITS": "bits/s"}}))
    before = copy.deepcopy(read_data_file(path).raw_values)
    rows = sample_batch(read_data_file(path)).to_pylist()
    values = {row["series"]: row["val"] for row in rows}
    assert values == {ICMP: 5.0, UDP: pytest.approx(4.0), RR_TCP: pytest.approx(8.0),
                      "HTTP latency": 500.0, "UDP upload": 6.0}
    assert read_data_file(path).raw_values == before == raw  # what share copies stays
    table = tmp_path / "runs.csv"
    subprocess.run([Path(sys.executable).with_name("flent-aqm"), "export", path, "-o", table],
                   check=True, capture_output=True)
    row, = csv.DictReader(table.read_text().splitlines())
    assert row["probe"] == f"{ICMP} (ping, every 200 ms)"


def test_runs_of_different_probes_are_no_group(tmp_path: Path) -> None:
    """Nothing averages ping and UDP_RR: --by aqm makes two lines, and says why."""
    for name, raw in (("a", {ICMP: ping()}), ("b", {UDP: request_response(4.0, TOTAL_S)})):
        write(tmp_path / f"{name}.flent.gz", whole({**raw, **FLOWS}, ABOUT))
    done = subprocess.run([Path(sys.executable).with_name("flent-aqm"), "score", tmp_path, "--by",
                           "test", "--metrics", "latency_loaded_median_ms"], check=True,
                          capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("rrul_be")]
    assert [(line[-5] if "UDP_RR" not in line else "UDP_RR") for line in lines].count("UDP_RR") == 1
    assert "measured by different probes" in done.stdout
    scored = json.loads(subprocess.run(
        [Path(sys.executable).with_name("flent-aqm"), "score", tmp_path / "b.flent.gz",
         "--format", "json"], check=True, capture_output=True, text=True).stdout)
    assert scored[0]["probe"] == f"{UDP} (netperf UDP_RR, every 200 ms)"


@pytest.mark.parametrize(("name", "unit"), [
    (ICMP, "ms"), ("Ping (ms)::ICMP", "ms"), ("TCP upload::1", "Mbits/s"), (DOWN, "Mbits/s"),
    ("UDP upload", "Mbits/s"), ("TCP upload::1::tcp_rtt", ""), ("cpu_stats_router::load", ""),
    ("qdisc_stats_a::dropped", "")])
def test_unit_of_a_series_without_one(name: str, unit: str) -> None:
    assert unit_of(name, {}) == unit
    assert unit_of(name, {"UNITS": "other"}) == "other"
    for nothing in ("", None, 5):
        assert unit_of(name, {"UNITS": nothing}) == unit


def test_what_flent_computed_is_no_measured_series() -> None:
    """By its runner, or, in files of before 2016, by its name."""
    series = series_of(as_data_file(whole({UP: tcp(5.0)}, {
        UP: MBPS, "TCP totals": MBPS, "Ping (ms) avg": MS,
        "Sum": {**MBPS, "RUNNER": "SumRunner"}, "TCP upload::1::tcp_cwnd": {}}), Path("made")))
    assert {name: one.kind for name, one in series.items()} == {UP: SeriesKind.THROUGHPUT}
