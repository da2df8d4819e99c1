# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes irtt, the latency probe beside each test."""

from __future__ import annotations

from flent_aqm.base.defaults import IRTT_PORT as PORT
from flent_aqm.tools.tool import OtherTests, Server, Tool

SERVER = Server("irtt", {"IRTT_PORT": (PORT,)}, "irtt server -d 0 -i 0",
                protocol="udp", program="irtt")
# The test `program` runs a command of the user, which brings its own server.
TOOL = Tool("irtt", SERVER, has_test=False, other_tests=(OtherTests("program", (SERVER,)),))
