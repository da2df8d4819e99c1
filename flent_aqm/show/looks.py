# SPDX-License-Identifier: GPL-3.0-or-later
"""How things look in every plot: a colour, marker, line and hatch for each queue.

Colours are Okabe and Ito's, and for the rarer queues Paul Tol's muted ones: the
colour-blind can tell them apart. Lines, markers and hatches do so in grey print.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]

_DASHED: LineStyle = (0, (5, 1.5))
_DOTTED: LineStyle = (0, (1, 1.2))
_DASH_DOT: LineStyle = (0, (6, 1.5, 1, 1.5))
_DASH_DOT_DOT: LineStyle = (0, (7, 1.5, 1, 1.5, 1, 1.5))
_SHORT: LineStyle = (0, (2.5, 2.5))
_LONG: LineStyle = (0, (10, 2.5))


@dataclass(frozen=True)
class Look:
    """colour: #rrggbb; marker, line and hatch as matplotlib names them."""

    colour: str
    marker: str
    line: LineStyle
    hatch: str

    def lined(self, line: LineStyle) -> Look:
        """The same with another line."""
        return replace(self, line=line)


# In this order they stand in legends and side by side.
AQM_LOOKS: Mapping[str, Look] = {
    "no_aqm": Look("#D55E00", "o", "-", ""),
    "bfifo": Look("#8C510A", "X", _LONG, "++"),
    "red": Look("#882255", "v", _SHORT, "oo"),
    "sfb": Look("#999933", "<", _DASH_DOT_DOT, ".."),
    "codel": Look("#E69F00", "s", _DASHED, "//"),
    "pie": Look("#56B4E9", "D", _SHORT, "||"),
    "sfq": Look("#CC79A7", "^", _DOTTED, "xx"),
    "drr": Look("#777777", ">", _LONG, "--"),
    "fq_codel": Look("#0072B2", "P", _DASH_DOT, "\\\\"),
    "fq_pie": Look("#332288", "d", _DASH_DOT_DOT, "**"),
    "cake": Look("#009E73", "*", _DASHED, "OO"),
    "dualpi2": Look("#000000", "h", _DOTTED, "||||"),
}

# For what is no queue, in turn.
OTHER_LOOKS: Sequence[Look] = (
    Look("#0072B2", "o", "-", ""), Look("#D55E00", "s", _DASHED, "//"),
    Look("#009E73", "^", _DOTTED, "xx"), Look("#CC79A7", "D", _DASH_DOT, "\\\\"),
    Look("#E69F00", "v", _SHORT, ".."), Look("#332288", "P", _LONG, "++"),
    Look("#56B4E9", "X", _DASH_DOT_DOT, "oo"), Look("#777777", "h", "-", "--"),
)
# Of several groups of the same queue.
LINES: Sequence[LineStyle] = (
    "-", _DASHED, _DOTTED, _DASH_DOT, _LONG, _DASH_DOT_DOT, _SHORT)

# The tool's own numbers, what the capture saw, and so on: the same in every plot over time.
BACKLOG, DROPS, MARKS = "#0072B2", "#D55E00", "#009E73"
QUIET = "#555555"  # captions, guides
_CAPTION_CHARACTERS_PER_INCH = 15  # of "x-small"
MISSING = "#F2F2F2"  # a cell without data
DASH = "\N{EN DASH}"  # stands in it

# Where colour stands for a number: light to dark, also in grey.
NUMBERS_MAP = "cividis_r"


def looks_for(names: Sequence[str]) -> dict[str, Look]:
    """A look for each name: its own for a queue, else one that no other has, in turn."""
    used = {AQM_LOOKS[name].colour for name in names if name in AQM_LOOKS}
    free = [look for look in OTHER_LOOKS if look.colour not in used] or list(OTHER_LOOKS)
    others = [name for name in dict.fromkeys(names) if name not in AQM_LOOKS]
    return {name: AQM_LOOKS[name] if name in AQM_LOOKS
            else free[others.index(name) % len(free)] for name in names}


def style_key(label: str, **options: Any) -> Any:
    """A legend's entry for a kind of line that several groups have, in no group's colour."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, color=QUIET, **options)


def line_key(label: str, look: Look) -> Any:
    """A legend's entry for a group whose own lines are thin or faint."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, color=look.colour, linestyle=look.line, linewidth=1.6)


def order(names: Sequence[str]) -> list[str]:
    """Names once each: queues in the order of the table, then the others by name."""
    known = [name for name in AQM_LOOKS if name in names]
    return known + sorted(set(names) - set(known))


def caption(figure: Any, notes: Sequence[str]) -> None:
    """Write under a figure what it was made of, in lines as wide as the figure."""
    room = int(figure.get_figwidth() * _CAPTION_CHARACTERS_PER_INCH)
    text = textwrap.wrap("  ·  ".join(filter(None, notes)), room)
    figure.supxlabel("\n".join(text), fontsize="x-small", color=QUIET)
