# SPDX-License-Identifier: GPL-3.0-or-later
"""Runners of ours by the name that a test definition gives under the key 'runner', and tools
that set-up brings, for all runners."""

from __future__ import annotations

from typing import Any

from flent_aqm.bridge.tables import extend_lookup
from flent_aqm.setup.tools import put_tools_on_path


def patch(module: Any) -> None:
    """Patch flent.runners."""
    extend_lookup(module, "get", "runner")
    # Flent's own runners look for their tools on PATH, and start others by name.
    put_tools_on_path()
