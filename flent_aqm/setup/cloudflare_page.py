# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Cloudflare's speed test for browsers is: npm's package, as set-up keeps it."""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import find_on_path

CLOUDFLARE_VERSION = "1.14.1"
FILE = "node_modules/@cloudflare/speedtest/dist/speedtest.js"


def find_cloudflare() -> Path | None:
    """Return its script: as the lab has it on PATH, else as set-up keeps it."""
    return find_on_path(defaults.CLOUDFLARE_JS) or find_cached(
        "tools", f"cloudflare-speedtest-{CLOUDFLARE_VERSION}", FILE)
