# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes what is drawn around a probe: the queue's bytes by flow with the probe's stay, drops and
marks, the window of the flows that filled the queue, and the same probe in the other runs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.parts.why.flow_names import cross_ports_of, flow_name, reverse_flow
from flent_aqm.parts.why.ledger import TCP, Column, Fate, Ledger
from flent_aqm.parts.why.story import Story, flight_kb, start_ns
from flent_aqm.parts.why.watched import WatchedRun
from flent_aqm.parts.why.what_if import AROUND_S, RunOutcome
from flent_aqm.show.looks import in_rows, legend_columns
from flent_aqm.show.plots.why import OTHERS, Explained, NamedCurve, ratios
from flent_aqm.show.plots.why import draw as draw_panels

_INCHES = (7.5, 6.5)
_POINTS = 800
# Flows with an area of their own, and the least share of the bytes for one. The others share one.
_MOST_FLOWS, _LEAST_SHARE = 5, 0.01
# Without dates, so that equal runs give equal files.
_METADATA = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
KINDS = tuple(_METADATA)


def draw(explained: Explained, kind: str) -> bytes:
    """Return the figure as the bytes of a file. Equal content gives equal bytes. Matplotlib's
    backend becomes agg for the whole process.

    Args:
        explained: content of the figure.
        kind: kind of the file, "pdf", "svg" or "png".
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "flent", "font.size": 9,
                                "axes.spines.top": False, "axes.spines.right": False}):
        canvas = Figure(_INCHES, layout="constrained")
        heights = ratios(explained)
        handles = draw_panels(canvas.subplots(len(heights), 1, sharex=True,
                                              height_ratios=heights), explained)
        labels = [handle.get_label() for handle in handles]
        columns = min(4, legend_columns(labels, _INCHES[0]))
        canvas.legend(in_rows(handles, columns), in_rows(labels, columns),
                      loc="outside upper center", fontsize="small", ncols=columns, frameon=False)
        file = io.BytesIO()
        canvas.savefig(file, format=kind, dpi=150, metadata=_METADATA[kind])
    return file.getvalue()


def explained_of(run: WatchedRun, story: Story, outcomes: Sequence[RunOutcome], title: str,
                 sentences: Sequence[str]) -> Explained:
    """Return the content of the figure, which keep() also stores in a data file. Raises BadResult
    if no probe of the series was answered.

    Args:
        run: the run with its packets.
        story: the explanation of a probe.
        outcomes: the run itself, and the runs with something changed, see probes_of().
        title: heading of the explanation, which names the probe.
        sentences: sentences of the explanation.
    """
    router, direction, row = story.where
    passage = run.ledgers[router].passage(direction)
    begin_ns = start_ns(run)
    stay_s = None
    if story.waited_ms:
        came_s = (int(passage.arrived_ns[row]) - begin_ns) / 1e9
        stay_s = (came_s, came_s + story.waited_ms / 1000)

    def moments_s(rows: Column) -> list[float]:
        """Return when packets came, in s since the first answered probe. Packets that came more
        than AROUND_S (1 s) before or after the explained probe was sent are left out.

        Args:
            rows: mask that selects packets of those that came to the queue in which the probe or
                its reply waited longest, or which it never left.
        """
        at_s = (passage.arrived_ns[rows] - begin_ns) / 1e9
        return [round(float(one), 6) for one in at_s[abs(at_s - story.sent_s) <= AROUND_S]]

    return Explained(
        title, list(sentences), story.place, story.sent_s - AROUND_S, story.sent_s + AROUND_S,
        story.sent_s, story.rtt_ms, stay_s, _backlog(run, story),
        moments_s(passage.fate == Fate.DROPPED), moments_s(passage.marked), _window(run, story),
        probes_of(outcomes))


def probes_of(outcomes: Sequence[RunOutcome]) -> list[NamedCurve]:
    """Return a curve of the RTTs of each run's probes within 1 s (AROUND_S) of the explained one,
    first that of the run itself. It is empty if none of these was answered. Changed runs without
    such a probe are left out.

    Args:
        outcomes: the run itself, and the runs with something changed.
    """
    return [_curve(one.change, [at_s for at_s, _ in sorted(one.around)],
                   [rtt_ms for _, rtt_ms in sorted(one.around)])
            for one in outcomes if one.around or one is outcomes[0]]


def _curve(name: str, at_s: Sequence[float], values: Any) -> NamedCurve:
    """Return a curve with times to 1 us and values to three digits behind the point, which keeps
    files small."""
    return NamedCurve(name, [round(float(one), 6) for one in at_s],
                 [round(float(one), 3) for one in values])


def _times(run: WatchedRun, story: Story) -> tuple[Any, Any]:
    """Return the moments of the figure, evenly spaced from 1 s (AROUND_S) before the probe to 1 s
    after it: as seconds since the first answered probe, and the same moments as ns since the epoch.
    """
    seconds = numpy.linspace(story.sent_s - AROUND_S, story.sent_s + AROUND_S, _POINTS)
    return seconds, start_ns(run) + (seconds * 1e9).astype(numpy.int64)


def _backlog(run: WatchedRun, story: Story) -> list[NamedCurve]:
    """Return a curve of the kB in the queue at the moments of _times() for each name of flows, the
    name with most bytes first: at most five names (_MOST_FLOWS), each with 1 % of all bytes
    (_LEAST_SHARE) or more. All other flows with bytes in the queue share a last curve, "others"."""
    router, direction, _ = story.where
    ledger = run.ledgers[router]
    passage = ledger.passage(direction)
    seconds, times_ns = _times(run, story)
    cross = cross_ports_of(run.data["metadata"])
    by_name: dict[str, list[int]] = {}
    for flow in numpy.unique(passage.flow).tolist():
        by_name.setdefault(flow_name(ledger, direction, flow, cross), []).append(flow)
    areas = {name: passage.backlog_bytes(times_ns, flows) / 1000
             for name, flows in by_name.items()}
    whole = float(sum(area.sum() for area in areas.values()))
    order = sorted(areas, key=lambda name: -float(areas[name].sum()))
    large = [name for name in order[:_MOST_FLOWS] if areas[name].sum() >= _LEAST_SHARE * whole > 0]
    shown = {name: areas[name] for name in large}
    if rest := [areas[name] for name in order if name not in large and areas[name].any()]:
        shown[OTHERS] = numpy.sum(rest, axis=0)
    return [_curve(name, seconds, values) for name, values in shown.items()]


def _window(run: WatchedRun, story: Story) -> NamedCurve | None:
    """Return the sum of the kB in flight of all TCP flows that share the name of the flow with most
    bytes ahead of the probe, at the moments of _times(), NaN while none of these flows is alive.
    None without such flows, or if none has anything in flight at these moments."""
    router, direction, _ = story.where
    ledger = run.ledgers[router]
    cross = cross_ports_of(run.data["metadata"])
    seconds, times_ns = _times(run, story)
    flows = [index for index, key in enumerate(ledger.flows) if key.protocol == TCP
             and flow_name(ledger, direction, index, cross) == story.standing.flow]
    total, lives = numpy.zeros(seconds.size), numpy.zeros(seconds.size, bool)
    for flow in flows:
        alive = ((times_ns >= _seen_ns(ledger, flow, min))
                 & (times_ns <= _seen_ns(ledger, flow, max)))
        # What a flow that has ended had in flight is in flight no more.
        total += numpy.where(alive, flight_kb(ledger, direction, flow, times_ns), 0)
        lives |= alive
    if not total.any():
        return None
    return _curve(story.standing.flow, seconds, numpy.where(lives, total, numpy.nan))


def _seen_ns(ledger: Ledger, flow: int, which: Any) -> int:
    """Return when the first or last packet of a flow or its reverse came to the router, in ns since
    the epoch.

    Args:
        ledger: the router's packets.
        flow: index of the flow.
        which: min for the first packet, max for the last.
    """
    seen = [int(which(arrived_ns)) for index in (flow, reverse_flow(ledger, flow))
            for passage in (ledger.up, ledger.down) if index is not None
            and (arrived_ns := passage.arrived_ns[passage.flow == index]).size]
    return int(which(seen))
