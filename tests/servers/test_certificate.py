# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of our own making."""

from __future__ import annotations

import contextlib
import os
import ssl

import pytest

from flent_aqm.base.defaults import ED25519, OWN_KEYS
from flent_aqm.base.errors import ConfigError
from flent_aqm.servers.certificate import self_signed_context


def handshake_bytes(server: ssl.SSLContext) -> tuple[int, int]:
    """What a client and a server with this context send until both know the other."""
    asks = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asks.check_hostname = False
    asks.verify_mode = ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [(asks.wrap_bio(to_client, to_server, server_hostname="server"), to_server),
            (server.wrap_bio(to_server, to_client, server_side=True), to_client)]
    sent = [0, 0]
    for number in (0, 1, 0, 1):
        end, out = ends[number]
        before = out.pending
        with contextlib.suppress(ssl.SSLWantReadError):
            end.do_handshake()
        sent[number] += out.pending - before
    assert ends[1][0].version() == "TLSv1.3"
    return sent[0], sent[1]


def test_own_certificate_without_proc_is_not_blamed_on_files(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the user never gave."""
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(ConfigError, match="the server's own certificate can't be loaded: /proc/"):
        self_signed_context([])


def test_handshake_with_ed25519_is_always_of_one_length() -> None:
    """Whatever the random numbers are: a run's packets must not be longer for them."""
    lengths = {handshake_bytes(self_signed_context([], ED25519)) for _ in range(30)}
    assert len(lengths) == 1


@pytest.mark.parametrize("key", OWN_KEYS)
def test_handshake_succeeds_with_either_key(key: str) -> None:
    """Both ends send a hello, the server its certificate besides."""
    client, server = handshake_bytes(self_signed_context(["192.0.2.1"], key))
    assert client > 200
    assert server > 700
