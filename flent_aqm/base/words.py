# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of strangers, such as titles and names of files, for terminals and spreadsheets."""

from __future__ import annotations

import re

# What a spreadsheet takes for a formula if a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

_DOLLAR = re.compile(r"(?<!\\)\$")


def plain(words: object) -> str:
    """Return the text in one line, with ? for what a terminal would obey, what changes the order
    of letters, and what no encoder takes, such as bytes of a file's name that are no UTF-8."""
    text = str(words)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else " " if one.isspace() else "?" for one in text)


def plain_lines(words: str) -> str:
    """Return the same, with the ends of lines and tabs that were in it."""
    return "".join(one if one in "\n\t" else plain(one) for one in words)


def for_plot(words: str) -> str:
    """Return the text of a label in which matplotlib sees no formula."""
    return _DOLLAR.sub(r"\\$", words)


def counted(number: int, noun: str) -> str:
    """Return "1 run", "3 runs" and the like."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def for_spreadsheet(words: str) -> str:
    """Return the text of a cell that no spreadsheet takes for a formula: with an apostrophe before
    what begins like one and is no number."""
    if not words.lstrip(" ").startswith(_FORMULA):
        return words
    try:
        float(words)
    except ValueError:
        return f"'{words}"
    return words
