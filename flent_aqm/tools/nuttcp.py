# SPDX-License-Identifier: GPL-3.0-or-later
"""nuttcp: a TCP connection each way."""

from __future__ import annotations

from flent_aqm.base.defaults import NUTTCP_PORT as PORT
from flent_aqm.tools.tool import (
    DEBIAN,
    HIGHER,
    LOWER,
    Number,
    Package,
    Program,
    Server,
    Shown,
    Tool,
    both,
)

SERVER = Server("nuttcp", {"NUTTCP_PORT": (PORT,)}, f"nuttcp -S --nofork -P {PORT}",
                program="nuttcp", parameter="nuttcp_port")
TOOL = Tool(
    "nuttcp", SERVER,
    method=("Downloads over one TCP connection, then uploads. Its round trip is that of "
            "connecting."),
    source="nuttcp 6.1.2, nuttcp(8)",
    longest_s=22,
    numbers=(
        *both("{}_mbps", "Mbit/s", HIGHER, "its {} at the receiver"),
        *both("retransmits_{}", "packets", LOWER, "what its sender of the {} sent again"),
        Number("rtt_ms", "ms", LOWER, "its round trip: of connecting, before the upload"),
    ),
    programs=(Program("nuttcp", "the test nuttcp needs nuttcp", Package(
        "nuttcp", DEBIAN, "nuttcp", "", "Bill Fink, Rob Scott", "GPL-2.0")),),
    shown=Shown("nuttcp", ("rtt_ms",), (("rtt_ms", "RTT {:.0f} ms"),)),
)
