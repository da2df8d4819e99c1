# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the server's log: one JSON object per line on standard error."""

from __future__ import annotations

import json
import os


def log(event: str, **fields: object) -> None:
    """Write one line. event: kind of the event. fields: values that JSON can represent, so no
    infinite numbers."""
    line = json.dumps({"event": event, **fields}, separators=(",", ":"), default=str,
                      allow_nan=False) + "\n"
    # A single write(), so that lines of two tests never mix. A closed stderr must not stop a test.
    try:
        os.write(2, line.encode())
    except OSError:
        pass
