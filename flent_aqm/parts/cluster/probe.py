# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out why a worker or a client can't join a scheduler: TLS on one side only, or unknown
certificates.

Dask itself tries again for ever without a message. A Dask scheduler sends the first bytes of a
connection, so their presence shows whether it uses TLS.
"""

from __future__ import annotations

import socket
import ssl
from typing import Any

from flent_aqm.parts.cluster.security import WHERE_TO_READ

# Timeout of connecting and reading.
ANSWERS_S = 5.0
# Time to wait for a scheduler without TLS to speak, before TLS is tried. A scheduler that gets TLS
# without expecting it logs a traceback.
FIRST_WORD_S = 1.0


def why_not(address: str, context: ssl.SSLContext | None, whose: str = "this worker's") -> str:
    """Return the reason why a worker can't join a scheduler, or a sweep can't use it. "" if none is
    found, also if the other side takes the connection, but sends nothing in time.

    Args:
        address: the scheduler's address, such as tls://HOST:PORT.
        context: TLS context with the own certificates, None without TLS.
        whose: whose certificates they are, for the message.

    Raises OSError if nobody listens at the address, or with TLS, if the connection breaks.
    """
    endpoint = address.partition("://")[2]
    with _connect(endpoint) as plain:
        if context is None:
            return "" if _speaks(plain, ANSWERS_S) or not _takes_tls(endpoint) else (
                f"the scheduler uses TLS: give its address as tls://{endpoint}, with certificates; "
                f"{WHERE_TO_READ}")
        if _speaks(plain, FIRST_WORD_S):
            return (f"{endpoint} speaks without TLS: if it is the scheduler, give its address as "
                    f"tcp://{endpoint}; otherwise check host and port")
        plain.settimeout(ANSWERS_S)
        try:
            with context.wrap_socket(plain) as encrypted:
                # The refusal of a certificate comes with the first thing read.
                encrypted.recv(1)
        except ssl.SSLCertVerificationError as error:
            return ("the scheduler's certificate isn't valid by the authority in --tls-ca-file or "
                    f"in ca-file of Dask's configuration ({error.verify_message}); {WHERE_TO_READ}"
                    )
        except ssl.SSLError as error:
            return _why_tls_failed(_reason(error), whose)
        except TimeoutError:
            return ""
    return ""


def _why_tls_failed(reason: str, whose: str = "this worker's") -> str:
    """Return the message on a TLS connection that the scheduler ended. Alerts about certificates
    are told apart from other causes.

    Args:
        reason: reason of the SSLError, such as "tlsv1 alert unknown ca".
        whose: whose certificate the scheduler was shown, for the message.
    """
    if "certificate expired" in reason:
        return (f"the scheduler refuses {whose} certificate because it, or that of its "
                f"authority, has expired ({reason}): make a new one; {WHERE_TO_READ}")
    # decrypt error: the certificate's signature isn't that of the authority of this name.
    if any(words in reason for words in ("certificate", "unknown ca", "decrypt error")):
        return (f"the scheduler refuses {whose} certificate ({reason}): expected one of the "
                f"scheduler's own authority that is valid today; {WHERE_TO_READ}")
    return f"the TLS connection to the scheduler fails ({reason}); {WHERE_TO_READ}"


def _connect(endpoint: str) -> socket.socket:
    """Return a TCP connection to HOST:PORT, with ANSWERS_S as its timeout. Raises OSError if nobody
    answers there in this time, or the name can't be resolved."""
    host, _, port = endpoint.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_S)


def _speaks(plain: socket.socket, within_s: float) -> bool:
    """Return whether the other side sends anything on the connection within this time. False if the
    connection ends or breaks. A byte is read, and the connection's timeout becomes `within_s`."""
    plain.settimeout(within_s)
    try:
        return plain.recv(1) != b""
    except OSError:
        return False


def _takes_tls(endpoint: str) -> bool:
    """Return whether a TLS server listens at HOST:PORT, whatever certificate it has or requires."""
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        with _connect(endpoint) as plain, anybody.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        # An alert shows that it understood TLS, for example that it requires a certificate.
        return "ALERT" in str(error.reason)
    except OSError:
        return False


def _reason(error: Any) -> str:
    """Return the reason of an SSLError in words, such as "tlsv1 alert unknown ca"."""
    return str(error.reason or error).lower().replace("_", " ")
