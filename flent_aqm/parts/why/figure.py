# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws two seconds around a probe: the queue's bytes by flow with the probe's stay, drops and
marks, below them the window of the flow that filled the queue, and the same probe in the other
runs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.words import for_plot
from flent_aqm.parts.why.flow_names import cross_ports_of, flow_name
from flent_aqm.parts.why.ledger import TCP
from flent_aqm.parts.why.story import Story, flight_kb, start_ns
from flent_aqm.parts.why.watched import WatchedRun
from flent_aqm.parts.why.what_if import AROUND_S, Outcome
from flent_aqm.show.looks import DROPS, MARKS, OTHER_LOOKS, QUIET, looks_for

_INCHES = (7.5, 6.0)
_POINTS = 800
# Flows with an area of their own, and the least share of the bytes for one. The others share one.
_MOST_FLOWS, _LEAST_SHARE = 5, 0.01
# Without dates, so that equal runs give equal files.
_METADATA = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
KINDS = tuple(_METADATA)


def draw(run: WatchedRun, story: Story, outcomes: Sequence[Outcome], kind: str) -> bytes:
    """Return the figure as a file of a kind in KINDS."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "flent", "font.size": 9,
                                "axes.spines.top": False, "axes.spines.right": False}):
        canvas = Figure(_INCHES, layout="constrained")
        backlog, window, probes = canvas.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": [2.2, 1, 1.5]})
        _draw_backlog(backlog, run, story)
        _draw_window(window, run, story)
        _draw_probes(probes, story, outcomes)
        probes.set_xlim(story.sent_s - AROUND_S, story.sent_s + AROUND_S)
        probes.set_xlabel("seconds since the first probe")
        file = io.BytesIO()
        canvas.savefig(file, format=kind, dpi=150, metadata=_METADATA[kind])
    return file.getvalue()


def _times(run: WatchedRun, story: Story) -> tuple[Any, Any]:
    """Return the moments of the figure as seconds since the first probe, and as ns since the
    epoch."""
    seconds = numpy.linspace(story.sent_s - AROUND_S, story.sent_s + AROUND_S, _POINTS)
    return seconds, start_ns(run) + (seconds * 1e9).astype(numpy.int64)


def _draw_backlog(axis: Any, run: WatchedRun, story: Story) -> None:
    """Draw the bytes in the queue by flow, the probe's stay, drops and marks."""
    router, direction, row = story.where
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
        shown["others"] = numpy.sum(rest, axis=0)
    axis.stackplot(seconds, *shown.values(), labels=[for_plot(name) for name in shown],
                   colors=[look.colour for look in OTHER_LOOKS], alpha=0.75, linewidth=0)
    begin_ns = start_ns(run)
    came_s = (int(passage.arrived_ns[row]) - begin_ns) / 1e9
    top = max(float(numpy.sum(list(shown.values()), axis=0).max()) if shown else 0.0, 1.0)
    if story.waited_ms:
        axis.plot([came_s, came_s + story.waited_ms / 1000], [top * 1.06] * 2, color="black",
                  linewidth=4, solid_capstyle="butt", label="the probe's stay")
    for marked, colour, marker, label in ((False, DROPS, "x", "drop"), (True, MARKS, "+", "mark")):
        rows = passage.marked if marked else passage.fate == 1
        at_s = (passage.arrived_ns[rows] - begin_ns) / 1e9
        at_s = at_s[abs(at_s - story.sent_s) <= AROUND_S]
        if at_s.size:
            axis.plot(at_s, [top * 1.15] * at_s.size, marker, color=colour, label=label,
                      markersize=5)
    axis.set_ylim(0, top * 1.25)
    axis.set_ylabel(f"queue, {story.place}, kB")
    axis.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0),
                frameon=False)


def _draw_window(axis: Any, run: WatchedRun, story: Story) -> None:
    """Draw the bytes in flight of the flow that had most bytes ahead of the probe."""
    router, direction, _ = story.where
    ledger = run.ledgers[router]
    cross = cross_ports_of(run.data["metadata"])
    seconds, times_ns = _times(run, story)
    flows = [index for index, key in enumerate(ledger.flows) if key.protocol == TCP
             and flow_name(ledger, direction, index, cross) == story.standing.flow]
    total = sum((flight_kb(ledger, direction, flow, times_ns) for flow in flows),
                numpy.zeros(seconds.size))
    axis.set_ylabel("sent, not yet\nacknowledged, kB")
    if flows and total.any():
        axis.plot(seconds, total, color=OTHER_LOOKS[0].colour, linewidth=1,
                  label=for_plot(story.standing.flow))
        axis.legend(fontsize="small", loc="upper left", frameon=False)
        axis.set_ylim(0)
    else:
        axis.set_yticks([])
        axis.annotate("no TCP flow was ahead of the probe", (0.5, 0.5), color=QUIET,
                      xycoords="axes fraction", ha="center", va="center")


def _draw_probes(axis: Any, story: Story, outcomes: Sequence[Outcome]) -> None:
    """Draw the RTT of the probes of each run, and mark the explained probe."""
    looks = looks_for([_queue_of(one) for one in outcomes])
    for index, one in enumerate(outcomes):
        if not one.around:
            continue
        seconds, rtt_ms = zip(*sorted(one.around), strict=True)
        look = looks[_queue_of(one)]
        axis.plot(seconds, rtt_ms, linewidth=1.8 if index == 0 else 0.9,
                  color="black" if index == 0 else look.colour,
                  linestyle="-" if index == 0 else look.line,
                  label=for_plot("this run" if index == 0 else one.change))
    if story.rtt_ms is not None:
        axis.plot([story.sent_s], [story.rtt_ms], "o", color="black", markersize=5,
                  label="the explained probe")
    axis.set_ylim(0)
    axis.set_ylabel("RTT of probes, ms")
    axis.legend(fontsize="small", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0),
                frameon=False)


def _queue_of(one: Outcome) -> str:
    """Return the name of the queue that a change requests, otherwise the change itself."""
    return one.change.removeprefix("aqm=")
