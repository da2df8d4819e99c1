# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the commands of flent-aqm."""

from __future__ import annotations

from collections.abc import Iterator

from flent_aqm.commands.table import COMMANDS
from release.website.reference.rows import listed


def commands() -> Iterator[str]:
    """Yield a list item for each command, sorted by name: an example, which begins with `flent-aqm
    NAME`, and what the command does."""
    yield from listed(
        (f"`{command.example}`", command.summary) for _, command in sorted(COMMANDS.items()))
