# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the latency under load of each queue beside its throughput, with a row for each test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from matplotlib.ticker import PercentFormatter

from flent_aqm.base.errors import LostProbe, NotAvailable
from flent_aqm.base.words import significant
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.grouping import (
    AQM,
    TITLE,
    collect,
    factors,
    own_title,
    setting,
    sorted_values,
)
from flent_aqm.results.metrics.percentiles import percentile
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.throughput import shares_line
from flent_aqm.show.groups import key_of, settings_of, sorted_keys, word
from flent_aqm.show.looks import Look, line_key, looks_for, wrapped
from flent_aqm.show.plots.axes import from_zero, name_latency_axis
from flent_aqm.show.plots.chart import ChartPlotter, about, probes_of
from flent_aqm.show.plots.latency import ecdf
from flent_aqm.show.plots.paper import FLENTS_HEIGHT, PAPER_INCHES, is_height_open
from flent_aqm.show.plots.values import QUANTITIES, directions, values, why_no_direction
from flent_aqm.spec.testbeds import NETNS, VIRTUAL

MOST_ROWS = 6
_SHARE = "share of probes"
# Width of a picture whose size the user did not set.
WIDTH_INCHES = 9.6
# Relative widths of the two panels of a row.
_WIDTHS = (2.6, 1)
# Height of a row, and of all text above and below the rows, in inches.
ROW_HEIGHT, WORDS_HEIGHT = 2.6, 1.2
# In a lower row, the label of its axis is longer than the panel is high.
LEAST_ROW_HEIGHT = 1.8
# Height of a row in a narrow picture, whose two panels are one above the other.
NARROW_ROW_HEIGHT = 3.0
# Share of a place that all bars of a queue fill. Directions that differ by less than ALIKE share a
# bar.
BAR, ALIKE = 0.7, 0.01
# A bar that is shorter than this share of the longest has its number behind it.
SHORT = 0.25
# More lines and bars in a row can't be read.
MOST_TITLES = 12


class AqmLatencyAndThroughputPlotter(ChartPlotter):
    """For each test, distributions of latency under load on the left, a line for each queue, and
    bars of throughput on the right, one for each queue and direction. Where no queue is known,
    titles that users gave take its place. In a narrow picture, the bars
    are below the distributions. A lost probe is slower than any other. If no run has a latency
    under load, or no test a known direction, the picture shows the reason.

    By default, other settings in which runs differ make rows, too. At most MOST_ROWS rows are
    drawn. If the user groups by one setting, it takes the place of the queue. If by more, the last
    two take the places of test and queue. Then runs that differ in other settings are pooled.
    """

    _panels: Sequence[Any] = ()

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        if not directions(runs):
            raise NotAvailable(why_no_direction(runs))
        requested = self.group_names(runs)
        rows_are, sides_are = ["test", *(requested or [_compared(runs)])][-2:]
        # Runs of a row differ only in the compared setting, unless the user pools them.
        names = [rows_are]
        if not requested:
            names += factors(settings_of(runs), (rows_are, sides_are))
        rows = self.first(sorted_keys(runs, names), MOST_ROWS)
        drawn = [run for run in runs if key_of(run, names) in rows]
        sides = [word(sides_are, value) for value in _setting_values(runs, sides_are)]
        looks = looks_for(sides)
        axes = self._make_panels(len(rows))
        widest_mbps = max((float(mbps.max()) for run in drawn for mbps in _throughputs_mbps([run])),
                          default=0.0)
        counted, has_p99 = 0, False
        for row, left, right in zip(rows, axes[0::2], axes[1::2], strict=True):
            members = {side: of_side for side in sides if (of_side := [
                run for run in runs if key_of(run, names) == row
                and word(sides_are, setting(run.settings, sides_are)) == side])}
            latencies = {side: _loaded_rtts_ms(of_side) for side, of_side in members.items()}
            counted += sum(samples.size for samples in latencies.values())
            has_p99 |= any(map(_p99_text, latencies.values()))
            name = self._row_title(runs, names, row)
            for side, samples in latencies.items():
                self.note_lost(f"{name}, {side}", samples)
            draw_latencies(left, latencies, looks)
            draw_throughput(right, members, latencies, looks, widest_mbps)
            left.set_title(name, loc="left", fontweight="bold", fontsize="medium")
        if not counted:
            shown = " shown" if len(drawn) < len(runs) else ""
            try:
                drawn[0].loaded()
            except NotAvailable as reason:
                which = f"none of the runs{shown} has a" if len(runs) > 1 else "the run has no"
                raise NotAvailable(f"{which} latency under load: {reason}") from None
        axes[-2].set_xlabel("round-trip time under load (ms)")
        self._panels = axes
        self.fit_labels()
        from_zero(axes[1::2], "x")
        self.heading = f"Latency while a test loads {_link_text(drawn)}"
        self.handles = [line_key(side, looks[side]) for side in sides]
        groups = collect(drawn, lambda run: key_of(run, [*names, sides_are])).values()
        several = any(len(group) > 1 for group in groups)
        split = any(len(_throughputs_mbps(group)) > 1 for group in groups)
        merged = any(len(_throughputs_mbps(group)) < len(_by_direction_mbps(group))
                     for group in groups)
        self.note("bars: mean over runs" + (", dots: runs" if several else "")
                  + ("; above download, below upload" if split else "")
                  + (f", one bar where they are within {100 * ALIKE:g} %"
                     if split and merged else ""))
        if any(shares_line(run.settings) for run in drawn):
            self.note("with cross traffic: what the test alone got of the line")
        self.note("p99: of all probes of a line" if has_p99 else "")
        self.note_pooled(runs, (*names, sides_are))
        self.note(about(runs, counted, "probes", probes_of(runs)))

    def fit_labels(self) -> None:
        """Label the throughput in as many lines as the panel's width takes, and the share of probes
        at every panel, or at the middle one alone if there is no room for more."""
        if not self._panels:
            return
        width_inches, height_inches = self.figure.get_size_inches()
        narrow = width_inches < PAPER_INCHES
        self._panels[-1].set_xlabel(wrapped(
            "throughput (Mbit/s)", width_inches if narrow else width_inches / sum(_WIDTHS)))
        left = self._panels[0::2]
        least_inches = NARROW_ROW_HEIGHT if narrow else LEAST_ROW_HEIGHT
        low = height_inches < WORDS_HEIGHT + len(left) * least_inches
        for place, axis in enumerate(left):
            axis.set_ylabel("" if low and place != len(left) // 2 else _SHARE)

    def _row_title(self, runs: Sequence[Run], names: Sequence[str], row: Sequence[Any]) -> str:
        """Return the values of a row's settings that differ among the runs, as text, such as
        "cake, 50 Mbit/s". If none differs, return the value of the first setting.

        Args:
            runs: all runs.
            names: settings that distinguish rows.
            row: their values in the row.
        """
        differing = [word(name, value) for name, value in zip(names, row, strict=True)
                     if len(_setting_values(runs, name)) > 1]
        return ", ".join(differing) or word(names[0], row[0])

    def _make_panels(self, rows: int) -> list[Any]:
        """Make two axes for each of `rows` rows, latency and throughput, and return them row by
        row. Axes of the same kind share their horizontal range. In a narrow picture, the two of a
        row are one above the other. Set the figure's height, and without a user's width also its
        width, unless the user set the height or a window does. Raises NotAvailable in a part of a
        plot, which has room for one axis."""
        narrow = self.figure.get_figwidth() < PAPER_INCHES
        if is_height_open(self.fig_width, self.fig_height) and not self.in_window:
            if self.fig_height == FLENTS_HEIGHT:
                self.figure.set_figwidth(WIDTH_INCHES)
            self.figure.set_figheight(
                WORDS_HEIGHT + rows * (NARROW_ROW_HEIGHT if narrow else ROW_HEIGHT))
        axes = (self.grid(2 * rows, 1, height_ratios=(1, 0.8) * rows) if narrow
                else self.grid(rows, 2, width_ratios=_WIDTHS))
        for panels in (axes[0::2], axes[1::2]):
            for axis in panels[:-1]:
                axis.sharex(panels[-1])
                axis.tick_params(axis="x", labelbottom=narrow)
        return axes


def draw_latencies(axis: Any, latencies: Mapping[str, Numbers], looks: Mapping[str, Look]) -> None:
    """Draw a line for each queue: the share of probes that did not take longer.

    Args:
        axis: matplotlib axes.
        latencies: queue -> sorted RTTs in ms, infinite for a lost probe.
        looks: queue -> its look.
    """
    # Each line is thinner than the one below it, because lines of equal latencies coincide.
    widths = numpy.linspace(3.6, 2, len(latencies))
    for width, (side, samples) in zip(widths, latencies.items(), strict=True):
        axis.plot(*ecdf(samples), drawstyle="steps-post", color=looks[side].colour,
                  linestyle=looks[side].line, label=side, linewidth=width)
    axis.set_xscale("log")
    name_latency_axis(axis)
    axis.set_ylim(0, 1.02)
    axis.set_ylabel(_SHARE)
    axis.yaxis.set_major_formatter(PercentFormatter(1))
    axis.grid(visible=True, alpha=0.3)


def draw_throughput(axis: Any, members: Mapping[str, Sequence[Run]],
                    latencies: Mapping[str, Numbers], looks: Mapping[str, Look],
                    widest_mbps: float) -> None:
    """Draw a bar for each queue and direction: the mean over runs of throughput_mbps(). Directions
    that are alike share a bar, see _throughputs_mbps(). Values of several runs have a dot each.
    There is no bar without a value. The number is in the bar, of a bar with less than a quarter
    (SHORT) of the widest throughput behind it and its dots. The queue's label has its 99th
    percentile of latency, see _p99_text().

    Args:
        axis: matplotlib axes to draw on.
        members: queue -> its runs.
        latencies: queue -> sorted RTTs in ms, infinite for a lost probe. It has the keys of
            `members`.
        looks: queue -> its look.
        widest_mbps: the highest throughput of a run in any panel with this one's scale.
    """
    for place, (side, runs) in enumerate(members.items()):
        of_runs = _throughputs_mbps(runs)
        for number, mbps in enumerate(of_runs):
            mean = float(mbps.mean())
            at = place + BAR * ((number + 0.5) / len(of_runs) - 0.5)
            height = 0.95 * BAR / len(of_runs)
            axis.barh(at, mean, color=looks[side].colour, height=height)
            if mbps.size > 1:
                places = at + (numpy.arange(1, mbps.size + 1) / (mbps.size + 1) - 0.5) * height
                axis.plot(mbps, places, "o", color="white", markersize=3, markeredgecolor="black",
                          markeredgewidth=0.5, label="_runs")
            inside = mean > SHORT * widest_mbps
            # The number is on the left if dots of runs are at the right end.
            left = not inside or mbps.size > 1
            axis.text(mean * (0.04 if left else 0.96) if inside else float(mbps.max()), at,
                      f"{'' if inside else '  '}{mean:.1f}", ha="left" if left else "right",
                      va="center",
                      color="white" if inside else "black", fontweight="bold",
                      fontsize="small" if len(of_runs) == 1 else "x-small")
    axis.set_yticks(range(len(members)),
                    [f"{side}\n{_p99_text(latencies[side])}" for side in members],
                    fontsize="small")
    axis.set_ylim(len(members) - 0.5, -0.5)
    axis.grid(visible=True, axis="x", alpha=0.3)
    axis.grid(visible=False, axis="y")
    axis.set_axisbelow(True)


def _throughputs_mbps(runs: Sequence[Run]) -> list[Numbers]:
    """Return the arrays of _by_direction_mbps(), but only the first one if the means of the
    directions differ by less than ALIKE (1 %) of the larger one."""
    by_way = _by_direction_mbps(runs)
    means = [float(one.mean()) for one in by_way]
    return by_way[:1] if means and max(means) - min(means) < ALIKE * max(means) else by_way


def _by_direction_mbps(runs: Sequence[Run]) -> list[Numbers]:
    """Return an array of the runs' throughputs in Mbit/s for each direction, download first. Runs
    and directions without a value are left out."""
    return [one for way in directions(runs)
            if (one := values(QUANTITIES["throughput"], runs, way)).size]


def _compared(runs: Sequence[Run]) -> str:
    """Return the name of the setting whose values are compared: the queue, or the title if no run
    records its queue and users gave different titles, but not more than 12 (MOST_TITLES)."""
    titles = {own_title(run.title) for run in runs}
    is_known = any(run.settings.get(AQM) is not None for run in runs)
    return TITLE if not is_known and 1 < len(titles) <= MOST_TITLES else AQM


def _setting_values(runs: Sequence[Run], name: str) -> list[Any]:
    """Return the different values of the setting `name` in the runs, in the order of an axis. Runs
    that don't record it have its default in UNRECORDED_DEFAULTS, else None, which is last."""
    return sorted_values(name, [setting(run.settings, name) for run in runs])


def _link_text(runs: Sequence[Run]) -> str:
    """Return a text on the link of at least one run, with its rates and base RTT: "a 50 Mbit/s
    link, base RTT 20 ms" (see _base_rtt_text()), "a link of 100 Mbit/s down, 20 Mbit/s up" for
    different rates of the directions, or "the link" if the runs have different rates or don't
    record both."""
    rates = {(run.settings.get("rate_down_mbps"), run.settings.get("rate_up_mbps")) for run in runs}
    down, up = next(iter(rates))
    if len(rates) > 1 or not isinstance(down, (int, float)) or not isinstance(up, (int, float)):
        return "the link"
    return (f"a {down:g} Mbit/s link" if up == down else
            f"a link of {down:g} Mbit/s down, {up:g} Mbit/s up") + _base_rtt_text(runs)


def _base_rtt_text(runs: Sequence[Run]) -> str:
    """Return the end of a text on the link, such as ", base RTT 20 ms", the RTT without a queue, or
    ", base RTT < 1 ms" without an added delay. "" if this package did not build the path of all
    runs, or if the delay differs between them or isn't recorded."""
    requested = {(run.settings.get("testbed"), run.settings.get("base_delay_ms")) for run in runs}
    delays = {delay for _, delay in requested}
    if {testbed for testbed, _ in requested} - {VIRTUAL, NETNS} or len(delays) > 1:
        return ""
    delay = delays.pop()
    if not isinstance(delay, (int, float)):
        return ""
    return f", base RTT {delay:g} ms" if delay else ", base RTT < 1 ms"


def _loaded_rtts_ms(runs: Sequence[Run]) -> Numbers:
    """Return the RTTs in ms of the probes under load of each run's best latency series together,
    sorted, infinite if lost. Runs without such probes are left out. Empty if none is left."""
    rtts_ms = []
    for run in runs:
        try:
            rtts_ms.append(run.loaded().rtt_ms)
        except NotAvailable:
            continue
    return numpy.sort(numpy.concatenate(rtts_ms)) if rtts_ms else numpy.empty(0)


def _p99_text(latencies: Numbers) -> str:
    """Return a text on the 99th percentile of latency: "p99 31.4 ms", "p99 lost", or "" with too
    few samples."""
    try:
        return f"p99 {significant(percentile(latencies, 99))} ms"
    except LostProbe:
        return "p99 lost"
    except NotAvailable:
        return ""
