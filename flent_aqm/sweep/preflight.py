# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks tools and results folders before the first run starts."""

from __future__ import annotations

import errno
import os
import resource
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, ToolMissing, cause_of
from flent_aqm.base.words import counted
from flent_aqm.setup.iproute2 import OLDEST, new_tc_is_there
from flent_aqm.setup.optional import check_tools
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.needs import needs_of_run, refuse_servers_behind_ssh
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.testbeds import VIRTUAL

_ALWAYS_NEEDED = ("tc", "ip", "ethtool", "setpriv", "perl", "irtt", "fping", "tcpdump")


# As many digits as the number of a process may have, in the name of a file that is being written.
_LONGEST_PROCESS = "4194304"
# File descriptors that a sweep needs, and those that each run needs, rounded up: two runs were
# measured to need 62.
_DESCRIPTORS, _DESCRIPTORS_PER_JOB = 40, 12
_RAISE_HARD = "have the hard limit raised, in the container, batch system or limits.conf"


def check(cells: Iterable[Cell], jobs: int = 1) -> list[Path]:
    """Check that this machine has the tools and resource limits for the runs, and that their
    results folders can be written. Folders that don't exist are made. The testbed is not checked,
    except for the servers it can start. Return the folders that were made, each after those within
    it.

    Args:
        cells: the planned runs.
        jobs: number of runs side by side on this machine.

    Raises:
        ConfigError: the process's resource limits (ulimit) are too low, a results folder can't be
            made or written, or the name of a file in it is too long (then no new one stays), or the
            key server_testbed is given and a run needs a server that can't be started there.
        ToolMissing: a tool is not installed, or tc is too old for a queue.
    """
    cells = list(cells)
    _check_limits(cells, jobs)
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
    made: list[Path] = []
    try:
        for folder in sorted({cell.folder for cell in cells}):
            made = _check_folder(folder) + made
            names = (_longest_name(cell) for cell in cells if cell.folder == folder)
            _check_name(folder, max(names, key=lambda name: len(os.fsencode(name))))
    except ConfigError:
        remove_empty(made)
        raise
    return made


def _check_limits(cells: Iterable[Cell], jobs: int) -> None:
    """Raise ConfigError if the limit of address space (`ulimit -v`) is too low for one lab, or that
    of open files (`ulimit -n`) for `jobs` runs side by side. The address space is only checked if
    one of the cells runs in the virtual lab."""
    if any(cell.scenario.lab.testbed == VIRTUAL for cell in cells):
        needed_mib = defaults.GUEST_ADDRESSES_MIB
        limit, most = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY and limit < needed_mib << 20:
            how = ("raise the limit: ulimit -v unlimited" if most == resource.RLIM_INFINITY
                   else f"raise the limit: ulimit -v {needed_mib << 10}"
                   if most >= needed_mib << 20 else
                   f"the limit can be raised to {most >> 10} KiB at most; {_RAISE_HARD}")
            raise ConfigError(f"ulimit -v is {limit >> 10} KiB: the virtual lab needs an address "
                              f"space of {needed_mib << 10} KiB; {how}")
    needed = _DESCRIPTORS + _DESCRIPTORS_PER_JOB * jobs
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < needed:
        fewer = ", or give fewer jobs" if jobs > 1 else ""
        how = (f"raise the limit: ulimit -n {needed}"
               if needed <= most or most == resource.RLIM_INFINITY else
               f"the limit can be raised to {most} at most; {_RAISE_HARD}")
        raise ConfigError(f"ulimit -n is {limit}: {counted(jobs, 'run')} at a time need"
                          f"{'s' * (jobs == 1)} {needed} open files; {how}{fewer}")


def _router_is_here(cell: Cell) -> bool:
    """Return whether the run's router is on this machine, not behind ssh."""
    return not cell.scenario.lab.testbed.startswith("ssh://")


def _check_new_tc(aqm: str) -> None:
    """Raise ToolMissing if there is no undamaged tc of iproute2 OLDEST or newer. Called for queues
    that need it.

    Args:
        aqm: the queue's name, for the message.
    """
    if not new_tc_is_there():
        raise ToolMissing(f"aqm {aqm}: it needs {queue_of(aqm).requires}, and no tc of iproute2 "
                          f"{OLDEST[0]}.{OLDEST[1]} or newer is there; run: flent-aqm setup")


def _check_folder(folder: Path) -> list[Path]:
    """Make the folder with its parents, and try to make a temporary file in it, which doesn't stay.
    Return those that were not there, the innermost first. Raises ConfigError if that fails, after
    removing those that it made.

    Permission bits are not checked, because root may write in spite of them.
    """
    made: list[Path] = []
    try:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        remove_empty(made)
        raise ConfigError(f"results folder {folder} can't be made or written: {cause_of(error)}; "
                          "choose another folder (of a batch: key output_path, or -D)") from None
    return made


def _longest_name(cell: Cell) -> str:
    """Return the longest name that a file of the run has, while it is written under a temporary
    one."""
    file = cell.tools_log_file if cell.debug_log else cell.data_file
    return f".{file.name}.{_LONGEST_PROCESS}.part"


def _check_name(folder: Path, name: str) -> None:
    """Raise ConfigError if a file of this name can't be in an existing folder, because its name or
    path is too long."""
    try:
        os.lstat(folder / name)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            length, most = len(os.fsencode(name)), os.pathconf(folder, "PC_NAME_MAX")
            raise ConfigError(f"the {'name' if length > most else 'path'} of a run's data file is "
                              f"too long for results folder {folder}: {name[1:61]!r}… has "
                              f"{length} bytes while it is written" + (
                                  f"; expected {most} at most: " if length > most else "; ")
                              + "give a shorter name (of a batch: key filename_extra)",
                              "filename_extra") from None


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders that are empty when it is their turn. Errors are ignored."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
