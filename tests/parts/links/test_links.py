# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that play a schedule, against what the schedule says, packet by packet."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.lab.virtual import Lab
from flent_aqm.parts.links.plan import link_plans
from flent_aqm.parts.links.schedule import Schedule
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario

# 400 UDP packets of 100 to 1400 bytes in groups, numbered; what arrives at the modem's lan, and
# what leaves by its wan, in ns.
_TRAFFIC = """
import random, socket, subprocess, sys, time
watch = [subprocess.Popen(
    ["ip", "netns", "exec", "modem", "tcpdump", "-i", device, "-Q", way, "-w", device + ".pcap",
     "-s", "96", "--time-stamp-precision=nano", "-U", "udp and dst port 9"],
    stderr=subprocess.DEVNULL) for device, way in (("lan", "in"), ("wan", "out"))]
time.sleep(1)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
chance = random.Random(5)
number = 0
while number < 400:
    for _ in range(chance.choice((1, 2, 3, 30))):
        out.sendto(number.to_bytes(4, "big") + bytes(chance.randrange(60, 1350)), ("server", 9))
        number += 1
    time.sleep(chance.choice((0, 0.0003, 0.004, 0.03)))
time.sleep(3)
for one in watch:
    one.terminate()
    one.wait()
print(open("/sys/module/sch_lablink/parameters/link").read())
"""


@dataclass(frozen=True)
class _Passed:
    came_ns: int
    left_ns: int | None  # None: it never did
    bytes: int


@dataclass(frozen=True)
class _Seen:
    packets: Sequence[_Passed]
    start_ns: int
    counters: dict[str, int]


def _packets(path: Path) -> Iterator[tuple[int, int, int]]:
    """Number, time in ns and bytes on the wire of each packet in a capture."""
    data = path.read_bytes()
    assert data[:4] == bytes.fromhex("4d3cb2a1")  # ns, little-endian
    at = 24
    while at < len(data):
        second, part_ns, kept, length = struct.unpack_from("<IIII", data, at)
        # behind Ethernet, IPv4 and UDP
        number = int.from_bytes(data[at + 16 + 42:at + 16 + 46], "big")
        yield number, second * 10**9 + part_ns, length
        at += 16 + kept


def _see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: Scenario) -> _Seen:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traffic.py").write_text(_TRAFFIC)
    with Lab(scenario, ["python3", "traffic.py"], servers=(), prelude=[apply_command(scenario)],
             writable_cwd=True) as lab:
        outcome = lab.run()
        assert outcome.status == 0, lab.stderr.read_text()
        output = lab.stdout.read_text()
        left = {number: at for number, at, _ in _packets(lab.results / "wan.pcap")}
        came = list(_packets(lab.results / "lan.pcap"))
    counters = {name: int(value) for name, value in re.findall(
        r"(\w+)=(\d+)", next(line for line in output.splitlines() if line.startswith("wan ")))}
    reported: Any = outcome.models["links"]["up"]
    assert counters.items() <= {**counters, **reported["counters"]}.items()
    return _Seen([_Passed(at, left.get(number), length) for number, at, length in came],
                 counters["start_ns"], counters)


def _mahimahi(times_ms: Sequence[int], packets: Sequence[tuple[int, int]]) -> Iterator[int]:
    """When each packet (time in ns since the start, bytes) has left, one opportunity of 1500 bytes
    after the other, as mm-link does it."""
    round_ms, index, left, at = 0, -1, 0, -1
    for came, size in packets:
        while size:
            if not left or at < came:
                index += 1
                if index == len(times_ms):
                    round_ms, index = round_ms + times_ms[-1], 0
                at, left = (round_ms + times_ms[index]) * 10**6, 1500
                continue
            used = min(left, size)
            left, size = left - used, size - used
        yield at


def _fluid(schedule: Schedule, packets: Sequence[tuple[int, int]]) -> Iterator[int]:
    """When each packet has arrived on a link of rates and delays, by exact arithmetic."""
    free, last = Fraction(0), 0
    ends = [*(one.at_ns for one in schedule.steps[1:]), schedule.period_ns]
    for came, size in packets:
        free = max(free, Fraction(came))
        bits = Fraction(size * 8)
        while True:
            rounds, inside = divmod(free, schedule.period_ns)
            index = max(number for number, one in enumerate(schedule.steps) if one.at_ns <= inside)
            step = schedule.steps[index]
            room = (ends[index] - inside) * step.rate_bit_s / 10**9
            if bits <= room:
                free += bits * 10**9 / step.rate_bit_s
                break
            bits -= room
            free = Fraction(rounds * schedule.period_ns + ends[index])
        last = max(last, int(free) + step.delay_ns)
        yield last


@pytest.mark.lab
def test_mahimahi_trace_lets_each_packet_go_at_its_opportunity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the microsecond, over many rounds of a trace with gaps and groups, next to a router with
    late timers. What isn't used is counted."""
    times = [1, 1, 2, 5, 5, 5, 5, 9, 31, 40]
    (tmp_path / "some.trace").write_text("".join(f"{one}\n" for one in times))
    scenario = Scenario.from_settings({
        "rate_mbps": "1000", "link_up_trace": "some.trace", "router_model": "20us"})
    seen = _see(tmp_path, monkeypatch, scenario)
    wanted = list(_mahimahi(times, [(one.came_ns - seen.start_ns, one.bytes - 14)
                                    for one in seen.packets]))
    assert len(wanted) >= 400
    for one, left in zip(seen.packets, wanted, strict=True):
        assert one.left_ns == pytest.approx(seen.start_ns + left, abs=1000)
    assert seen.counters["dropped_packets"] == seen.counters["lost_packets"] == 0
    assert seen.counters["unused_bytes"] > 0
    assert seen.counters["waiting_packets"] == 0


@pytest.mark.lab
def test_csv_trace_is_played_as_rates_delays_and_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets that a change of rate splits, and a delay that falls: none overtakes another."""
    rows = ["time_s,rate_mbps,delay_ms", "0,5,3", "0.0101,50,11", "0.02,0,11", "0.031,0.9,0",
            "0.08,17,1", "0.1,0,0"]
    (tmp_path / "some.csv").write_text("\n".join(rows) + "\n")
    scenario = Scenario.from_settings({"rate_mbps": "1000", "link_up_trace": "some.csv"})
    monkeypatch.chdir(tmp_path)
    plan = link_plans(scenario)["up"]
    assert plan.schedule is not None
    seen = _see(tmp_path, monkeypatch, scenario)
    wanted = list(_fluid(plan.schedule, [(one.came_ns - seen.start_ns, one.bytes)
                                         for one in seen.packets]))
    for one, left in zip(seen.packets, wanted, strict=True):
        assert one.left_ns == pytest.approx(seen.start_ns + left, abs=1000)


@pytest.mark.lab
def test_link_loses_drops_and_jitters_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gilbert and Elliott's chain with a buffer of 20 packets: what came is carried, lost or
    dropped; jitter stays in its bounds and keeps order; the same again with the same seed."""
    settings = {"rate_mbps": "1000", "modem_mbps": "5", "modem_buffer_packets": "20",
                "link_up_loss": "gemodel 5% 30%", "link_up_jitter_ms": "2", "seed": "4"}
    scenario = Scenario.from_settings(settings)
    seen = _see(tmp_path, monkeypatch, scenario)
    counters = seen.counters
    lost = [one.left_ns is None for one in seen.packets]
    assert sum(lost) == counters["lost_packets"] + counters["dropped_packets"]
    # Bad one time in seven, of 400 that follow each other: 3 standard deviations.
    assert 20 < counters["lost_packets"] < 100
    assert counters["dropped_packets"] > 0
    left = [one.left_ns for one in seen.packets if one.left_ns is not None]
    assert left == sorted(left)
    again = _see(tmp_path, monkeypatch, scenario)
    assert again == seen
    other = _see(tmp_path, monkeypatch, Scenario.from_settings({**settings, "seed": "5"}))
    assert [one.left_ns is None for one in other.packets] != lost


@pytest.mark.lab
@pytest.mark.parametrize("settings", [
    {"modem_mbps": 20}, {"modem_mbps": 20, "link_jitter_ms": 20},
    {"link_trace": "time_s,rate_mbps,delay_ms\n0,20,10\n99,20,10\n"}])
def test_download_fills_the_modem_without_a_base_delay(
        tmp_path: Path, settings: dict[str, Any]) -> None:
    """What waits or travels there has left the server's sockets: without a delay of the server's,
    TCP small queues held a download at 4 Mbit/s, and UDP was never sent too fast."""
    if "link_trace" in settings:
        (tmp_path / "trace.csv").write_text(settings["link_trace"])
        settings = {"link_trace": str(tmp_path / "trace.csv")}
    scenario = Scenario.from_settings({"shaper": "none", **settings})
    script = ("iperf3 -J -c server -t 6 -R >$RESULTS/tcp & "
              "ping -q -i 0.2 -c 30 server >$RESULTS/ping; wait; sleep 1; "
              "iperf3 -J -c server -t 2 -R -u -b 40M >$RESULTS/udp")
    with Lab(scenario, ["sh", "-c", script], prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        tcp, udp = (json.loads((lab.results / name).read_text())["end"] for name in ("tcp", "udp"))
        longest_ms = float((lab.results / "ping").read_text().rsplit("/", 2)[1])
    assert tcp["sum_received"]["bits_per_second"] > 18e6
    assert longest_ms > 300
    assert udp["sum_received"]["lost_percent"] > 20
