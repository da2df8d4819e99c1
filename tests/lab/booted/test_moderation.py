# SPDX-License-Identifier: GPL-3.0-or-later
"""Interrupt moderation of the hosts' cards: what they report, how long packets wait for it."""

from __future__ import annotations

import re

import pytest

from flent_aqm.base.errors import LabError
from flent_aqm.lab.virtual import Lab
from flent_aqm.spec.scenario import Scenario
from research.validation.moderation import measure, segments_per_acknowledgement

from .client import output

pytestmark = pytest.mark.lab

# Prints how long each datagram waited between the client's device and its socket, in us: two that
# are sent at one moment, after a second of silence.
WAITS = """
import socket, subprocess, sys, time
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("192.0.2.2", 7000))
receiver.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS: when the interrupt brought it
sender = '''
import socket, time
socket_ = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5):
    time.sleep(1)
    for _ in range(2):
        now_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        socket_.sendto(str(now_ns).encode(), ("192.0.2.2", 7000))
'''
process = subprocess.Popen(["ip", "netns", "exec", "router", sys.executable, "-c", sender])
for _ in range(10):
    data, ancillary, *_ = receiver.recvmsg(100, 100)
    seconds, nanoseconds = (int.from_bytes(ancillary[0][2][at:at + 8], "little") for at in (0, 8))
    print((seconds * 10**9 + nanoseconds - int(data)) / 1000)
process.wait()
"""


@pytest.mark.parametrize("gap_us", [0, 50, 1000])
def test_packet_after_silence_waits_for_nothing_and_the_next_for_the_gap(gap_us: int) -> None:
    """As of a card whose throttle's time is long over when the first packet comes."""
    scenario = Scenario.from_settings({"host_moderation_us": gap_us, "shaper": "none"})
    waits_us = list(map(float, output("python3", "-c", WAITS, scenario=scenario).split()))
    assert max(waits_us[::2]) < 2
    assert all(gap_us - 3 < wait_us < gap_us + 3 for wait_us in waits_us[1::2]), waits_us


@pytest.mark.parametrize("rate_mbps", [300, 900])
def test_segments_per_acknowledgement_follow_from_the_throttle(rate_mbps: int) -> None:
    """And not from the room of 64 KB that GRO has: 20 and 40 segments."""
    flow = measure(rate_mbps, 50, aqm="fq_codel", length_s=3)
    expected = segments_per_acknowledgement(rate_mbps, 50)
    assert flow.segments == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("settings", [
    {}, {"host_moderation_us": 0}, {"host_moderation_us": 125, "dest2_delay_ms": 5},
    {"topology": "clients:2"}])
def test_each_host_reports_the_moderation_that_was_requested(settings: dict[str, object]) -> None:
    """The kernel's own answer, by ethtool, is what the data file keeps."""
    scenario = Scenario.from_settings(settings)
    with Lab(scenario, ["ethtool", "-c", "eth0"]) as lab:
        outcome = lab.run()
        reported = re.search(r"^rx-usecs:\s*(\d+)$", lab.stdout.read_text(), re.MULTILINE)
    wanted_us = scenario.hosts.host_moderation_us
    assert reported
    assert int(reported[1]) == wanted_us
    assert outcome.host_moderation_us["server"] == wanted_us
    assert set(outcome.host_moderation_us.values()) == {wanted_us}
    hosts = {"client", "server"} | ({"dest2"} if "dest2_delay_ms" in settings else set())
    assert hosts <= outcome.host_moderation_us.keys()


@pytest.mark.parametrize(("spoil", "message"), [
    ("sed -i 's/^rx-usecs:.*/rx-usecs: 10/' /run/lab/out/card-server", "server reports 10 us"),
    ("echo >/run/lab/out/card-server", "server reports none"),
    ("rm /run/lab/out/card-*", "no host reported its setting")])
def test_run_whose_hosts_report_something_else_is_refused(spoil: str, message: str) -> None:
    with Lab(Scenario(), ["sh", "-c", spoil]) as lab, pytest.raises(LabError, match=message):
        lab.run()
