# SPDX-License-Identifier: GPL-3.0-or-later
"""Define colours, markers, lines and hatches for queues, the same in every plot.

The table of queues has each queue's own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Any, TypeVar

from flent_aqm.results.grouping import TITLE, sort_key
from flent_aqm.spec.queues.queue import LineStyle as LineStyle
from flent_aqm.spec.queues.queue import Look as Look
from flent_aqm.spec.queues.table import LINES as LINES
from flent_aqm.spec.queues.table import QUEUES

_Entry = TypeVar("_Entry")

AQM_LOOKS: Mapping[str, Look] = {name: queue.look for name, queue in QUEUES.items()}
_SOLID, _DASHED, _DOTTED, _DASH_DOT, _LONG, _DASH_DOT_DOT, _SHORT = LINES

# Looks for things other than queues, in turn, from Tol's other schemes. No queue has these colours.
OTHER_LOOKS: Sequence[Look] = (
    Look("#004488", "o", "-", ""), Look("#BB5566", "s", _DASHED, "//"),
    Look("#997700", "^", _DOTTED, "xx"), Look("#DDAA33", "D", _DASH_DOT, "\\\\"),
    Look("#AA4499", "v", _SHORT, ".."), Look("#117733", "P", _LONG, "++"),
    Look("#6699CC", "X", _DASH_DOT_DOT, "oo"), Look("#661100", "h", "-", "--"),
)

# Colours of backlog, drops and marks, the same in every plot over time.
BACKLOG, DROPS, MARKS = "#004488", "#BB5566", "#997700"
QUIET = "#555555"  # captions, guides
_CAPTION_CHARACTERS_PER_INCH = 17  # of "x-small"
_TITLE_CHARACTERS_PER_INCH = 11.5  # of "medium"
LARGE_PER_INCH = 9.5  # of "large"
MISSING = "#F2F2F2"  # a cell without data
DASH = "\N{EN DASH}"  # shown in a cell without data

# Colour map for numbers, from light to dark, also when printed in grey.
NUMBERS_MAP = "cividis_r"


def looks_for(names: Sequence[str], *, avoid: Sequence[str] = ()) -> dict[str, Look]:
    """Return name -> look: a queue's own look, and for other names those of OTHER_LOOKS in turn
    that neither one of these queues nor `avoid` has. They repeat if there are more of these names
    than looks. If no look is left, all of OTHER_LOOKS are used.

    Args:
        names: names of queues, or others.
        avoid: colours, as in Look, that already mean something else.
    """
    used = {AQM_LOOKS[name].colour for name in names if name in AQM_LOOKS} | {*avoid}
    free = [look for look in OTHER_LOOKS if look.colour not in used] or list(OTHER_LOOKS)
    others = [name for name in dict.fromkeys(names) if name not in AQM_LOOKS]
    return {name: AQM_LOOKS[name] if name in AQM_LOOKS
            else free[others.index(name) % len(free)] for name in names}


def shades(look: Look, count: int) -> list[Look]:
    """Return `count` looks for parts of one queue's run: its own look with a solid line first, then
    a darker, a lighter and a greyer shade of its colour. Each has a line of its own, and the shades
    have different markers and hatches, but one of them may have the queue's.

    Of more than four parts, all but the first get OTHER_LOOKS, whose colours no queue has, because
    so many shades can't be told apart. They repeat if they are too few.
    """
    if count > MOST_SHADES:
        return [look.lined("-"), *islice(cycle(OTHER_LOOKS), count - 1)]
    others = zip(_SHADES[1:], OTHER_LOOKS[1:], strict=False)
    return [look.lined("-"), *(replace(other, colour=mixed(look.colour, *shade))
                    for shade, other in others)][:count]


# Each shade of a colour: the colour to mix with, and its share.
_SHADES = (("#000000", 0.0), ("#000000", 0.5), ("#ffffff", 0.5), ("#777777", 0.7))
# More shades of a colour can't be told apart.
MOST_SHADES = len(_SHADES)


def mixed(colour: str, other: str, share: float) -> str:
    """Return a colour mixed with a share (0 to 1) of another one, all as #rrggbb. If both are
    equal, as black with black, grey takes the place of the other one."""
    if colour == other:
        other = "#999999"
    parts = [(int(colour[at:at + 2], 16), int(other[at:at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(own + (its - own) * share):02x}" for own, its in parts)


def style_key(label: str, **options: Any) -> Any:
    """Return a legend's entry, a grey matplotlib Line2D without points, for a kind of line that
    several groups have.

    Args:
        label: text for the legend.
        options: style of the line or marker, as options of Line2D, without its colour.
    """
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, color=QUIET, **options)


def line_key(label: str, look: Look) -> Any:
    """Return a legend's entry with a group's label, colour and line style, for a group whose own
    lines are too thin or faint for a legend. It is a matplotlib Line2D without points."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, color=look.colour, linestyle=look.line, linewidth=1.6)


def order(names: Sequence[str]) -> list[str]:
    """Return the different names: queues in the order of the table of queues, then other names by
    the number at their beginning, then those without one, sorted."""
    queues = [name for name in AQM_LOOKS if name in names]
    return queues + sorted(set(names) - set(queues), key=lambda name: sort_key(TITLE, name))


def caption(figure: Any, notes: Sequence[str]) -> None:
    """Write the notes below a figure as one text, with dots between them, in lines as wide as the
    figure. Empty notes are left out. An earlier caption is replaced.

    Args:
        figure: a figure of matplotlib.
        notes: the notes.
    """
    text = wrapped("  ·  ".join(filter(None, notes)), figure.get_figwidth(),
                   _CAPTION_CHARACTERS_PER_INCH)
    figure.supxlabel(text, fontsize="x-small", color=QUIET)


# Line and gaps of a legend's column are as wide as so many letters.
_LEGEND_MARGIN = 9
# Largest share of a picture's width that a legend beside the axes may take.
_MOST_BESIDE = 0.5


def letters_across(width_inches: float) -> float:
    """Return the number of letters in small print, as of a legend, that have room in a width. It is
    estimated: a letter is half as wide as its size."""
    from matplotlib import rcParams

    return float(width_inches * 72 / (rcParams["font.size"] / 2))


def fits_beside(labels: Sequence[str], width_inches: float) -> bool:
    """Return whether a legend in one column leaves most of a picture of that width to the axes
    beside it: its labels, of which there is at least one, take 50 % (_MOST_BESIDE) at most."""
    longest = _LEGEND_MARGIN + max(map(len, labels))
    return longest <= _MOST_BESIDE * letters_across(width_inches)


def legend_columns(labels: Sequence[str], width_inches: float) -> int:
    """Return the largest number of columns, at least 1, that fit into a legend in_rows() over a
    picture of that width. It is estimated from the labels' lengths."""
    room = letters_across(width_inches)
    sizes = [_LEGEND_MARGIN + len(label) for label in labels]
    for columns in range(len(sizes), 1, -1):
        if sum(max(sizes[at::columns]) for at in range(columns)) <= room:
            return columns
    return 1


def in_rows(entries: Sequence[_Entry], columns: int) -> list[_Entry]:
    """Return the entries of a legend in the order in which matplotlib must be given them for the
    legend to show them row by row in the order of `entries`: it fills one column before the next.
    """
    return [entry for at in range(columns) for entry in entries[at::columns]]


def wrapped(text: str, width_inches: float,
            per_inch: float = _TITLE_CHARACTERS_PER_INCH) -> str:
    """Return a text in lines that fit a width in inches. Line breaks in the text stay. A word that
    is longer than a line is divided.

    Args:
        text: the text.
        width_inches: width of the lines, which have room for ten letters at least.
        per_inch: letters per inch if matplotlib's font.size is 10. By default, those of titles.
    """
    from matplotlib import rcParams

    room = max(10, int(width_inches * per_inch * 10 / rcParams["font.size"]))
    return "\n".join(part for line in text.split("\n")
                     for part in textwrap.wrap(line, room) or [""])
