# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON as M-Lab archives it (github.com/m-lab/ndt-server, spec/data-format.md)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

_MESSAGES = (Path(__file__).parents[2] / "golden" / "ndt7"
             / "mlab-4a5f632-download-upload.jsonl.gz")


# Round-trip time of the path that is put before the lab's own of 0.04 ms, which is outside of what
# the model knows.
_PATH_US = 10_000


def archived(path_us: int = _PATH_US) -> dict[str, Any]:
    """Return a download through FQ-CoDel at 100 Mbit/s: the server's messages as M-Lab's client
    printed them, in the frame of the archive, as if the path were longer by `path_us`. M-Lab's
    server can't be had here."""
    values = [json.loads(line).get("Value") for line in
              gzip.decompress(_MESSAGES.read_bytes()).decode().splitlines()]
    rows = [value for value in values if isinstance(value, dict) and value.get("TCPInfo")
            and value["Test"] == "download"]
    for row in rows:
        row["TCPInfo"]["RTT"] += path_us
        row["TCPInfo"]["MinRTT"] += path_us
    return {"GitShortCommit": "773d318", "Version": "v0.9.1", "ClientIP": "2001:db8:1::2",
            "Download": {"UUID": rows[0]["ConnectionInfo"]["UUID"], "ServerMeasurements": rows,
                         "ClientMeasurements": []}}


def measurement(number: int, **changes: int) -> dict[str, Any]:
    """Return one of a download at 8 Mbit/s whose round trip goes up and down."""
    tcp = {"ElapsedTime": (number + 1) * 250_000, "RTT": 20_000 + 1_000 * (number % 7),
           "MinRTT": 20_000, "BytesAcked": (number + 1) * 250_000,
           "BytesSent": (number + 1) * 250_000 + 30_000 + 1_448 * (number // 5),
           "BytesRetrans": 1_448 * (number // 5)}
    return {"TCPInfo": {**tcp, **changes}}
