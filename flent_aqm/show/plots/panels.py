# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws several of Flent's plots below each other, each with room for its labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flent_aqm.base.flent_plotting import MetaPlotter
from flent_aqm.results.combined import description_of
from flent_aqm.show.plots.frame import FlentDrawn
from flent_aqm.show.plots.paper import is_height_open

# Height of a panel as a share of the picture's width, and its smallest height.
PANEL_BY_WIDTH, LEAST_PANEL_INCHES = 0.3, 1.1
WORDS_INCHES = 0.9


class AqmMetaPlotter(FlentDrawn, MetaPlotter):
    """Flent's plotter `meta`, in a taller picture unless the user sets the height."""

    def init(self, config: Any = None, axis: Any = None) -> None:
        """Make the panels. Called by Flent."""
        super().init(config, axis)
        if is_height_open(self.fig_width, self.fig_height):
            panel = max(LEAST_PANEL_INCHES, PANEL_BY_WIDTH * self.fig_width)
            self.figure.set_figheight(panel * len(self.subplots) + WORDS_INCHES)
        axes = [axis for _, axis in self.subplots]
        for axis in axes[:-1]:
            axis.tick_params(axis="x", labelbottom=False)
        if self.in_window:  # the window has little height at first
            for axis in axes:
                axis.set_ylabel(axis.get_ylabel().replace(" (", "\n("), fontsize="x-small")
        self.figure.align_ylabels(axes)

    def plot(self, results: Sequence[Any], *args: Any, **kwargs: Any) -> None:
        """Draw result sets in the panels. Called by Flent."""
        self.description = description_of(results, self.description)
        super().plot(results, *args, **kwargs)
