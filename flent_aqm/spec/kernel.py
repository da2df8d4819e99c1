# SPDX-License-Identifier: GPL-3.0-or-later
"""The key `kernel`: which kernel a run of the virtual lab has, and names of its parts."""

from __future__ import annotations

import re

from flent_aqm.base.errors import ConfigError

# The one of set-up.
STOCK = "stock"
# A pattern of what qdiscs and congestion controls register themselves by: the kernel has 16 bytes
# for either, with the final zero.
REGISTERED = "[a-z][a-z0-9_]{0,14}"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}"


def parse_kernel(key: str, value: object) -> str:
    """Return a kernel's name. Raise ConfigError for what is none: a name becomes a file's."""
    text = str(value).strip()
    if not re.fullmatch(_NAME, text):
        raise ConfigError(f"{key}: {text!r} is not a valid name of a kernel; expected up to 40 "
                          "letters, digits, dots, hyphens and _, such as mine-2")
    return text
