# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures for papers: widths in the units of style guides, letters that fit them, fonts that
publishers take, captions in a file of their own.

Imports little: Flent reads its options with it, in the lab's guest too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError

# To inches. TeX's point, which \\the\\columnwidth tells, is 1/72.27 of them.
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
_LEAST_INCHES, _MOST_INCHES = 2.0, 40.0
# Of a picture whose width alone is said.
HEIGHT_BY_WIDTH = 0.75
FLENTS_HEIGHT = 4.8
# A picture narrower than this has the letters of a column of text.
PAPER_INCHES = 5.0
# TrueType. Conferences refuse Type 3, which matplotlib embeds unless told.
_FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
_COLUMN: dict[Any, Any] = {
    "font.size": 7.5, "axes.labelpad": 2.0, "xtick.major.pad": 3.5, "ytick.major.pad": 2.0,
    "legend.columnspacing": 1.2, "legend.handletextpad": 0.5, "hatch.linewidth": 0.6,
    "figure.constrained_layout.w_pad": 0.02, "figure.constrained_layout.h_pad": 0.02}


def inches(text: str) -> float:
    """Return a width such as 3.33in, 8.5cm, 85mm or 240pt in inches. Raises ConfigError."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)", text.strip().lower())
    unit = (match[2] or "in") if match else ""
    if not match or unit not in _INCHES:
        raise ConfigError(f"--width {text}: expected a number and a unit, such as 3.33in, 8.5cm, "
                          "85mm or 240pt")
    width = float(match[1]) * _INCHES[unit]
    if not _LEAST_INCHES <= width <= _MOST_INCHES:
        raise ConfigError(f"--width {text}: expected {_LEAST_INCHES:g} to {_MOST_INCHES:g} inches")
    return width


def is_height_open(width_inches: float, height_inches: float) -> bool:
    """Return whether a picture's height is one that nobody asked for, so that a plot of many
    panels may have more."""
    return height_inches in (FLENTS_HEIGHT, width_inches * HEIGHT_BY_WIDTH)


def letters(width_inches: float) -> dict[Any, Any]:
    """matplotlib's settings for a picture so wide: fonts that can be embedded, and in a
    column of a paper smaller letters."""
    return _FONTS | (_COLUMN if width_inches < PAPER_INCHES else {})


def drop_untouched(picture: str) -> None:
    """Remove the empty file with which Flent tried whether it can write where a picture would
    be."""
    path = Path(picture)
    if path.is_file() and not path.stat().st_size:
        path.unlink()


def write_caption(picture: str | Path, lines: Iterable[str]) -> Path:
    """Write what would stand over and below a picture beside it, in NAME.txt. Raises OSError."""
    path = Path(picture).with_suffix(".txt")
    path.write_text("\n".join(filter(None, lines)) + "\n", encoding="utf-8")
    return path
