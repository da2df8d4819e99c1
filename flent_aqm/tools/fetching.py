# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes adaptive video and web pages as cross traffic. Both use the same HTTP server."""

from __future__ import annotations

from flent_aqm.base.defaults import FETCH_PORT as PORT
from flent_aqm.tools.tool import Cross, Server, Tool

SERVER = Server("fetch", {"FETCH_PORT": (PORT,)}, f"serve http --no-tls --http-port {PORT}",
                words=("video", "web", str(PORT)))
VIDEO = Tool("video", SERVER, "flent_aqm.measure.cross_traffic.video", has_test=False,
             cross=Cross("video", ("download",)))
WEB = Tool("web", SERVER, "flent_aqm.measure.cross_traffic.web", has_test=False,
           cross=Cross("web", ("download",)))
