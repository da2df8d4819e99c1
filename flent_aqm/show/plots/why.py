# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw what a data file keeps of an explanation by `flent-aqm why`: the router's queue around a
probe, by flow, the probe's stay in it, drops and marks, the load's window, and the same probe in
runs with something changed.

The part `why` computes an Explained, draws it on its page with the same function, and writes it
into data files with --keep, where the plotter finds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import for_plot
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import DROPS, MARKS, OTHER_LOOKS, looks_for
from flent_aqm.show.plots.chart import ChartPlotter, about

# Key of the object AQM in a data file's metadata under which an explanation is kept.
KEPT = "why"
# Most lines or areas of a kept file, values of each, characters of a text, and drawn seconds.
_MOST_LINES, _MOST_VALUES, _LONGEST, _LONGEST_S = 50, 100_000, 1000, 60.0
# Looks of flows in the queue. Drops and marks have colours of their own.
_FLOW_LOOKS = [look for look in OTHER_LOOKS if look.colour not in (DROPS, MARKS)]
OTHERS, _OTHERS_COLOUR = "others", "#AAAAAA"
# How many times as high as this run's slowest probe a changed run's is if this run looks flat.
_FLATTENS = 8
# Length of a bar of drops and marks, whose count is its height.
STEP_S = 0.02


@dataclass(frozen=True)
class NamedCurve:
    """Named values over time.

    Attributes:
        name: name of the flows, or of a run the change in it, such as "aqm=fq_codel".
        at_s: times in s since the first answered probe.
        values: a value at each time, NaN where there is none.
    """

    name: str
    at_s: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True)
class Explained:
    """An explained probe with what happened around it. Times are in s since the first answered
    probe.

    Attributes:
        title: which probe, when, how long it took.
        sentences: the sentences of the explanation.
        place: name of the queue in which it waited longest, or which it never left, such as "up".
        begin_s, end_s: the time that is drawn.
        sent_s: when the probe was sent.
        rtt_ms: its RTT, None if it was lost.
        stay_s: when it came to the queue and when it left, None if it never left.
        flows: kB in the queue of the flows of each name, all at the same times.
        drops_s, marks_s: when packets came that the queue dropped or marked, in the drawn time.
        window: kB in flight of all TCP flows that share the name of the flow with most bytes ahead
            of the probe. None without such flows, or if they had nothing in flight.
        runs: RTT of the probes in ms over time, of this run first (empty if none was answered in
            the drawn time), then of each run with a change.
    """

    title: str
    sentences: Sequence[str]
    place: str
    begin_s: float
    end_s: float
    sent_s: float
    rtt_ms: float | None
    stay_s: tuple[float, float] | None
    flows: Sequence[NamedCurve]
    drops_s: Sequence[float]
    marks_s: Sequence[float]
    window: NamedCurve | None
    runs: Sequence[NamedCurve]

    @property
    def has_losses(self) -> bool:
        """Whether the queue dropped or marked anything in the drawn time."""
        return bool(self.drops_s or self.marks_s)


def to_json(explained: Explained) -> dict[str, Any]:
    """Return an explanation as an object for JSON, as read() takes it when it has been parsed. NaN
    among a curve's values becomes None."""
    def curve(one: Mapping[str, Any]) -> dict[str, Any]:
        """Return a curve's object with None in place of NaN among its values."""
        return {**one, "values": [None if value != value else value for value in one["values"]]}

    whole = asdict(explained)
    return {**whole, "flows": [curve(one) for one in whole["flows"]],
            "runs": [curve(one) for one in whole["runs"]],
            "window": whole["window"] and curve(whole["window"])}


def read(kept: object) -> Explained:
    """Return an explanation from a data file, of which nothing is trusted. Raises BadResult if it
    has another form than to_json() gives it, or more curves, values or seconds than the limits of
    this module. Longer texts are cut, and sentences beyond the limit left out."""
    try:
        _require(isinstance(kept, dict))
        assert isinstance(kept, dict)  # for the type checker
        stay, window = kept["stay_s"], kept["window"]
        rtt_ms = kept["rtt_ms"]
        flows, runs = kept["flows"], kept["runs"]
        _require(isinstance(flows, list) and len(flows) <= _MOST_LINES)
        _require(isinstance(runs, list) and 1 <= len(runs) <= _MOST_LINES)
        begin_s, end_s, sent_s = _numbers([kept[name] for name in ("begin_s", "end_s", "sent_s")])
        _require(0 < end_s - begin_s < _LONGEST_S)
        areas = [_curve(one) for one in flows]
        _require(all(one.at_s == areas[0].at_s for one in areas))
        return Explained(
            _words(kept["title"]), [_words(one) for one in kept["sentences"][:_MOST_LINES]],
            _words(kept["place"]), begin_s, end_s, sent_s,
            None if rtt_ms is None else _numbers([rtt_ms])[0],
            None if stay is None else (_numbers(list(stay))[0], _numbers(list(stay))[1]),
            areas, _numbers(kept["drops_s"]), _numbers(kept["marks_s"]),
            None if window is None else _curve(window), [_curve(one) for one in runs])
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        raise BadResult(f"its AQM.{KEPT} has another form than `flent-aqm why --keep` writes, or "
                        f"more than {_MOST_LINES} curves, {_MOST_VALUES:,} values in a curve or "
                        f"{_LONGEST_S:g} s; call it again with --keep") from None


def _curve(one: Mapping[str, Any]) -> NamedCurve:
    """Return a curve of a kept explanation. None among its values becomes NaN. Raises KeyError,
    TypeError, ValueError or OverflowError if it has another form than to_json() gives it, or too
    many values."""
    values = [numpy.nan if value is None else value for value in one["values"]]
    at_s = _numbers(one["at_s"])
    _require(len(at_s) == len(values))
    return NamedCurve(_words(one["name"]), at_s, _numbers(values, gaps=True))


def _numbers(values: Sequence[Any], *, gaps: bool = False) -> list[float]:
    """Return a list's values as numbers. Raises ValueError, TypeError or OverflowError if they are
    not a flat list of numbers (texts and booleans are none), not finite, too large, or more than
    _MOST_VALUES.

    Args:
        values: the values.
        gaps: whether NaN is accepted.
    """
    _require(isinstance(values, list) and len(values) <= _MOST_VALUES)
    _require(not any(isinstance(value, (str, bool)) for value in values))
    array = numpy.array(values, float)
    _require(array.ndim == 1)
    _require(bool(numpy.isfinite(array[~numpy.isnan(array)] if gaps else array).all()))
    return [float(value) for value in array]


def _words(text: object) -> str:
    """Return a text, cut to _LONGEST characters. Raises TypeError if it is not text."""
    if not isinstance(text, str):
        raise TypeError
    return text[:_LONGEST]


def _require(is_so: bool) -> None:
    """Raise ValueError unless a condition holds."""
    if not is_so:
        raise ValueError


def ratios(explained: Explained) -> list[float]:
    """Return the relative heights of the panels that draw() fills, from top to bottom: backlog,
    drops and marks (left out if there are none), bytes in flight, probes."""
    return [2.2, *([0.6] if explained.has_losses else []), 1.0, 1.5]


def draw(axes: Sequence[Any], explained: Explained) -> list[Any]:
    """Draw an explanation. Return the handles for a legend.

    Args:
        axes: an axis for each of ratios(), one below the other, with one time axis.
        explained: the explanation.
    """
    backlog, *losses, window, probes = axes
    handles = _draw_backlog(backlog, explained)
    if losses:
        handles += _draw_losses(losses[0], explained)
    handles += _draw_window(window, explained)
    handles += _draw_probes(probes, explained)
    probes.set_xlim(explained.begin_s, explained.end_s)
    probes.set_xlabel("seconds since the first probe")
    return handles


def _draw_backlog(axis: Any, explained: Explained) -> list[Any]:
    """Draw the kB in the queue, an area for the flows of each name, and the probe's stay. Return
    the handles for a legend, which may be empty."""
    handles: list[Any] = []
    top = 1.0
    if explained.flows and len(explained.flows[0].at_s):
        values = numpy.nan_to_num(numpy.array([one.values for one in explained.flows]))
        handles += axis.stackplot(
            explained.flows[0].at_s, *values, alpha=0.75, linewidth=0,
            labels=[for_plot(one.name) for one in explained.flows],
            colors=[_flow_colour(explained, one.name) for one in explained.flows])
        top = max(float(values.sum(axis=0).max()), 1.0)
    if explained.stay_s:
        handles += axis.plot(explained.stay_s, [top * 1.08] * 2, color="black", linewidth=4,
                             solid_capstyle="butt", label="the probe's stay")
    axis.set_ylim(0, top * 1.18)
    axis.set_ylabel(f"queue, {for_plot(explained.place)},\nkB")
    return handles


def _flow_colour(explained: Explained, name: str) -> str:
    """Return the colour of the flows of a name: black if they have no area of their own in the
    queue, grey for the area "others". Colours repeat if there are more names than looks."""
    names = [one.name for one in explained.flows]
    if name == OTHERS:
        return _OTHERS_COLOUR
    return _FLOW_LOOKS[names.index(name) % len(_FLOW_LOOKS)].colour if name in names else "black"


def _draw_losses(axis: Any, explained: Explained) -> list[Any]:
    """Draw the numbers of drops and of marks in each step of STEP_S as bars: markers would lie on
    each other. Return the handles for a legend. Call it only if there are drops or marks."""
    edges = numpy.arange(explained.begin_s, explained.end_s + STEP_S, STEP_S)
    handles = []
    for at_s, colour, label in ((explained.drops_s, DROPS, "drops"),
                                (explained.marks_s, MARKS, "marks")):
        if at_s:
            counts, _ = numpy.histogram(at_s, edges)
            handles.append(axis.bar(edges[:-1], counts, STEP_S, align="edge", color=colour,
                                    label=label))
    axis.set_ylim(0)
    axis.yaxis.get_major_locator().set_params(integer=True, nbins=2)
    axis.set_ylabel("lost,\nmarked" if explained.marks_s and explained.drops_s
                    else "drops" if explained.drops_s else "marks")
    return handles


def _draw_window(axis: Any, explained: Explained) -> list[Any]:
    """Draw the kB in flight (Explained.window) in the colour that their flow has in the queue. If
    it is None, write that it isn't known. Return the handles for a legend."""
    axis.set_ylabel("in flight,\nkB")
    window = explained.window
    if window is None:
        axis.set_yticks([])
        axis.text(0.5, 0.5, "not known: the flow with most bytes ahead is not TCP, or had none",
                  transform=axis.transAxes, ha="center", va="center", fontsize="small")
        return []
    handles = axis.plot(window.at_s, window.values, color=_flow_colour(explained, window.name),
                        linewidth=1, label=for_plot(f"in flight: {window.name}"))
    axis.set_ylim(0)
    return list(handles)


def _draw_probes(axis: Any, explained: Explained) -> list[Any]:
    """Draw the RTT of the probes of each run, and mark the explained probe unless it was lost. The
    axis is logarithmic if a changed run is so much slower that the recorded one would look flat.
    Return the handles."""
    own, *changed = explained.runs
    # The first two flows' colours are always avoided: the second is like that of a queue.
    looks = looks_for([_queue_of(one) for one in changed], avoid=[
        DROPS, MARKS, *(look.colour for look in _FLOW_LOOKS[:2]),
        *(_flow_colour(explained, one.name) for one in explained.flows)])
    handles = list(axis.plot(own.at_s, own.values, linewidth=1.8, color="black",
                             label="this run's probes"))
    for one in changed:
        look = looks[_queue_of(one)]
        handles += axis.plot(one.at_s, one.values, linewidth=0.9, color=look.colour,
                             linestyle=look.line, label=for_plot(one.name))
    if explained.rtt_ms is not None:
        handles += axis.plot([explained.sent_s], [explained.rtt_ms], "o", color="black",
                             markersize=5, label="the explained probe")
    highest_ms, *others_ms = (_highest_ms(one) for one in (own, *changed))
    if highest_ms and max(others_ms, default=0.0) > _FLATTENS * highest_ms:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
    else:
        axis.set_ylim(0)
    axis.set_ylabel("probes,\nms")
    return handles


def _highest_ms(curve: NamedCurve) -> float:
    """Return the highest RTT of a curve in ms, 0 without values."""
    return max((value for value in curve.values if math.isfinite(value)), default=0.0)


def _queue_of(one: NamedCurve) -> str:
    """Return the key for the look of a changed run: its queue's name if the change is another
    queue (the curve's name is "aqm=QUEUE"), otherwise the curve's name."""
    return one.name.removeprefix("aqm=")


class AqmWhyPlotter(ChartPlotter):
    """The explanation that a data file keeps, of the first file that keeps one. As a part of
    another plot, only the bytes in the queue and the probe's stay."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        kept = [run for run in runs if KEPT in run.aqm]
        if not kept:
            raise NotAvailable(
                ("this file keeps" if len(runs) == 1 else "these files keep")
                + " no packets. `flent-aqm why FILE --keep KEPT.flent.gz` repeats a run that a "
                  "batch made in the virtual lab, and writes a file that keeps those around its "
                  "slowest probe")
        try:
            explained = read(kept[0].aqm[KEPT])
        except BadResult as fault:
            raise BadResult(f"{kept[0].path}: {fault}") from None
        if self._part_axis is not None:
            axis, = self.grid()
            self.handles = _draw_backlog(axis, explained)
            return
        heights = ratios(explained)
        axes = self.grid(len(heights), 1, sharex=True, height_ratios=heights)
        self.handles = draw(axes, explained)
        self.heading = for_plot(explained.title)
        # Where its time went, and why. All of them have no room.
        for one in explained.sentences[:3:2]:
            self.note(for_plot(one))
        self.note(about(kept[:1], probes=[]))
        if len(kept) < len(runs) or len(kept) > 1:
            self.note(f"1 of {len(runs)} files shown: the first that keeps packets")
