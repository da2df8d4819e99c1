# SPDX-License-Identifier: GPL-3.0-or-later
"""A video call as cross traffic: irtt's packets at a call's pace."""

from __future__ import annotations

from flent_aqm.base.defaults import CALL_PORT as PORT
from flent_aqm.tools.tool import Cross, Server, Tool

# Not the probes', which the lab's cards look at.
SERVER = Server("irtt-call", {"CALL_PORT": (PORT,)}, f"irtt server -b :{PORT} -d 0 -i 0",
                protocol="udp", program="irtt")
TOOL = Tool("call", SERVER, programs=("irtt",),
            has_test=False, cross=Cross("call", ("upload", "download"), "aqm_call"))
