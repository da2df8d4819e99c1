# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of flent-aqm."""

from __future__ import annotations

from collections.abc import Iterator

from flent_aqm.commands.table import COMMANDS
from website.reference.rows import table


def commands() -> Iterator[str]:
    """Yield a row for each command."""
    yield from table(("command", "what it does", "example"), (
        (f"`{name}`", command.summary, f"`{command.example}`")
        for name, command in sorted(COMMANDS.items())))
