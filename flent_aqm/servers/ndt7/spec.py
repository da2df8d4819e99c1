# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines numbers and names of the ndt7 protocol specification, version 0.11."""

from __future__ import annotations

from typing import NamedTuple

SUBPROTOCOL = "net.measurementlab.ndt.v7"
TEST_OF_PATH = {"/ndt/v7/download": "download", "/ndt/v7/upload": "upload"}
MAX_QUERY_BYTES = 4096

# Sizes of the server's binary messages. The size is doubled when it is at most 1/16 of the bytes
# sent so far. The specification allows up to 1 << 24; M-Lab's server and both clients stop at 1 <<
# 20.
INITIAL_MESSAGE_BYTES = 1 << 13
MAX_SENT_MESSAGE_BYTES = 1 << 20
SCALING_FRACTION = 16

# "Such limit MUST NOT be smaller than 1 << 24 bytes."
MAX_RECEIVED_MESSAGE_BYTES = 1 << 24

# At most ten messages per second on average are allowed. M-Lab's intervals are random (mean 0.25
# s); fixed ones keep a run a function of its seed.
MEASUREMENT_INTERVAL_S = 0.1

# Key of the request's query by which a client limits the size of a download, and the only value
# that M-Lab's server accepts: MB that the client has acknowledged. The specification doesn't have
# it.
EARLY_EXIT = "early_exit"
EARLY_EXIT_MB = "250"

TEST_DURATION_S = 10.0
# Seconds after its planned end at which a test is cut off, which is 13 s after its start.
CUT_OFF_AFTER_END_S = 3.0


class Settings(NamedTuple):
    """Settings of the server for all tests.

    It is no dataclass, because importing dataclasses would take a fifth of the server's start.

    Attributes:
        duration_s: length of a test in seconds.
        congestion_control: TCP congestion control to request from the kernel.
    """

    duration_s: float = TEST_DURATION_S
    congestion_control: str = "bbr"
