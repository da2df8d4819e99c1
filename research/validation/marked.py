# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the part of a page in docs/ that a program makes, between two comments."""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base.errors import ConfigError, cause_of
from research.validation.stamp import Made, renewed


def replace(page: Path, part: str, text: str, made: Made | None = None) -> None:
    """Replace what is between the page's lines `<!-- PART: … -->` and `<!-- end of PART -->`.

    Args:
        page: the page.
        part: name of the part.
        text: the new text.
        made: what the part was measured with, which goes into the first comment and the page's
            stamp. None: both stay.

    Raises ConfigError if the page can't be read or written, or lacks one of the lines or, with
    `made`, its stamp.
    """
    try:
        lines = page.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise _cannot_use(page, error) from None
    first = next((number for number, line in enumerate(lines)
                  if line.startswith(f"<!-- {part}: ")), None)
    end = f"<!-- end of {part} -->"
    if first is None or end not in lines[first:]:
        raise ConfigError(f"{page} lacks the marks of the part {part!r}; expected the lines "
                          f"<!-- {part}: ... --> and, below it, {end}")
    opening = made.comment(part) if made else lines[first]
    whole = "\n".join([*lines[:first], opening, text.rstrip("\n"),
                       *lines[lines.index(end, first):]]) + "\n"
    try:
        page.write_text(renewed(whole) if made else whole, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _cannot_use(page, error) from None


def _cannot_use(page: Path, error: Exception) -> ConfigError:
    """Return the error for a page that can't be read or written, or has no stamp."""
    return ConfigError(f"{page}: {cause_of(error)}; give the folder docs of a checkout, which this "
                       "user can write")
