# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch key `scheduler`."""

from __future__ import annotations

import re

from flent_aqm.base.errors import ConfigError


def parse_scheduler(value: object) -> str | None:
    """Return a scheduler's address; None where runs stay on this machine. Raises ConfigError."""
    if value is None or value == "":
        return None
    text = str(value)
    if not re.fullmatch(r"(tcp|tls)://[][A-Za-z0-9_.:-]+:[0-9]{1,5}", text):
        raise ConfigError(f"scheduler: {text[:100]!r} is no address of a Dask scheduler; expected "
                          "one such as tcp://192.0.2.1:8786")
    return text
