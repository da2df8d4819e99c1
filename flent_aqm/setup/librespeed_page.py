# SPDX-License-Identifier: GPL-3.0-or-later
"""Where LibreSpeed's page is: no registry has it, so the user's own copy."""

from __future__ import annotations

import os
from pathlib import Path

from flent_aqm.base import defaults, environment


def find_worker() -> Path | None:
    """Return its script: as the lab has it on PATH, else in the folder that FLENT_AQM_LIBRESPEED
    names. None where neither has it."""
    chosen = os.environ.get(environment.LIBRESPEED)
    for folder in [*os.get_exec_path(), *([chosen] if chosen else [])]:
        if os.path.isfile(path := Path(folder) / defaults.LIBRESPEED_WORKER):
            return path.resolve()
    return None
