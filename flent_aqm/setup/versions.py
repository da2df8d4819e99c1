# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of what measures, as they are kept with each run."""

from __future__ import annotations

from flent_aqm.setup.parts import all_parts


def tool_versions() -> dict[str, str]:
    """Name -> version of each part found that measuring needs; "" where it doesn't say."""
    return {part.name: part.version for part in all_parts() if part.group == "run" and part.found}
