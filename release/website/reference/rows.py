# SPDX-License-Identifier: GPL-3.0-or-later
"""Write tables and lists in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table. A bar inside a cell is escaped."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def listed(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a list item for each (name, description), in fewer words than a table."""
    for name, what in rows:
        yield f"- {name}: {what}"
