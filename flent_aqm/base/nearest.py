# SPDX-License-Identifier: GPL-3.0-or-later
"""Suggests the known name that is nearest to a misspelt one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

# Letters of a word that is too short to be a mistyped other one.
_SHORT = 3


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the nearest of `names`, by difflib, or else the first in
    alphabetical order that begins with `name` and "_". "" if there is neither. The text is the end
    of an error message.

    Args:
        name: the unknown name.
        names: the known names.
    """
    import difflib  # imported here because only a mistake needs it

    names = sorted(names)
    # difflib finds `rate` too unlike `rate_mbps`, though a missing unit is a common mistake.
    close = difflib.get_close_matches(name, names, 1) or [
        known for known in names if known.startswith(f"{name}_")]
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_value(value: str, known: Collection[str]) -> str:
    """Return the message for a value that is none of the known ones, without the name of the
    setting, such as "unknown value 'x'; known: a, b". Of the value, the first 40 characters are
    shown. If did_you_mean() finds a known value, that is suggested: "unknown value 'fifi'; did you
    mean 'fifo'? Known: fifo, sfq". For a value of three characters or fewer, only a known value
    that begins with it is.

    Args:
        value: the unknown value.
        known: the known values. They are listed in their order.
    """
    # Of three letters everything is like everything: wan is not a mistyped lan. But pi is pie.
    near = did_you_mean(value, known if len(value) > _SHORT else [
        one for one in known if one.startswith(value)])
    return f"unknown value {value[:40]!r}{f'{near} K' if near else '; k'}nown: {', '.join(known)}"
