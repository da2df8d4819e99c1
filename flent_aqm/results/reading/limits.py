# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a data file may take when it is read.

A file's size on disk tells little: gzip makes a thousandth of what repeats, and two
characters of JSON can become a hundred bytes of memory. So what is limited is what reading
takes: bytes, members of the archive, memory, processor time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from flent_aqm.base import environment

# Peak memory of orjson.loads(), measured with files of nothing but the one or the other:
# its own tree and Python's objects, by the character that each comes with.
BYTES_PER_OBJECT = {"{": 240, "[": 100, ",": 64}
BYTES_PER_CHARACTER = 2


@dataclass(frozen=True)
class Limits:
    """unpacked_bytes: of JSON. members: of a gzip or bzip2 file, which may be many one after
    the other. memory_bytes: that parsing takes, by BYTES_PER_OBJECT. unpack_s: seconds of
    processor time. series_s: what all series last together. series: how many there are. hint:
    what to do about a file that is larger, or empty."""

    unpacked_bytes: int
    members: int
    memory_bytes: int
    unpack_s: float
    series_s: float
    series: int
    hint: str = ""


# Ten minutes of four irtt series at 10 ms are 60 MB of JSON. A text of one long string with
# a single character beyond U+FFFF takes six times its size, 400 MB.
# Flent's largest test, tcp_upload_1000, has 1,008 series; each takes a plot's line, and time of
# every metric.
# Metrics of flows take 200 bytes for each second of each: 170 MB for these ten days, which are
# a day of ten series.
STRANGERS = Limits(64 << 20, 10_000, 360 << 20, 1.0, 10 * 86_400.0, 2_000,
                   f"; {environment.LARGE_FILES}=1 in the environment reads it, if you trust it")
# What this machine has measured itself, or its user vouches for.
OWN = Limits(256 << 20, 10_000, 4 << 30, 60.0, 200 * 86_400.0, 20_000)


def limits() -> Limits:
    """Return those for a file that a user names."""
    return OWN if os.environ.get(environment.LARGE_FILES, "0") not in ("", "0") else STRANGERS
