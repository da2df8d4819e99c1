# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab can have beside client, router and server; and another queue each way."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.lab.protocol import refuse_network_of_ours
from flent_aqm.lab.virtual import Lab
from flent_aqm.measure.runners.ping_exp import settings_from
from flent_aqm.results.metrics.run import load_run
from flent_aqm.router.hook import apply_command, read_back_command
from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.spec.cell import derive_seed
from flent_aqm.spec.scenario import Scenario

from ...warm_flent import run_flent


def test_topology_defaults_leave_seeds_as_they_were() -> None:
    """Settings that came later and aren't used don't tell a run from older ones."""
    settings = {"up_aqm": "", "tcp_ecn": "0", "dest2_delay_ms": "", "modem_mbps": ""}
    assert Scenario.from_settings(settings) == Scenario()
    assert "modem_up_mbps" not in Scenario().identity()
    assert derive_seed("ndt7", Scenario(), 1) != derive_seed(
        "ndt7", Scenario().but(dest2_delay_ms=0.0), 1)


@pytest.mark.parametrize(("settings", "output"), [
    ({"modem_up_mbps": "5"}, "modem_down_mbps"),
    ({"modem_mbps": "0"}, "modem_mbps: 0"),
    ({"up_aqm": "red5"}, "up_aqm"),
    ({"up_aqm": "sfq", "up_aqm_target": "5ms"}, "target"),
    ({"aqm": "cake", "shaper": "cake", "up_aqm": "sfq"}, "up_aqm"),
    ({"dest2_delay_ms": "-1"}, "dest2_delay_ms"),
    ({"tcp_ecn": "3"}, "tcp_ecn: unknown value '3'; expected accecn, yes or no"),
])
def test_topology_impossible_settings_are_refused_by_name(
    settings: dict[str, object], output: str
) -> None:
    """One line names the key."""
    with pytest.raises(ConfigError, match=output):
        Scenario.from_settings(settings)


def test_topology_scenario_survives_json() -> None:
    """The guest gets the same scenario."""
    scenario = Scenario.from_settings({
        "aqm_limit": "18", "up_aqm_limit": "3", "modem_mbps": "4", "dest2_delay_ms": "10"})
    assert Scenario.from_json(scenario.as_json()) == scenario
    assert scenario.router.queue("up") == ("no_aqm", (("limit", "3"),))
    assert scenario.router.queue("down") == ("no_aqm", (("limit", "18"),))


@pytest.mark.parametrize("settings", [
    {"modem_mbps": "4"}, {"dest2_delay_ms": "0"}, {"tcp_ecn": "1"}, {"host_gso": "1"},
    {"reorder_ms": "1"}])
def test_topology_real_routers_refuse_what_they_cannot_have(settings: dict[str, object]) -> None:
    """The key is named; nothing of it for a scenario without."""
    refuse_network_of_ours(Scenario())
    with pytest.raises(ConfigError, match="can't set up the hosts"):
        refuse_network_of_ours(Scenario.from_settings(settings))


@pytest.mark.parametrize(("keys", "output"), [
    ("hosts = dest1, dest9\ndest2_delay_ms = 0", "no host 'dest9'"),
    ("hosts = dest1, dest2", "which the key dest2_delay_ms adds")])
def test_topology_hosts_that_nobody_is_are_refused(
    tmp_path: Path, keys: str, output: str
) -> None:
    """Before anything runs, in one line."""
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    (tmp_path / "try.batch").write_text(
        f"[Batch::try]\ninherits = base\ntest_name = ping_exp\n{keys}\n")
    done = run_flent("-B", "try.batch", "--batch-dry-run", cwd=tmp_path)
    assert done.returncode == 1
    assert output in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.lab
@pytest.mark.parametrize("ingress", ["lan", "ifb"])
def test_topology_two_queues_are_what_the_kernel_reports(ingress: str) -> None:
    """SFB for the upload and a short drop-tail queue for the download, under HTB."""
    scenario = Scenario.from_settings({
        "rate_mbps": "10", "aqm_limit": "18", "up_aqm": "sfb", "up_aqm_penalty_rate": "20",
        "ingress": ingress, "txqueuelen": "1"})
    with Lab(scenario, read_back_command(scenario), servers=(),
             prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        report = parse_read_back(lab.stdout.read_text())
    assert differences(scenario, report) == []
    assert differences(Scenario.from_settings({"rate_mbps": "10", "txqueuelen": "1",
                                               "ingress": ingress}), report)


@pytest.mark.lab
def test_topology_accurate_ecn_is_asked_for_and_counted() -> None:
    """Both hosts agree on it, and the receiver tells of each mark that CoDel makes."""
    scenario = Scenario.from_settings({
        "aqm": "codel", "aqm_ecn": "yes", "rate_mbps": "10", "base_delay_ms": "20",
        "tcp_ecn": "accecn"})
    command = ("cat /proc/sys/net/ipv4/tcp_ecn; iperf3 -c server -t 3 >&2; "
               "nstat -asz TcpExtTCPDeliveredCE")
    with Lab(scenario, ["sh", "-c", command], servers=("iperf3",),
             prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        setting, *_, (_name, marks, _rate) = map(str.split, lab.stdout.read_text().splitlines())
    assert setting == ["3"]
    assert int(marks) > 3


@pytest.mark.lab
@pytest.mark.parametrize("host_gso", ["0", "1"])
def test_topology_the_routers_queue_gets_packets_whole_where_hosts_send_them_so(
    host_gso: str
) -> None:
    """FQ-CoDel reports its largest packet."""
    scenario = Scenario.from_settings({"aqm": "fq_codel", "rate_mbps": "50", "host_gso": host_gso})
    command = f"iperf3 -c server -t 1 >&2; {shlex.join(read_back_command(scenario))}"
    with Lab(scenario, ["sh", "-c", command],
             servers=("iperf3",), prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        largest = max(map(int, re.findall(r'"maxpacket": ?(\d+)', lab.stdout.read_text())))
    assert largest > 10_000 if host_gso == "1" else largest == 1514


@pytest.mark.lab
@pytest.mark.parametrize("reorder_ms", ["0", "5"])
def test_topology_packets_overtake_each_other_by_the_key_alone(reorder_ms: str) -> None:
    """TCP notices it by SACK; the path gets longer by half of the key each way."""
    scenario = Scenario.from_settings({"aqm": "fq_codel", "rate_mbps": "20", "base_delay_ms": "20",
                                       "reorder_ms": reorder_ms})
    command = ("fping -q -C 40 -p 100 server 2>&1; iperf3 -c server -t 3 >&2; "
               "nstat -asz TcpExtTCPSACKReorder")
    with Lab(scenario, ["sh", "-c", command], servers=("iperf3",),
             prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        pings, *_, (_name, reordered, _rate) = map(str.split, lab.stdout.read_text().splitlines())
    times_ms = [float(one) for one in pings[2:]]
    if reorder_ms == "0":
        assert int(reordered) == 0
        assert max(times_ms) < 20.5
    else:
        assert int(reordered) > 3
        assert 20 < min(times_ms) < 23
        assert 27 < max(times_ms) < 30.5


def test_topology_reordering_is_refused_where_netem_makes_no_delay() -> None:
    with pytest.raises(ConfigError, match=(
            r"reorder_ms: 2 ms can't be combined with base_delay_ms = 3600000, only with 10000 ")):
        Scenario.from_settings({"reorder_ms": "2", "base_delay_ms": "3600000"})


@pytest.mark.lab
def test_topology_modem_limits_and_dest2_is_farther_away() -> None:
    """Behind a modem of 5 Mbit/s, a download comes slower, and dest2 30 ms later."""
    scenario = Scenario.from_settings({
        "shaper": "none", "modem_mbps": "5", "modem_down_buffer_ms": "100", "tcp_ecn": "1",
        "base_delay_ms": "10", "dest2_delay_ms": "30"})
    command = ("fping -q -C 2 -p 100 dest1 dest2 2>&1; iperf3 -J -R -c dest2 -t 2; "
               "cat /proc/sys/net/ipv4/tcp_ecn >&2")
    with Lab(scenario, ["sh", "-c", command], servers=("iperf3",),
             prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        pings, _, report = lab.stdout.read_text().partition("{")
        assert lab.stderr.read_text().split()[-1] == "1"
    seen = {line.split()[0]: float(line.split()[-1]) for line in pings.splitlines() if ":" in line}
    assert seen["dest1"] == pytest.approx(10, abs=0.5)
    assert seen["dest2"] == pytest.approx(40, abs=0.5)
    received = json.loads("{" + report)["end"]["sum_received"]["bits_per_second"]
    assert 3e6 < received < 5e6


@pytest.mark.parametrize(("name", "value"), [
    ("load", "sideways"), ("uploads", "0"), ("downloads", "x"), ("ping_count", "1.5"),
    ("ping_interval", "nan"), ("lead_time", "-1")])
def test_ping_exp_odd_parameters_are_refused_by_name(name: str, value: str) -> None:
    """A load without streams, a count that is none."""
    parameters: dict[str, str] = {"load": "both", name: value}
    parameter: Callable[..., Any] = lambda key, default: parameters.get(key, default)  # noqa: E731
    output: list[str] = []
    settings_from(parameter, output.append)
    assert output
    assert output[0].startswith(f"{name}: ")


@pytest.mark.lab
def test_ping_exp_pings_its_hosts_in_turn(tmp_path: Path) -> None:
    """Sent at one instant, the second host's would find the queue that the first's have filled:
    with a fair queue of 3 packets it lost most of them, and the first none."""
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    (tmp_path / "try.batch").write_text("""[Batch::try]
inherits = base
test_name = ping_exp
output_path = results
hosts = dest1, dest2
aqm = sfq
aqm_limit = 18
up_aqm = sfq
up_aqm_limit = 3
txqueuelen = 1
rate_down_mbps = 3.6
rate_up_mbps = 0.69
base_delay_ms = 20
dest2_delay_ms = 10
test_parameters = load=upload; lead_time=5; ping_count=100
""")
    done = run_flent("-B", "try.batch", cwd=tmp_path, timeout_s=300)
    assert done.returncode == 0, done.stdout + done.stderr
    file, = tmp_path.glob("results/*.flent.gz")
    first, second = load_run(file).probes
    # Of fping the replies are timed: dest2's come 10 ms later.
    between_s = (second.sent_s[:, None] - first.sent_s[None, :]).ravel()
    assert abs(between_s).min() == pytest.approx(0.1, abs=0.02)
    for probe in (first, second):
        assert probe.lost.mean() < 0.2
