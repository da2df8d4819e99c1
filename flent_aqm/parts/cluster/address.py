# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the batch key `scheduler`."""

from __future__ import annotations

import re

from flent_aqm.base.errors import ConfigError


def parse_scheduler(value: object) -> str | None:
    """Return the scheduler's address, such as tcp://192.0.2.1:8786. None if the value is empty, so
    that runs stay on this machine. Raises ConfigError for another form."""
    if value is None or value == "":
        return None
    text = str(value)
    if not re.fullmatch(r"(tcp|tls)://[][A-Za-z0-9_.:-]+:[0-9]{1,5}", text):
        raise ConfigError(f"scheduler: {text[:100]!r} is not the address of a Dask scheduler; "
                          "expected an address such as tcp://192.0.2.1:8786")
    return text
