# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes texts of strangers safe for terminals, plots, spreadsheets; writes numbers, addresses."""

from __future__ import annotations

import re
import shlex

# What a spreadsheet takes for a formula if a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

# Terminal escape sequences of ECMA-48 (a control sequence, a string up to its end, others).
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]", re.MULTILINE)

_DOLLAR = re.compile(r"(?<!\\)\$")


def bracketed(host: str) -> str:
    """Return a name or address as written before `:PORT`: an IPv6 address gets brackets."""
    return f"[{host}]" if ":" in host else host


def end_of(returncode: int) -> str:
    """Return how a program ended, such as "status 1", or "signal 9" for the return code -9."""
    return f"signal {-returncode}" if returncode < 0 else f"status {returncode}"


def plain(words: object) -> str:
    """Return a text as one line of printable characters, of the same length.

    Each white-space character becomes a blank. Each other character that is not printable becomes
    "?": control characters, marks that change the order of letters, bytes of a file name that are
    not UTF-8.

    words: text, or any value, of which str() is used.
    """
    text = str(words)
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else "?"
                   for letter in text)


def plain_lines(words: str) -> str:
    """Return a text in which each character that is neither printable nor a line feed nor a tab is
    replaced, as plain() does."""
    return "".join(letter if letter in "\n\t" else plain(letter) for letter in words)


def last_line(output: str) -> str:
    """Return the last line of a program's output that has a letter, a digit or an underscore,
    without white space at its ends, "" if there is none. Terminal escape sequences and characters
    that can't be printed are left out."""
    for line in reversed(_ESCAPES.sub("", output).splitlines()):
        if re.search(r"\w", line):
            return "".join(one for one in line if one.isprintable()).strip()
    return ""


def for_plot(words: str) -> str:
    """Return a label in which each $ has a backslash before it (one that has it already is left),
    so that matplotlib draws a dollar sign and no formula."""
    return _DOLLAR.sub(r"\\$", words)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number, with commas between thousands, and its noun, such as "1 run" or "1,230
    runs".

    Args:
        number: the number.
        noun: the noun in the singular.
        plural: the noun in the plural, "" if it only adds "s".
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def significant(value: float, digits: int = 3) -> str:
    """Return a number rounded to `digits` significant digits as text, without zeros at the end of
    decimals: 31.4, 0.012, 30. Rounded numbers from 0.0001 to below 10^15 have no exponent."""
    return f"{float(f'{value:.{digits}g}'):.15g}"


def for_spreadsheet(words: str) -> str:
    """Return the text of a cell, with an apostrophe before it if a spreadsheet would take it for a
    formula. Numbers, also negative ones, stay as they are."""
    if not words.lstrip(" ").startswith(_FORMULA):
        return words
    try:
        float(words)
    except ValueError:
        return f"'{words}"
    return words


def shell_words(text: str) -> list[str]:
    """Return the words of a command line, with quotes and backslashes as in a shell, but without
    its other special characters: # begins no comment. Raises ValueError, whose text tells what to
    mend, if a quote isn't closed, or if nothing follows a backslash at the end."""
    try:
        return shlex.split(text)
    except ValueError as fault:
        raise ValueError(
            "no closing quotation mark; add it, or write \\ before a quotation mark that stands "
            "for itself"
            if "quotation" in str(fault) else
            "nothing follows the backslash at its end; remove it, or write it twice") from None
