# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the programs are that set-up builds or fetches: the caches, then PATH."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import ToolMissing
from flent_aqm.base.paths import caches, program_dirs
from flent_aqm.base.shell import find_program
from flent_aqm.tools.tool import Server

# Where a system has its programs, and the lab's guest finds them.
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def tool_dirs() -> list[Path]:
    """Existing folders that go in front of PATH, in order."""
    return [folder for cache in caches() for folder in program_dirs(cache)]


def find_tool(name: str) -> Path | None:
    """Return the path of a program, or None."""
    for folder in tool_dirs():
        path = folder / name
        if os.path.exists(path):
            return path
    return find_program(name)


def put_tools_on_path() -> None:
    """Have all that this process starts by name find what find_tool() finds.

    Not inside of a lab or of namespaces: PATH there is of our own making.
    """
    if environment.HOOKS in os.environ:
        return
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    tools = [str(folder) for folder in tool_dirs()]
    os.environ["PATH"] = os.pathsep.join([*tools, *(one for one in path if one not in tools)])


def can_start(server: Server) -> bool:
    """Return whether this machine has what a server takes."""
    return ((server.program is None or find_tool(server.program) is not None)
            and (server.module is None or find_spec(server.module) is not None))


def tool_path(name: str) -> Path:
    """Return the path of a program. Raises ToolMissing."""
    path = find_tool(name)
    if path is None:
        raise ToolMissing(f"{name} is not installed; run: flent-aqm setup")
    return path
