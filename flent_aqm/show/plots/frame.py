# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw title, legend and caption around the axes of this package's plots.

matplotlib makes room for them, in a file and in a window whose size changes.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Sequence
from typing import Any

from flent_aqm.base.errors import cause_of
from flent_aqm.base.flent_plotting import Plotter
from flent_aqm.show.looks import (
    QUIET,
    caption,
    fits_beside,
    in_rows,
    legend_columns,
    wrapped,
)
from flent_aqm.show.plots.paper import (
    PAPER_INCHES,
    caption_path,
    drop_untouched,
    is_height_open,
    letters,
    write_caption,
)

# Height in inches by which a narrow picture grows for each line of a long legend.
LEGEND_LINE = 0.13
EMPTY = "Nothing was measured that this plot could show."

# Its errors let `flent` end with status 1: bridge/exit_status.py.
_logger = logging.getLogger(__name__)


class Framed(Plotter):
    """Mixin for Flent's plotters, placed before them: title, legend and caption. Flent's options
    for titles, legends, sizes and notes apply.

    Attributes:
        metadata: metadata of a result set, for title and annotation.
        description: text on the result sets, for the title.
        heading: title in place of the plot's description, "" for that.
        notes: texts of the caption, see note().
        handles: artists of matplotlib that the legend shows, each with its label.
        legends: the legend, once it is made.
    """

    metadata: Any
    description: str
    legends: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = ""  # in place of the plot's description
        self.notes: list[str] = []
        self.handles: list[Any] = []
        self._part_axis: Any = None
        self._title_of_legend = False
        self._is_refused = False

    @property
    def in_window(self) -> bool:
        """Whether flent-gui shows the plot in its window, which determines the size."""
        return bool(self.gui and self.output == "-")

    def note(self, text: str) -> None:
        """Add a note to the caption below the plot, unless it is empty or there already."""
        if text and text not in self.notes:
            self.notes.append(text)

    def tell_refused(self, reason: str) -> None:
        """Log an error in one line: the reason why the plot shows nothing. No file is written then,
        which a script would take for a plot. Nothing is done in flent-gui, which shows the picture
        with the reason, nor for a part of a plot."""
        if self._part_axis is None and not (self.gui or self.in_worker):
            self._is_refused = True
            _logger.error("%s", " ".join(reason.split()))

    def settle(self) -> str:
        """Hook for subclasses: adjust the drawing after title, legend and caption are placed.
        Return a note for the caption, or "". The default does nothing."""
        return ""

    def fit_labels(self) -> None:
        """Hook for subclasses: fit labels of axes to the size of the figure. Called again when a
        window has changed its size. The default does nothing."""

    # Methods that Flent calls.

    def init(self, config: Any = None, axis: Any = None) -> None:
        """Prepare the figure. Called by Flent.

        Args:
            config: the plot's definition, None for that of the plotter itself.
            axis: for a part of a plot, the axis that Flent gives, else None.
        """
        self._part_axis = axis
        with self._fonts():
            if axis is None:
                self.figure.set_layout_engine("constrained")
            super().init(*filter(None, (config, axis)))

    def size_legends(self, event: Any = None) -> None:
        """Wrap title, caption and labels of axes again, and make the legend again with as many
        columns as there is room for. Called by Flent when a window has changed its size. Do nothing
        for a part of a plot, or before title and legend were made. event: not used."""
        if self._part_axis is None and self.title is not None:
            with self._fonts():
                for legend in self.legends:
                    legend.remove()
                self.legends = []
                self._title_of_legend = self._make_legend()
                self._fit_title()
                self._place_caption()
                self.fit_labels()

    def save(self, results: Sequence[Any]) -> None:
        """Add title, legend and caption (not for a part of a plot), and save the figure to the
        output file. Without a file, show it on the screen, unless flent-gui or a worker process
        draws it. Called by Flent. Raises RuntimeError if the picture or its caption can't be
        written."""
        with self._fonts():  # labels of ticks get their font size when they are drawn
            self._save(results)

    def _save(self, results: Sequence[Any]) -> None:
        """Add title, legend and caption, and save the figure to the output file. Without a file,
        show it on the screen, unless flent-gui or a worker process draws it. A part of a plot gets
        no title, legend and caption of its own. No file is written if tell_refused() told a reason.
        Raises RuntimeError if the picture or its caption can't be written."""
        from matplotlib import pyplot

        if self._is_refused and self.output != "-":
            drop_untouched(self.output)
            return
        if self._part_axis is None:
            self._annotate_plot(skip_title=len(results) > 1)
            self._title_of_legend = self._make_legend()
            self._fit_title()
            self._place_caption()
            if more := self.settle():
                self.note(more)
                self._place_caption()
        if self.output != "-":
            try:
                if pyplot.get_backend() == "pdf":
                    self.figure.set_dpi(72)
                    self.save_pdf(self.output, results[0].meta("DATA_FILENAME"), {})
                else:
                    with warnings.catch_warnings():
                        # Not needed: that there is no room for the axes can be seen in the picture.
                        warnings.filterwarnings("ignore", "constrained_layout not applied")
                        self.figure.savefig(self.output, dpi=self.fig_dpi)
            except OSError as fault:
                raise RuntimeError(f"Unable to save output plot: {self.output}: "
                                   f"{cause_of(fault)}") from None
        elif not self.gui and not self.in_worker:
            pyplot.show()

    # Private methods.

    def _fonts(self) -> Any:
        """Return the context manager that sets fonts and font sizes for the figure's width."""
        from matplotlib import rc_context

        return rc_context(letters(self.figure.get_figwidth()))

    def _fit_title(self) -> None:
        """Wrap the title (self.title), and place it at the top of the figure. If the legend is
        above the axes, too, the title is placed in the legend instead, before the legend's own
        title. Do nothing for an empty title of the figure. Called after _make_legend()."""
        text = wrapped(self.title or "", self.figure.get_figwidth())
        if self._title_of_legend:
            if self.figure.get_suptitle():  # as before a window changed its size
                self.figure.suptitle("")
            legend, = self.legends
            legend.set_title("\n".join(filter(None, (text, self.legend_title))))
        elif text:
            self.figure.suptitle(text, fontsize="medium", x=0.02, ha="left")

    def _place_caption(self) -> None:
        """Write the notes below the figure. With --caption-apart and a picture in a file, write
        them and the plot's heading into a text file beside it instead. Raises RuntimeError if that
        file can't be written."""
        if self.caption_apart and self.output != "-":
            try:
                write_caption(self.output, [self.heading or self.config.get("description", ""),
                                            *self.notes])
            except OSError as fault:
                raise RuntimeError(f"Unable to save the caption of {self.output}: "
                                   f"{caption_path(self.output)}: {cause_of(fault)}") from None
        else:
            caption(self.figure, self.notes)

    def _annotate_plot(self, skip_title: bool = False) -> list[Any]:
        """Set self.title. With --override-title, it is that text alone. Otherwise it is "" with
        --no-title, and without that the heading or the plot's description, with the description of
        the result sets and the user's TITLE on the line below. Add notes: hosts and time, unless
        the user switched annotation off, and the user's note for the figure. Return an empty list.
        skip_title: leave out TITLE, as for plots of several files."""
        lines = []
        if self.override_title:
            lines = [self.override_title]
        elif self.print_title:
            lines = [self.heading or self.config.get("description", ""), self.description]
            if self.metadata.get("TITLE") and not skip_title:
                lines[1:] = [": ".join(filter(None, (self.description, self.metadata["TITLE"])))]
        self.title = "\n".join(filter(None, lines))
        if self.annotate:
            self.note(f"{self.metadata['LOCAL_HOST']} to {self.metadata['HOST']}, "
                      f"{self.metadata['TIME']:%Y-%m-%d %H:%M}")
        self.note(self.fig_note)
        return []

    def _make_legend(self) -> bool:
        """Make the legend of self.handles, if there are any and the user wants one. A long one is
        beside the axes, or above or below them if the picture is narrow or the labels would take
        too much of its width, which may make the picture higher. Return whether the plot's title
        has to be the legend's title, because both are above the axes."""
        handles = self.handles
        if not self.print_legend or not handles:
            return False
        labels = self._filter_labels([handle.get_label() for handle in handles])
        for number, label in enumerate(self.override_labels[:len(labels)]):
            labels[number] = labels[number] if label is None else label
        if self.legend_reverse:
            handles, labels = handles[::-1], labels[::-1]
        options: dict[str, Any] = {"fontsize": "small", "handlelength": 3.2}
        above = False
        if self.legend_placement and self.axes:
            legend = self.axes[0].legend(handles, labels, loc=self.legend_placement,
                                         ncols=self.legend_columns or 1,
                                         title=self.legend_title, **options)
        else:
            long = self._is_long(labels)
            width = self.figure.get_figwidth()
            narrow = width < PAPER_INCHES or not fits_beside(labels, width)
            across = self.horizontal_legend or narrow or not long
            # The legend is below the axes if no caption is there.
            below = long and narrow and self.caption_apart
            above = across and not below
            columns = self.legend_columns or (
                min(4, legend_columns(labels, width)) if across else 1)
            if (long and narrow and not self.in_window
                    and is_height_open(self.fig_width, self.fig_height)):
                self.figure.set_figheight(
                    self.figure.get_figheight() + LEGEND_LINE * math.ceil(len(labels) / columns))
            legend = self.figure.legend(
                in_rows(handles, columns), in_rows(labels, columns),
                loc="outside right center" if not across
                else "outside lower center" if below else "outside upper center", ncols=columns,
                frameon=False, **options, title=self.legend_title,
                title_fontsize="medium" if above else "small")
        self.legends = [legend]
        return bool(above)

    def _is_long(self, labels: Sequence[str]) -> bool:
        """Return whether the labels are too long for a legend in one or two lines: more than 8, or
        more than 4 with more than 60 letters together."""
        return len(labels) > 8 or (len(labels) > 4 and sum(map(len, labels)) > 60)


class FlentDrawn(Framed):
    """Framed for a plot whose axes Flent fills."""

    def init(self, config: Any = None, axis: Any = None) -> None:
        """Prepare the figure as Framed does, and tie a second value axis to the place of the
        first, so that both move together. Called by Flent."""
        super().init(config, axis)
        first, *others = (config or self.config).get("axes") or [None]
        for other in others:
            # A second value axis needs the place of the first in the layout. Otherwise it would not
            # move with the first axis, and its curves would be shifted in time.
            other.set_subplotspec(first.get_subplotspec())

    def plot(self, results: Sequence[Any], *args: Any, **kwargs: Any) -> None:
        """Draw result sets. Called by Flent."""
        with self._fonts():
            super().plot(results, *args, **kwargs)

    def _save(self, results: Sequence[Any]) -> None:
        """Save the figure as Framed does. Before that, unless panels have their own legends, set
        self.axes to the visible axes, and self.handles to their legend entries. If no axis has data
        or a text, hide all axes, draw the text EMPTY in the figure, and tell it by tell_refused().
        """
        axes = self.figure.axes
        if not self.legends:  # legends of panels are beside the panels
            self.axes = [axis for axis in axes if axis.axison]
            self.handles = [handle for axis in self.axes
                            for handle in axis.get_legend_handles_labels()[0]]
        if axes and not any(axis.has_data() or axis.texts for axis in axes):
            for axis in axes:
                axis.set_axis_off()
            axes[0].text(0.5, 0.5, EMPTY, ha="center", va="center", wrap=True, color=QUIET,
                         transform=axes[0].transAxes)
            self.tell_refused(EMPTY)
        super()._save(results)
