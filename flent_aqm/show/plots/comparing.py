# SPDX-License-Identifier: GPL-3.0-or-later
"""What our plotters have in common when they draw several data files at once.

Flent's own give all files the same colours as soon as a plot has two series, and tell
files by dash patterns alone. Here a file keeps one colour, and a series one line style.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

# By series; the second and later ones have gaps, so that the first is seen through them.
LINE_STYLES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


class Comparing:
    """Mixin, before one of Flent's plotters that draw lines: a colour per file."""

    colours: Sequence[str]
    config: dict[str, Any]

    def combine(
        self, results: Sequence[Any], config: dict[str, Any] | None = None, axis: Any = None,
        always_colour: bool = False,
    ) -> None:
        """Draw the result sets into one plot; called by Flent's plot()."""
        config = config or self.config
        for series, style in zip(config["series"], cycle(LINE_STYLES), strict=False):
            series.setdefault("linestyle", style)
        labels = self._filter_labels([result.label() for result in results])
        for label, colour, result in zip(labels, cycle(self.colours), results, strict=False):
            # The axis fits what the last call is given. To give every call all the files,
            # as Flent does, takes a time that grows with the square of their number.
            others = results if result is results[-1] else []
            self._plot(result, config=config, axis=axis, postfix=f" - {label}",
                       extra_kwargs={"color": colour}, extra_scale_data=others)

    def _filter_labels(self, labels: list[str]) -> list[str]:
        return super()._filter_labels(labels)  # type: ignore[misc,no-any-return]

    def _plot(self, results: Any, **kwargs: Any) -> None:
        super()._plot(results, **kwargs)  # type: ignore[misc]
