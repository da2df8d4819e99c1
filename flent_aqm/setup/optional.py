# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds programs that only some runs need, and their names inside a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.errors import AqmError, ToolMissing
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import NOT_FOUND, find_on_path, run
from flent_aqm.setup.tools import SYSTEM_PATH, find_tool, tool_path
from flent_aqm.tools.table import PROGRAMS, TOOLS
from flent_aqm.tools.tool import PYPI, Program


def find(program: Program) -> Path | None:
    """Return the path of a program, script or Python package. None if it isn't installed.

    For a Python package, that is the folder that contains the package's folder. For a script, it is
    the file: on PATH, else in the folder that the user's variable names, else in set-up's cache.
    M-Lab's NDT7 client is found by find_mlab_client(). Any other program is looked for in the
    caches, then on PATH: first under its name, then under its other names.
    """
    if is_python(program):
        spec = find_spec(program.name)
        return Path(spec.origin).parents[1] if spec and spec.origin else None
    if program.name == defaults.MLAB_NDT7_CLIENT:
        return find_mlab_client()
    if program.is_script:
        named = os.environ.get(program.variable) if program.variable else None
        on_path = find_on_path(program.name, *([named] if named else []))
        return on_path or (
            find_cached("tools", folder_of(program), program.file) if program.file else None)
    return next((path for name in (program.name, *program.also) if (path := find_tool(name))), None)


def is_python(program: Program) -> bool:
    """Return whether the program is a Python package, which a run imports from the folder in which
    it is installed."""
    return program.source == PYPI


def folder_of(program: Program) -> str:
    """Return the name of the program's folder in CACHE/tools: its name in set-up, "-", and its
    version."""
    return f"{program.setup_name}-{program.version}"


def check_tools(names: Iterable[str]) -> None:
    """Raise ToolMissing for the first of these tools that isn't installed.

    names: names of programs, in PROGRAMS or not.
    """
    for name in names:
        if name in PROGRAMS:
            optional_path(name)
        else:
            tool_path(name)


def optional_path(name: str) -> Path:
    """Return the path of a program in PROGRAMS. Raises ToolMissing if it isn't installed.

    name: key in PROGRAMS.
    """
    program = PROGRAMS[name]
    path = find(program)
    if path is not None:
        return path
    why = program.why or _who_needs(program)
    if program.source:
        raise ToolMissing(f"{why}{_not_found(program)}; run: flent-aqm setup --speedtests "
                          f"{program.setup_name}; or leave that test or setting out")
    if program.variable:
        folder = os.environ.get(program.variable)
        seen = (f"is {folder!r}, and {program.name} is not there" if folder else "is not set")
        raise ToolMissing(f"{why}; {program.variable} {seen}; set it to that folder, or leave that "
                          "test or setting out")
    raise ToolMissing(f"{why}{_not_found(program)}; install it (docs/reference/tools.md), or leave "
                      "that test out")


def _not_found(program: Program) -> str:
    """Return ", which …", the clause that says of a program, script or Python package why find()
    may not have found it."""
    if is_python(program):
        return ", which this Python can't import"
    if program.is_script:
        return ", which is neither on PATH nor in the cache"
    return f", which is {NOT_FOUND}"


def _who_needs(program: Program) -> str:
    """Return the clause that says which tests need a program, such as "the test obudpst needs the
    program udpst"."""
    tests = [tool.name for tool in TOOLS.values()
             if program in (*tool.programs, *tool.sometimes)]
    what = "Python package" if is_python(program) else "program"
    return (f"the test{'s' * (len(tests) > 1)} {' and '.join(tests)} "
            f"need{'s' * (len(tests) == 1)} the {what} {program.name}")


def optional_of(names: Iterable[str]) -> dict[str, Path]:
    """Return the programs of a run that need a link inside the run: name inside the run -> path on
    this machine.

    These are the programs in PROGRAMS whose files have another name on this machine, or aren't in
    the system's folders. Python packages need no link and are left out.

    names: names of all programs that the run needs.

    Raises ToolMissing if a program in PROGRAMS isn't installed.
    """
    return _needing_links({name: optional_path(name) for name in names if name in PROGRAMS})


def optional_there() -> dict[str, Path]:
    """Return all installed programs in PROGRAMS that need a link inside a run, as optional_of() has
    them: name inside the run -> path on this machine."""
    paths = {name: find(program) for name, program in PROGRAMS.items()}
    return _needing_links({name: path for name, path in paths.items() if path is not None})


def _needing_links(paths: Mapping[str, Path]) -> dict[str, Path]:
    """Return the programs whose files have another name, or aren't in the system's folders. Python
    packages are left out.

    paths: name in PROGRAMS -> path.
    """
    # Others get no link: Chromium's script finds its other files by its own path.
    return {name: path for name, path in paths.items()
            if not is_python(PROGRAMS[name])
            and (path.name != name or str(path.parent) not in SYSTEM_PATH)}


def maker_of_client(help_text: str) -> str | None:
    """Return the maker of an ndt7-client: "crate", "mlab", or None if unknown.

    help_text: output of the client's --help.
    """
    if "--no-locate" in help_text:
        return "crate"
    return "mlab" if "-service-url" in help_text else None


def find_mlab_client() -> Path | None:
    """Return the path of M-Lab's client: the program ndt7-client-mlab, which set-up installs, in a
    cache or on PATH, otherwise the first ndt7-client on PATH that is M-Lab's. Only if there is no
    ndt7-client-mlab, the programs called ndt7-client are started with --help, until one is M-Lab's.
    None if there is none."""
    kept = find_tool(defaults.MLAB_NDT7_CLIENT)
    if kept is not None:
        return kept
    for folder in os.get_exec_path():
        program = Path(folder) / "ndt7-client"
        if os.access(program, os.X_OK) and _ask_maker(program) == "mlab":
            return program
    return None


def _ask_maker(program: Path) -> str | None:
    """Start an ndt7-client with --help, and return its maker: "crate", "mlab", or None if
    unknown."""
    try:
        # M-Lab's client prints its help on standard error.
        return maker_of_client(run(["sh", "-c", 'exec "$0" --help 2>&1', program], timeout_s=10))
    except AqmError as error:  # some versions of Go's flag package exit with an error
        return maker_of_client(str(getattr(error, "stdout", "")))
