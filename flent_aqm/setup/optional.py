# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that only some runs need: where each is, and its name inside of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.errors import AqmError, ToolMissing
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import find_on_path, run
from flent_aqm.setup.tools import SYSTEM_PATH, find_tool, tool_path
from flent_aqm.tools.table import PROGRAMS
from flent_aqm.tools.tool import PYPI, Program


def find(program: Program) -> Path | None:
    """Return where it is: of a Python package the folder that has it, of a script the file, as the
    lab has it on PATH, the user names it, or set-up keeps it; None if it isn't there."""
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
    """Return whether it is a package for this Python, which runs have where it is."""
    return program.source == PYPI


def folder_of(program: Program) -> str:
    """Return the name that set-up gives its folder, of CACHE/tools."""
    return f"{program.setup_name}-{program.version}"


def check_tools(names: Iterable[str]) -> None:
    """Raise ToolMissing for the first that isn't there, of whatever kind."""
    for name in names:
        if name in PROGRAMS:
            optional_path(name)
        else:
            tool_path(name)


def optional_path(name: str) -> Path:
    """Return where one of PROGRAMS is. Raises ToolMissing."""
    program = PROGRAMS[name]
    path = find(program)
    if path is not None:
        return path
    why = program.why or f"the test {name.partition('-')[0]} needs {name}"
    if program.source:
        raise ToolMissing(f"{why}; run: flent-aqm setup --speedtests {program.setup_name}; or "
                          "leave that out")
    raise ToolMissing(f"{why}, and there is none on PATH (docs/reference/tools.md); or "
                      "leave that out")


def optional_of(names: Iterable[str]) -> dict[str, Path]:
    """Of a run's tools those of PROGRAMS that are called otherwise here, or aren't where the
    system's programs are, by their name inside. Raises ToolMissing."""
    return _elsewhere({name: optional_path(name) for name in names if name in PROGRAMS})


def optional_there() -> dict[str, Path]:
    """Return all of them that are on this machine, as optional_of() gives them."""
    paths = {name: find(program) for name, program in PROGRAMS.items()}
    return _elsewhere({name: path for name, path in paths.items() if path is not None})


def _elsewhere(paths: Mapping[str, Path]) -> dict[str, Path]:
    # Chromium's script finds the rest of it by its own place, which a link would not be.
    return {name: path for name, path in paths.items()
            if not is_python(PROGRAMS[name])
            and (path.name != name or str(path.parent) not in SYSTEM_PATH)}


def maker_of_client(help_text: str) -> str | None:
    """Whose an ndt7-client is by what its --help prints: "crate", "mlab", None for neither."""
    if "--no-locate" in help_text:
        return "crate"
    return "mlab" if "-service-url" in help_text else None


def find_mlab_client() -> Path | None:
    """M-Lab's client: the one that set-up keeps, else the first ndt7-client on PATH that is
    M-Lab's, whichever others come before it."""
    kept = find_tool(defaults.MLAB_NDT7_CLIENT)
    if kept is not None:
        return kept
    for folder in os.get_exec_path():
        program = Path(folder) / "ndt7-client"
        if os.access(program, os.X_OK) and _maker_of(program) == "mlab":
            return program
    return None


def _maker_of(program: Path) -> str | None:
    try:
        # M-Lab's has its help on standard error.
        return maker_of_client(run(["sh", "-c", 'exec "$0" --help 2>&1', program], timeout_s=10))
    except AqmError as error:  # and to some versions of Go's flags it is a mistake
        return maker_of_client(str(getattr(error, "stdout", "")))
