# SPDX-License-Identifier: GPL-3.0-or-later
"""iperf 2's bounceback beside a load."""

from __future__ import annotations

from flent_aqm.base.defaults import IPERF2_PORT as PORT
from flent_aqm.tools.tool import (
    DEBIAN,
    FLAG,
    HIGHER,
    LOWER,
    Package,
    Program,
    Server,
    Shown,
    Tool,
    both,
)

SERVER = Server("iperf2", {"IPERF2_PORT": (PORT,)}, f"iperf -s -e -p {PORT}", program="iperf",
                parameter="iperf2_port")
TOOL = Tool(
    "iperf2_bounceback", SERVER,
    method=("Ten messages of 100 bytes a second, each after the one before, beside one TCP "
            "connection each way. Responses a second are 1 / their mean time; `trip_times` adds "
            "one-way times. Reports every 5 s, because 2.1.8 hangs on longer round trips than "
            "half of that."),
    source="iperf 2.1.8, iperf(1), --bounceback-congest",
    prefix="iperf2",
    longest_s=30,
    numbers=(
        *both("{}_mbps", "Mbit/s", HIGHER, "its {}, the working load"),
        *both("rps_{}", "1/s", HIGHER, "its responses a second under {}"),
        *both("bounceback_{}_ms", "ms", LOWER, "its mean bounceback under {}"),
        *both("bounceback_max_{}_ms", "ms", LOWER, "its longest bounceback under {}"),
        *both("owd_to_server_{}_ms", "ms", LOWER,
              "its messages' mean delay to the server under {}"),
        *both("owd_from_server_{}_ms", "ms", LOWER,
              "its messages' mean delay back from the server under {}"),
    ),
    programs=(Program(
        "iperf", "the test iperf2_bounceback needs iperf, version 2.1 or newer",
        Package("iperf2", DEBIAN, "iperf", "", "iperf2's authors", "BSD-3-Clause")),),
    parameters={"trip_times": FLAG},
    shown=Shown("iperf 2\nbounceback", ("bounceback_download_ms", "bounceback_upload_ms"),
                (("rps_download", "{:.1f} rps down"), ("rps_upload", "{:.1f} rps up"))),
)
