# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a page in docs/ that a program writes, between two comments."""

from __future__ import annotations

from pathlib import Path


def replace(page: Path, part: str, text: str) -> None:
    """Put text between the page's lines `<!-- PART: … -->` and `<!-- end of PART -->`.

    Raises ValueError if the page lacks one of them.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    first = next((number for number, line in enumerate(lines)
                  if line.startswith(f"<!-- {part}: ")), None)
    end = f"<!-- end of {part} -->"
    if first is None or end not in lines[first:]:
        raise ValueError(f"{page}: no lines <!-- {part}: ... --> and {end}")
    whole = [*lines[:first + 1], text.rstrip("\n"), *lines[lines.index(end, first):]]
    page.write_text("\n".join(whole) + "\n", encoding="utf-8")
