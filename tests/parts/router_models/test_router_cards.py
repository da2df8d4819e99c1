# SPDX-License-Identifier: GPL-3.0-or-later
"""A router with cards and a processor, in the booted lab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flent_aqm.measure.parsers.lab_cards import parse_cards
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.metrics.delay_parts import delay_parts

from ...warm_flent import run_flent_aqm

pytestmark = pytest.mark.lab

CARDS = "ip netns exec router cat /sys/module/lab_router/parameters/card"
LOAD = (f"irtt client -Q -i 10ms -d 3s -o irtt.json server:2112 >/dev/null & "
        f"iperf3 -J -c server -t 3 >iperf3.json; wait; {CARDS} >cards; tail -n 1 cards")


def lab(folder: Path, *words: str, command: str = LOAD) -> str:
    """What the command printed in a lab with these options."""
    folder.mkdir()
    done = run_flent_aqm("lab", *words, "--", "sh", "-c", command, cwd=folder, timeout_s=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_same_seed_gives_the_same_run_through_a_model_with_other_work(tmp_path: Path) -> None:
    """Cards, processor and random other work repeat to the byte; another seed differs."""
    model = ["--rate", "300", "--aqm", "fq_codel", "--router-model",
             "omnia+other_work_kind=interrupt+other_work_per_s=200+other_work_us=400"]
    for name, seed in (("first", "5"), ("again", "5"), ("other", "6")):
        lab(tmp_path / name, *model, "--seed", seed)
    first, again, other = (
        [(tmp_path / name / file).read_bytes() for file in ("iperf3.json", "irtt.json", "cards")]
        for name in ("first", "again", "other"))
    assert first == again
    assert first[2] != other[2]


def test_model_that_costs_nothing_measures_what_ideal_does(tmp_path: Path) -> None:
    """With a ring and turns but no cost, packets pass as through the ideal router."""
    seen = {}
    for model in ("ideal", "ideal+rx_ring_packets=4096"):
        lab(tmp_path / model, "--rate", "200", "--aqm", "fq_codel", "--router-model", model,
            command=LOAD if model != "ideal" else LOAD.replace(CARDS, "echo"))
        data = json.loads((tmp_path / model / "iperf3.json").read_text())
        trips = json.loads((tmp_path / model / "irtt.json").read_text())["round_trips"]
        seen[model] = (data["end"]["sum_received"]["bits_per_second"] / 1e6,
                       sorted(one["delay"]["rtt"] for one in trips)[150] / 1e6)
    ideal, cards = seen.values()
    assert cards[0] == pytest.approx(ideal[0], rel=0.001)
    # A packet's place in the receiver's batch of 50 us is another one.
    assert cards[1] == pytest.approx(ideal[1], abs=0.05)


def test_full_ring_is_in_front_of_fq_codel_and_delays_what_it_would_not(tmp_path: Path) -> None:
    """A processor that passes less than the shaper lets wait for ring x cost, fq_codel or not,
    and the ring drops; so does a busy server's own card."""
    slow = "rx_packet_ns=120000+rx_ring_packets=100"
    for name, words in (("router", ["--router-model", f"ideal+{slow}"]),
                        ("server", ["--set", f"server_model=ideal+{slow}"])):
        lab(tmp_path / name, "--rate", "200", "--aqm", "fq_codel", *words,
            command=LOAD if name == "router" else LOAD.replace("router cat", "server cat"))
        trips = json.loads((tmp_path / name / "irtt.json").read_text())["round_trips"]
        rtt_ms = sorted(one["delay"]["rtt"] / 1e6 for one in trips if "rtt" in one["delay"])
        # The ring's 12 ms, not always full, and back up to a turn of 64 packets.
        assert 6 < rtt_ms[len(rtt_ms) // 2] < 12 + 64 * 0.12
        _, cards = parse_cards((tmp_path / name / "cards").read_text())
        assert max(card.dropped for card in cards.values()) > 0
        goodput = json.loads((tmp_path / name / "iperf3.json").read_text())
        # Of 8,333 packets a second half as many are acknowledgements on the way back.
        assert goodput["end"]["sum_received"]["bits_per_second"] < 8333 * 1448 * 8


def test_programs_of_a_host_wait_while_its_card_is_full(tmp_path: Path) -> None:
    """irtt goes on beside a load that fills its own host's transmit ring."""
    lab(tmp_path / "client", "--rate", "200", "--set",
        "client_model=ideal+line_mbps=100+tx_ring_packets=4", command=LOAD)
    stats = json.loads((tmp_path / "client" / "irtt.json").read_text())["stats"]
    # The last packet may be due just as the test ends.
    assert stats["packets_sent"] in (299, 300)


def test_run_with_a_model_has_its_parameters_counters_and_the_parts_of_each_probe(
        tmp_path: Path) -> None:
    """The file says what the router was, how busy, and where each probe's time went."""
    lab(tmp_path / "run", "--rate", "100", "--aqm", "fq_codel", "--router-model", "omnia",
        "--set", "router_rx_packet_ns=20000",
        command="flent iperf3_upload -H server -l 3 -D . >flent.log")
    path, = (tmp_path / "run").glob("*.flent.gz")
    data = read_data_file(path)
    router = data.metadata["AQM"]["router"]
    assert data.metadata["AQM"]["router_model"] == "omnia+rx_packet_ns=20000"
    assert (router["rx_packet_ns"], router["rx_ring_packets"]) == (20_000, 512)
    samples = data.raw_values["Queues"]
    assert max(one["core0_busy"] for one in samples) > 0.15
    assert {"down_ring_packets", "down_ring_drops", "up_sending_packets"} <= set(samples[-1])
    parts = delay_parts(data.raw_values)
    assert parts.sent_s.size > 0.95 * sum(
        one.get("val") is not None for one in data.raw_values["Ping (ms) UDP irtt"])
    assert min(parts.ms["elsewhere"]) >= -0.001  # the guest's clock has steps of 256 ns
    # Interrupt moderation and both packets' cost, there and back.
    assert parts.means_ms()["processor"] > 2 * (0.02 + 0.09)
    assert parts.means_ms()["cards"] > 0


def test_run_without_a_model_has_none_of_that(tmp_path: Path) -> None:
    """The ideal router's file is what it was."""
    lab(tmp_path / "run", "--rate", "100",
        command="flent iperf3_upload -H server -l 1 -D . >flent.log")
    path, = (tmp_path / "run").glob("*.flent.gz")
    data = read_data_file(path)
    assert "Probe parts" not in data.raw_values
    assert "router" not in data.metadata["AQM"]
    assert not [name for name in data.raw_values["Queues"][0] if "ring" in name or "core" in name]
