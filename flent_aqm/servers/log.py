# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the server's log: one JSON object per line on standard error."""

from __future__ import annotations

import os

from flent_aqm.base.json_text import json_text


def log(event: str, **fields: object) -> None:
    """Write one line of JSON to standard error: an object with the event as "event", and the
    fields. Errors of the operating system are ignored. Any thread may call it.

    Args:
        event: kind of the event, such as "failed".
        fields: details of the event. Values of other types than JSON's are written as text, numbers
            that aren't finite as null.
    """
    line = json_text({"event": event, **fields}, compact=True, default=str) + "\n"
    # A single write(), so that lines of two tests never mix. A closed stderr must not stop a test.
    try:
        os.write(2, line.encode())
    except OSError:
        pass
