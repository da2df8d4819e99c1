# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the server's TLS context: with a certificate from files, or with a self-signed one.

    python -m flent_aqm.servers.certificate FILE KIND    writes a self-signed certificate and
                                                               its key, for another server
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import ssl
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from flent_aqm.base.defaults import ED25519, P256
from flent_aqm.base.errors import ConfigError, cause_of

_VALID_DAYS = 3650
# Most characters of a file of certificates that are read to find the damaged one.
_MOST_CHAIN = 1 << 20
# Highest bit that random_serial_number() leaves 0. With it, all serial numbers have the same
# length.
_SERIAL_TOP = 1 << 158


def context_from_files(cert: str, key: str) -> ssl.SSLContext:
    """Return a server's TLS context with a certificate (and its chain) and its private key.

    Args:
        cert: path of the certificate, PEM.
        key: path of the key, PEM without a password.

    Raises ConfigError if the files can't be read, the key has a password, or they don't belong
    together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password, OpenSSL would ask for one on the terminal. An empty one fails at once.
        context.load_cert_chain(cert, key, password="")
    except (OSError, ValueError) as error:
        # OpenSSL tells neither which of them can't be read, nor of the key why.
        unreadable = (f"{path}: {why}" for path in (cert, key) if (why := _why_unreadable(path)))
        what = next(unreadable, "") or _why_unusable(cert, key, error)
        raise ConfigError(f"{what}; expected two readable PEM files that belong together, the key "
                          "without a password") from None
    return context


def _why_unusable(cert: str, key: str, error: Exception) -> str:
    """Return what is wrong with a certificate and a key that can be read and that OpenSSL refused.

    Args:
        cert: path of the certificate.
        key: path of the key.
        error: the error that refused them.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cert)
    except (OSError, ValueError):
        return f"{cert}: {_why_no_certificate(cert)}"
    if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
        return f"{key}: is the key of another certificate than {cert}"
    if isinstance(error, ssl.SSLError) and error.reason not in (None, "PEM_LIB"):
        return f"certificate {cert} with key {key}: {error}"
    return f"{key}: has no private key in PEM, a damaged one, or one with a password"


def _why_no_certificate(path: str) -> str:
    """Return what is wrong with a file of certificates that OpenSSL refuses: that one of them is
    damaged, or that there is none. Raises OSError if it can't be read any more."""
    begin = "-----BEGIN CERTIFICATE-----"
    with open(path, encoding="ascii", errors="replace") as file:
        _, *each = file.read(_MOST_CHAIN).split(begin)
    for number, rest in enumerate(each, 1):
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=begin + rest)
        except (OSError, ValueError):
            return f"its certificate number {number} is damaged or cut off"
    return "has no certificate in PEM"


def _why_unreadable(path: str) -> str:
    """Return why a file can't be read, such as "No such file or directory", "" if it seems that it
    can."""
    try:
        os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        return cause_of(error)
    if os.path.isdir(path):
        return os.strerror(errno.EISDIR)
    return "" if os.access(path, os.R_OK) else os.strerror(errno.EACCES)


def self_signed_context(addresses: Sequence[str], key: str = P256) -> ssl.SSLContext:
    """Return a server's TLS context with a new self-signed certificate, which exists only in
    memory.

    Args:
        addresses: further names or IP addresses for which the certificate is valid, besides
            localhost, its IP addresses, and this host's name.
        key: kind of the key, "p256" or "ed25519".

    Raises ConfigError if /proc, through which it is loaded, can't be read.
    """
    pem = self_signed_pem({"localhost", "127.0.0.1", "::1", socket.gethostname(), *addresses},
                          key)
    # Python's ssl reads certificates only from files. This file is in memory.
    handle = os.memfd_create("flent-aqm-certificate")
    try:
        os.write(handle, pem)
        path = f"/proc/self/fd/{handle}"
        if why := _why_unreadable(path):
            raise ConfigError(f"the server's own certificate can't be loaded: {path}: {why}; mount "
                              "/proc, or give --cert and --key")
        return context_from_files(path, path)
    finally:
        os.close(handle)


def self_signed_pem(names: set[str], kind: str = P256) -> bytes:
    """Return a new self-signed certificate and, after it, its private key, in PEM. The certificate
    is valid from yesterday until 3650 days from now. Raises ImportError if the package cryptography
    isn't installed.

    Args:
        names: names and IP addresses for which the certificate is valid.
        kind: kind of the key, "p256" or "ed25519".
    """
    # Imported here, because it is large and most servers don't need it.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
    key = (ed25519.Ed25519PrivateKey.generate() if kind == ED25519
           else ec.generate_private_key(ec.SECP256R1()))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "flent-aqm serve")])
    now = datetime.now(UTC)
    alternatives: list[x509.GeneralName] = []
    for text in sorted(names):
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(text)))
        except ValueError:
            alternatives.append(x509.DNSName(text))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number() | _SERIAL_TOP)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(key, None if kind == ED25519 else hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    return certificate.public_bytes(encoding) + key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


if __name__ == "__main__":
    with open(sys.argv[1], "xb") as _file:
        _file.write(self_signed_pem({socket.gethostname()}, sys.argv[2]))
