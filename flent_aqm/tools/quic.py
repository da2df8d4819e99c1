# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes a bulk download over QUIC by aioquic, as a test and as cross traffic."""

from __future__ import annotations

from flent_aqm.base.defaults import QUIC_PORT as PORT
from flent_aqm.tools.shared import AIOQUIC
from flent_aqm.tools.tool import Cross, Server, Tool

SERVER = Server("quic", {"QUIC_PORT": (PORT,)},
                f'"$PYTHON" -P -m flent_aqm.measure.cross_traffic.quic {PORT}', protocol="udp",
                module="aioquic", parameter="quic_port", behind_ssh=False,
                words=("quic", str(PORT)))
TOOL = Tool("quic", SERVER, "flent_aqm.measure.cross_traffic.quic", programs=(AIOQUIC,),
            cross=Cross("quic", ("download",)))
