# SPDX-License-Identifier: GPL-3.0-or-later
"""Define limits of the resources that reading a data file may take.

A file's size on disk tells little: gzip can compress repetitions to a thousandth, and two
characters of JSON can become a hundred bytes of memory. Therefore the limits apply to bytes,
members of the archive, memory and processor time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult

# Peak memory of orjson.loads() in bytes for each of these characters: its own tree, and Python's
# objects. It was measured with files that contain only one of them.
BYTES_PER_OBJECT = {"{": 240, "[": 100, ",": 64}
BYTES_PER_CHARACTER = 2


class BeyondLimitsError(BadResult):
    """A data file has more than this package or Flent can read or show, or what neither can use,
    such as times of a clock that was set back, though its form may be right. Messages about it
    therefore don't say that a data file of Flent was expected."""


@dataclass(frozen=True)
class Limits:
    """Limits for reading a data file.

    Attributes:
        unpacked_bytes: size of the JSON text.
        members: number of members of a gzip or bzip2 file, which may have several in sequence.
        memory_bytes: memory for parsing, estimated by BYTES_PER_OBJECT.
        unpack_s: processor time for unpacking.
        series_s: sum of the durations of all series.
        series: number of series.
        hint: end of the error message, with advice for a larger file, or "".
    """

    unpacked_bytes: int
    members: int
    memory_bytes: int
    unpack_s: float
    series_s: float
    series: int
    hint: str = ""


# Ten minutes of four irtt series at 10 ms are 60 MB of JSON. A text of one long string with
# a single character beyond U+FFFF takes six times its size, 400 MB.
# Flent's largest test, tcp_upload_1000, has 1,008 series. Each needs a line of a plot, and time of
# every metric.
# Metrics of flows take 200 bytes for each second of each: 170 MB for these ten days, which are
# a day of ten series.
STRANGERS = Limits(64 << 20, 10_000, 360 << 20, 1.0, 10 * 86_400.0, 2_000,
                   f"; {environment.LARGE_FILES}=1 in the environment raises this limit, if you "
                   "trust the file")
# For files that this machine has made, or that the user trusts.
OWN = Limits(256 << 20, 10_000, 4 << 30, 60.0, 200 * 86_400.0, 20_000)


def limits() -> Limits:
    """Return the limits for a file that the user names: OWN if the environment variable
    environment.LARGE_FILES is neither missing, empty nor 0, else STRANGERS."""
    return OWN if os.environ.get(environment.LARGE_FILES, "0") not in ("", "0") else STRANGERS
