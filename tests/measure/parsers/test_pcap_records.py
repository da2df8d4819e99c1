# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures made record by record, for what no captured traffic has: edges of time steps, joined
packets at a segment's size, links and packets of other kinds."""

from __future__ import annotations

import io
import struct

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.pcap import (
    Amount,
    Capture,
    FlowClasses,
    parse_tcpdump_counts,
    read_capture,
    snap_length,
)

MICRO, NANO = 0xA1B2C3D4, 0xA1B23C4D
TCP, UDP = 6, 17
PORTS = FlowClasses({5201: "test", 5202: "cross"}, segment_bytes=1460)


def packet(payload: int, ports: tuple[int, int] = (40000, 5201), *, version: int = 4,
           protocol: int = TCP, link: int = 14, first_byte: int | None = None,
           tcp_words: int = 8, ip_length: int | None = None) -> tuple[bytes, int]:
    """Headers as they are captured, and the length on the wire. tcp_words: of the header, 8
    with time stamps."""
    head = 8 if protocol == UDP else tcp_words * 4
    transport = struct.pack(">HHIIB7x", *ports, 0, 0, tcp_words << 4)
    if version == 4:
        total = 20 + head + payload if ip_length is None else ip_length
        ip = struct.pack(">BxH5xB10x", first_byte or 0x45, total, protocol)
    else:
        length = head + payload if ip_length is None else ip_length
        ip = struct.pack(">B3xHB33x", first_byte or 0x60, length, protocol)
    return bytes(link) + ip + transport, link + len(ip) + head + payload


def capture(*records: tuple[float, tuple[bytes, int]], magic: int = MICRO, link_type: int = 1,
            version: int = 4, step_s: float = 0.1, cut: int = 0) -> Capture:
    """What is read of packets at these times."""
    per_s = 1_000_000 if magic == MICRO else 1_000_000_000
    data = struct.pack("=I16xI", magic, link_type)
    for at_s, (head, on_wire) in records:
        second, ticks = divmod(round(at_s * per_s), per_s)
        data += struct.pack("=IIII", second, ticks, len(head), on_wire) + head
    return read_capture(io.BytesIO(data[:len(data) - cut]), version, PORTS, step_s)


def payloads(counted: Capture) -> list[dict[str, int]]:
    """Of each step, the payload by class and direction."""
    return [{f"{name} {way}": one.payload_bytes for (name, way), one in step.items()}
            for step in counted.steps]


@pytest.mark.parametrize("magic", [MICRO, NANO])
def test_packet_belongs_to_the_step_that_it_came_in(magic: int) -> None:
    """A step begins with its first tick; one without packets is empty."""
    counted = capture((10.0, packet(1)), (10.099999, packet(2)), (10.1, packet(4)),
                      (10.3, packet(8)), magic=magic)
    assert counted.start_s == pytest.approx(10)
    assert counted.step_s == 0.1
    assert payloads(counted) == [{"test upload": 3}, {"test upload": 4}, {}, {"test upload": 8}]
    assert (counted.packets, counted.external, counted.cut) == (4, 0, False)


def test_packets_are_told_apart_by_the_servers_port() -> None:
    """To it is an upload, from it a download; where both ends have one, the destination counts."""
    counted = capture((1, packet(1)), (1, packet(2, (5201, 40000))), (1, packet(4, (40000, 5202))),
                      (1, packet(8, (5202, 5201))), (1, packet(16, (80, 443))))
    assert payloads(counted) == [{"test upload": 9, "test download": 2, "cross upload": 4}]
    assert (counted.packets, counted.external) == (5, 1)


@pytest.mark.parametrize(("payload", "headers"), [
    (0, 1), (1447, 1), (1448, 1), (1449, 2), (2896, 2), (2897, 3)])
def test_joined_packet_has_as_many_headers_as_segments(payload: int, headers: int) -> None:
    """Segments of 1448 bytes with time stamps, 1460 without; 66 or 54 bytes of headers."""
    [step] = capture((1, packet(payload))).steps
    assert step["test", "upload"] == Amount(payload, payload + headers * 66)
    [plain] = capture((1, packet(payload + 12 * headers, tcp_words=5))).steps
    assert plain["test", "upload"] == Amount(payload + 12 * headers, payload + 66 * headers)


def test_packet_of_more_than_64_kib_has_its_length_on_the_wire() -> None:
    """The field in its header is 0 then, in either version."""
    for version, link_and_ip in ((4, 34), (6, 54)):
        payload = 1448 * 50 if version == 4 else 1428 * 50
        classes = FlowClasses({5201: "test"}, 1460 if version == 4 else 1440)
        head, on_wire = packet(payload, version=version, ip_length=0)
        data = struct.pack("=I16xI", MICRO, 1) + struct.pack(
            "=IIII", 1, 0, len(head), on_wire) + head
        [step] = read_capture(io.BytesIO(data), version, classes).steps
        assert step["test", "upload"] == Amount(payload, payload + 50 * (link_and_ip + 32))


def test_padding_of_a_short_frame_is_no_payload() -> None:
    """60 bytes on the wire, of which 54 are headers, as the header's own length tells."""
    head, _ = packet(0, tcp_words=5)
    [step] = capture((1, (head, 60))).steps
    assert step["test", "upload"] == Amount(0, 60)


@pytest.mark.parametrize(("version", "overhead"), [(4, 42), (6, 62)])
def test_udp_has_all_that_is_behind_its_header(version: int, overhead: int) -> None:
    """No packet of it was joined, whatever its size."""
    [step] = capture((1, packet(5000, version=version, protocol=UDP)), version=version).steps
    assert step["test", "upload"] == Amount(5000, 5000 + overhead)


@pytest.mark.parametrize(("link_type", "link"), [(1, 14), (12, 0), (101, 0), (113, 16), (276, 20)])
def test_each_link_has_a_header_of_its_own(link_type: int, link: int) -> None:
    """Ethernet, raw IP and Linux's cooked captures."""
    [step] = capture((1, packet(100, link=link)), link_type=link_type).steps
    assert step["test", "upload"] == Amount(100, 100 + 52 + link)


def test_traffic_class_is_no_ip_option_but_a_longer_header_is() -> None:
    """In IPv6 the first byte has four bits of it."""
    assert capture((1, packet(1, version=6, first_byte=0x6F)), version=6).external == 0
    assert capture((1, packet(1, first_byte=0x46))).external == 1
    assert capture((1, packet(1, version=6, first_byte=0x70)), version=6).external == 1
    assert capture((1, packet(1, version=6, first_byte=0x5F)), version=6).external == 1


@pytest.mark.parametrize("version", [4, 6])
def test_short_udp_packet_is_the_tests_as_any_other(version: int) -> None:
    """iperf3's handshake over UDP is a packet of 4 bytes each way, shorter than a TCP header."""
    head, on_wire = packet(4, version=version, protocol=UDP)
    short = head[:len(head) - 12 + 4]
    assert len(short) == on_wire
    data = packet(1000, version=version, protocol=UDP)
    counted = capture((1, (short, on_wire)), (1.1, data), (1.2, (short, on_wire)),
                      version=version)
    assert (counted.packets, counted.external, counted.cut) == (3, 0, False)
    assert payloads(counted) == [{"test upload": 4}, {"test upload": 1000}, {"test upload": 4}]


def test_record_that_is_too_short_is_foreign_and_the_next_one_is_read() -> None:
    """54 bytes of an Ethernet frame hold the headers of IPv4, 74 those of IPv6, 12 more those with
    time stamps; 47 or 67 are the least that have all that is counted."""
    assert (snap_length(4), snap_length(6), snap_length(4, stamps=True)) == (54, 74, 66)
    for version, least in ((4, 47), (6, 67)):
        head, on_wire = packet(100, version=version)
        short = capture((1, (head[:least - 1], on_wire)), (1, (head, on_wire)), version=version)
        assert (short.packets, short.external) == (2, 1)
        assert payloads(short) == [{"test upload": 100}]
        enough = capture((1, (head[:least], on_wire)), (1, (head, on_wire)), version=version)
        assert (enough.packets, enough.external) == (2, 0)
        assert payloads(enough) == [{"test upload": 200}]


def test_records_of_one_size_and_of_several_give_the_same() -> None:
    """Those of one size are counted all at once."""
    head, on_wire = packet(100)
    same = capture(*((1 + n / 10, (head, on_wire)) for n in range(5)))
    mixed = capture(*((1 + n / 10, (head + bytes(n), on_wire)) for n in range(5)))
    assert same == mixed
    assert payloads(same) == [{"test upload": 100}] * 5


@pytest.mark.parametrize("cut", [1, 15, 16, 17, 60])
def test_capture_cut_anywhere_in_its_last_record_keeps_the_others(cut: int) -> None:
    """In its header, or behind it."""
    counted = capture((1, packet(1)), (1, packet(2)), (1, packet(4)), cut=cut)
    assert counted.cut
    assert counted.packets == 2
    assert payloads(counted) == [{"test upload": 3}]


def test_capture_of_an_unknown_link_tells_those_that_are_known() -> None:
    """And its header may be short by one byte."""
    with pytest.raises(ParseError, match=r"link type 105; expected that of Ethernet \(1\), raw IP"):
        capture(link_type=105)
    with pytest.raises(ParseError, match="the capture has 23 bytes; expected at least the 24"):
        capture(cut=1)
    assert capture().packets == 0
    assert (capture().start_s, capture().steps) == (0, ())


def test_tcpdump_counts_what_it_dropped() -> None:
    """One packet is told as one."""
    counts = parse_tcpdump_counts("1 packet captured\n7 packets received by filter\n"
                                  "3 packets dropped by kernel\n")
    assert (counts.captured, counts.dropped) == (1, 3)


def test_nanoseconds_of_today_are_exact() -> None:
    """Ticks of one second make the next step no earlier."""
    counted = capture((1_790_000_000.0, packet(1)), (1_790_000_000.099, packet(2)), magic=NANO)
    assert counted.start_s == pytest.approx(1_790_000_000)
    assert payloads(counted) == [{"test upload": 3}]


def test_record_without_a_byte_at_the_end_is_a_packet_that_can_not_be_read() -> None:
    """The file is whole."""
    counted = capture((1, packet(1)), (1, (b"", 60)))
    assert (counted.packets, counted.external, counted.cut) == (2, 1, False)


def test_last_packet_may_be_shorter_than_the_others() -> None:
    """It is counted as they are."""
    counted = capture((1, packet(1)), (1, packet(2)), (1, packet(4, protocol=UDP)))
    assert payloads(counted) == [{"test upload": 7}]
    assert (counted.packets, counted.cut) == (3, False)


def test_capture_without_packets_has_no_steps() -> None:
    """And none that begins before the first."""
    counted = capture()
    assert (counted.steps, counted.packets, counted.cut) == ((), 0, False)


def test_datagram_without_payload_has_none() -> None:
    """However little of it was on the wire."""
    [step] = capture((1, packet(0, protocol=UDP))).steps
    assert step["test", "upload"].payload_bytes == 0


def test_segment_is_ethernets_if_nothing_else_is_said() -> None:
    """1500 bytes without the headers of IPv4 and TCP."""
    assert FlowClasses({}).segment_bytes == 1460
