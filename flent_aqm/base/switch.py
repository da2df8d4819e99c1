# SPDX-License-Identifier: GPL-3.0-or-later
"""A switch, as people write one in a batch, a test parameter or a queue's parameter."""

from __future__ import annotations

ON = ("yes", "true", "on", "1")
OFF = ("no", "false", "off", "0")


def switch(value: object) -> bool | None:
    """Return whether it is on; None for what is no switch. Flent's own words, in any case."""
    text = str(value).lower()
    if text in ON:
        return True
    return False if text in OFF else None
