# SPDX-License-Identifier: GPL-3.0-or-later
"""What a WebRTC call signs its handshake with: a fixed RSA key, so that all handshakes are of one
length.

aiortc makes a P-256 key for each call. Signatures of those have 70 to 72 bytes, by chance; of RSA
they have as many as the key. OpenSSL's DTLS takes neither Ed25519 nor Ed448.
The key protects nothing, here or anywhere: both ends learn the other's fingerprint in cleartext
(serve/webrtc.py), and what they send each other is a test picture.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Self

import aiortc.rtcpeerconnection
from aiortc.rtcdtlstransport import RTCCertificate, SRTPProtectionProfile
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from OpenSSL import SSL

BITS = 2048
EXPONENT = 65537
# Seeds, and how far behind what they give the next prime is that suits.
PRIMES = ((1, 286), (2, 396))
# As aiortc's first choice, with RSA in the place of ECDSA.
CIPHERS = b"ECDHE-RSA-AES128-GCM-SHA256"
_VALID_DAYS = 30


class RsaCertificate(RTCCertificate):  # type: ignore[misc]
    """In the place of aiortc's own."""

    @classmethod
    def generateCertificate(cls) -> Self:  # noqa: N802
        """Return the same key in a certificate of today."""
        key = fixed_key()
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "flent-aqm call")])
        now = datetime.now(UTC)
        return cls(key, (
            x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=_VALID_DAYS))
            .sign(key, hashes.SHA256())))

    def _create_ssl_context(self, srtp_profiles: list[SRTPProtectionProfile]) -> SSL.Context:
        context: SSL.Context = super()._create_ssl_context(srtp_profiles)
        context.set_cipher_list(CIPHERS)
        return context


def fixed_key() -> rsa.RSAPrivateKey:
    """Return the same key each time, without a search, whose length chance would decide."""
    p, q = ((Random(seed).getrandbits(BITS // 2) | 3 << BITS // 2 - 2 | 1) + further
            for seed, further in PRIMES)
    d = pow(EXPONENT, -1, (p - 1) * (q - 1))
    return rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p),
        rsa.RSAPublicNumbers(EXPONENT, p * q)).private_key(unsafe_skip_rsa_key_validation=True)


def use() -> None:
    """Let aiortc's connections have it from now on, which has no setting for that."""
    aiortc.rtcpeerconnection.RTCCertificate = RsaCertificate
