# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the gallery: the plots, drawn from golden runs, with description and command of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from release.website.reference.plots import described
from tests.show.plots.pictures import PICTURES, Picture

ROOT = Path(__file__).resolve().parents[2]
ABOUT = ("Here is every plot of which a run in `tests/golden/` has data. The command below a plot "
         "drew it from there when this site was built. See also [plots](reference/plots.md).")
# Plots that answer a question by themselves, which come first.
FIRST = ("compare_latency_box", "latency_tail", "compare_throughput_box", "heat_map")
# Names of the pictures that show most of a plot, best first.
PREFERRED = ("queues-", "both-ways-", "one-")
# Beginning of the names of pictures that say that the plot has nothing to show: flent draws none.
EMPTY = "empty-"


@dataclass(frozen=True)
class Drawing:
    """One picture of the gallery.

    Attributes:
        plot: name of the plot.
        picture: file name of the picture.
        words: command that draws it, run in the top folder of the source tree.
    """

    plot: str
    picture: str
    words: tuple[str, ...]


def drawings() -> Iterator[Drawing]:
    """Yield one drawing for each plot of which a golden run has data: first those of the plots in
    FIRST, in that order, then the others in the order of the table of test pictures. Of a plot's
    pictures, one that shows most of it (PREFERRED) is taken."""
    chosen: dict[str, Picture] = {}
    full = [one for one in PICTURES if not one.name.startswith(EMPTY)]
    for one in sorted(full, key=lambda one: _preference(one.name)):
        chosen.setdefault(one.plot, one)
    for one in sorted(full, key=lambda one: _order_of_plot(one.plot)):
        if chosen[one.plot] is one:
            picture = f"{one.plot}.png"
            files = (os.path.relpath(file, ROOT) for file in one.files)
            yield Drawing(one.plot, picture, ("flent", "-p", one.plot, "-o", picture, *files))


def _order_of_plot(plot: str) -> int:
    return FIRST.index(plot) if plot in FIRST else len(FIRST)


def _preference(name: str) -> int:
    return next((rank for rank, start in enumerate(PREFERRED) if name.startswith(start)),
                len(PREFERRED))


def page(all_of_them: Iterable[Drawing]) -> str:
    """Return the gallery's page in Markdown: for each drawing, in the order given, the plot's name,
    its description if there is one, the picture and the command."""
    lines = ["# Gallery", "", ABOUT, ""]
    known = described()
    for one in all_of_them:
        lines += [f"## {one.plot}", ""]
        if words := known.get(one.plot):
            lines += [f"{words[0].upper()}{words[1:]}.", ""]
        lines += [f"![{one.plot}](gallery/{one.picture})" + "{ loading=lazy }", "",
                  "```", _format_command(one.words), "```", ""]
    return "\n".join(lines)


def _format_command(words: tuple[str, ...]) -> str:
    """Return a drawing's command as text: `flent` with its options in one line, and a line for each
    file."""
    return " \\\n    ".join((" ".join(words[:5]), *words[5:]))
