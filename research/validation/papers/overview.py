# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the list at the top of docs/results/papers.md, from the tables below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from research.validation import marked

PART = "overview"
_SECTION = re.compile(r"^## (\w+): (.+)$", re.MULTILINE)


def renew(page: Path) -> None:
    """Write the list at the top of the page again, from the page's tables. Raises ConfigError if
    the page lacks the list's marks or can't be written, OSError if it can't be read."""
    marked.replace(page, PART, "\n".join(lines(page.read_text(encoding="utf-8"))))


def lines(page: str) -> Iterator[str]:
    """Yield an item in Markdown for each section of the page's text whose heading is "## NAME:
    TITLE", with a link to it and "N of M": how many rows of its table agree, whose last cell isn't
    bold, and how many there are."""
    _, *parts = _SECTION.split(page)
    for name, title, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        bold = [cell.startswith("**")
                for cell in re.findall(r"^\|.*\| ([*\d.-]+) \|$", body, re.MULTILINE)]
        anchor = re.sub(r"[^\w -]", "", f"{name}: {title}".lower()).replace(" ", "-")
        yield f"- [{name}](#{anchor}): {bold.count(False)} of {len(bold)}"
