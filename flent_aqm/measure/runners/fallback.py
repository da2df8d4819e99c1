# SPDX-License-Identifier: GPL-3.0-or-later
"""Warns if Flent measured UDP latency with netperf because irtt was not available."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

_RUNNER, _UNITS = "NetperfDemoRunner", "ms"


def warn_of_netperf(series: Mapping[str, Mapping[str, Any]]) -> None:
    """Log a warning if one of the series is UDP latency measured by Flent's netperf runner, which
    Flent takes if it can't use irtt.

    Args:
        series: metadata by series.
    """
    if any(about.get("RUNNER") == _RUNNER and about.get("UNITS") == _UNITS
           for about in series.values()):
        logging.getLogger("flent.aggregators").warning(
            "UDP latency was measured with netperf UDP_RR, because irtt is not installed on this "
            "machine, or doesn't answer on the server. UDP_RR stops after a lost packet, and can't "
            "count losses: install irtt on this machine, and run 'irtt server' on the server.")
