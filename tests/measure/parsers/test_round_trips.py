# SPDX-License-Identifier: GPL-3.0-or-later
"""Round trips out of time stamps, of packets made one by one and of captured ones."""

from __future__ import annotations

import io
import re
import statistics
import struct
import subprocess

import pytest

from flent_aqm.measure.parsers.pcap import FlowClasses, read_capture
from flent_aqm.measure.parsers.round_trips import FEWEST, Layout, Trips, round_trips, together
from tests import files

GOLDEN = files.GOLDEN / "pcap"
CLIENT, SERVER = 0xC0000202, 0xC6336402
PORT, OWN = 5201, 40000
LAYOUT = Layout(sender_at=26, tcp_at=34, ticks_per_s=1_000_000)


def record(at_ms: float, stamp: int, echo: int, *, from_server: bool = False,
           ports: tuple[int, int] = (OWN, PORT), options: int = 0x0101080A, cut: int = 0) -> bytes:
    """One captured packet of IPv4; ports: of the client and of the server."""
    addresses, sender_first = (CLIENT, SERVER), ports
    if from_server:
        addresses, sender_first = (SERVER, CLIENT), (ports[1], ports[0])
    frame = struct.pack(">14x12xII", *addresses) + struct.pack(
        ">HH16xIII", *sender_first, options, stamp, echo)
    frame = frame[:len(frame) - cut]
    microseconds = round(at_ms * 1000)
    return struct.pack("=IIII", *divmod(microseconds, 1_000_000), len(frame), 1500) + frame


def trips(*records: bytes, servers: tuple[int, ...] = ()) -> Trips:
    return round_trips(io.BytesIO(b"".join(records)), LAYOUT, [PORT], servers)


def test_round_trip_is_from_the_first_packet_with_a_stamp_to_the_first_that_returns_it() -> None:
    """Packets of the same ms, and the second acknowledgement of one, count none."""
    assert trips(record(1000, 7, 1), record(1000.4, 7, 1), record(1001, 8, 1),
                 record(1030, 90, 7, from_server=True), record(1035, 91, 7, from_server=True),
                 record(1041.5, 92, 8, from_server=True),
                 record(1050, 93, 6, from_server=True)) == {
        (PORT, OWN): pytest.approx([30, 40.5])}


def test_pair_of_a_named_server_on_another_port_has_no_round_trip() -> None:
    """The address alone tells the direction then."""
    other = (OWN, 443)
    assert trips(record(1000, 7, 1, ports=other), record(1030, 90, 7, ports=other,
                                                         from_server=True),
                 record(1000, 7, 1), record(1025, 90, 7, from_server=True), servers=(SERVER,)) == {
        (PORT, OWN): pytest.approx([25])}


def test_packet_that_was_sent_again_is_another_one() -> None:
    """It has a stamp of its own; that of the lost one never returns."""
    assert trips(record(1000, 7, 1), record(1200, 207, 1),
                 record(1230, 90, 207, from_server=True)) == {(PORT, OWN): pytest.approx([30])}


def test_connections_and_other_packets_are_told_apart() -> None:
    """By their ports; those without stamps, cut off, or of other servers have no round trip."""
    assert trips(record(1000, 7, 1), record(1001, 7, 1, ports=(OWN + 1, PORT)),
                 record(1002, 8, 1, options=0x020405B4), record(1003, 9, 1, cut=1),
                 record(1004, 5, 1, ports=(OWN, 443)),
                 record(1020, 90, 7, from_server=True, ports=(OWN + 1, PORT)),
                 record(1030, 90, 7, from_server=True), record(1031, 90, 8, from_server=True),
                 record(1032, 90, 9, from_server=True),
                 record(1033, 90, 5, from_server=True, ports=(OWN, 443))) == {
        (PORT, OWN + 1): pytest.approx([19]), (PORT, OWN): pytest.approx([30])}


def test_server_that_connects_is_known_by_its_address() -> None:
    """The client has the server's port then; what comes first of the server is no packet of
    ours."""
    by_ports = trips(record(990, 90, 1, from_server=True, ports=(PORT, OWN)),
                     record(991, 7, 90, ports=(PORT, OWN)),
                     record(1011, 91, 7, from_server=True, ports=(PORT, OWN)), servers=(SERVER,))
    assert by_ports == {(PORT, OWN): pytest.approx([20])}


def test_records_across_pieces_and_a_cut_end_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in one piece."""
    records = [record(1000 + n, n, 1) for n in range(9)] + [
        record(1025 + n, 90, n, from_server=True) for n in range(9)]
    whole = trips(*records)
    assert whole == {(PORT, OWN): pytest.approx([25] * 9)}
    monkeypatch.setattr("flent_aqm.measure.parsers.pcap_records.PIECE_BYTES", 100)
    assert trips(*records) == whole
    assert trips(*records[:-1], records[-1][:-1]) == {(PORT, OWN): pytest.approx([25] * 8)}


def test_captured_download_has_the_round_trips_of_its_stamps() -> None:
    """As tcpdump prints them, taken apart by other code."""
    path = GOLDEN / "download-ipv6-snap128.pcap"
    printed = subprocess.run(["tcpdump", "-n", "-tt", "-r", path], capture_output=True, text=True,
                             check=True).stdout
    sent: dict[tuple[str, str], float] = {}
    seen: dict[str, list[float]] = {}
    # Whoever connects has no data yet.
    for line in (one for one in printed.splitlines() if "Flags [S" not in one):
        at_s, source, target, stamp, echo = re.findall(
            r"^(\S+) IP6 (\S+) > (\S+): .*TS val (\d+) ecr (\d+)", line)[0]
        if target.endswith(f".{PORT}"):
            sent.setdefault((source, stamp), float(at_s))
        elif then_s := sent.get((target, echo), 0.0):
            seen.setdefault(target, []).append((float(at_s) - then_s) * 1000)
            sent[target, echo] = 0.0
    with path.open("rb") as file:
        transfer, = read_capture(file, 6, FlowClasses({PORT: ""}, segment_bytes=1440)).transfers
    ms, = (values for client, values in seen.items()
           if client.endswith(f".{transfer.client_port}"))
    assert transfer.round_trips == len(ms) >= FEWEST
    percentiles = transfer.round_trips_ms
    assert len(percentiles) == 101
    assert [percentiles[0], percentiles[100]] == pytest.approx([min(ms), max(ms)], abs=2e-3)
    assert percentiles[50] == pytest.approx(statistics.median(ms), rel=0.05)


def test_connections_count_alike_whatever_they_carried() -> None:
    """One of 1000 round trips of 30 ms, one of 20 of 90 ms; one of too few is left out."""
    assert together([(1000, [30.0, 40]), (20, [90.0, 100]), (3, [])]) == {
        "connections": 2, "samples": 1020, "percentiles_ms": [60, 70]}
    assert together([(3, [])]) == {}
