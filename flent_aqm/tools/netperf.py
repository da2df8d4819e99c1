# SPDX-License-Identifier: GPL-3.0-or-later
"""netperf, whose TCP streams are the load of Flent's own tests."""

from __future__ import annotations

from flent_aqm.base.defaults import NETPERF_PORT as PORT
from flent_aqm.tools.tool import Server, Tool

SERVER = Server("netserver", {"NETPERF_PORT": (PORT,)}, f"netserver -D -p {PORT}",
                log="/dev/null", program="netserver")
TOOL = Tool("netperf", SERVER, has_test=False)
