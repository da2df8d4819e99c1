# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes a video call as cross traffic: irtt sends packets of a call's size and rate."""

from __future__ import annotations

from flent_aqm.base.defaults import CALL_PORT as PORT
from flent_aqm.tools.tool import Cross, Server, Tool

# A server of its own, because the lab's cards take packets of the other irtt port for probes.
SERVER = Server("irtt-call", {"CALL_PORT": (PORT,)}, f"irtt server -b :{PORT} -d 0 -i 0",
                protocol="udp", program="irtt")
TOOL = Tool("call", SERVER, programs=("irtt",),
            has_test=False, cross=Cross("call", ("upload", "download"), "aqm_call"))
