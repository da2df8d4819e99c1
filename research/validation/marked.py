# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the part of a page in docs/ that a program makes, between two comments."""

from __future__ import annotations

from pathlib import Path

from research.validation.stamp import Made, renewed


def replace(page: Path, part: str, text: str, made: Made | None = None) -> None:
    """Put text between the page's lines `<!-- PART: … -->` and `<!-- end of PART -->`.

    Args:
        page: the page.
        part: name of the part.
        text: the new text.
        made: what the part was measured with, which goes into the first comment and the page's
            stamp. None: both stay.

    Raises ValueError if the page lacks one of the lines, or its stamp.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    first = next((number for number, line in enumerate(lines)
                  if line.startswith(f"<!-- {part}: ")), None)
    end = f"<!-- end of {part} -->"
    if first is None or end not in lines[first:]:
        raise ValueError(f"{page} lacks the marks of the part {part!r}; expected the lines "
                         f"<!-- {part}: ... --> and, below it, {end}")
    opening = made.comment(part) if made else lines[first]
    whole = "\n".join([*lines[:first], opening, text.rstrip("\n"),
                       *lines[lines.index(end, first):]]) + "\n"
    try:
        page.write_text(renewed(whole) if made else whole, encoding="utf-8")
    except ValueError as error:
        raise ValueError(f"{page}: {error}") from None
