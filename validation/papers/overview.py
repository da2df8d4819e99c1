# SPDX-License-Identifier: GPL-3.0-or-later
"""The list at the top of docs/papers.md, made from the tables below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from validation import marked
from validation.papers.claim import HEAD

PART = "overview"
_SECTION = re.compile(r"^## (\w+): (.+)$", re.MULTILINE)


def renew(page: Path) -> None:
    """Write the list again. Raises ValueError if the page lacks its marks."""
    marked.replace(page, PART, "\n".join(lines(page.read_text(encoding="utf-8"))))


def lines(page: str) -> Iterator[str]:
    """Yield a row for each section with the number of rows that agree; a section without a table of
    claims has its own page."""
    yield "| section | what it is about | numbers that agree |"
    yield "| --- | --- | --- |"
    _, *parts = _SECTION.split(page)
    for name, title, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        verdicts = re.findall(r"\| (yes|\*\*no\*\*) \|$", body, re.MULTILINE)
        anchor = re.sub(r"[^\w -]", "", f"{name}: {title}".lower()).replace(" ", "-")
        told = (f"{verdicts.count('yes')} of {len(verdicts)}" if " | ".join(HEAD) in body
                else "on its page")
        yield f"| [{name}](#{anchor}) | {title} | {told} |"
