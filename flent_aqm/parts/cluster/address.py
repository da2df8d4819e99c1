# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the batch key `scheduler`."""

from __future__ import annotations

import re

from flent_aqm.base.errors import ConfigError


def parse_scheduler(value: object) -> str | None:
    """Return the scheduler's address, tcp://HOST:PORT or tls://HOST:PORT. None if the value is None
    or "", so that runs stay on this machine. Raises ConfigError for another form, a port that
    isn't from 1 to 65535, or a host that refuse_bad_label() refuses."""
    if value is None or value == "":
        return None
    text = str(value)
    parts = re.fullmatch(r"(?:tcp|tls)://[][A-Za-z0-9_.:-]+:([0-9]{1,5})", text)
    # The system would take a higher port modulo 65536.
    if not parts or not 1 <= int(parts[1]) <= 65535:
        raise ConfigError(f"scheduler: {text[:100]!r} is not the address of a Dask scheduler; "
                          "expected tcp://HOST:PORT or tls://HOST:PORT, with a port from 1 to "
                          "65535, such as tcp://192.0.2.1:8786")
    refuse_bad_label("scheduler", text.partition("://")[2].rpartition(":")[0])
    return text


def refuse_bad_label(key: str, host: str) -> None:
    """Raise ConfigError if a host name can't be written for the DNS, such as one with an empty
    label, a label of more than 63 characters, or letters that aren't allowed: getaddrinfo()
    would raise UnicodeError.

    Args:
        key: the option or batch key that has the name, for the message.
        host: the name or address.
    """
    try:
        host.encode("idna")
    except UnicodeError:
        raise ConfigError(f"{key}: {host[:100]!r} is no host name: a part between its dots is "
                          "empty, longer than 63 characters, or has letters that names can't have; "
                          "expected a name or an address"
                          ) from None
