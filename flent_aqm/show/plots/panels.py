# SPDX-License-Identifier: GPL-3.0-or-later
"""Several of Flent's plots one below the other, each with room for its own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flent_aqm.base.flent_plotting import MetaPlotter
from flent_aqm.results.combined import description_of
from flent_aqm.show.plots.frame import FlentDrawn
from flent_aqm.show.plots.paper import is_height_open

# Of a panel's height, by the picture's width.
PANEL_BY_WIDTH, LEAST_PANEL_INCHES = 0.3, 1.1
WORDS_INCHES = 0.9


class AqmMetaPlotter(FlentDrawn, MetaPlotter):
    """Flent's `meta`; taller than other plots, unless the user says how tall."""

    def init(self, config: Any = None, axis: Any = None) -> None:
        """Make the panels; called by Flent."""
        super().init(config, axis)
        if is_height_open(self.fig_width, self.fig_height):
            panel = max(LEAST_PANEL_INCHES, PANEL_BY_WIDTH * self.fig_width)
            self.figure.set_figheight(panel * len(self.subplots) + WORDS_INCHES)
        axes = [axis for _, axis in self.subplots]
        for axis in axes[:-1]:
            axis.tick_params(axis="x", labelbottom=False)
        if self.in_window:  # which is low at first
            for axis in axes:
                axis.set_ylabel(axis.get_ylabel().replace(" (", "\n("), fontsize="x-small")
        self.figure.align_ylabels(axes)

    def plot(self, results: Sequence[Any], *args: Any, **kwargs: Any) -> None:
        """Draw result sets into the panels; called by Flent."""
        self.description = description_of(results, self.description)
        super().plot(results, *args, **kwargs)
