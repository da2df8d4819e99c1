# SPDX-License-Identifier: GPL-3.0-or-later
"""One JSON object a line on standard error: what this server tells the world."""

from __future__ import annotations

import json
import os


def log(event: str, **fields: object) -> None:
    """Write one line. `event` names its kind; fields must be fit for JSON, which has no
    infinite numbers."""
    line = json.dumps({"event": event, **fields}, separators=(",", ":"), default=str,
                      allow_nan=False) + "\n"
    # One write, so that lines of two tests never mix. A closed stderr stops no test.
    try:
        os.write(2, line.encode())
    except OSError:
        pass
