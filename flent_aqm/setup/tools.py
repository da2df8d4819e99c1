# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the programs that set-up builds or downloads: in the caches, then on PATH."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import ToolMissing
from flent_aqm.base.paths import caches, program_dirs
from flent_aqm.base.shell import NOT_FOUND, find_program
from flent_aqm.tools.tool import Server

# Folders of the system's programs, in which the lab's guest finds them, too.
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def tool_dirs() -> list[Path]:
    """Return the existing folders of the caches with set-up's programs, in the order in which they
    are searched. Folders of PATH aren't among them."""
    return [folder for cache in caches() for folder in program_dirs(cache)]


def find_tool(name: str) -> Path | None:
    """Return the path of a program: the first file of that name in the folders of tool_dirs(),
    executable or not, otherwise the program on PATH or in the sbin folders. None if there is none.

    name: name of the program.
    """
    for folder in tool_dirs():
        path = folder / name
        if os.path.exists(path):
            return path
    return find_program(name)


def put_tools_on_path() -> None:
    """Put the folders of set-up's programs in front of this process's PATH, so that programs which
    are started by name are those that find_tool() finds.

    It does nothing inside a lab or namespaces, where flent-aqm sets PATH.
    """
    if environment.HOOKS in os.environ:
        return
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    tools = [str(folder) for folder in tool_dirs()]
    os.environ["PATH"] = os.pathsep.join([*tools,
                                          *(folder for folder in path if folder not in tools)])


def can_start(server: Server) -> bool:
    """Return whether this machine has the program and the Python module that a server needs. True
    if it needs neither."""
    return ((server.program is None or find_tool(server.program) is not None)
            and (server.module is None or find_spec(server.module) is not None))


def tool_path(name: str) -> Path:
    """Return the path of a program, as find_tool() finds it. Raises ToolMissing if there is none.

    name: name of the program.
    """
    path = find_tool(name)
    if path is None:
        raise ToolMissing(f"{name} is {NOT_FOUND}; see flent-aqm doctor")
    return path
