# SPDX-License-Identifier: GPL-3.0-or-later
"""Runners of ours by the name that a test definition gives under the key 'runner'."""

from __future__ import annotations

from typing import Any

from flent_aqm.bridge.tables import extend_lookup


def patch(module: Any) -> None:
    """Patch flent.runners."""
    extend_lookup(module, "get", "runner")
