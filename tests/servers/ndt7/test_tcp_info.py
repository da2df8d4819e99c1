# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP_INFO of real connections under the specification's names."""

from __future__ import annotations

import socket

from flent_aqm.servers.ndt7.tcp import parse_bbr_info, parse_tcp_info, read_tcp_info


def test_tcp_info_counts_the_bytes_of_a_real_connection() -> None:
    """Both ends agree with what was sent; times are those of a loopback device."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    with client, server:
        client.sendall(b"x" * 5000)
        server.recv(5000, socket.MSG_WAITALL)
        server.sendall(b"y")  # carries the acknowledgement
        client.recv(1)
        sent, received = read_tcp_info(client), read_tcp_info(server)
    assert sent["BytesSent"] == received["BytesReceived"] == 5000
    assert sent["BytesReceived"] == 1
    # The kernel counts the acknowledged SYN as a byte.
    assert sent["BytesAcked"] == 5001
    assert sent["BytesRetrans"] == 0
    assert 0 < sent["MinRTT"] <= sent["RTT"] < 1_000_000


def test_tcp_info_of_an_older_kernel_lacks_fields_only() -> None:
    """A shorter struct leaves out what it has no room for, whole fields at a time."""
    assert set(parse_tcp_info(bytes(104))) == {"RTT", "RTTVar"}
    assert "MinRTT" not in parse_tcp_info(bytes(151))
    assert "MinRTT" in parse_tcp_info(bytes(152))
    assert parse_tcp_info(b"") == {}


def test_tcp_info_without_an_rtt_sample_has_no_min_rtt() -> None:
    """The kernel's mark for "none yet" must not pass for 71 minutes."""
    assert "MinRTT" not in parse_tcp_info(bytes(148) + b"\xff" * 4 + bytes(100))


def test_bbr_info_is_empty_for_another_algorithm() -> None:
    """The structs of Vegas and DCTCP are shorter than BBR's."""
    assert parse_bbr_info(bytes(16)) == {}
    raw = (5 << 32 | 7).to_bytes(8, "little") + b"".join(
        number.to_bytes(4, "little") for number in (11, 256, 512)
    )
    assert parse_bbr_info(raw) == {
        "BW": 5 << 32 | 7, "MinRTT": 11, "PacingGain": 256, "CwndGain": 512
    }
