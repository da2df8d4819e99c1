# SPDX-License-Identifier: GPL-3.0-or-later
"""Write tables and lists in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: head, separator, and a line for each row. A bar inside a
    cell of a row is escaped."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def listed(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a Markdown list item "- NAME: DESCRIPTION" for each (name, description)."""
    for name, what in rows:
        yield f"- {name}: {what}"
