# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of our own making."""

from __future__ import annotations

import contextlib
import os
import ssl
from contextlib import nullcontext
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from flent_aqm.base.defaults import ED25519, OWN_KEYS
from flent_aqm.base.errors import ConfigError
from flent_aqm.servers.certificate import (
    context_from_files,
    self_signed_context,
    self_signed_pem,
)


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


@pytest.mark.parametrize(("cert", "key", "wrong"), [
    ("empty", "key", "empty: has no certificate in PEM; expected two readable PEM files"),
    ("chain", "key", "chain: its certificate number 2 is damaged or cut off; expected two"),
    ("cert", "empty", "empty: has no private key in PEM, a damaged one, or one with a pass"),
    ("cert", "cert", "cert: has no private key in PEM, a damaged one, or one with a pass"),
    ("cert", "locked", "locked: has no private key in PEM, a damaged one, or one with a pass"),
    ("cert", "other", "other: is the key of another certificate than .*cert; expected"),
    ("cert", "folder", "folder: Is a directory; expected two"), ("cert", "key", "")])
def test_file_that_is_wrong_is_told_with_what_is_wrong(
        cert: str, key: str, wrong: str, tmp_path: Path) -> None:
    """OpenSSL says "PEM lib" of nearly all."""
    marks = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    for name, names in (("", {"one"}), ("other", {"two"})):
        pem = self_signed_pem(names)
        begin = pem.index(b"-----BEGIN PRIVATE")
        (tmp_path / (name or "cert")).write_bytes(pem[begin:] if name else pem[:begin])
        if not name:
            (tmp_path / "key").write_bytes(pem[begin:])
            private = serialization.load_pem_private_key(pem[begin:], None)
            (tmp_path / "locked").write_bytes(private.private_bytes(
                *marks, serialization.BestAvailableEncryption(b"secret")))
    whole = (tmp_path / "cert").read_bytes()
    (tmp_path / "chain").write_bytes(whole + whole.replace(b"M", b"!", 1))
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=f"^/.*/{wrong}") if wrong else nullcontext():
        context_from_files(str(tmp_path / cert), str(tmp_path / key))
