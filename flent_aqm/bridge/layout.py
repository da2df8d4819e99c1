# SPDX-License-Identifier: GPL-3.0-or-later
"""Mends of how Flent lays its own plots out: titles that fit, words that don't cover each
other, and a word in place of an empty pair of axes."""

from __future__ import annotations

import textwrap
from functools import wraps
from typing import Any

from flent_aqm.show.plots.paper import PAPER_INCHES, letters, write_caption

# Flent's size is the first. At the last one, titles that are still too wide are wrapped.
_TITLE_PT = (14, 12, 10)
_PAPER_TITLE_PT = (9, 8)
# Of the figure's width.
_ROOM = 0.97
_GAP_PIXELS = 3
EMPTY = "Nothing was measured that this plot could show."


def patch(module: Any) -> None:
    """Patch flent.plotters."""
    _patch_title(module.Plotter)
    _patch_layout(module.Plotter)
    _patch_empty(module.Plotter)
    _patch_letters(module.Plotter)


def _patch_title(plotter: Any) -> None:
    stock = plotter._annotate_plot

    @wraps(stock)
    def _annotate_plot(self: Any, skip_title: bool = False) -> list[Any]:
        annotate = self.annotate
        apart = self.caption_apart and self.output != "-"
        self.annotate = annotate and not apart
        titles: list[Any] = stock(self, skip_title)
        self.annotate = annotate
        if apart:
            write_caption(self.output, [
                self.description, self.config.get("description", ""),
                "{LOCAL_HOST} to {HOST}, {TIME:%Y-%m-%d %H:%M}".format_map(self.metadata)])
        for title in titles:
            fit_title(self.figure, title)
        return titles

    plotter._annotate_plot = _annotate_plot


def fit_title(figure: Any, title: Any) -> None:
    """Make a title as small as it has to be for the figure's width, and then wrap it."""
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") \
        else figure._get_renderer()
    room = figure.get_figwidth() * figure.dpi * _ROOM

    def wide() -> float:
        return float(title.get_window_extent(renderer).width)

    for size in _TITLE_PT if figure.get_figwidth() >= PAPER_INCHES else _PAPER_TITLE_PT:
        title.set_fontsize(size)
        if wide() <= room:
            return
    lines = title.get_text().split("\n")
    longest = max(map(len, lines))
    for count in range(longest - 1, 10, -1):
        title.set_text("\n".join(part for line in lines
                                 for part in textwrap.wrap(line, count) or [""]))
        if wide() <= room:
            return


def _patch_layout(plotter: Any) -> None:
    stock = plotter.build_tight_layout

    @wraps(stock)
    def build_tight_layout(self: Any, artists: Any) -> Any:
        # Flent saves the figure once more, into a buffer, as old versions of matplotlib placed
        # nothing before. Newer ones place what they are asked the extent of.
        self.figure.savefig = lambda *_, **__: None
        try:
            arguments = stock(self, artists)
        finally:
            del self.figure.savefig
        if arguments == {}:  # Flent made room by itself, and not as a whole afterwards
            make_room(self)
        return arguments

    plotter.build_tight_layout = build_tight_layout


def make_room(plotter: Any) -> None:
    """Move the axes' edges until nothing is cut, and nothing stands on the title, on the words
    below or on a legend beside.

    Flent reckons with tick labels alone. Sizes of axes change their labels, so more than once.
    """
    figure, renderer = plotter.figure, plotter._get_renderer()
    wide, high = figure.bbox.width, figure.bbox.height
    below = [one.get_window_extent(renderer).y1 for one in plotter.btm_art
             if hasattr(one, "get_text")]
    title = figure._suptitle.get_window_extent(renderer).y0 if figure._suptitle else high
    for _ in range(3):
        boxes = [box for axis in figure.axes if axis.axison for box in _words(axis, renderer)]
        if not boxes:
            return
        legends = [one for one in plotter.right_art if one.axes is not None]
        for legend in legends:
            _beside(legend, max(box.x1 for box in boxes) + 2 * _GAP_PIXELS)
        ends = [box.x1 for box in boxes] + [one.get_window_extent(renderer).x1 for one in legends]
        edges = figure.subplotpars
        left = edges.left + (_GAP_PIXELS - min(box.x0 for box in boxes)) / wide
        right = edges.right - (max(ends) + _GAP_PIXELS - wide) / wide
        lift = max(below, default=0) + _GAP_PIXELS - min(box.y0 for box in boxes)
        drop = max(box.y1 for box in boxes) + _GAP_PIXELS - title
        bottom, top = edges.bottom + max(0.0, lift) / high, edges.top - max(0.0, drop) / high
        if left < right and bottom < top:
            figure.subplots_adjust(left=left, right=right, bottom=bottom, top=top)


def _words(axis: Any, renderer: Any) -> list[Any]:
    """Return what belongs to an axis, without its legend."""
    parts = [axis, axis.xaxis, axis.yaxis, axis.title, *axis.texts]
    boxes = [part.get_tightbbox(renderer) if part is not axis else part.get_window_extent(renderer)
             for part in parts if part.get_visible()]
    return [box for box in boxes if box is not None and box.width > 0 and box.height > 0]


def _beside(legend: Any, left: float) -> None:
    """Put a legend where its left edge is so many pixels from the figure's."""
    axis = legend.axes
    at, _ = axis.transAxes.inverted().transform((left, 0))
    legend.set_bbox_to_anchor((at, 1.0), transform=axis.transAxes)


def _patch_empty(plotter: Any) -> None:
    stock = plotter.save

    @wraps(stock)
    def save(self: Any, results: Any) -> None:
        if self.figure.axes and not any(_shows(axis) for axis in self.figure.axes):
            for axis in self.figure.axes:
                axis.set_axis_off()
            self.figure.axes[0].text(
                0.5, 0.5, EMPTY, ha="center", va="center", wrap=True, color="#555555",
                transform=self.figure.axes[0].transAxes)
        stock(self, results)

    plotter.save = save


def _shows(axis: Any) -> bool:
    return bool(axis.has_data() or axis.texts)


def _patch_letters(plotter: Any) -> None:
    """Fonts that can be embedded, and letters that fit the picture's width."""
    stock = plotter.__init__

    @wraps(stock)
    def with_letters(self: Any, *args: Any, **kwargs: Any) -> None:
        from matplotlib import rcParams

        # The GUI gives no width: its pictures are as wide as the window.
        rcParams.update(letters(kwargs.get("FIG_WIDTH") or PAPER_INCHES))
        stock(self, *args, **kwargs)

    plotter.__init__ = with_letters
