# SPDX-License-Identifier: GPL-3.0-or-later
"""How things look in every plot: a colour, marker, line and hatch for each queue.

The queues' own stand in the table of queues.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from flent_aqm.asked.queues.queue import LineStyle as LineStyle
from flent_aqm.asked.queues.queue import Look as Look
from flent_aqm.asked.queues.table import LINES as LINES
from flent_aqm.asked.queues.table import QUEUES

AQM_LOOKS: Mapping[str, Look] = {name: queue.look for name, queue in QUEUES.items()}
_SOLID, _DASHED, _DOTTED, _DASH_DOT, _LONG, _DASH_DOT_DOT, _SHORT = LINES

# For what is no queue, in turn.
OTHER_LOOKS: Sequence[Look] = (
    Look("#0072B2", "o", "-", ""), Look("#D55E00", "s", _DASHED, "//"),
    Look("#009E73", "^", _DOTTED, "xx"), Look("#CC79A7", "D", _DASH_DOT, "\\\\"),
    Look("#E69F00", "v", _SHORT, ".."), Look("#332288", "P", _LONG, "++"),
    Look("#56B4E9", "X", _DASH_DOT_DOT, "oo"), Look("#777777", "h", "-", "--"),
)

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
