# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the key `kernel`, which selects the virtual lab's kernel. Defines names in a kernel."""

from __future__ import annotations

import re

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.readers import text_of

# Name of the kernel that set-up builds.
STOCK = "stock"
# Regular expression for names of qdiscs and congestion controls. The kernel has 16 bytes for
# either, with the final zero.
REGISTERED = "[a-z][a-z0-9_]{0,14}"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}"


def parse_kernel(key: str, value: object) -> str:
    """Return the name of a kernel, stripped of blanks. Raises ConfigError if the name isn't valid:
    a file gets that name, so only some characters are allowed. Also raises it for True and False,
    which Flent makes of the words for a switch.

    Args:
        key: name of the key, for the message.
        value: the given name.
    """
    text = text_of(key, value, "the name of a kernel").strip()
    if not re.fullmatch(_NAME, text):
        raise ConfigError(f"{key}: {text[:60]!r} is not a valid name of a kernel; expected 1 to 40 "
                          "letters, digits, dots, hyphens and _, the first a letter or digit, such "
                          "as mine-2")
    return text
