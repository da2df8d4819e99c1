# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers and names of the ndt7 protocol specification, version 0.11."""

from __future__ import annotations

from typing import NamedTuple

SUBPROTOCOL = "net.measurementlab.ndt.v7"
TEST_OF_PATH = {"/ndt/v7/download": "download", "/ndt/v7/upload": "upload"}
MAX_QUERY_BYTES = 4096

# Binary messages that we send: doubled once they are no more than 1/16 of what was
# sent. The specification allows 1 << 24; M-Lab's server and both clients stop here.
INITIAL_MESSAGE_BYTES = 1 << 13
MAX_SENT_MESSAGE_BYTES = 1 << 20
SCALING_FRACTION = 16

# "Such limit MUST NOT be smaller than 1 << 24 bytes."
MAX_RECEIVED_MESSAGE_BYTES = 1 << 24

# Ten messages per second on the average are the most that is allowed. M-Lab draws its
# intervals (mean 0.25 s) at random; fixed ones keep a run a function of its seed.
MEASUREMENT_INTERVAL_S = 0.1

# A download of which the client wants no more: the key of the request's query, and its only
# value that M-Lab's server takes, in MB that the client has acknowledged. The specification
# doesn't have it.
EARLY_EXIT = "early_exit"
EARLY_EXIT_MB = "250"

TEST_DURATION_S = 10.0
# A test may be cut off 13 s after its start: this much after its planned end.
CUT_OFF_AFTER_END_S = 3.0


class Settings(NamedTuple):
    """What one server does for every test.

    No dataclass, because importing those would be a fifth of what a start costs.
    """

    duration_s: float = TEST_DURATION_S
    congestion_control: str = "bbr"
