# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that Flent can open shared files without this package, by running it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.words import last_line
from flent_aqm.spec.definitions import SUFFIX

# Time limits on a slow machine: for starting Flent, and for plotting a large file.
START_S, FILE_S = 60, 30
# Additional processor time before a call that doesn't return is ended, in s.
GRACE_S = 3


def is_of_flent(test: object) -> bool:
    """Return whether Flent has a test of the name `test` without this package. False for a value
    that is not text."""
    spec = find_spec("flent")
    assert spec is not None, "Flent is a requirement of this package"
    return isinstance(test, str) and any(
        f"{test}{SUFFIX}" in os.listdir(Path(place) / "tests")
        for place in spec.submodule_search_locations or ())


def open_all(files: Sequence[Path]) -> Mapping[Path, str]:
    """Return the files that Flent can't open or plot, each with the reason. Empty if all can be.
    Starts Flent in another process, which is ended after START_S, and FILE_S more for each file.
    Files to which it had not come by then, or before it failed, are among those returned."""
    if not files:
        return {}
    argv = [sys.executable, "-P", "-m", "flent_aqm.results.share.open_in_flent",
            str(GRACE_S), *map(str, files)]
    limit_s = START_S + FILE_S * len(files)
    try:
        ended = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=limit_s,
            env={**os.environ, environment.DISABLE: "1", "MPLBACKEND": "agg"})
        lines = ended.stdout.decode(errors="replace").splitlines()
        told = last_line(ended.stderr.decode(errors="replace"))
        unopened = f"Flent ended before it came to this file{f': {told}' if told else ''}"
    except subprocess.TimeoutExpired as late:
        lines = (late.stdout or b"").decode(errors="replace").splitlines()
        unopened = (f"Flent had not drawn it when {limit_s:g} s had passed, the limit for all "
                    "files together")
    faults: list[str | None] = [json.loads(line.removeprefix("opened ")) for line in lines
                                if line.startswith("opened ")]
    faults += [unopened] * (len(files) - len(faults))
    return {file: "Flent can't open and plot it: " + " ".join(why.split())
            for file, why in zip(files, faults, strict=True) if why is not None}
