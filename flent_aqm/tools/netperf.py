# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes netperf, whose TCP streams are the load of Flent's own tests and of speedtest_…."""

from __future__ import annotations

from flent_aqm.base.defaults import NETPERF_PORT as PORT
from flent_aqm.tools import iperf3, irtt
from flent_aqm.tools.tool import OtherTests, Server, Tool

SERVER = Server("netserver", {"NETPERF_PORT": (PORT,)}, f"netserver -D -p {PORT}",
                log="/dev/null", program="netserver")
_BESIDE_PROBE = (irtt.SERVER, SERVER)
TOOL = Tool(
    "netperf", SERVER, programs=("netperf", "netserver"), has_test=False, other_tests=(
        OtherTests("speedtest", (irtt.SERVER, iperf3.SERVER, SERVER)),
        OtherTests("rrul", _BESIDE_PROBE), OtherTests("rtt_fair", _BESIDE_PROBE),
        OtherTests("tcp_", _BESIDE_PROBE)))
