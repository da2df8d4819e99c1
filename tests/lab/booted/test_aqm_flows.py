# SPDX-License-Identifier: GPL-3.0-or-later
"""The test aqm_flows: groups of flows, and a router whose rate changes while they run."""

from __future__ import annotations

import re
import shutil
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.spec import flow_groups
from flent_aqm.spec.scenario import Scenario
from tests.files import load

from ...warm_flent import run_flent


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run of 9 s: two TCP flows all the time, UDP in the middle of it, then UDP in bursts, and a
    router that has 10 and 5 Mbit/s in turn."""
    folder = tmp_path_factory.mktemp("flows")
    shutil.copy(resource_dir("batches") / "base.batch", folder)
    (folder / "try.batch").write_text(
        "[Batch::try]\ninherits = base\noutput_path = results\ntest_name = aqm_flows\n"
        "length = 9\ndelay = 1\nrate_mbps = 10\nbase_delay_ms = 10\naqm = fq_codel\n"
        "test_parameters = flows=2xreno+1xudp8@3-6+1xudp0.5~60@6-9; "
        "rates_mbps=10,5,10; rate_step_s=3; start_jitter_ms=0\n")
    done = run_flent("-B", "try.batch", cwd=folder, timeout_s=600)
    assert done.returncode == 0, done.stderr
    file, = folder.glob("results/*.flent.gz")
    content: dict[str, Any] = load(file)
    return content


def rate(data: dict[str, Any], series: str, start_s: float, stop_s: float) -> float:
    """Mean of a series between two moments of the load."""
    load_s = data["metadata"]["SERIES_META"]["TCP upload 2xreno"]["LOAD_START"]
    return statistics.fmean(one["val"] for one in data["raw_values"][series]
                            if "val" in one and start_s <= one["t"] - load_s <= stop_s)


@pytest.mark.lab
def test_flows_run_when_asked_and_share_the_link(data: dict[str, Any]) -> None:
    """FQ-CoDel gives each of three flows its share; alone, TCP has the link."""
    whole = 10 * 1448 / 1514
    assert rate(data, "TCP upload 2xreno", 2, 3) == pytest.approx(whole, rel=0.1)
    assert rate(data, "UDP upload 1xudp8@3-6", 4, 6) == pytest.approx(5 / 3, rel=0.1)
    assert rate(data, "TCP upload 2xreno", 4, 6) == pytest.approx(10 / 3, rel=0.15)
    udp = [one["t"] for one in data["raw_values"]["UDP upload 1xudp8@3-6"]]
    assert udp[-1] - udp[0] == pytest.approx(2.8, abs=0.3)


@pytest.mark.lab
def test_bursts_are_sent_at_once_and_the_receiver_tells_what_was_lost(data: dict[str, Any]
                                                                      ) -> None:
    """60 packets of 1448 bytes at 0.5 Mbit/s: every 1.39 s. UDP of 8 Mbit/s loses on 5."""
    def idle_times(name: str) -> int:
        busy = [one["t"] for one in data["raw_values"][name] if one["val"] > 0]
        return sum(later - earlier > 0.5 for earlier, later in pairwise(busy))

    series = data["metadata"]["SERIES_META"]
    bursts, evenly = (series[name]["IPERF3"] for name in (
        "UDP upload 1xudp0.5~60@6-9", "UDP upload 1xudp8@3-6"))
    # The third ends with the test: what is still in the queue then isn't counted.
    assert 150 < bursts["packets"] <= 3 * 60
    assert idle_times("UDP upload 1xudp0.5~60@6-9") == 2
    assert idle_times("UDP upload 1xudp8@3-6") == 0
    assert 0.3 < evenly["lost_packets"] / evenly["packets"] < 0.8
    run = as_run(as_data_file(data, Path("flows.flent.gz")))
    reports = [series[one]["IPERF3"] for one in series if one.startswith("UDP")]
    assert METRICS["udp_loss_upload_pct"].of(run) == 100 * sum(
        one["lost_packets"] for one in reports) / sum(one["packets"] for one in reports)


@pytest.mark.lab
def test_rate_changes_are_recorded_and_taken_back(data: dict[str, Any]) -> None:
    """One sample a change; after the run the router has what was asked for."""
    changes = data["raw_values"]["Rate of the router"]
    assert [one["val"] for one in changes] == [10, 5, 10]
    assert changes[1]["t"] - changes[0]["t"] == pytest.approx(3, abs=0.01)
    for device in ("down", "up"):
        assert data["metadata"]["AQM"]["after"]["applied"][device]["rate_mbps"] == 10


def test_groups_are_read_as_written() -> None:
    """Count, kind, time and host."""
    first, second, third, fourth = flow_groups.groups_from(
        "12xcubic+1xudp0.5@2-4.5+2xbbr/dest2+1xudp3~390@1.25-8", 10, fail)
    assert (first.count, first.congestion_control, first.start_s, first.stop_s) == (
        12, "cubic", 0, 10)
    assert (second.udp_mbps, second.start_s, second.stop_s) == (0.5, 2, 4.5)
    assert (second.burst_packets, fourth.burst_packets) == (0, 390)
    assert (fourth.udp_mbps, fourth.start_s) == (3, 1.25)
    assert (third.host, third.congestion_control) == ("dest2", "bbr")
    plain, marked, burst = flow_groups.groups_from(
        "1xudp5+2xudp5-ect1+1xudp5~9-ect1@0-4", 10, fail)
    assert [plain.ect1, marked.ect1, burst.ect1] == [False, True, True]
    assert burst.burst_packets == 9
    by_series = flow_groups.data_sets([plain, marked], "upload", "server", 5)
    assert [one.get("ect1") for one in by_series.values()] == [None, True]


@pytest.mark.parametrize("text", [
    "", "reno", "0xreno", "1xudp0", "1xudp0.0-ect1", "2xreno@5-3", "2xreno@0-11",
    "1xudp8@3-3.5", "1xudp3~0",
    "1xudp3~1001", "1xreno~5", "1xcubic-ect1", "1xudp5-ect0", "999xreno", "1xudp",
    "1xreno/Elsewhere",
    "1xreno; rm -r", "+".join(["1xreno"] * 9)])
def test_groups_that_mean_nothing_are_refused(text: str) -> None:
    """One line, with what was given."""
    output: list[str] = []
    groups = flow_groups.groups_from(text, 10, output.append)
    assert len(output) == 1
    assert repr(text) in output[0]
    assert [group.text for group in groups] == ["1xcubic"]


@pytest.mark.parametrize(("scenario", "rates", "step", "message"), [
    (Scenario().but(testbed="ssh://router"), "1,2", "1", "network namespace"),
    (Scenario().but(shaper="tbf"), "1,2", "1", "shaper = tbf"),
    (Scenario(), "1,x", "1", "'1,x'"),
    (Scenario(), "0", "1", "'0'"),
    (Scenario(), "1,nan", "1", "'1,nan'"),
    (Scenario(), "1,2", "inf", "'inf'"),
    (Scenario(), "1,2", "0.001", "'0.001'")])
def test_rates_that_cannot_be_are_refused(scenario: Scenario, rates: str, step: str,
                                          message: str) -> None:
    """One line, with the cause."""
    output: list[str] = []
    assert flow_groups.rates_from(rates, step, scenario, output.append) == ([], 0.0)
    assert len(output) == 1
    assert message in output[0]


def test_form_for_data_files_is_what_the_test_understands() -> None:
    """A file of a stranger may bring what the test takes, and nothing else."""
    assert re.fullmatch(flow_groups.FLOWS, "2xreno+1xudp8@20-40+1xudp3~1000+1xcubic/dest2")
    assert not re.fullmatch(flow_groups.FLOWS, "2xreno; reboot")


def fail(text: str) -> None:
    pytest.fail(text)
