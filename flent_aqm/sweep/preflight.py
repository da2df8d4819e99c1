# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that can be checked before the first run starts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from flent_aqm.errors import ConfigError
from flent_aqm.setup.tools import tool_path
from flent_aqm.sweep.cell import Cell

_ALWAYS_NEEDED = ("tc", "ip", "ethtool", "setpriv", "perl", "irtt", "fping", "tcpdump")
# By the beginning of a test's name.
_NEEDED = {"ndt7": ("ndt7-client",), "iperf3": ("iperf3",),
           "rrul": ("netperf", "netserver"), "tcp_": ("netperf", "netserver")}


def check(cells: Iterable[Cell]) -> None:
    """Raise an AqmError for a missing tool or a folder that can't be written."""
    cells = list(cells)
    for name in _ALWAYS_NEEDED:
        tool_path(name)
    for beginning, names in _NEEDED.items():
        if any(cell.test_name.startswith(beginning) for cell in cells):
            for name in names:
                tool_path(name)
    if any(cell.scenario.cross_traffic for cell in cells):
        tool_path("iperf3")
    for folder in sorted({cell.folder for cell in cells}):
        _check_folder(folder)


def _check_folder(folder: Path) -> None:
    """Make the folder and write into it: permission bits don't tell root the truth."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigError(f"results folder {folder} is not writable: {error.strerror}; "
                          "choose another one with output_path or -D") from None
