# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose NDT7 client a program is: the Rust crate's or M-Lab's, which have one name."""

from __future__ import annotations

import os
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.errors import AqmError
from flent_aqm.base.shell import run
from flent_aqm.setup.tools import find_tool


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
