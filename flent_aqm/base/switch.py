# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads yes/no values of batch keys, test parameters and parameters of queues."""

from __future__ import annotations

ON = ("yes", "true", "on", "1")
OFF = ("no", "false", "off", "0")
# The words for a switch, for messages.
SWITCH_WORDS = f"{ON[0]} or {OFF[0]} (or {', '.join(ON[1:])}, or {', '.join(OFF[1:])})"


def switch(value: object) -> bool | None:
    """Return True for yes, true, on or 1, and False for no, false, off or 0, the words that Flent
    takes for a switch, in upper or lower case. None for any other value.

    value: text, or any value whose str() is such a word.
    """
    text = str(value).lower()
    if text in ON:
        return True
    return False if text in OFF else None
