# SPDX-License-Identifier: GPL-3.0-or-later
"""One run, as all metrics, plots and reports see it: raw samples in arrays.

Neither Flent nor matplotlib is needed. Our tests and Flent's own are read alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import plain
from flent_aqm.results.data_file import DataFile, Numbers, a_number, read_data_file
from flent_aqm.results.metrics.flows import Flow, is_flow, read_flow, span
from flent_aqm.results.metrics.probes import MAX_LOST, Probe, Tool, read_probe, tool_of, until
from flent_aqm.results.metrics.queue_samples import QUEUES, RUNNER, Queue, queues
from flent_aqm.results.metrics.settings import Setting, settings_of
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.limits import limits
from flent_aqm.results.reading.times import refuse_lasting

# Settings of a run, and characters of each: what plots and tables can show.
MOST_SETTINGS = 200
LONGEST_WORDS = 200


@dataclass(frozen=True, eq=False)
class Samples:
    """Probes of one phase of a run, as Probe has them: a lost one's rtt_ms is infinite.

    length_s: of the phase; spacing_ms: median time between two probes.
    """

    sent_s: Numbers
    rtt_ms: Numbers
    length_s: float
    spacing_ms: float

    @property
    def answered_ms(self) -> Numbers:
        """Latencies of those that came back. Raises NotAvailable without any."""
        answered = self.rtt_ms[numpy.isfinite(self.rtt_ms)]
        if not answered.size:
            raise NotAvailable("none of the probes came back")
        return answered


@dataclass(frozen=True, eq=False)
class Run:
    """A data file's content.

    test, title: Flent's NAME and TITLE. probes: latency series, the best first. flows:
    what loads the link. aqm: the object AQM of docs/reference/data-format.md, empty in files of
    other origin. settings: what runs are grouped by, name -> value. queues: the router's, by
    direction, where they were sampled.
    """

    path: Path
    test: str
    title: str
    probes: Sequence[Probe]
    flows: Sequence[Flow]
    aqm: Mapping[str, Any]
    settings: Mapping[str, Setting]
    queues: Mapping[str, Queue] = field(default_factory=dict)

    @property
    def speed_test(self) -> Sequence[Flow]:
        """The flows of the test, without cross traffic."""
        return [flow for flow in self.flows if not flow.is_cross]

    @property
    def probe(self) -> Probe:
        """The latency series that metrics use. Raises NotAvailable."""
        if not self.probes:
            raise NotAvailable("the run has no latency series")
        return self.probes[0]

    def way(self, direction: str) -> Sequence[Flow]:
        """Return the test's flows in a direction. Raises NotAvailable without any."""
        flows = [flow for flow in self.speed_test if flow.direction == direction]
        if not flows:
            raise NotAvailable(f"the test has no {direction}")
        return flows

    def sharing(self, direction: str) -> Sequence[Flow]:
        """Return all flows in a direction of the test, cross traffic too: what shares the link.
        Raises NotAvailable where the test has no flow in it."""
        self.way(direction)
        return [flow for flow in self.flows if flow.direction == direction]

    @cached_property
    def load_window(self) -> Window | None:
        """From the start of the test's first flow to the end of its last; None: no load."""
        return span(self.speed_test)

    def loaded(self, direction: str | None = None, probe: Probe | None = None) -> Samples:
        """Probes sent while the test loaded the link, in one direction or at all.

        Raises NotAvailable.
        """
        if probe is None:
            return self._phases(direction)
        window = self.load_window if direction is None else span(self.way(direction))
        if window is None:
            raise NotAvailable("the test doesn't load the link")
        return _samples(probe, window, window.holds(probe.sent_s), "under load")

    def idle(self, probe: Probe | None = None) -> Samples:
        """Probes that were back before the first flow started, cross traffic included; all
        of them in a test without load. Raises NotAvailable."""
        if probe is None:
            return self._phases(IDLE)
        load = span(self.flows)
        end_s = load.start_s if load else float(probe.sent_s[-1])
        back_s = probe.sent_s + numpy.where(probe.lost, 0.0, probe.rtt_ms) / 1000
        inside = back_s < end_s if load else numpy.ones(probe.sent_s.size, dtype=bool)
        return _samples(probe, Window(float(probe.sent_s[0]), max(end_s, float(probe.sent_s[0]))),
                        inside, "before the load")

    @cached_property
    def _phases(self) -> Callable[[str | None], Samples]:
        """The phases of the best probe: metrics ask for each some ten times."""
        return cache(lambda phase: self.idle(self.probe) if phase == IDLE
                     else self.loaded(phase, self.probe))

    def applied(self, direction: str) -> Mapping[str, Any]:
        """Return what the router's kernel reported of a direction after the run; may be empty."""
        return _inside(self.aqm, "after", "applied", _DEVICE[direction])

    def counters(self, moment: str, direction: str) -> Mapping[str, Any]:
        """Return the kernel's counters of a direction, moment "before" or "after"; may be empty."""
        return _inside(self.aqm, moment, "counters", _DEVICE[direction])


IDLE = "idle"
_DEVICE = {"download": "down", "upload": "up"}
_TOOL_ORDER = list(Tool)


def load_run(path: Path) -> Run:
    """Read a data file. Raises BadResult, in one line with the path."""
    return as_run(read_data_file(path))


def as_run(data: DataFile) -> Run:
    """Return the run in a data file that has been read. Raises BadResult, with the path."""
    try:
        return _as_run(data)
    except BadResult as error:
        raise BadResult(f"{data.path}: {error}; expected a data file of Flent") from None


def _as_run(data: DataFile) -> Run:
    probes: list[Probe] = []
    flows: list[Flow] = []
    lost = 0  # that no sample tells of
    for name, meta in data.series_meta.items():
        samples = data.raw_values.get(name, [])
        tool = tool_of(name, meta, samples)
        if tool:
            probe = read_probe(name, tool, samples, data.version)
            probes += [probe] if probe else []
            lost += probe.sent_s.size - len(samples) if probe else 0
            _refuse_lost(lost)
        elif is_flow(meta, samples):
            flow = read_flow(name, meta, samples)
            flows += [flow] if flow else []
    ends_s = [time_s for one in probes for time_s in one.sent_s[[0, -1]]]
    ends_s += [time_s for flow in flows for time_s in (flow.start_s, flow.end_s)]
    if ends_s:
        # A series that isn't read here may have the clock of another machine.
        refuse_lasting(float(max(ends_s) - min(ends_s)), "its flows and probes take", limits())
    if probes:
        end_s = _end_s(probes, flows, a_number(data.metadata.get("TOTAL_LENGTH")))
        whole = []
        for probe in probes:
            whole.append(until(probe, end_s))
            lost += whole[-1].sent_s.size - probe.sent_s.size
            _refuse_lost(lost)
        probes = whole
    probes.sort(key=lambda probe: _TOOL_ORDER.index(probe.tool))
    aqm = data.metadata.get("AQM")
    return Run(
        path=data.path,
        test=_words(data.metadata.get("NAME", "")),
        title=_words(data.metadata.get("TITLE") or ""),
        probes=tuple(probes), flows=tuple(flows),
        aqm=aqm if isinstance(aqm, dict) else {},
        settings=_settings(data.metadata),
        queues=queues(data.raw_values)
        if data.series_meta.get(QUEUES, {}).get("RUNNER") == RUNNER else {},
    )


def _refuse_lost(probes: int) -> None:
    if probes > MAX_LOST:
        raise BadResult(f"its latency series lack more than {MAX_LOST:,} probes")


def _end_s(probes: Sequence[Probe], flows: Sequence[Flow], length_s: float | None) -> float:
    last_s = max([float(one.sent_s[-1]) for one in probes] + [flow.end_s for flow in flows])
    # A flow may drain its queue long after the probes have ended as planned.
    if length_s is not None:
        last_s = min(last_s, min(float(one.sent_s[0]) for one in probes) + length_s)
    return last_s


def _samples(probe: Probe, window: Window, inside: NDArray[numpy.bool_], when: str) -> Samples:
    if not inside.any():
        raise NotAvailable(f"no probe was sent {when}")
    return Samples(probe.sent_s[inside], probe.rtt_ms[inside], window.length_s, probe.spacing_ms)


def _settings(metadata: Mapping[str, Any]) -> dict[str, Setting]:
    settings = settings_of(
        _words(metadata.get("NAME", "")), _words(metadata.get("TITLE") or ""),
        _words(metadata.get("BATCH_NAME") or ""), _shown_settings(metadata, "TEST_PARAMETERS"),
        _shown_settings(metadata, "AQM", "requested"))
    length_s, host = a_number(metadata.get("LENGTH")), metadata.get("HOST")
    if length_s is not None:
        settings["length_s"] = length_s
    if isinstance(host, str):
        settings["host"] = _words(host)
    return settings


def _shown_settings(metadata: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return settings as labels, tables and terminals can show them."""
    return {_words(key): _words(value) if isinstance(value, str) else value
            for key, value in islice(_inside(metadata, *keys).items(), MOST_SETTINGS)}


def _words(value: Any) -> str:
    """Return text that labels, tables and terminals can show."""
    return plain(str(value)[:LONGEST_WORDS])


def _inside(tree: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}
