# SPDX-License-Identifier: GPL-3.0-or-later
"""Where LibreSpeed's page is: no registry has it, so the user's own copy."""

from __future__ import annotations

import os
from pathlib import Path

from flent_aqm.base import defaults, environment
from flent_aqm.base.shell import find_on_path


def find_worker() -> Path | None:
    """Return its script: as the lab has it on PATH, else in the folder that FLENT_AQM_LIBRESPEED
    names. None where neither has it."""
    chosen = os.environ.get(environment.LIBRESPEED)
    return find_on_path(defaults.LIBRESPEED_WORKER, *([chosen] if chosen else []))
