# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes iperf3: TCP and UDP flows in one direction or both, also as bulk cross traffic."""

from __future__ import annotations

from flent_aqm.base import defaults
from flent_aqm.tools import irtt
from flent_aqm.tools.tool import Cross, OtherTests, Server, Shown, Tool


def _start_commands(*ports: int) -> str:
    """Return commands that start an iperf3 server on each port, one per line."""
    # In JSON mode the client also gets the server's side of each interval.
    return "\n".join(f"iperf3 --server --json --interval 0.2 --port {port}" for port in ports)


SERVER = Server(
    "iperf3", {"IPERF3_PORT": (defaults.IPERF3_PORT,),
               "IPERF3_CROSS_PORT": (defaults.IPERF3_CROSS_PORT,)},
    _start_commands(defaults.IPERF3_PORT, defaults.IPERF3_CROSS_PORT), log="/dev/null",
    program="iperf3",
    parameter="iperf3_port")
# Of the test aqm_flows: one for each group of flows.
FLOWS = Server("iperf3-flows", {"IPERF3_FLOW_PORTS": defaults.IPERF3_FLOW_PORTS},
               _start_commands(*defaults.IPERF3_FLOW_PORTS), log="/dev/null", program="iperf3")
TOOL = Tool(
    "iperf3", SERVER, programs=("iperf3",), servers=(FLOWS,),
    cross=Cross("bulk", None, "aqm_iperf3"),
    shown=Shown("iperf3", rates=("throughput_download_mbps", "throughput_upload_mbps"),
                test="iperf3_bidirectional"),
    # ping_exp has a probe of its own.
    other_tests=(OtherTests("ping_exp", (SERVER,)),
                 OtherTests("aqm_flows", (irtt.SERVER, SERVER, FLOWS))),
)
