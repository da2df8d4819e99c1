# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes WebRTC calls use a fixed RSA key, so that all handshakes have the same length.

By default, aiortc makes a P-256 key for each call. Signatures by such keys have 70 to 72 bytes, at
random. Signatures by RSA keys always have the length of the key. OpenSSL's DTLS supports neither
Ed25519 nor Ed448.

The key protects nothing. Both ends exchange their fingerprints in cleartext (serve/webrtc.py), and
the call carries a test picture.
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
# For each prime of the key: seed of the random number, and how far above that number the prime is.
PRIMES = ((1, 286), (2, 396))
# aiortc's first choice, with RSA in place of ECDSA.
CIPHERS = b"ECDHE-RSA-AES128-GCM-SHA256"
_VALID_DAYS = 30


class RsaCertificate(RTCCertificate):  # type: ignore[misc]
    """Certificate with the fixed RSA key, which replaces aiortc's own."""

    @classmethod
    def generateCertificate(cls) -> Self:  # noqa: N802
        """Return a certificate for the fixed key, valid from yesterday for _VALID_DAYS days from
        now."""
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
    """Return the fixed key. It isn't searched for, because the duration of a search varies."""
    p, q = ((Random(seed).getrandbits(BITS // 2) | 3 << BITS // 2 - 2 | 1) + further
            for seed, further in PRIMES)
    d = pow(EXPONENT, -1, (p - 1) * (q - 1))
    return rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p),
        rsa.RSAPublicNumbers(EXPONENT, p * q)).private_key(unsafe_skip_rsa_key_validation=True)


def use() -> None:
    """Make all connections of aiortc use this certificate from now on. aiortc has no setting for
    it."""
    aiortc.rtcpeerconnection.RTCCertificate = RsaCertificate
