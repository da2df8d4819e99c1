# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a run from a data file for metrics, plots and reports: raw samples as arrays.

Neither Flent nor matplotlib is needed. Tests of this package and Flent's own are read in the same
way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.defaults import TCP_CONGESTION_CONTROL
from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import plain, significant
from flent_aqm.results.data_file import DataFile, Numbers, a_number, read_data_file
from flent_aqm.results.metrics.flows import (
    CAPTURE_RUNNER,
    CROSS_TRAFFIC,
    DIRECTIONS,
    Flow,
    gaps_s,
    is_flow,
    read_flow,
    span,
    tells_when_it_ran,
    with_expected_window,
)
from flent_aqm.results.metrics.probes import MAX_LOST, Probe, read_probe, until
from flent_aqm.results.metrics.queue_samples import QUEUES, RUNNER, QueueSamples, queues
from flent_aqm.results.metrics.settings import HOST_CC, Setting, settings_of
from flent_aqm.results.metrics.turns import turns
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.limits import limits
from flent_aqm.results.reading.series import (
    MS,
    ProbeTool,
    SeriesKind,
    recorded_error,
    series_of,
    unit_of,
)
from flent_aqm.results.reading.times import refuse_too_long

# Largest number of a run's settings, and of characters of each, for plots and tables.
MOST_SETTINGS = 200
LONGEST_WORDS = 200


@dataclass(frozen=True, eq=False)
class Samples:
    """Probes of one phase of a run, at least one: idle, or under load.

    Attributes:
        sent_s: when each probe was sent, in epoch seconds.
        rtt_ms: RTT of each probe, infinite if it was lost.
        length_s: duration of the phase.
        spacing_ms: median time between two successive probes of the whole series, infinite if it
            has only one.
        loss_unknown: reason why losses are not known, "" if they are.
        still_s: time of the phase in which the tool was stopped.
        of_steps: whether the RTTs are Flent's interpolated steps, not raw samples.
        phase: when the probes were sent, for messages, such as "under load".
    """

    sent_s: Numbers
    rtt_ms: Numbers
    length_s: float
    spacing_ms: float
    loss_unknown: str = ""
    still_s: float = 0.0
    of_steps: bool = False
    phase: str = "of this phase"

    @property
    def answered_ms(self) -> Numbers:
        """RTTs of the answered probes in ms. Raises NotAvailable if there are none."""
        answered = self.rtt_ms[numpy.isfinite(self.rtt_ms)]
        if not answered.size:
            raise NotAvailable(f"none of the probes {self.phase} came back")
        return answered


@dataclass(frozen=True, eq=False)
class Run:
    """The run in a data file.

    Attributes:
        path: path of the data file.
        test: Flent's NAME of the test, at most 200 characters, with unprintable ones replaced. ""
            if the file has none.
        title: the user's TITLE in the same form, "" if there is none.
        probes: latency series, the best for metrics first: those whose losses are known, then in
            the order of ProbeTool, then those that were stopped for the shortest time.
        flows: flows of the test and of cross traffic.
        aqm: the object AQM of docs/reference/data-format.md, empty in files of other origin.
        settings: settings by which runs are grouped, by name.
        queue_by_direction: "download" and "upload" -> the router's queue. Empty if the queues were
            not sampled.
        queue_failure, capture_failure: the error that the file records of sampling the queues,
            and of capturing packets, "" if it records none.
        is_captured: whether the file has a series of captured packets.
        failed_series: name of a flow's series that is not used, because it has no samples, a unit
            that is not known, or doesn't tell when the flow ran -> the reason.
        silent_probes: name of a latency series without a usable answered probe, or with a unit that
            is not known -> the reason.
        turns: "download" and "upload" -> intervals in which the test loads this direction alone.
            Empty unless the test alternates between them: see turns.py.
    """

    path: Path
    test: str
    title: str
    probes: Sequence[Probe]
    flows: Sequence[Flow]
    aqm: Mapping[str, Any]
    settings: Mapping[str, Setting]
    queue_by_direction: Mapping[str, QueueSamples] = field(default_factory=dict)
    queue_failure: str = ""
    capture_failure: str = ""
    is_captured: bool = False
    failed_series: Mapping[str, str] = field(default_factory=dict)
    silent_probes: Mapping[str, str] = field(default_factory=dict)
    turns: Mapping[str, Sequence[Window]] = field(default_factory=dict)

    @cached_property
    def samples(self) -> str:
        """SHA-256 of all samples as the file records it, else that of its probes and flows, with
        their times. "" if it records none and has neither probes nor flows."""
        recorded = self.aqm.get("samples_sha256")
        if isinstance(recorded, str):
            return recorded
        if not self.probes and not self.flows:
            return ""
        arrays = [*((one.name, (one.sent_s, one.rtt_ms)) for one in self.probes),
                  *((one.name, (one.at_s, one.mbps, one.length_s)) for one in self.flows)]
        found = hashlib.sha256()
        for name, values in arrays:
            found.update(repr((name, values[0].size)).encode())
            for one in values:
                found.update(one.tobytes())
        return found.hexdigest()

    @property
    def speed_test(self) -> Sequence[Flow]:
        """Flows of the test, without cross traffic. May be empty."""
        return [flow for flow in self.flows if not flow.is_cross]

    @property
    def probe(self) -> Probe:
        """The latency series from which metrics are computed, the first of `probes`. Raises
        NotAvailable, with the reason, if there is none."""
        if not self.probes:
            raise NotAvailable(self.why_no_probe)
        return self.probes[0]

    @property
    def why_no_probe(self) -> str:
        """Reason why `probes` is empty, if it is: that of the first latency series without a usable
        answered probe, or that the run has no latency series."""
        return (_first_reason(self.silent_probes)
                or "the run has no latency series of irtt, ping or netperf")

    @property
    def notes(self) -> Sequence[str]:
        """Lines on how the run was measured, as far as a reader must know it: the best probe, if it
        did not measure all the time or has interpolated steps, a load whose time is assumed, flows
        with gaps, tools without data. Empty if all is as usual. Latency series without data are
        told only if another one has some."""
        lines = []
        if self.probes:
            lines += _notes_of_probe(self.probe)
        if any(flow.is_expected for flow in self.flows):
            lines.append("the samples of " + _join_names(flow.name for flow in self.flows
                                                    if flow.is_expected)
                         + " are too few to tell when the load ran: it is taken to last as long as "
                         "the settings LENGTH and DELAY say")
        gaps = {flow.name: gap_s for flow in self.flows
                if not flow.has_own_mean and not flow.is_expected
                and (gap_s := gaps_s(flow)) > NOTED_GAPS * (flow.end_s - flow.start_s)}
        if gaps:
            lines.append(f"no samples of {_join_names(gaps)} for up to "
                         f"{significant(max(gaps.values()), 2)} s in all, which count as 0 Mbit/s: "
                         "Flent leaves out intervals in which a flow hardly sent")
        failed = {**self.failed_series, **(self.silent_probes if self.probes else {})}
        if len(failed) > MOST_NAMED:
            first = _first_reason(failed)
            return [*lines, (f"{len(failed)} of the test's series have no data, such as "
                            f"{_join_names(failed)}: {first}")]
        return [*lines, *failed.values()]

    def flows_of(self, direction: str) -> Sequence[Flow]:
        """Return the test's flows in a direction, without cross traffic. direction: "download" or
        "upload". Raises NotAvailable if there are none."""
        flows = [flow for flow in self.speed_test if flow.direction == direction]
        if not flows:
            raise NotAvailable(self.why_no_flow(direction))
        return flows

    def why_no_flow(self, direction: str | None = None) -> str:
        """Return the reason why the test has no flow in a direction, for a message: the failure of
        a tool of its own, that the names of some of its flows tell no direction, or that the test
        doesn't load it. direction: "download" or "upload", None if the test has none in either."""
        if failed := self.why_failed(direction, cross=False):
            return failed
        if unknown := [flow.name for flow in self.speed_test if not flow.direction]:
            return (f"no flow has {direction or ' or '.join(DIRECTIONS)} in its name, and the "
                    f"names of {_join_names(unknown)} tell no direction")
        return f"the test has no {direction}" if direction else "the test doesn't load the link"

    def why_failed(self, direction: str | None, *, cross: bool) -> str:
        """Return the reason why the first flow that failed has no time, "" if none failed.

        Args:
            direction: "download" or "upload" for a flow with this word in its name, None for any.
            cross: True for a flow of cross traffic, False for one of the test.
        """
        return _first_reason({name: why for name, why in self.failed_series.items()
                              if (CROSS_TRAFFIC in name.lower()) == cross
                              and (direction is None or direction in name.lower())})

    def sharing(self, direction: str) -> Sequence[Flow]:
        """Return all flows in a direction, including cross traffic. direction: "download" or
        "upload". Raises NotAvailable if no flow in it is the test's own."""
        self.flows_of(direction)
        return [flow for flow in self.flows if flow.direction == direction]

    @cached_property
    def load_window(self) -> Window | None:
        """Time from the start of the test's first flow to the end of its last one, without cross
        traffic. None if the test has no flow."""
        return span(self.speed_test)

    def loaded(self, direction: str | None = None, probe: Probe | None = None) -> Samples:
        """Return the probes sent while the test loaded the link. Raises NotAvailable if there are
        none, or no latency series or load.

        Args:
            direction: "download" or "upload" for the time from the first to the last flow of the
                test in this direction, or for the time in which it alone carried data, if the test
                alternates between both (`turns`). None for the time from the start of the test's
                first flow to the end of its last one.
            probe: a latency series of the run, None for the best one.
        """
        if probe is None:
            return self._phases(direction)
        none = f"no probe was {'answered' if probe.loss_unknown else 'sent'}"
        if direction is not None and direction in self.turns:
            windows = self.turns[direction]
            return _samples(probe, windows, numpy.logical_or.reduce(
                [window.holds(probe.sent_s) for window in windows]),
                none, "while this direction alone was loaded")
        window = self.load_window if direction is None else span(self.flows_of(direction))
        if window is None:
            raise NotAvailable(self.why_no_flow())
        return _samples(probe, [window], window.holds(probe.sent_s), none,
                        f"during the {direction}" if direction else "under load")

    def idle(self, probe: Probe | None = None) -> Samples:
        """Return the probes before the first flow of the test or of cross traffic started: those
        whose reply came by then, and those sent by then and lost. In a run without flows, return
        all probes. Raises NotAvailable if there are none.

        Args:
            probe: a latency series of the run, None for the best one.
        """
        if probe is None:
            return self._phases(IDLE)
        load = span(self.flows)
        end_s = load.start_s if load else float(probe.sent_s[-1])
        back_s = probe.sent_s + numpy.where(probe.lost, 0.0, probe.rtt_ms) / 1000
        inside = back_s < end_s if load else numpy.ones(probe.sent_s.size, dtype=bool)
        return _samples(probe, [Window(probe.start_s, max(end_s, probe.start_s))], inside,
                        "no probe was sent and answered", "before the load")

    @cached_property
    def _phases(self) -> Callable[[str | None], Samples]:
        """Function that returns the best probe's samples of a phase: IDLE, or a direction or None
        as for loaded(). It is cached, because metrics need each phase about ten times."""
        return cache(lambda phase: self.idle(self.probe) if phase == IDLE
                     else self.loaded(phase, self.probe))

    def applied(self, direction: str) -> Mapping[str, Any]:
        """Return the settings of a direction's shaper and queue as the router's kernel reported
        them after the run: AQM.after.applied of docs/reference/data-format.md. `shaper` and `qdisc`
        are the kinds, `shaper_parameters` and `qdisc_parameters` their parameters, by names with
        units such as `limit_packets`; beside these are `rate_mbps` and others. Empty if the file
        has none.

        direction: "download" or "upload".
        """
        return _object_at(self.aqm, "after", "applied", _DEVICE[direction])

    def counters(self, moment: str, direction: str) -> Mapping[str, Any]:
        """Return the kernel's counters of the router's device of a direction, in the groups of
        AQM.before.counters in docs/reference/data-format.md: "shaper", "class", "qdisc" and so on,
        under tc's names. Empty if the file has none.

        Args:
            moment: "before" or "after" the run.
            direction: "download" or "upload".
        """
        return _object_at(self.aqm, moment, "counters", _DEVICE[direction])


IDLE = "idle"
_DEVICE = {"download": "down", "upload": "up"}
_TOOL_ORDER = list(ProbeTool)
MOST_NAMED = 3
# Share of a flow's time without samples from which it is noted.
NOTED_GAPS = 0.05


def load_run(path: Path) -> Run:
    """Read the run in a data file. Raises BadResult if the file can't be read, is damaged, or has
    or lasts more than the limits allow. Its message is one line that begins with the path."""
    return as_run(read_data_file(path))


def as_run(data: DataFile) -> Run:
    """Return the run in a data file that has been read. Raises BadResult if a value is damaged, if
    the run lasts too long, or if too many probes were lost. Its message is one line that begins
    with the path."""
    try:
        return _parse_run(data)
    except BadResult as error:
        raise BadResult(f"{data.path}: {error}") from None


def _parse_run(data: DataFile) -> Run:
    """Return the run in a data file that has been read, also if it has no probes or no flows.
    Raises BadResult, without the path, if values are damaged or impossible, if probes and flows
    last too long, or if too many probes were lost."""
    probes: list[Probe] = []
    flows: list[Flow] = []
    failures: dict[str, str] = {}
    silent: dict[str, str] = {}
    lost = 0  # lost probes that are known only from gaps
    for name, series in series_of(data).items():
        if series.kind is SeriesKind.LATENCY and not series.failure:
            if probe := read_probe(series):
                probes.append(probe)
                lost += max(0, probe.sent_s.size - len(series.samples))
                _refuse_lost(lost)
            else:
                assert series.tool is not None  # of latency series
                silent[name] = (
                    f"{series.tool.value} of {plain(name)!r} stood still in all of its intervals"
                    if any(one.get("val") is not None for one in series.samples) else
                    f"none of the probes of {plain(name)!r} came back")
        elif series.kind is SeriesKind.LATENCY:
            silent[name] = series.failure
        elif is_flow(series):
            flow = read_flow(series)
            flows += [flow] if flow else []
            if flow is None:
                failures[name] = series.failure or (
                    f"the file doesn't record when {plain(name)!r} ran")
        elif series.failure:  # a unit that is not known
            (silent if unit_of(name, {}) == MS else failures)[name] = series.failure
    ends_s = [time_s for one in probes for time_s in one.sent_s[[0, -1]]]
    ends_s += [time_s for flow in flows for time_s in (flow.start_s, flow.end_s)]
    if ends_s:
        # Only series that are read here count. Others may have the clock of another machine.
        refuse_too_long(float(max(ends_s) - min(ends_s)), "its flows and probes take", limits())
    if probes:
        flows = _with_expected_windows(flows, probes, data.metadata)
        end_s = _end_s(probes, flows, a_number(data.metadata.get("TOTAL_LENGTH")))
        whole = []
        for probe in probes:
            whole.append(until(probe, end_s))
            lost += whole[-1].sent_s.size - probe.sent_s.size
            _refuse_lost(lost)
        probes = whole
    probes.sort(key=_probe_rank)
    aqm = data.metadata.get("AQM")
    settings = _settings(data.metadata)
    if probes:
        settings["probe"] = probe_kind(probes[0])
    return Run(
        path=data.path,
        test=_words(data.metadata.get("NAME", "")),
        title=_words(data.metadata.get("TITLE") or ""),
        probes=tuple(probes), flows=tuple(flows),
        aqm=aqm if isinstance(aqm, dict) else {},
        settings=settings,
        queue_by_direction=queues(data.raw_values)
        if data.series_meta.get(QUEUES, {}).get("RUNNER") == RUNNER else {},
        failed_series=failures, silent_probes=silent,
        queue_failure=recorded_error(QUEUES, data.series_meta.get(QUEUES, {})),
        capture_failure=next((recorded_error(name, meta)
                              for name, meta in data.series_meta.items()
                              if meta.get("RUNNER") == CAPTURE_RUNNER), ""),
        is_captured=any(meta.get("RUNNER") == CAPTURE_RUNNER for meta in data.series_meta.values()),
        turns=turns(_captured_steps(data), {name: span([
            flow for flow in flows if flow.direction == name and not flow.is_cross])
            for name in DIRECTIONS}),
    )


def _captured_steps(data: DataFile) -> Sequence[Mapping[str, Any]]:
    """Return the raw samples of the run's capture (see turns()), of the first one if there are
    several, empty without a capture."""
    return next((data.raw_values.get(name, ()) for name, about in data.series_meta.items()
                 if about.get("RUNNER") == CAPTURE_RUNNER), ())


def _probe_rank(probe: Probe) -> tuple[bool, int, float]:
    """Return the sort key of a probe, by which the best comes first: those with known losses, then
    in the order of ProbeTool, then those that were stopped for the shortest time."""
    return (bool(probe.loss_unknown), _TOOL_ORDER.index(probe.tool),
            sum(one.length_s for one in probe.still))


def probe_kind(probe: Probe) -> str:
    """Return the kind of a probe as the setting `probe`, by which runs are grouped: the name of its
    tool, with ", steps" for interpolated steps."""
    return f"{probe.tool.value}, steps" if probe.of_steps else probe.tool.value


def probe_line(probe: Probe) -> str:
    """Return the name, kind (probe_kind()) and median spacing of a probe as text: "Ping (ms) UDP
    irtt (irtt, every 10 ms)". The spacing is left out if the series has only one probe."""
    # Two digits, because probes that came back are not spaced evenly: each run would have another.
    every = ("" if numpy.isinf(probe.spacing_ms)
             else f", every {significant(probe.spacing_ms, 2)} ms")
    return f"{plain(probe.name)} ({probe_kind(probe)}{every})"


def _notes_of_probe(probe: Probe) -> list[str]:
    """Return a list with a line if the probe did not measure all the time, or has interpolated
    steps. Else it is empty."""
    if probe.of_steps:
        return [("the file has no raw samples: all numbers are of Flent's interpolated steps, "
                f"{significant(probe.spacing_ms)} ms apart")]
    still_s = sum(one.length_s for one in probe.still)
    if probe.stopped_after_s is not None:
        return [(f"{probe.tool.value} ({plain(probe.name)}) stopped "
                 f"{significant(probe.stopped_after_s)} s after its start: its round trips are "
                 "those of the time before")]
    if probe.still:
        return [(f"{probe.tool.value} ({plain(probe.name)}) stood still for "
                 f"{significant(still_s)} s: its round trips are those of the rest")]
    return []


def _with_expected_windows(flows: Sequence[Flow], probes: Sequence[Probe],
                           metadata: Mapping[str, Any]) -> list[Flow]:
    """Return the flows in their order. A flow whose samples don't tell when it ran (see
    tells_when_it_ran()) is replaced by with_expected_window() with the time in which the test
    requested the load: from DELAY after the run's beginning, for LENGTH, but not beyond the last
    measurement. All flows are returned unchanged if LENGTH is missing or 0.

    A test may start some flows later. So the expected time of a flow begins with the latest known
    start of other flows that is not after its own first sample, if this is after DELAY.

    Args:
        flows: the flows.
        probes: the probes, at least one. The run begins with the first of them.
        metadata: the file's metadata. Without DELAY, it is half of the time by which TOTAL_LENGTH
            exceeds LENGTH, 0 s without TOTAL_LENGTH.
    """
    length_s, total_s = (a_number(metadata.get(key)) for key in ("LENGTH", "TOTAL_LENGTH"))
    if not length_s:
        return list(flows)
    delay_s = a_number(metadata.get("DELAY"))
    if delay_s is None:  # Flent itself doesn't record it. The waits before and after are equal
        delay_s = max(0.0, ((total_s or length_s) - length_s) / 2)
    # Probes begin with the run. A file may claim any length, so the load ends with the last
    # measurement at the latest.
    last_s = max([float(probe.sent_s[-1]) for probe in probes] + [flow.end_s for flow in flows])
    start_s = min(min(probe.start_s for probe in probes) + delay_s, last_s)
    expected = Window(start_s, min(start_s + length_s, last_s))
    step_s = a_number(metadata.get("STEP_SIZE")) or 0.2
    known_s = [flow.start_s for flow in flows if tells_when_it_ran(flow, expected, step_s)]
    whole = []
    for flow in flows:
        # A test may start some of its flows later. Flows that tell their start show when.
        start_s = max((one for one in known_s if one <= flow.start_s), default=expected.start_s)
        window = Window(max(start_s, expected.start_s), expected.end_s)
        whole.append(flow if tells_when_it_ran(flow, window, step_s)
                     else with_expected_window(flow, window))
    return whole


def _join_names(names: Iterable[str]) -> str:
    """Return names in quotes with commas between, at most the first three (MOST_NAMED), and the
    number of the others if there are any: "'a', 'b', 'c' and 2 more". "" without names."""
    first = [repr(plain(name)) for name in names]
    return ", ".join(first[:MOST_NAMED]) + (
        f" and {len(first) - MOST_NAMED} more" if len(first) > MOST_NAMED else "")


def _first_reason(reasons: Mapping[str, str]) -> str:
    """Return the first reason, "" if there is none.

    reasons: name of a series -> reason.
    """
    return next(iter(reasons.values()), "")


def _refuse_lost(count: int) -> None:
    """Raise BadResult if more than 500,000 (MAX_LOST) lost probes are known only from gaps.

    count: number of such probes in all series.
    """
    if count > MAX_LOST:
        raise BadResult(f"its latency series lack more than {MAX_LOST:,} probes, by gaps in their "
                        "numbers and times; expected fewer, as of a shorter run")


def _end_s(probes: Sequence[Probe], flows: Sequence[Flow], length_s: float | None) -> float:
    """Return the end of the run in epoch seconds: the latest time at which a probe was sent, a flow
    ended, or a time in which a probe's tool was stopped ended, but not later than planned.

    Args:
        probes: the latency series, at least one.
        flows: the flows.
        length_s: planned time from the first probe to the end of the run, None if it is not known.
    """
    last_s = max([float(one.sent_s[-1]) for one in probes]
                 + [span.end_s for one in probes for span in one.still]
                 + [flow.end_s for flow in flows])
    # A flow may drain its queue long after the probes have ended as planned.
    if length_s is not None:
        last_s = min(last_s, min(float(one.sent_s[0]) for one in probes) + length_s)
    return last_s


def _samples(probe: Probe, windows: Sequence[Window], inside: NDArray[numpy.bool_], none: str,
             phase: str) -> Samples:
    """Return the probes that a mask selects. Raises NotAvailable if there are none.

    Args:
        probe: the latency series.
        windows: intervals of the phase.
        inside: mask of the probes in the phase.
        none: beginning of the message if there are none, such as "no probe was sent".
        phase: when it was, in words such as "under load".
    """
    still_s = sum(probe.still_in_s(window) for window in windows)
    if not inside.any():
        raise NotAvailable(
            f"{none} {phase}" + (f"; {probe.tool.value} stood still then" if still_s else ""))
    return Samples(probe.sent_s[inside], probe.rtt_ms[inside],
                   sum(window.length_s for window in windows), probe.spacing_ms,
                   probe.loss_unknown, still_s, probe.of_steps, phase)


def _settings(metadata: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the settings by which runs are grouped, by name, from a file's metadata: those of
    settings_of(), `length_s` and `host` if the file has them, and HOST_CC if it isn't Cubic."""
    settings = settings_of(
        _words(metadata.get("NAME", "")), _words(metadata.get("TITLE") or ""),
        _words(metadata.get("BATCH_NAME") or ""), _shown_settings(metadata, "TEST_PARAMETERS"),
        _shown_settings(metadata, "AQM", "requested"))
    length_s, host = a_number(metadata.get("LENGTH")), metadata.get("HOST")
    if length_s is not None:
        settings["length_s"] = length_s
    if isinstance(host, str):
        settings["host"] = _words(host)
    algorithm = _object_at(metadata, "AQM", "hosts").get("tcp_congestion_control")
    if isinstance(algorithm, str) and algorithm != TCP_CONGESTION_CONTROL:
        settings[HOST_CC] = _words(algorithm)
    return settings


def _shown_settings(metadata: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return settings in the file's metadata: name -> value, the first 200 (MOST_SETTINGS) in the
    file's order. Names and texts are put in a form that labels, tables and terminals can show, see
    _words(). Other values are unchanged. Empty if the metadata has none there.

    Args:
        metadata: the file's metadata.
        keys: path of keys to the settings in the metadata.
    """
    return {_words(key): _words(value) if isinstance(value, str) else value
            for key, value in islice(_object_at(metadata, *keys).items(), MOST_SETTINGS)}


def _words(value: Any) -> str:
    """Return a value as text that labels, tables and terminals can show: the first 200
    (LONGEST_WORDS) characters, with unprintable ones replaced, see plain()."""
    return plain(str(value)[:LONGEST_WORDS])


def _object_at(tree: Any, *keys: str) -> Mapping[str, Any]:
    """Return the object under a path of keys in `tree`, an empty one if there is none."""
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}
