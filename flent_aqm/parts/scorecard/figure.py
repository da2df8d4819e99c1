# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw all tests as a figure as wide as a paper's column, with a row per test.

Left: the latency that the test shows divided by the other flows' median, with a point for each
direction of each run. Lines that stall have their own points, because a test that hides latency is
right on an idle line. Middle: share of pairs of queues that the test tells apart. Right: throughput
divided by the possible throughput.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.words import counted, for_plot, plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import ordered
from flent_aqm.parts.scorecard.scores import BAD_MS, rates
from flent_aqm.show.looks import OTHER_LOOKS, QUIET
from flent_aqm.show.plots.paper import letters, write_caption

WIDTH_INCH = 3.33
_AROUND_INCH, _DPI = 0.72, 300
# Height of a row, which has to hold the lines of its label.
_LEAST_ROW_INCH, _LINE_INCH = 0.2, 0.105
KINDS = ("pdf", "png", "svg")
_CALM, _STALLED = OTHER_LOOKS[0], OTHER_LOOKS[1]
# Distance of points from the middle of their row, so that the two kinds don't hide each other.
_OFF = 0.17
_LABEL_CHARACTERS = 17
# An axis of ratios whose ends differ by less than this factor has numbers between powers of ten.
_SHORT_AXIS = 200.0
# Without dates, so that equal numbers give equal files.
_METADATA = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}


def write(cards: Sequence[Card], path: Path) -> None:
    """Write the figure as PATH.pdf, .png and .svg, and its caption as .txt. Set matplotlib's
    backend to agg. Raises ConfigError if a file can't be written.

    Args:
        cards: cards of the tests, in any order.
        path: path of the files. Its suffix is replaced.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**letters(WIDTH_INCH), "font.size": 6.5, "svg.hashsalt": "flent",
                                "axes.linewidth": 0.5, "xtick.major.width": 0.5}):
        most_lines = max((_row_label(card).count("\n") + 1 for card in cards), default=1)
        row_inch = max(_LEAST_ROW_INCH, most_lines * _LINE_INCH)
        canvas = Figure((WIDTH_INCH, _AROUND_INCH + row_inch * len(cards)), layout="constrained")
        _draw_rows(ordered(cards), canvas)
        try:
            for kind in KINDS:
                canvas.savefig(path.with_suffix(f".{kind}"), dpi=_DPI, metadata=_METADATA[kind])
            write_caption(path, [caption(cards)])
        except OSError as error:
            raise ConfigError(f"-o: can't write {error.filename or path}: {cause_of(error)}; mend "
                              "that, or choose another folder with -o") from None


def caption(cards: Sequence[Card]) -> str:
    """Return the figure's caption: the number of tests and of their runs with a reading, and what
    the points, dashes and bars mean."""
    runs = sum(len(card.readings) for card in cards)
    return (f"{counted(len(cards), 'speed test')}, {counted(runs, 'run')}. Left: latency under "
            "load as the test shows it, of other flows' true median; a point for each direction, "
            f"squares where the true 95th percentile rises by more than {BAD_MS:.0f} ms; dash: "
            "the median of each kind. Middle: pairs of queues whose true 95th percentiles differ "
            "twofold that it orders rightly, with the 95 % interval. Right: throughput, of what "
            "is possible for TCP.")


def _row_label(card: Card) -> str:
    """Return a card's label for its row, in one or more lines. Unprintable characters are replaced,
    and $ is escaped for matplotlib."""
    return wrapped_label(for_plot(plain(card.label)))


def _draw_rows(cards: Sequence[Card], canvas: Any) -> None:
    """Draw the cards' rows on a matplotlib figure, in three new axes side by side: shown / true
    latency, the share of pairs of queues told apart, shown / possible throughput.

    Args:
        cards: the cards in the order of the rows, from the top.
        canvas: the figure.
    """
    latency, tells, rate = canvas.subplots(1, 3, sharey=True,
                                           gridspec_kw={"width_ratios": [1.5, 0.8, 1]})
    for row, card in enumerate(cards):
        for stalled, look, off in ((False, _CALM, -_OFF), (True, _STALLED, _OFF)):
            _draw_points(latency, _latency_ratios(card, stalled=stalled), row + off, look)
        if card.readings and "latency_to_median" not in card.scores:
            latency.annotate("shows none", (0.5, row), xycoords=("axes fraction", "data"),
                             ha="center", va="center", color=QUIET, fontsize="small")
        if score := card.scores.get("tells_apart"):
            tells.barh(row, score.value * 100, 0.55, color="#6699CC")
            tells.plot([(bound or 0) * 100 for bound in (score.low, score.high)], [row, row],
                       color="black", linewidth=0.7)
        _draw_points(rate, [value * 100 for value, _, _ in rates(card.readings)], row, _CALM)
    latency.set_yticks(range(len(cards)), [_row_label(card) for card in cards])
    latency.set_ylim(len(cards) - 0.5, -0.5)
    _format_axes(latency, tells, rate)


def _format_axes(latency_axis: Any, tells_apart_axis: Any, throughput_axis: Any) -> None:
    """Set scales, labels and looks of the three axes, which contain the data already."""
    latency_axis.set_xscale("log")
    low, high = latency_axis.get_xlim()
    low, high = min(low, 0.45), max(high, 2.2)
    latency_axis.set_xlim(low, high)
    # An axis of less than a factor of ten has one power of ten at most, and matplotlib would write
    # the numbers between as powers: 6 × 10⁻¹. On a long axis it finds no place for such numbers,
    # and leaves out the powers of ten, too.
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    latency_axis.xaxis.set_major_locator(
        LogLocator(subs=(1, 2, 5)) if high / low <= _SHORT_AXIS
        else FixedLocator([10.0 ** power for power in powers]))
    latency_axis.xaxis.set_major_formatter("{x:g}")
    latency_axis.xaxis.set_minor_formatter(NullFormatter())
    latency_axis.axvline(1, color=QUIET, linewidth=0.5)
    latency_axis.set_xlabel("latency shown\n÷ true median")
    tells_apart_axis.set_xlim(0, 100)
    tells_apart_axis.set_xticks([0, 50, 100])
    # Numbers at the ends of the axis would run into those of its neighbours.
    first, _, last = tells_apart_axis.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    tells_apart_axis.set_xlabel("tells queues\napart (%)")
    throughput_axis.axvline(100, color=QUIET, linewidth=0.5)
    throughput_axis.set_xlim(left=0)
    throughput_axis.set_xlabel("throughput\n(% of possible)")
    for axis in (latency_axis, tells_apart_axis, throughput_axis):
        axis.tick_params(axis="y", length=0)
        axis.set_axisbelow(True)
        axis.grid(visible=True, axis="x", alpha=0.3, linewidth=0.4)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)


def _latency_ratios(card: Card, *, stalled: bool) -> list[float]:
    """Return shown latency / true median for each direction of each run that has both, neither 0.
    If a run shows none per direction, the worse direction counts. Directions whose true median is
    infinite, because half or more of the probes were lost, are left out.

    Args:
        card: the test's card.
        stalled: True: only directions that stall, so that the true 95th percentile rises by more
            than BAD_MS (100 ms). False: only the others, also those whose rise isn't known.
    """
    return [way.shown_ms / way.others_median_ms
            for one in card.readings for _, way in one.telling
            if way.shown_ms and way.others_median_ms and math.isfinite(way.others_median_ms)
            and ((way.rise_p95_ms or 0.0) > BAD_MS) is stalled]


def _draw_points(axis: Any, values: Sequence[float], height: float, look: Any) -> None:
    """Draw points in a row, and a dash at their median. Draw nothing without values.

    Args:
        axis: matplotlib axes.
        values: horizontal positions of the points.
        height: vertical position of the row.
        look: marker and colour.
    """
    from statistics import median

    if values:
        axis.plot(values, [height] * len(values), look.marker, color=look.colour, markersize=1.6,
                  alpha=0.45, markeredgewidth=0)
        axis.plot([median(values)], [height], "|", color="black", markersize=5, markeredgewidth=1)


def wrapped_label(label: str) -> str:
    """Return a test's name in lines of at most 17 characters, with newlines between them. An
    opening bracket after a blank begins a line. A word that is longer than a line goes on in the
    next one."""
    import textwrap

    return "\n".join(line for part in label.replace(" (", "\n(").split("\n")
                     for line in textwrap.wrap(part, _LABEL_CHARACTERS))
