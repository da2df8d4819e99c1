# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit on data that a connection leaves unsent in its kernel."""

from __future__ import annotations

import socket

import pytest

from flent_aqm.servers.protocols.watermarks import LEAST_BYTES, UnsentLimit


def test_text_that_is_no_limit_sets_none() -> None:
    """A later request on the connection may still set one, which then stays."""
    with socket.socket() as sock:
        limit = UnsentLimit(sock)
        with pytest.raises(ValueError, match="many"):
            limit.begin("many")
        assert limit.frame_bytes(1 << 16) == 1 << 16
        limit.begin("20000")
        limit.begin("30000")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 20_000
        assert (limit.frame_bytes(1 << 16), limit.frame_bytes(LEAST_BYTES)) == (20_000, LEAST_BYTES)
