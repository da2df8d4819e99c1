# SPDX-License-Identifier: GPL-3.0-or-later
"""Plotters of ours by the name that a plot gives under the key 'type'."""

from __future__ import annotations

from typing import Any

from flent_aqm.bridge.tables import extend_lookup


def patch(module: Any) -> None:
    """Patch flent.plotters."""
    extend_lookup(module, "get_plotter", "plotter")
