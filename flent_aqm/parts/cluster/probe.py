# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a scheduler can't be joined: whether it speaks TLS, and whose certificates it takes.

Dask itself tries again for ever, and says nothing. A scheduler of Dask's speaks first, so what
comes, or doesn't, tells of it.
"""

from __future__ import annotations

import socket
import ssl
from typing import Any

from flent_aqm.parts.cluster.security import WHERE_TO_READ

# For an answer from far away.
ANSWERS_S = 5.0
# In TLS it is for the worker to begin; what hears TLS and doesn't know it has a traceback.
FIRST_WORD_S = 1.0


def why_not(address: str, context: ssl.SSLContext | None) -> str:
    """Return what keeps a worker from a scheduler that listens; empty where nothing does.

    address: of the scheduler, such as tls://HOST:PORT; context: of the worker's certificates,
    None without TLS. Raises OSError where nobody listens.
    """
    place = address.partition("://")[2]
    with _connected(place) as plain:
        if context is None:
            return "" if _speaks(plain, ANSWERS_S) or not _takes_tls(place) else (
                f"it speaks TLS: give it as tls://{place}, with certificates; {WHERE_TO_READ}")
        if _speaks(plain, FIRST_WORD_S):
            return f"it speaks without TLS: give it as tcp://{place}"
        plain.settimeout(ANSWERS_S)
        try:
            with context.wrap_socket(plain) as encrypted:
                # The refusal of a certificate comes with the first thing read.
                encrypted.recv(1)
        except ssl.SSLCertVerificationError as error:
            return (f"its certificate isn't one of the authority in --tls-ca-file "
                    f"({error.verify_message}); {WHERE_TO_READ}")
        except ssl.SSLError as error:
            return (f"it refuses this worker's certificate ({_words(error)}): expected one of the "
                    f"scheduler's own authority; {WHERE_TO_READ}")
        except TimeoutError:
            return ""
    return ""


def _connected(place: str) -> socket.socket:
    host, _, port = place.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_S)


def _speaks(plain: socket.socket, within_s: float) -> bool:
    plain.settimeout(within_s)
    try:
        return plain.recv(1) != b""
    except OSError:
        return False


def _takes_tls(place: str) -> bool:
    """Whether somebody there answers in TLS, with whatever certificate."""
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        with _connected(place) as plain, anybody.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        # It understood, and asks for more than we have.
        return "ALERT" in str(error.reason)
    except OSError:
        return False


def _words(error: Any) -> str:
    return str(error.reason or error).lower().replace("_", " ")
