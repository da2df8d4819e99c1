# SPDX-License-Identifier: GPL-3.0-or-later
"""Plot latency from a run's probes: distributions, tails, percentiles over time, glitches.

AqmLatencyCdfPlotter: the share of probes answered within a time, under load. AqmIdleLoadedPlotter:
the same before the load and during it. AqmTailPlotter: the share of probes that took longer, down
to one in a thousand. AqmPercentilesOverTimePlotter: percentiles of short spans, which show the
worst moments. AqmGlitchesPlotter: how often somebody in a call would have noticed the network.

All of them draw each latency series of one run, or each group of runs: see latency_lines().
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
from matplotlib.ticker import PercentFormatter

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import counted, for_plot
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.latency import (
    GLITCH_THRESHOLDS_MS,
    Glitch,
    find_glitches,
    idle_median_ms,
)
from flent_aqm.results.metrics.percentiles import (
    SAMPLES_BEYOND,
    of_sorted,
    samples_beyond,
)
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.window import Window, no_time
from flent_aqm.show.groups import looks_within
from flent_aqm.show.looks import QUIET, Look, style_key
from flent_aqm.show.plots.axes import from_zero, name_latency_axis, shade_load, start_s
from flent_aqm.show.plots.chart import MOST_LINES, ChartPlotter, about

# Distinguishable steps in each decade of a logarithmic axis, and on the whole of a linear one.
_STEPS = 1000

# Distance between marks, which distinguish lines in a grey print, as a share of the axes' diagonal.
MARK_EVERY = 0.12
IDLE_LINE = (0, (1, 1.2))
DIRECTION_LINES = {"download": (0, (5, 1.5)), "upload": (0, (6, 1.5, 1, 1.5))}

TAIL_PERCENTILES = (50.0, 90.0, 99.0, 99.9)
# Lowest share that is drawn: that of p99.9, and some room.
TAIL_LEAST_SHARE = 0.0007
# Latencies are drawn at no less than this, because 0 has no place on a logarithmic axis. ping
# prints hundredths of a ms.
LEAST_MS = 0.001

# Probes that a span needs for its 90th percentile.
SPAN_PROBES = SAMPLES_BEYOND * 10
# Spans last whole seconds, or SHORTEST_S. If probes are so far apart that there would be fewer than
# FEWEST_SPANS, spans are shorter and have a median only.
SHORTEST_S = 0.5
FEWEST_SPANS = 8
MOST_RUNS_OVER_TIME = 4
OVER_TIME_STYLES: dict[str, dict[str, Any]] = {
    "median": {"linewidth": 2.2, "drawstyle": "steps-mid"},
    "90th percentile": {"linewidth": 0.9, "drawstyle": "steps-mid"},
    "slowest": {"linestyle": "none", "marker": "o", "markersize": 3},
}

# With more bars per inch, the labels above them are turned upright.
MOST_GLITCH_BARS_PER_INCH = 3.2
_ABOVE_BARS = "above the bars: the longest glitch"
_NO_ROOM_ABOVE_BARS = ("bars are too narrow for the length of the longest glitch: "
                       f"flent-aqm score --metrics longest_glitch_{GLITCH_THRESHOLDS_MS[0]}ms_ms")


@dataclass(frozen=True)
class LatencyLine:
    """Latency series that are drawn as one line.

    Attributes:
        label: text for the legend.
        look: colour, line style and marker.
        members: runs, each with the latency series of it that is drawn.
    """

    label: str
    look: Look
    members: Sequence[tuple[Run, Probe]]

    @property
    def runs(self) -> list[Run]:
        """Runs of the line."""
        return [run for run, _ in self.members]

    def loaded(self) -> list[Samples]:
        """Return the probes under load of each run. Raises NotAvailable if a run has none."""
        return [run.loaded(None, probe) for run, probe in self.members]

    def idle(self) -> list[Samples]:
        """Return the probes before the load of each run, or all probes of a run without flows. Runs
        without such probes are left out."""
        samples = []
        for run, probe in self.members:
            try:
                samples.append(run.idle(probe))
            except NotAvailable:
                continue
        return samples

    def under_load_if_any(self) -> list[Samples]:
        """Return the probes under load of each run if any run of the line has a flow. Raises
        NotAvailable if one of its runs then has none. If no run has a flow, return all probes; runs
        without probes are left out."""
        return self.loaded() if any(run.flows for run in self.runs) else self.idle()


def latency_lines(chart: ChartPlotter, runs: Sequence[Run], most: int = MOST_LINES,
          together: bool = False, own_colours: bool = False) -> list[LatencyLine]:
    """Return the lines to draw: a line for each latency series of a single run, else a line for
    each group of runs, with the series of each run from which its metrics are computed. Runs
    without a latency series are left out. A single run that the user groups by a setting is a
    group.

    Args:
        chart: the plot, whose options group runs. It gets notes on settings that are pooled, and on
            groups that are left out because of `most`.
        runs: the runs.
        most: largest number of lines of several runs.
        together: runs with the same settings share a line, even if each could have its own.
        own_colours: the plot doesn't use the looks' line styles, so each line needs a colour of its
            own.

    Raises NotAvailable if no run has a latency series, and ConfigError if no run has a setting by
    which the user groups.
    """
    with_probe = [run for run in runs if run.probes]
    if not with_probe:
        raise NotAvailable(why_no_latency(runs))
    if len(with_probe) == 1 and not chart.group_names(runs):
        run, = with_probe
        looks = looks_within(run, [probe.name for probe in run.probes])
        return [LatencyLine(short_name(probe.name), looks[probe.name], [(run, probe)])
                for probe in run.probes]
    return [LatencyLine(group.label, group.look, [(run, run.probe) for run in group.runs])
            for group in chart.groups_of(with_probe, most, together, own_colours)]


def without_failed(chart: ChartPlotter, line: LatencyLine,
                   needed: Callable[[Run, Probe], object]) -> LatencyLine:
    """Return a line without the runs that lack what is drawn. If some are left out, the plot gets a
    note with the reason of the first.

    Args:
        chart: the plot.
        line: the line.
        needed: raises NotAvailable if a latency series of a run can't be drawn.

    Raises NotAvailable, with the first run's reason, if no run is left.
    """
    kept, reasons = [], []
    for run, probe in line.members:
        try:
            needed(run, probe)
        except NotAvailable as reason:
            reasons.append(str(reason))
        else:
            kept.append((run, probe))
    if not reasons:
        return line
    if not kept:
        raise NotAvailable(reasons[0])
    chart.note(f"left out: {len(reasons)} of {counted(len(line.members), 'run')} of {line.label}: "
               f"{reasons[0]}")
    return replace(line, members=kept)


def with_load(chart: ChartPlotter, line: LatencyLine) -> LatencyLine:
    """Return a line without the runs that have no probes under load, as without_failed() does. A
    line whose runs have no flows is returned unchanged. Raises NotAvailable if no run is left."""
    return without_failed(chart, line, _loaded) if any(run.flows for run in line.runs) else line


def _loaded(run: Run, probe: Probe) -> Samples:
    """Return a run's probes under load. Raises NotAvailable if there are none."""
    return run.loaded(None, probe)


def why_no_latency(runs: Sequence[Run]) -> str:
    """Return the reason why runs have no latency to plot, for a message: that of the first latency
    series without a usable answered probe, or, if there is no such series, that no run has a
    latency series.

    runs: runs without `probes`, at least one.
    """
    if len(runs) == 1:
        return runs[0].why_no_probe
    if silent := next((why for run in runs for why in run.silent_probes.values()), ""):
        return f"none of the runs has a latency series with answered probes: {silent}"
    return "none of the runs has a latency series; give runs of a test with pings, such as rrul"


def short_name(name: str) -> str:
    """Return a series' name for the legend, without the prefix "Ping (ms) " that most have, and
    with $ escaped for matplotlib."""
    return for_plot(name.removeprefix("Ping (ms) ") or name)


def pooled(samples: Sequence[Samples]) -> Numbers:
    """Return the RTTs of all samples together in ms, sorted, as one array. A lost probe is
    infinite. Empty without samples."""
    if not samples:
        return numpy.empty(0)
    return numpy.sort(numpy.concatenate([one.rtt_ms for one in samples]))


def thinned(at: Numbers, share: Numbers, log_share: bool = False) -> tuple[Numbers, Numbers]:
    """Return a distribution's curve without points that would be drawn at the same position as the
    one before. The first and the last point stay. Up to _STEPS points are returned unchanged.

    Args:
        at: values above 0, ascending, for a logarithmic axis.
        share: share of the samples for each value, 0 to 1.
        log_share: the axis of shares is logarithmic.
    """
    if at.size <= _STEPS:
        return at, share
    across = numpy.floor(numpy.log10(at) * _STEPS)
    height = numpy.log10(numpy.maximum(share, 1e-9)) if log_share else share
    down = numpy.floor(height * _STEPS)
    kept = numpy.concatenate(([True], (numpy.diff(across) != 0) | (numpy.diff(down) != 0)))
    kept[-1] = True
    return at[kept], share[kept]


class AqmLatencyCdfPlotter(ChartPlotter):
    """Distribution of latency: the share of probes that were answered within a time. There is a
    line for each latency series of a run. For several runs there is one for each, or, with the
    plot's key `together` or more than MOST_LINES runs, one for all with the same settings, or one
    for each group that the user requests, see latency_lines().

    Each line has the run's own probes under its own load, or all probes of a test without load.
    Lines, and runs of a line, without such probes are left out, with a note. If no line is left,
    the picture shows the reason. With the key `log`, the axis of latencies is logarithmic.
    """

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        together = bool(self.config.get("together"))
        drawn, reasons = [], []
        for line in latency_lines(self, runs, together=together):
            try:
                line = with_load(self, line)
                latencies = pooled(line.under_load_if_any())
            except NotAvailable as reason:
                reasons.append(f"{line.label}: {reason}")
                self.note(f"left out: {line.label}: {reason}")
                continue
            if latencies.size:
                drawn.append((line, latencies))
        if not drawn:
            raise NotAvailable("; ".join(reasons) or "no probe was sent")
        axis, = self.grid()
        # Each line is thinner than the one below it, because equal lines coincide.
        widths = numpy.linspace(2.6, 1.4, len(drawn))
        for (line, latencies), width in zip(drawn, widths, strict=True):
            count = f" (n={len(line.runs)})" if len(line.runs) > 1 else ""
            self.handles += axis.plot(*ecdf(latencies), drawstyle="steps-post", linewidth=width,
                                      color=line.look.colour, linestyle=line.look.line,
                                      label=line.label + count)
            self.note_lost(line.label, latencies)
        if self.config.get("log"):
            axis.set_xscale("log")
            name_latency_axis(axis)
        else:
            from_zero([axis], "x")
        axis.set_xlabel("round-trip time under load (ms)" if any(run.flows for run in runs)
                        else "round-trip time (ms)")
        axis.set_ylabel("share of probes")
        axis.yaxis.set_major_formatter(PercentFormatter(1))
        axis.set_ylim(-0.02, 1.02)
        self.note(about(runs, sum(latencies.size for _, latencies in drawn), "probes",
                        (probe for line, _ in drawn for _, probe in line.members)))


class AqmIdleLoadedPlotter(ChartPlotter):
    """Two lines for each latency series of a run, or for each of at most MOST_LINES // 2 groups of
    runs: a dotted one for the idle link, and one under load. The first is missing, with a note, if
    there are no probes before the load. Series or groups without probes under load are left out,
    with a note; if none is left, the picture shows the reason. Of a single run, the first series
    also has a line for each direction, if the directions were loaded one after the other."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn = latency_lines(self, runs, MOST_LINES // 2, own_colours=True)
        axis, = self.grid()
        counted = 0
        reasons = []
        for line in drawn:
            try:
                line = without_failed(self, line, _loaded)
                loaded = pooled(line.loaded())
            except NotAvailable as reason:
                reasons.append(f"{line.label}: {reason}")
                self.note(reasons[-1])
                continue
            idle = pooled(line.idle())
            alone = len(runs) == 1
            counted += idle.size + loaded.size
            self.note_lost(f"{line.label}, idle", idle)
            self.note_lost(f"{line.label}, loaded", loaded)
            if idle.size:
                self._draw_step_line(axis, idle, line.look, IDLE_LINE,
                           f"{line.label}, idle" if alone else "_idle")
            else:
                self.note(f"{line.label}: no probe was sent and answered before the load")
            self._draw_step_line(axis, loaded, line.look, "-",
                       f"{line.label}, loaded" if alone else line.label)
            if alone and line is drawn[0]:
                self._draw_directions(axis, line)
        self.handles = [one for one in self.handles if not one.get_label().startswith("_")]
        if len(runs) > 1:
            self.handles.append(style_key("the same, idle", linestyle=IDLE_LINE))
        if not axis.get_lines():
            raise NotAvailable("; ".join(reasons))
        axis.set_xscale("log")
        name_latency_axis(axis)
        axis.set_xlabel("round-trip time (ms)")
        axis.set_ylabel("share of probes")
        axis.yaxis.set_major_formatter(PercentFormatter(1))
        axis.set_ylim(-0.02, 1.02)
        self.note(about(runs, counted, "probes",
                        (probe for line in drawn for _, probe in line.members)))

    def _draw_directions(self, axis: Any, line: LatencyLine) -> None:
        """Draw the distribution of latency under load in each direction of a line's runs, if the
        directions were loaded one after the other in every run. Else do nothing."""
        try:
            by_direction = {
                direction: [run.loaded(direction, probe) for run, probe in line.members]
                for direction in DIRECTIONS}
        except NotAvailable:
            return  # with one direction only, its line would be the same as the first
        if all(_one_after_the_other(run) for run in line.runs):
            for direction, samples in by_direction.items():
                self._draw_step_line(axis, pooled(samples), line.look, DIRECTION_LINES[direction],
                           f"{line.label}, {direction}", width=1.0)

    def _draw_step_line(self, axis: Any, latencies: Numbers, look: Look, style: Any, label: str,
              width: float = 1.8) -> None:
        """Draw a distribution as a line with steps, and add it to the legend.

        Args:
            axis: matplotlib axes.
            latencies: sorted RTTs in ms, infinite for a lost probe.
            look: colour and marker.
            style: matplotlib's line style.
            label: text for the legend.
            width: width of the line in points.
        """
        at_ms, share = ecdf(latencies)
        self.handles += axis.plot(at_ms, share, drawstyle="steps-post", color=look.colour,
                                  linestyle=style, linewidth=width, label=label,
                                  marker=look.marker, markevery=MARK_EVERY, markersize=4.5,
                                  markeredgecolor="white", markeredgewidth=0.4)


def ecdf(latencies: Numbers) -> tuple[Numbers, Numbers]:
    """Return the points of a cumulative distribution: latencies in ms, and the share (0 to 1) of
    samples that are not longer. It begins at share 0, and stays below 1 if probes were lost.
    Latencies are LEAST_MS at least. Of many points, those that could not be told apart in a plot
    are left out, see thinned(). Both are empty without an answered probe.

    Args:
        latencies: sorted RTTs in ms, infinite for a lost probe.
    """
    finite = latencies[numpy.isfinite(latencies)]
    if not finite.size:
        return finite, finite
    at, first = numpy.unique(finite, return_index=True)
    counted = numpy.append(first[1:], finite.size)
    return thinned(numpy.maximum(numpy.append(at[:1], at), LEAST_MS),
                   numpy.append(0.0, counted / max(1, latencies.size)))


def _one_after_the_other(run: Run) -> bool:
    """Return whether a run's directions were loaded one after the other, as NDT7 does: all probes
    under the load of one were sent before those of the other. Raises NotAvailable if the test has
    no flow in one of them, or if no probe was sent under its load."""
    sent_s = [run.loaded(direction).sent_s for direction in DIRECTIONS]
    return bool(sent_s[0][-1] <= sent_s[1][0] or sent_s[1][-1] <= sent_s[0][0])


class AqmTailPlotter(ChartPlotter):
    """The share of probes that took longer than each latency, with two logarithmic axes and marks
    at percentiles, for each line of latency_lines(): of probes under load, or of all in tests
    without load. Lines with fewer than two probes are left out, with a note."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn, reasons = [], []
        for line in latency_lines(self, runs):
            try:
                line = with_load(self, line)
                latencies = pooled(line.under_load_if_any())
                if latencies.size < 2:
                    raise NotAvailable("fewer than two probes were sent"
                                       + " under load" * any(run.flows for run in line.runs))
                drawn.append((line, latencies))
            except NotAvailable as reason:
                reasons.append(f"{line.label}: {reason}")
                self.note(f"left out: {line.label}: {reason}")
        if not drawn:
            raise NotAvailable("; ".join(reasons))
        axis, = self.grid()
        for line, latencies in drawn:
            percentiles = {f"p{percent:g}": (_percentile_ms(latencies, percent), 1 - percent / 100)
                           for percent in TAIL_PERCENTILES}
            at_ms, share = thinned(*ccdf(latencies), log_share=True)
            self.handles += axis.plot(at_ms, share, color=line.look.colour,
                                      linestyle=line.look.line, linewidth=1.6,
                                      drawstyle="steps-post", label=line.label)
            marked = [point for point in percentiles.values() if math.isfinite(point[0])]
            if marked:
                axis.plot(*zip(*marked, strict=True), color=line.look.colour, linestyle="none",
                          marker=line.look.marker, markersize=5, label="_percentiles",
                          markeredgecolor="white", markeredgewidth=0.5)
            for why, of, is_so in (("too few samples", " for", math.isnan),
                                   ("lost", ":", math.isinf)):
                missing = [name for name, (value_ms, _) in percentiles.items() if is_so(value_ms)]
                if missing:
                    self.note(f"{line.label}: {why}{of} {', '.join(missing)}"
                              if len(drawn) <= 3 else f"no mark: {why}")
            self.note_lost(line.label, latencies)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(TAIL_LEAST_SHARE, 1.3)
        axis.yaxis.set_major_formatter("{x:.1%}")
        name_latency_axis(axis)
        axis.set_xlabel("round-trip time under load (ms)" if any(run.flows for run in runs)
                        else "round-trip time (ms)")
        axis.set_ylabel("share of probes that took longer")
        # Percentiles are texts, not a second axis: flent-gui gets the picture from another process,
        # and matplotlib's secondary axes can't be pickled.
        for percent in TAIL_PERCENTILES:
            share_then = 1 - percent / 100
            axis.axhline(share_then, color=QUIET, linewidth=0.5, alpha=0.5, zorder=0,
                         label="_percentile")
            axis.text(1.01, share_then, f"p{percent:g}", transform=axis.get_yaxis_transform(),
                      va="center", fontsize="small", color=QUIET, label="percentile")
        self.note(about(runs, sum(latencies.size for _, latencies in drawn), "probes",
                        (probe for line, _ in drawn for _, probe in line.members)))


def ccdf(latencies: Numbers) -> tuple[Numbers, Numbers]:
    """Return the points of the distribution's complement: latencies in ms, and the share (0 to 1)
    of slower samples. The share does not fall below that of the lost probes. Latencies are LEAST_MS
    at least. Both are empty without an answered probe.

    Args:
        latencies: sorted RTTs in ms, infinite for a lost probe.
    """
    finite = latencies[numpy.isfinite(latencies)]
    if not finite.size:
        return finite, finite
    at_ms, first = numpy.unique(finite, return_index=True)
    # Number of samples up to and including each value.
    counted = numpy.append(first[1:], finite.size)
    share = 1 - counted / latencies.size
    return numpy.maximum(at_ms, LEAST_MS), share


class AqmPercentilesOverTimePlotter(ChartPlotter):
    """Median, 90th percentile and slowest answered probe of each span of time, see spans(), on a
    logarithmic axis, and lost probes as crosses at the upper edge. At most MOST_RUNS_OVER_TIME
    series or groups of runs are drawn, of groups the first of each queue, of a group its first run.
    Series, and runs of a group, that can't be divided into spans, see span_s(), are left out, with
    a note. If no line is left, the picture shows the reason."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn, reasons = [], []
        for line in latency_lines(self, runs, MOST_RUNS_OVER_TIME, own_colours=True):
            try:
                drawn.append(without_failed(self, line, lambda _run, probe: span_s(probe)))
            except NotAvailable as reason:
                reasons.append(f"{line.label}: {reason}")
                self.note(f"left out: {reasons[-1]}")
        if not drawn:
            raise NotAvailable("; ".join(reasons))
        drawn = self.first(drawn, MOST_RUNS_OVER_TIME)
        axis, = self.grid()
        if any(len(line.members) > 1 for line in drawn):
            self.note("of each group one run: " + ", ".join(
                f"{line.label}, of {len(line.members)}" for line in drawn))
        for line in drawn:
            run, probe = line.members[0]
            length_s = span_s(probe)
            begin_s = 0.0 if self.absolute_time else start_s(run)
            at_s, statistics = spans(probe, length_s, run.load_window)
            for name, options in OVER_TIME_STYLES.items():
                if name not in statistics:
                    self.note(f"{line.label}: probes {probe.spacing_ms:.0f} ms apart, "
                              "so no 90th percentile")
                    continue
                known = statistics[name][~numpy.isnan(statistics[name])]
                if known.size and numpy.isinf(known).all():
                    self.note(f"{line.label}: lost: the {name} of every span")
                points = axis.plot(
                    at_s - begin_s, statistics[name], color=line.look.colour,
                    **(options | {"marker": line.look.marker} if "marker" in options else options),
                    label=line.label if name == "median" else f"_{line.label}, {name}")
                if name == "median":
                    self.handles += points
            lost = int(probe.lost.sum())
            if lost:
                self.note(f"{line.label}: {counted(lost, 'probe')} lost")
                axis.plot(probe.sent_s[probe.lost] - begin_s, numpy.full(lost, 0.99), "x",
                          color=line.look.colour, markersize=4, label=f"{line.label}, lost",
                          transform=axis.get_xaxis_transform())
            self.note(f"spans of {length_s:g} s")
        self.handles += [style_key(name, **options) for name, options in OVER_TIME_STYLES.items()]
        shade_load(axis, runs, absolute=bool(self.absolute_time))
        axis.set_yscale("log")
        name_latency_axis(axis, "y")
        axis.set_xlabel("time (s)")
        axis.set_ylabel("round-trip time (ms)")
        self.note(about(runs, sum(probe.rtt_ms.size for line in drawn
                                  for _, probe in line.members[:1]), "probes",
                        (probe for line in drawn for _, probe in line.members[:1])))


def span_s(probe: Probe) -> float:
    """Return the length in s of the spans into which a latency series is divided: SHORTEST_S if
    that is the time of 102 probes or more, otherwise the smallest whole number of seconds that is
    the time of 97 probes or more. That is about SPAN_PROBES, which a 90th percentile takes.

    If the series is shorter than FEWEST_SPANS such spans, the length is its duration divided by
    FEWEST_SPANS, but at least the time of 2 * SAMPLES_BEYOND probes, which a median takes, rounded
    up to tenths of a second. Raises NotAvailable if the series has a single probe, or if at least
    half of its probes were sent at the same time as the one before.
    """
    spacing_s = probe.spacing_ms / 1000
    lasts_s = float(probe.sent_s[-1] - probe.sent_s[0])
    if not 0 < spacing_s < math.inf:
        raise NotAvailable(f"{probe.name} has " + (
            "a single probe" if probe.sent_s.size < 2 else
            "most of its probes at the same time as the one before")
            + "; expected probes at different times")
    wanted_s = SPAN_PROBES * spacing_s
    # Probes are not sent at exact times: those of 10.003 ms shall have spans of 1 s, too, and those
    # with a probe fewer than the others a 90th percentile.
    length_s = SHORTEST_S if 1.02 * wanted_s <= SHORTEST_S else float(math.ceil(0.97 * wanted_s))
    if lasts_s / length_s < FEWEST_SPANS:
        length_s = max(lasts_s / FEWEST_SPANS, 2 * SAMPLES_BEYOND * spacing_s)
        length_s = math.ceil(length_s * 10) / 10
    return length_s


def spans(probe: Probe, length_s: float, load: Window | None = None
          ) -> tuple[Numbers, dict[str, Numbers]]:
    """Return the middle between the first and the last probe of each span in epoch seconds, and
    statistic ("median", "slowest", "90th percentile") -> its value in ms for each span, NaN if the
    span has too few probes for it. Spans without a probe are left out.

    Spans are counted from the load's start (without load from the first probe), backwards and
    forwards, and again from its end, because a span with both would show the load's effect before
    it began. A lost probe is slower than any other. A percentile that is a lost probe is infinite.
    The key "90th percentile" is missing if it is NaN in all spans. `slowest` is that of the
    answered probes, NaN if all were lost.

    Args:
        probe: the latency series.
        length_s: length of a span.
        load: time of the load, None without load.
    """
    number = numpy.searchsorted(_span_starts_s(probe, load, length_s), probe.sent_s, side="right")
    middles, medians, tails, slowest = [], [], [], []
    for span in numpy.unique(number):
        inside = number == span
        latencies = numpy.sort(probe.rtt_ms[inside])
        finite = latencies[numpy.isfinite(latencies)]
        middles.append(float(probe.sent_s[inside][[0, -1]].mean()))
        medians.append(_percentile_ms(latencies, 50))
        tails.append(_percentile_ms(latencies, 90))
        slowest.append(finite[-1] if finite.size else numpy.nan)
    statistics = {"median": numpy.array(medians), "slowest": numpy.array(slowest)}
    if not numpy.isnan(tails).all():
        statistics["90th percentile"] = numpy.array(tails)
    return numpy.array(middles), statistics


def _span_starts_s(probe: Probe, load: Window | None, length_s: float) -> Numbers:
    """Return the times in epoch seconds at which spans begin, ascending. Among them are the load's
    start, or the first probe if the load began before it, and the load's end if a probe was sent
    later. A rest of less than half a span before the load's end belongs to the span before it.
    Arguments: as for spans()."""
    first_s, last_s = float(probe.sent_s[0]), float(probe.sent_s[-1])
    start_s, end_s = (max(load.start_s, first_s), load.end_s) if load else (first_s, math.inf)
    before = numpy.arange(start_s, first_s - length_s, -length_s)
    # A short rest at the end of the load belongs to the span before it.
    during = numpy.arange(start_s, min(end_s - length_s / 2, last_s), length_s)
    after = numpy.arange(end_s, last_s, length_s) if end_s < last_s else numpy.empty(0)
    return numpy.unique(numpy.concatenate((before, during, after)))


def _percentile_ms(latencies: Numbers, percent: float) -> float:
    """Return a percentile (0 to 100) of sorted latencies in ms, infinite if it is a lost probe. NaN
    if there are too few samples: fewer than SAMPLES_BEYOND above a percentile of 50 or more, or
    below another one (samples_beyond())."""
    if samples_beyond(latencies.size, percent) < SAMPLES_BEYOND:
        return math.nan
    return of_sorted(latencies, percent)


class AqmGlitchesPlotter(ChartPlotter):
    """Glitches per minute under load: a bar for each threshold and each line of latency_lines(),
    with the longest glitch above it where there is room. Lines in which glitches can't be found are
    left out, with a note.

    Attributes:
        _upright_labels: texts above the bars, bar by bar, if they are turned upright.
        _bar_width: width of a bar and the space beside it, in units of the horizontal axis.
    """

    _upright_labels: Sequence[Any] = ()
    _bar_width: float = 0.0

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn, reasons = [], []
        for line in latency_lines(self, runs, own_colours=True):
            try:
                line = without_failed(self, line, _refuse_unknown_glitches)
                drawn.append((line, [_glitch_rate_and_longest(line, threshold_ms)
                                     for threshold_ms in GLITCH_THRESHOLDS_MS]))
            except NotAvailable as reason:
                reasons.append(f"{line.label}: {reason}")
        if not drawn:
            raise NotAvailable("; ".join(reasons))
        axis, = self.grid()
        width = 0.8 / len(drawn)
        bars_drawn = len(drawn) * len(GLITCH_THRESHOLDS_MS)
        crowded = bars_drawn > MOST_GLITCH_BARS_PER_INCH * self.figure.get_figwidth()
        labels: list[Any] = []
        for place, (line, of_line) in enumerate(drawn):
            at = numpy.arange(len(of_line)) + (place - (len(drawn) - 1) / 2) * width
            bars = axis.bar(at, [per_minute for per_minute, _ in of_line], width * 0.92,
                            color=line.look.colour, hatch=line.look.hatch, edgecolor="white",
                            label=line.label)
            labels += axis.bar_label(
                bars, [f"longest\n{longest:.0f} ms" if longest and len(drawn) < 4
                       else f"{longest:.0f} ms" if longest else "0" for _, longest in of_line],
                fontsize="xx-small", padding=1, rotation=90 if crowded else 0)
            self.handles.append(bars)
        self._upright_labels, self._bar_width = labels if crowded else (), width
        axis.set_xticks(range(len(GLITCH_THRESHOLDS_MS)),
                        [f"{threshold_ms} ms" for threshold_ms in GLITCH_THRESHOLDS_MS])
        axis.set_xlabel("glitch: slower than the idle median by more than")
        axis.set_ylabel("glitches per minute under load")
        axis.set_ylim(0, max(1.0, max(high for _, of_line in drawn for high, _ in of_line)) * 1.15)
        for line, _ in drawn:
            latencies = pooled(line.loaded())
            self.note_lost(line.label, latencies)
            if numpy.isinf(latencies).any():
                self.note("a lost probe is a glitch at every threshold")
        self.note(about(runs, sum(one.rtt_ms.size for line, _ in drawn for one in line.loaded()),
                        "probes under load",
                        (probe for line, _ in drawn for _, probe in line.members)))
        if len(drawn) >= 4:
            self.note(_ABOVE_BARS)
        for text in reasons:
            self.note(f"left out: {text}")

    def settle(self) -> str:
        """Remove the labels above the bars if they are upright and wider than a bar, so that they
        touch each other, and return a note that says so. Otherwise return ""."""
        if not self._upright_labels:
            return ""
        axis, = self.axes
        self.figure.draw_without_rendering()  # computes the layout
        (left, _), (right, _) = axis.transData.transform([(0, 0), (self._bar_width, 0)])
        if max(label.get_window_extent().width for label in self._upright_labels) <= right - left:
            return ""
        for label in self._upright_labels:
            label.remove()
        if _ABOVE_BARS in self.notes:
            self.notes.remove(_ABOVE_BARS)
        return _NO_ROOM_ABOVE_BARS


def _refuse_unknown_glitches(run: Run, probe: Probe) -> None:
    """Raise NotAvailable if glitches can't be found in a latency series of a run: if it has no
    probes under load, find_glitches() refuses these, such as for their distance, or its idle median
    isn't known, see idle_median_ms()."""
    # The error of the series is clearer than that of its idle median.
    find_glitches(run.loaded(None, probe), 0, GLITCH_THRESHOLDS_MS[0])
    idle_median_ms(run, probe)


def _glitch_rate_and_longest(line: LatencyLine, threshold_ms: float) -> tuple[float, float]:
    """Return glitches per minute of load over all runs of a line, and the longest glitch in ms, 0
    without any. threshold_ms: a probe is bad, and part of a glitch, if it is lost or its RTT
    exceeds the idle median by more than this. Raises NotAvailable if glitches can't be found in one
    of the runs, or if the loads of all of them lasted 0 s."""
    events: list[Glitch] = []
    length_s = 0.0
    for run, probe in line.members:
        loaded = run.loaded(None, probe)
        events += find_glitches(loaded, idle_median_ms(run, probe), threshold_ms)
        length_s += loaded.length_s
    if not length_s > 0:
        raise NotAvailable(no_time("load"))
    return len(events) * 60 / length_s, max((one.length_ms for one in events), default=0.0)
