# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Cloudflare's speed test for browsers is: npm's package, as set-up keeps it."""

from __future__ import annotations

import os
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.paths import find_cached

CLOUDFLARE_VERSION = "1.14.1"
FILE = "node_modules/@cloudflare/speedtest/dist/speedtest.js"


def find_cloudflare() -> Path | None:
    """Return its script: as the lab has it on PATH, else as set-up keeps it."""
    for folder in os.get_exec_path():
        if os.path.exists(path := Path(folder) / defaults.CLOUDFLARE_JS):
            return path.resolve()
    return find_cached("tools", f"cloudflare-speedtest-{CLOUDFLARE_VERSION}", FILE)
