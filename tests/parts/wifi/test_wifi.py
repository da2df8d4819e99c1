# SPDX-License-Identifier: GPL-3.0-or-later
"""A Wi-Fi channel against what its model says: times, shares of the air, rates."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base import defaults
from flent_aqm.lab.virtual import Lab
from flent_aqm.parts.wifi.keys import ACCESS_POINTS
from flent_aqm.parts.wifi.phy import PHYS, ack_us, on_air_bytes
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario
from research.validation.wifi_theory import Receiver, by_turns, published

pytestmark = pytest.mark.lab
HOSTS = ("client", "client2", "client3")
RATES = {"client": 144.4, "client2": 144.4, "client3": 7.2}
PHY = PHYS["n"]
# Bytes of UDP's payload: IP packets of 1500.
_PAYLOAD = 1472
# First a burst over an idle channel, which tcpdump watches on both sides of the air; then more than
# each station can be sent, for 3 s, of which the last two are looked at; then pings of the first
# while all download by TCP, and one more uploads.
_TRAFFIC = """
import json, socket, subprocess, sys, time

HOSTS = ("client", "client2", "client3")
COUNTERS = "/sys/module/lab_wifi/parameters/channel"
SINK = '''
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("", 9))
one.settimeout(float(sys.argv[1]))
packets = 0
try:
    while True:
        packets += one.recv(2048) != b""
except TimeoutError:
    print(packets)
'''
FLOOD = '''
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to, mbps, seconds = (sys.argv[1], 9), float(sys.argv[2]), float(sys.argv[3])
end = time.monotonic() + seconds
while time.monotonic() < end:
    for _ in range(5):
        out.sendto(bytes(1472), to)
    time.sleep(5 * 1500 * 8 / mbps / 1e6)
'''
BURST = '''
import socket, sys
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(100):
    out.sendto(number.to_bytes(4, "big") + bytes(1468), (sys.argv[1], 9))
'''

def on(host, *words):
    words = [sys.executable, "-c", *words] if words[0] in (SINK, FLOOD, BURST) else words
    inside = [] if host == "client" else ["ip", "netns", "exec", host]
    return subprocess.Popen([*inside, *words], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)

def counters():
    with open(COUNTERS) as file:
        return file.read()

found = {}
sinks = [on(host, SINK, "2") for host in HOSTS]
watch = [on(host, "tcpdump", "-i", device, "-Q", way, "-w", name, "-s", "64",
            "--time-stamp-precision=nano", "--immediate-mode", "udp and dst port 9")
         for host, device, way, name in (("router", "down", "out", "sent.pcap"),
                                         ("lan", "eth1", "in", "arrived.pcap"))]
time.sleep(1)
on("server", BURST, "client").wait()
time.sleep(0.5)
for one in watch:
    one.terminate()
    one.wait()
found["burst"] = counters()
floods = [on("server", FLOOD, host, mbps, "3")
          for host, mbps in zip(HOSTS, ("70", "70", "20"))]
time.sleep(1)
found["begin"] = counters()
time.sleep(2)
found["end"] = counters()
for one in floods:
    one.wait()
found["sinks"] = [int(one.communicate()[0]) for one in sinks]
found["flooded"] = counters()
loads = [on(host, "iperf3", "-c", "server", "-p", port, "-R", "-t", "5", "-J")
         for host, port in zip(HOSTS, sys.argv[1:4])]
loads.append(on("client2", "iperf3", "-c", "server", "-p", sys.argv[4], "-t", "5", "-J"))
time.sleep(2)
ping = on("client", "ping", "-c", "100", "-i", "0.02", "-q", "server").communicate()[0]
found["ping_ms"] = float(ping.rpartition("= ")[2].split("/")[1])
found["tcp_mbps"] = [json.loads(one.communicate()[0])["end"]["sum_received"]["bits_per_second"]
                     / 1e6 for one in loads]
found["loaded"] = counters()
"""
# The slow station has more than it can send, and is sent more, when its device goes down, comes
# up, is deleted, and is made anew; then the access point's is deleted.
_LEAVING = """
STATION = "/sys/module/lab_wifi/parameters/station"

def ip(*words, host="client3"):
    subprocess.run(["ip", "-n", host, *words], check=True)

def overload():
    return [on("client3", FLOOD, "server", "20", "1.5"), on("server", FLOOD, "client3", "20", "3"),
            on("server", FLOOD, "client", "20", "3")]

route = subprocess.run(["ip", "-n", "client3", "route", "show", "default"],
                       stdout=subprocess.PIPE, text=True).stdout
loads = overload()
time.sleep(1)
found["overloaded"] = counters()
ip("link", "set", "eth0", "down")
found["down"] = counters()
ip("link", "set", "eth0", "up")
ip("route", "add", *route.split())
loads.append(on("client3", FLOOD, "server", "20", "2"))
time.sleep(1)
found["up"] = counters()
ip("link", "del", "eth0")
found["left"] = counters()
for number in range(8):
    ip("link", "add", f"new{number}", "type", "veth", "peer", f"wen{number}")
time.sleep(1)
found["without"] = counters()
for one in loads:
    one.wait()
ip("link", "add", "eth0", "type", "veth", "peer", "back")
ip("addr", "add", "192.0.2.1/24", "dev", "eth0")
for device in ("eth0", "back"):
    ip("link", "set", device, "up")
ip("neigh", "add", "192.0.2.2", "lladdr", "02:00:00:00:00:01", "dev", "eth0")
subprocess.run(["ip", "netns", "exec", "client3", "sh", "-c",
                f"echo eth0 rate_bit_s=7200000 ack_ns=68000 >{STATION}"], check=True)
on("client3", FLOOD, "192.0.2.2", "1", "0.1").wait()
time.sleep(0.1)
found["back"] = counters()
load = on("server", FLOOD, "client", "200", "1")
time.sleep(0.5)
ip("link", "del", "dev", "down", host="router")
found["ended"] = counters()
load.wait()
"""


def _read(output: str) -> dict[str, dict[str, int]]:
    """Counters by `channel` and queues."""
    counts: dict[str, dict[str, int]] = {}
    names: list[str] = []
    for words in map(str.split, output.splitlines()):
        if words[0] == "channel":
            counts["channel"] = {name: int(value) for name, _, value in (
                word.partition("=") for word in words[1:])}
        elif words[0] == "queue":
            names = words[1:]
        else:
            counts[words[0]] = dict(zip(names, map(int, words[1:]), strict=True))
    return counts


def _difference(begin: str, end: str) -> dict[str, dict[str, int]]:
    before = _read(begin)
    return {queue: {name: value - before[queue][name] for name, value in values.items()}
            for queue, values in _read(end).items()}


def _times_ns(path: Path) -> dict[int, int]:
    """When each packet passed, by its number."""
    data = path.read_bytes()
    assert data[:4] == bytes.fromhex("4d3cb2a1")  # ns, little-endian
    times_ns, at = {}, 24
    while at < len(data):
        second, part_ns, kept, _length = struct.unpack_from("<IIII", data, at)
        # behind Ethernet, IPv4 and UDP
        times_ns[int.from_bytes(data[at + 16 + 42:at + 16 + 46], "big")] = second * 10**9 + part_ns
        at += 16 + kept
    return times_ns


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of the traffic above with each access point, by its name."""
    folder = tmp_path_factory.mktemp("wifi")

    def run(ap: str) -> dict[str, Any]:
        own = folder / ap
        own.mkdir()
        # The file of a run has its stations, so one of the three runs keeps them.
        (own / "traffic.py").write_text(
            _TRAFFIC + (_LEAVING if ap != "airtime" else "") + "print(json.dumps(found))\n")
        scenario = Scenario.from_settings({
            "topology": "clients:3", "wifi_rates_mbps": "2x144.4+7.2", "wifi_ap": ap,
            "shaper": "none", "aqm": "no_aqm", "seed": "7"})
        ports = map(str, defaults.IPERF3_FLOW_PORTS[:4])
        with Lab(scenario, ["python3", "traffic.py", *ports], servers=["iperf3-flows"],
                 prelude=[apply_command(scenario)], cwd=own, writable_cwd=True) as lab:
            outcome = lab.run()
            assert outcome.status == 0, lab.stderr.read_text() + lab.console()
            output: dict[str, Any] = json.loads(lab.stdout.read_text())
            output["wifi"] = outcome.models["wifi"]
            output["sent"] = _times_ns(lab.results / "sent.pcap")
            output["arrived"] = _times_ns(lab.results / "arrived.pcap")
        return output

    with ThreadPoolExecutor(len(ACCESS_POINTS)) as pool:
        return dict(zip(ACCESS_POINTS, pool.map(run, ACCESS_POINTS), strict=True))


def _random(seed: int) -> Iterator[int]:
    """The kernel's numbers of 32 bits: SplitMix64."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield (z ^ (z >> 31)) >> 32


def _data_ns(frames: int, rate_mbps: float) -> int:
    bits = frames * on_air_bytes(1500) * 8 * 10**9
    return round(PHY.preamble_us * 1000) - -bits // round(rate_mbps * 1e6)


@pytest.mark.parametrize("ap", ACCESS_POINTS)
def test_wifi_burst_over_an_idle_channel_arrives_when_the_model_says(
    seen: dict[str, dict[str, Any]], ap: str
) -> None:
    """A hundred packets at once: the first goes without waiting, and alone, as the second does;
    then as many as an aggregate takes. Each waits AIFS and a back-off that follows from the seed.
    To the microsecond: captures' clock has steps of 256 ns."""
    sent, arrived = seen[ap]["sent"], seen[ap]["arrived"]
    assert len(sent) == 100
    assert len(set(sent.values())) == 1
    chance = _random(7)
    after_ns = round(PHY.sifs_us * 1000 + ack_us(144.4) * 1000)
    expected: dict[int, int] = {}
    number = at = 0
    for frames in (1, 1, 32, 32, 32, 2):
        at += _data_ns(frames, 144.4) + after_ns
        expected |= dict.fromkeys(range(number, number + frames), at)
        number += frames
        slots = next(chance) * (round(PHY.cw_min) + 1) >> 32
        at += round((PHY.aifs_us + slots * PHY.slot_us) * 1000)
    after = {number: at - sent[0] for number, at in arrived.items()}
    assert after == pytest.approx(expected, abs=1000)


@pytest.mark.parametrize("ap", ACCESS_POINTS)
def test_wifi_air_that_is_charged_is_that_of_what_arrived(
    seen: dict[str, dict[str, Any]], ap: str
) -> None:
    """Packets by the hosts' own count; airtime by frames and aggregates; nobody but the access
    point sends, so nothing collides, and the channel is busy but for AIFS and back-off."""
    counted = _read(seen[ap]["flooded"])
    assert [counted[f"down{number}"]["packets"] for number in (1, 2, 3)] == seen[ap]["sinks"]
    assert counted["channel"]["collisions"] == 0
    flooded = _difference(seen[ap]["begin"], seen[ap]["end"])
    busy_ns = 0.0
    for number, host in enumerate(HOSTS, 1):
        queue = flooded[f"down{number}"]
        data_ns = 1000 * (queue["aggregates"] * PHY.preamble_us
                          + queue["packets"] * on_air_bytes(1500) * 8 / RATES[host])
        assert queue["airtime_ns"] == pytest.approx(data_ns, rel=0.005)
        assert queue["bytes"] == 1500 * queue["packets"]
        assert queue["lost_packets"] == 0
        busy_ns += data_ns + 1000 * queue["aggregates"] * (PHY.sifs_us + ack_us(RATES[host]))
    channel = flooded["channel"]
    assert channel["busy_ns"] == pytest.approx(busy_ns, rel=0.005)
    free_ns = 1000 * channel["exchanges"] * (PHY.aifs_us + PHY.slot_us * PHY.cw_min / 2)
    assert channel["since_ns"] == pytest.approx(2e9, rel=0.001)
    assert busy_ns + free_ns == pytest.approx(2e9, rel=0.01)


def _receivers(flooded: dict[str, dict[str, int]]) -> list[Receiver]:
    return [Receiver(RATES[host], queue["packets"] / queue["aggregates"])
            for host, queue in zip(HOSTS, (flooded[f"down{number}"] for number in (1, 2, 3)),
                                   strict=True)]


@pytest.mark.parametrize(("ap", "fair"), [("fq_mac", False), ("airtime", True)])
def test_wifi_stations_get_what_the_analysis_says(
    seen: dict[str, dict[str, Any]], ap: str, fair: bool
) -> None:
    """Each of three that are always sent more, two fast and one slow; with every aggregate's own
    overhead within a hundredth."""
    flooded = _difference(seen[ap]["begin"], seen[ap]["end"])
    receivers = _receivers(flooded)
    # All that fits: 32 frames, and two in the 4 ms that a slow station's may last.
    assert [one.frames for one in receivers] == pytest.approx([32, 32, 2], rel=0.01)
    air_ns = [flooded[f"down{number}"]["airtime_ns"] for number in (1, 2, 3)]
    for number, (exact, paper) in enumerate(zip(by_turns(PHY, receivers, fair=fair),
                                                published(PHY, receivers, fair=fair),
                                                strict=True)):
        mbps = flooded[f"down{number + 1}"]["bytes"] * 8 / 2e6
        assert mbps == pytest.approx(exact.mbps, rel=0.01)
        assert mbps == pytest.approx(paper.mbps, rel=0.05)
        assert air_ns[number] / sum(air_ns) == pytest.approx(paper.airtime, rel=0.01)


def test_wifi_anomaly_is_there_with_a_driver_of_old_and_gone_with_airtime(
    seen: dict[str, dict[str, Any]]
) -> None:
    """The slow station takes most of the air where packets of all wait in one FIFO; a third with
    airtime fairness, which carries several times as much."""
    share, total = {}, {}
    for ap in ACCESS_POINTS:
        flooded = _difference(seen[ap]["begin"], seen[ap]["end"])
        air = [flooded[f"down{number}"]["airtime_ns"] for number in (1, 2, 3)]
        share[ap] = air[2] / sum(air)
        total[ap] = sum(flooded[f"down{number}"]["bytes"] for number in (1, 2, 3)) * 8 / 2e6
    assert share["fifo"] > 0.6
    assert share["airtime"] == pytest.approx(1 / 3, rel=0.01)
    assert total["airtime"] > 2 * total["fifo"]


def test_wifi_queue_per_station_keeps_latency_low_under_tcp(
    seen: dict[str, dict[str, Any]]
) -> None:
    """Than behind the driver's FIFO, with an upload on the channel besides; acknowledgements
    contend with data, so there are collisions, and all get through."""
    assert seen["fifo"]["ping_ms"] > 5 * seen["airtime"]["ping_ms"]
    for ap in ACCESS_POINTS:
        assert min(seen[ap]["tcp_mbps"]) > 0.2, seen[ap]["tcp_mbps"]
        loaded = _difference(seen[ap]["flooded"], seen[ap]["loaded"])
        assert loaded["channel"]["collisions"] > 0
        assert loaded["up2"]["packets"] / loaded["up2"]["aggregates"] > 1.5  # it uploads, too
        assert loaded["up2"]["bytes"] > loaded["up1"]["bytes"]


@pytest.mark.parametrize("ap", ["fifo", "fq_mac"])
def test_wifi_device_that_goes_takes_its_packets_out_of_the_channel(
    seen: dict[str, dict[str, Any]], ap: str
) -> None:
    """Down it loses what it had to send, up again it sends; deleted it leaves, with what others
    had for it, while they go on; made anew it is a station again; without the access point's
    device there is no channel."""
    at = {name: _read(seen[ap][name])
          for name in ("overloaded", "down", "up", "left", "without", "back", "ended")}
    waited = at["overloaded"]["up3"]["waiting_packets"]
    assert waited > 20  # as many as fit into a socket
    assert at["down"]["up3"]["waiting_packets"] == 0
    assert at["down"]["up3"]["lost_packets"] >= waited
    assert at["up"]["up3"]["packets"] > at["down"]["up3"]["packets"] + 100
    for queue in ("up3", "down3"):
        assert at["up"][queue]["waiting_packets"] > 0
        assert at["left"][queue]["waiting_packets"] == 0
        assert at["left"][queue]["lost_packets"] > at["up"][queue]["lost_packets"]
        assert at["without"][queue] == at["left"][queue]
    assert at["without"]["down1"]["packets"] > at["left"]["down1"]["packets"] + 1000
    assert at["back"]["up3"]["packets"] > 5
    assert at["back"]["down3"]["packets"] == 0
    assert at["ended"] == {"channel": {"since_ns": 0, "busy_ns": 0, "exchanges": 0,
                                       "collisions": 0}}


def test_wifi_data_file_has_what_the_channel_did(seen: dict[str, dict[str, Any]]) -> None:
    """Settings and counters, by host."""
    wifi = seen["airtime"]["wifi"]
    assert wifi["ap"] == "airtime"
    assert wifi["rates_mbps"] == RATES
    counted = _read(seen["airtime"]["loaded"])
    assert set(wifi["stations"]) == set(HOSTS)
    for number, host in enumerate(HOSTS, 1):
        down = wifi["stations"][host]["down"]
        assert down.keys() == counted[f"down{number}"].keys()
        assert down["packets"] >= counted[f"down{number}"]["packets"]
    assert wifi["channel"]["collisions"] >= counted["channel"]["collisions"]
