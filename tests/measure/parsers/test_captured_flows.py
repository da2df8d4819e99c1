# SPDX-License-Identifier: GPL-3.0-or-later
"""Flows of a capture whose ports nobody knows before."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from flent_aqm.measure.parsers.captured_flows import CapturedFlow, read_flows
from flent_aqm.measure.parsers.pcap import FlowClasses, read_capture
from flent_aqm.measure.parsers.transfers import LEAST_BYTES

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "pcap"
SERVER, CLIENT = "192.0.2.1", "198.51.100.1"
DATA = 1000
_LINK = bytes(12) + b"\x08\x00"
SYN, ACK = 2, 16


def ip(address: str) -> bytes:
    """Return an IPv4 address as bytes."""
    return bytes(map(int, address.split(".")))


def packet(at_s: float, sender: str, receiver: str, kind: int, rest: bytes, payload: int) -> bytes:
    """Return the record of a packet whose payload was not captured."""
    length = 20 + len(rest) + payload
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, kind, 0, ip(sender),
                         ip(receiver))
    data = _LINK + header + rest
    return struct.pack("=IIII", int(at_s), round(at_s % 1 * 1e6), len(data),
                       14 + length) + data


def tcp(at_s: float, sequence: int, payload: int = DATA, *, flags: int = ACK, ack: int = 0,
        down: bool = False, ports: tuple[int, int] = (5000, 443)) -> bytes:
    """Return a packet of TCP, from the client unless `down`. ports: client's, server's."""
    source, target = ports[::-1] if down else ports
    rest = struct.pack(">HHIIBBHHH", source, target, sequence & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50,
                       flags, 0, 0, 0)
    ends = (SERVER, CLIENT) if down else (CLIENT, SERVER)
    return packet(at_s, *ends, 6, rest, payload)


def udp(at_s: float, payload: int, *, down: bool = False,
        ports: tuple[int, int] = (6000, 4433)) -> bytes:
    """Return a packet of UDP, from the client unless `down`."""
    source, target = ports[::-1] if down else ports
    ends = (SERVER, CLIENT) if down else (CLIENT, SERVER)
    return packet(at_s, *ends, 17, struct.pack(">HHHH", source, target, 8 + payload, 0), payload)


def flows(*records: bytes, left_out: tuple[int, ...] = ()) -> list[CapturedFlow]:
    """Return the flows of a capture with these records."""
    header = struct.pack("=IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 54, 1)
    return read_flows(io.BytesIO(header + b"".join(records)), [SERVER], left_out)


def test_connections_and_directions_are_told_apart() -> None:
    """Two UDP flows to one port, and TCP both ways, each with its own time and bytes."""
    found = flows(*(udp(1 + number / 10, 1200) for number in range(10)),
                  *(udp(3 + number / 10, 900, ports=(6001, 4433)) for number in range(10)),
                  *(tcp(5 + number / 10, number * DATA) for number in range(10)),
                  *(tcp(5 + number / 10, number * DATA, down=True) for number in range(10)))
    assert [(one.protocol, one.client_port, one.server_port, one.direction, one.payload_bytes,
             round(one.first_s, 6), round(one.last_s, 6)) for one in found] == [
        ("UDP", 6000, 4433, "upload", 12_000, 1, 1.9),
        ("UDP", 6001, 4433, "upload", 9_000, 3, 3.9),
        ("TCP", 5000, 443, "download", 10_000, 5, 5.9),
        ("TCP", 5000, 443, "upload", 10_000, 5, 5.9)]
    assert found[0].steps == {10 + number: 1200 for number in range(10)}


def test_answers_probes_and_small_flows_are_no_loads() -> None:
    """Acknowledgements of QUIC have 3 % of the data here; a game with half of it is a load."""
    data = [udp(1 + number / 100, 1200, down=True) for number in range(100)]
    assert [one.direction for one in flows(
        *data, *(udp(1 + number / 100, 36) for number in range(100)))] == ["download"]
    assert {one.direction for one in flows(
        *data, *(udp(1 + number / 100, 600) for number in range(100)))} == {"download", "upload"}
    assert flows(*data, left_out=(4433,)) == []
    assert flows(*data[:6]) == []  # 7,200 bytes


@pytest.mark.parametrize("begin", [0, 0xFFFFFFFF - 5 * DATA])
def test_bytes_that_come_again_count_as_retransmitted(begin: int) -> None:
    """Also where the sequence numbers start again at 0. A byte below the highest one is a
    keep-alive."""
    sent = [tcp(1, begin - 1, 0, flags=SYN),
            *(tcp(1 + number / 10, begin + number * DATA) for number in range(12))]
    again = [tcp(2.5, begin + 3 * DATA), tcp(2.6, begin + 4 * DATA),
             tcp(2.7, begin + 12 * DATA - 1, 1)]
    (upload,) = flows(*sent, *again)
    assert (upload.retransmitted_packets, upload.retransmitted_bytes) == (2, 2 * DATA)
    assert upload.payload_bytes == 12 * DATA
    assert upload.last_s == pytest.approx(2.7)


def test_lost_bytes_of_a_download_come_once() -> None:
    """The client sees only what was sent again, which is counted as data, too."""
    came = [tcp(1 + number / 10, number * DATA, down=True) for number in range(12) if number != 4]
    (download,) = flows(*came, tcp(3, 4 * DATA, down=True))
    assert (download.retransmitted_packets, download.payload_bytes) == (1, 12 * DATA)


@pytest.mark.parametrize("begin", [0, 0xFFFFFFFF - 5 * DATA])
def test_mean_of_an_upload_is_what_was_acknowledged_until_the_last_acknowledgement(begin: int
                                                                                    ) -> None:
    """12 packets are sent within 1.1 s and 10 of them acknowledged within 2 s. An acknowledgement
    that comes twice, that of unseen data, and a reset without the flag ACK add nothing. Payload and
    end of the load stay those that the client sent."""
    sent = [tcp(1, begin - 1, 0, flags=SYN),
            *(tcp(1 + number / 10, begin + number * DATA) for number in range(12))]
    came = [tcp(1.02, 7, 0, down=True, ack=begin, flags=SYN | ACK),
            *(tcp(1.2 + number / 5, 8, 0, down=True, ack=begin + number * DATA)
              for number in range(2, 11)),
            tcp(3.4, 8, 0, down=True, ack=begin + 10 * DATA),
            tcp(3.5, 8, 0, down=True, ack=begin + 30 * DATA, flags=4)]
    records = sorted([*sent, *came], key=lambda one: struct.unpack_from("=II", one))
    (upload,) = flows(*records)
    assert upload.mean_mbps == pytest.approx(10 * DATA * 8e-6 / 2.2)
    assert (upload.payload_bytes, round(upload.last_s, 6)) == (12 * DATA, 2.1)
    (unseen,) = flows(*records, tcp(4, 8, 0, down=True, ack=begin + 12 * DATA + 1))
    assert unseen.mean_mbps == pytest.approx(12 * DATA * 8e-6 / 3)
    (alone,) = flows(*sent)
    assert alone.mean_mbps == pytest.approx(12 * DATA * 8e-6 / 1.1)


def test_flows_of_a_real_capture_have_the_bytes_that_the_other_parser_counts() -> None:
    """An upload by iperf3: this parser counts bytes once, that one all of them."""
    data = (GOLDEN / "upload-ipv4-snap54.pcap").read_bytes()
    whole = read_capture(io.BytesIO(data), 4, FlowClasses({5201: ""}))
    servers = {socket_address(data)}
    found = [one for one in read_flows(io.BytesIO(data), servers, ()) if one.direction == "upload"]
    payload = sum(step[kind].payload_bytes for step in whole.steps for kind in step
                  if kind[1] == "upload")
    assert sum(one.payload_bytes + one.retransmitted_bytes for one in found) == pytest.approx(
        payload, abs=LEAST_BYTES)


def socket_address(data: bytes) -> str:
    """Return the address of the server of the golden upload: the receiver at port 5201."""
    at = 24
    while at < len(data):
        captured = struct.unpack_from("=8xI", data, at)[0]
        if struct.unpack_from(">H", data, at + 16 + 36)[0] == 5201:
            return ".".join(map(str, data[at + 16 + 30:at + 16 + 34]))
        at += 16 + captured
    raise AssertionError("no packet to port 5201")
