# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of TCP headers, as tcpdump wrote them."""

from __future__ import annotations

import io
import re
import struct
import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers import pcap
from flent_aqm.measure.parsers.pcap import Amount, Capture, FlowClasses
from tests import files

GOLDEN = files.GOLDEN / "pcap"
UPLOAD = GOLDEN / "upload-ipv4-snap54.pcap"
DOWNLOAD = GOLDEN / "download-ipv6-snap128.pcap"
IPERF3 = FlowClasses({5201: "test"}, segment_bytes=1460)


def read(data: bytes, ip_version: int, classes: FlowClasses = IPERF3) -> Capture:
    return pcap.read_capture(io.BytesIO(data), ip_version, classes)


def total(capture: Capture, direction: str) -> Amount:
    return sum((step.get(("test", direction), Amount()) for step in capture.steps), Amount())


def wire_bytes(data: bytes) -> int:
    """The sum of all original lengths, record by record."""
    at, sum_bytes = 24, 0
    while at < len(data):
        captured, original = struct.unpack_from("=8xII", data, at)
        sum_bytes += original
        at += 16 + captured
    return sum_bytes


@pytest.mark.parametrize(("file", "ip_version"), [(UPLOAD, 4), (DOWNLOAD, 6)])
def test_capture_adds_up_to_every_byte_on_the_wire(file: Path, ip_version: int) -> None:
    """Both directions together are what tcpdump saw, for equal and unequal records."""
    data = file.read_bytes()
    capture = read(data, ip_version)
    both = total(capture, "upload") + total(capture, "download")
    assert both.wire_bytes == wire_bytes(data)
    assert capture.packets == pcap.parse_tcpdump_counts(
        file.with_suffix(".pcap.stderr").read_text()).captured
    assert (capture.external, capture.cut) == (0, False)


def test_capture_payload_is_what_tcpdump_prints_for_the_same_file() -> None:
    """The sum of tcpdump's own 'length' per direction."""
    printed = subprocess.run(["tcpdump", "-n", "-r", DOWNLOAD], capture_output=True, text=True,
                             check=True).stdout
    lengths = {"upload": 0, "download": 0}
    for line in printed.splitlines():
        length = re.search(r"length (\d+)", line)
        assert length, line
        lengths["download" if ".5201 > " in line else "upload"] += int(length[1])
    capture = read(DOWNLOAD.read_bytes(), 6)
    assert {way: total(capture, way).payload_bytes for way in lengths} == lengths


def test_capture_in_small_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that lie across the end of a piece are counted once."""
    whole = [read(UPLOAD.read_bytes(), 4), read(DOWNLOAD.read_bytes(), 6)]
    monkeypatch.setattr(pcap, "PIECE_BYTES", 1000)
    assert [read(UPLOAD.read_bytes(), 4), read(DOWNLOAD.read_bytes(), 6)] == whole


def test_capture_in_finer_steps_adds_up_to_the_same() -> None:
    """Bytes of ten steps of 10 ms are those of one of 100 ms that begins with them."""
    data = UPLOAD.read_bytes()
    coarse = read(data, 4)
    fine = pcap.read_capture(io.BytesIO(data), 4, IPERF3, step_s=0.01)
    assert total(fine, "upload") == total(coarse, "upload")
    assert len(fine.steps) > len(coarse.steps)
    assert 0 <= fine.start_s - coarse.start_s < 0.1 + 1e-6


def test_capture_of_other_ports_counts_all_as_foreign() -> None:
    """No flow of a known port: steps without amounts."""
    capture = read(UPLOAD.read_bytes(), 4, FlowClasses({443: "test"}))
    assert capture.external == capture.packets > 0
    assert not any(capture.steps)


def test_joined_segments_count_a_header_each() -> None:
    """A packet that the kernel joined from 3 segments had 3 headers on the wire."""
    payload = 3 * 1448
    frame = struct.pack(">12xHBxHxxxxxBxxIIHHIIBBxxxxxx", 0x800, 0x45, 52 + payload, 6, 1, 2,
                        5201, 40000, 0, 0, 0x80, 0x10)
    record = struct.pack("=IIII", 1, 0, len(frame), 66 + payload) + frame
    header = UPLOAD.read_bytes()[:24]
    assert total(read(header + record, 4), "download") == Amount(payload, payload + 3 * 66)


def test_capture_cut_inside_a_record_says_so() -> None:
    """The whole records before it count."""
    capture = read(UPLOAD.read_bytes()[:-10], 4)
    assert capture.cut
    assert capture.packets == read(UPLOAD.read_bytes(), 4).packets - 1


def test_capture_without_packets_has_no_steps() -> None:
    """tcpdump saw nothing."""
    assert read(UPLOAD.read_bytes()[:24], 4).steps == ()


@pytest.mark.parametrize("data", [b"", b"no capture" * 10, b"\xd4\xc3\xb2\xa1"])
def test_capture_that_is_no_pcap_is_refused(data: bytes) -> None:
    """One line, no traceback of struct."""
    with pytest.raises(ParseError, match=r"capture"):
        read(data, 4)


def test_tcpdump_without_counts_is_refused() -> None:
    """It was killed, or never started."""
    with pytest.raises(ParseError, match="Permission denied"):
        pcap.parse_tcpdump_counts("tcpdump: eth0: Permission denied\n")


def test_server_that_connects_to_the_client_still_uploads_nothing() -> None:
    """As nuttcp's does for a download: the client has the server's port then, and the addresses
    tell who is who."""
    other_way = FlowClasses({5201: "test"}, servers=frozenset(
        {int(ip_address("192.0.2.2")) & 0xFFFFFFFF}))  # the upload's client, here the server
    data = UPLOAD.read_bytes()
    turned, usual = read(data, 4, other_way), read(data, 4)
    assert total(turned, "download") == total(usual, "upload")
    assert total(turned, "upload") == total(usual, "download")
    (there,), (here,) = turned.transfers, usual.transfers
    assert (there.direction, here.direction) == ("download", "upload")


def packet_times(data: bytes, ip_version: int) -> list[tuple[float, tuple[int, int], int]]:
    """(time, ports, bytes of payload) of each packet of TCP, record by record."""
    at, times = 24, []
    header = 20 if ip_version == 4 else 40
    while at < len(data):
        seconds, microseconds, captured, _ = struct.unpack_from("=IIII", data, at)
        ip = at + 16 + 14
        length, = struct.unpack_from(">H", data, ip + (2 if ip_version == 4 else 4))
        ports = struct.unpack_from(">HH", data, ip + header)
        tcp = (data[ip + header + 12] >> 4) * 4
        times.append((seconds + microseconds / 1e6, ports,
                      length - tcp - (header if ip_version == 4 else 0)))
        at += 16 + captured
    return times


@pytest.mark.parametrize(("file", "ip_version"), [(UPLOAD, 4), (DOWNLOAD, 6)])
def test_transfer_lasts_from_the_first_packet_of_data_to_the_last(
    file: Path, ip_version: int
) -> None:
    """To the microsecond, with records of one size and of several; neither the handshake nor the
    results, which iperf3 exchanges by another connection, belong to it."""
    packets = packet_times(file.read_bytes(), ip_version)
    transfer, = read(file.read_bytes(), ip_version).transfers
    ports = transfer.client_port, transfer.server_port
    if transfer.direction == "download":
        ports = ports[1], ports[0]
    data = [(at_s, length) for at_s, both, length in packets if both == ports and length >= 1000]
    assert (transfer.first_s, transfer.last_s) == pytest.approx(
        (data[0][0], data[-1][0]), abs=1e-6, rel=0)
    assert transfer.byte_count == sum(length for _, length in data)
    assert packets[0][0] < data[0][0]
    assert data[-1][0] < packets[-1][0]


def test_silent_tcpdump_is_told_as_such() -> None:
    """Not with an empty last line."""
    with pytest.raises(ParseError, match="is another version; it printed nothing; repeat the run"):
        pcap.parse_tcpdump_counts("\n")
