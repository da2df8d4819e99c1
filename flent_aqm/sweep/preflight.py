# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that can be checked before the first run starts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.setup.iproute2 import OLDEST, new_tc_is_there
from flent_aqm.setup.optional import check_tools
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.needs import needs_of_run, refuse_servers_behind_ssh
from flent_aqm.spec.queues.external import queue_of

_ALWAYS_NEEDED = ("tc", "ip", "ethtool", "setpriv", "perl", "irtt", "fping", "tcpdump")


def check(cells: Iterable[Cell]) -> None:
    """Raise an AqmError for a missing tool or a folder that can't be written."""
    cells = list(cells)
    tools = dict.fromkeys(_ALWAYS_NEEDED)
    for cell in cells:
        needs = needs_of_run(cell.test_name, cell.scenario, cell.test_parameters)
        refuse_servers_behind_ssh(needs, cell.scenario)
        tools |= dict.fromkeys(needs.tools)
    check_tools(tools)
    for aqm in sorted({aqm for cell in cells if _router_is_here(cell)
                       for aqm in cell.scenario.router.queues}):
        if queue_of(aqm).needs_new_tc:
            _check_new_tc(aqm)
    for folder in sorted({cell.folder for cell in cells}):
        _check_folder(folder)


def _router_is_here(cell: Cell) -> bool:
    return not cell.scenario.lab.testbed.startswith("ssh://")


def _check_new_tc(aqm: str) -> None:
    if not new_tc_is_there():
        raise ToolMissing(f"aqm {aqm}: it needs tc of iproute2 {OLDEST[0]}.{OLDEST[1]} or newer; "
                          "run: flent-aqm setup")


def _check_folder(folder: Path) -> None:
    """Make the folder and write into it: permission bits don't tell root the truth."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigError(f"results folder {folder} is not writable: {error.strerror}; "
                          "choose another one with output_path or -D") from None
