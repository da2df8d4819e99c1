# SPDX-License-Identifier: GPL-3.0-or-later
"""Make pictures fit for papers: width, font size, embeddable fonts, captions as files.

It imports little, because Flent reads its options with it, also in the lab's guest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError

# Units per inch. pt is TeX's point, in which \\the\\columnwidth is printed.
_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27}
_LEAST_INCHES, _MOST_INCHES = 2.0, 40.0
# Height by width of a picture, if the user sets only the width.
HEIGHT_BY_WIDTH = 0.75
FLENTS_HEIGHT = 4.8
# A picture narrower than this has the letters of a column of text.
PAPER_INCHES = 5.0
# Embed fonts as TrueType. Conferences refuse Type 3 fonts, matplotlib's default.
_FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
_COLUMN: dict[Any, Any] = {
    "font.size": 7.5, "axes.labelpad": 2.0, "xtick.major.pad": 3.5, "ytick.major.pad": 2.0,
    "legend.columnspacing": 1.2, "legend.handletextpad": 0.5, "hatch.linewidth": 0.6,
    "figure.constrained_layout.w_pad": 0.02, "figure.constrained_layout.h_pad": 0.02}


def parse_inches(text: str) -> float:
    """Parse the width of --width, such as 3.33in, 8.5cm, 85mm or 240pt (TeX's points); without a
    unit, inches. Return inches. Raises ConfigError for other text, or for a width below 2 or above
    40 inches."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)", text.strip().lower())
    unit = (match[2] or "in") if match else ""
    if not match or unit not in _PER_INCH:
        raise ConfigError(f"--width {text!r}: expected a number and a unit, such as 3.33in, 8.5cm, "
                          "85mm or 240pt; without a unit, inches")
    width = round(float(match[1]) / _PER_INCH[unit], 9)
    if not _LEAST_INCHES <= width <= _MOST_INCHES:
        least, most = (f"{inches * _PER_INCH[unit]:g}{unit}"
                       for inches in (_LEAST_INCHES, _MOST_INCHES))
        raise ConfigError(f"--width {text!r}: expected {least} to {most}")
    return width


def is_height_open(width_inches: float, height_inches: float) -> bool:
    """Return whether the picture has a default height: Flent's, or HEIGHT_BY_WIDTH of its width.
    Then the user is taken not to have set it, and a plot of many panels may be higher."""
    return height_inches in (FLENTS_HEIGHT, width_inches * HEIGHT_BY_WIDTH)


def letters(width_inches: float) -> dict[Any, Any]:
    """Return matplotlib's settings (rcParams) for a picture of that width: embeddable fonts and,
    below PAPER_INCHES, smaller letters and distances, as in a column of a paper."""
    return _FONTS | (_COLUMN if width_inches < PAPER_INCHES else {})


def drop_untouched(picture: str) -> None:
    """Remove the picture's file if it is empty: Flent makes it to test whether it can be written.
    Do nothing if it has content or does not exist.

    picture: path of the file.
    """
    path = Path(picture)
    if path.is_file() and not path.stat().st_size:
        path.unlink()


def caption_path(picture: str | Path) -> Path:
    """Return the path of the text file with a picture's caption, which is beside the picture, with
    the suffix .txt in place of the picture's."""
    return Path(picture).with_suffix(".txt")


def write_caption(picture: str | Path, lines: Iterable[str]) -> Path:
    """Write lines to caption_path(), the text file beside a picture, and return its path. Empty
    lines are left out. An existing file is overwritten. Raises OSError if it can't be written.

    Args:
        picture: path of the picture.
        lines: its title and the lines of its caption.
    """
    path = caption_path(picture)
    path.write_text("\n".join(filter(None, lines)) + "\n", encoding="utf-8")
    return path
