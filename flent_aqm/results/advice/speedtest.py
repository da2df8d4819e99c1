# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the report and advice of `flent-aqm speedtest`, from data files of the tests speedtest_….

Format and definitions are those of speedtest-netperf.sh, so that its users can compare. Percentiles
are of the pings that were answered. The standard deviation divides by the number of samples.
netperf's share is that of the time of all processors. Percentiles are interpolated, where the
script takes the next lower sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.advice.advice import advise
from flent_aqm.results.advice.measured import (
    loads,
    measured_of_samples,
    throughput,
    tried,
)
from flent_aqm.results.data_file import DataFile, Numbers, a_number
from flent_aqm.results.metrics.flows import Flow, span
from flent_aqm.results.metrics.percentiles import of_answered
from flent_aqm.results.metrics.run import Run, Samples, as_run
from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.results.metrics.throughput import total_mbps
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import ProbeTool

# With fewer pings, percentiles would be single pings.
MIN_PINGS = 10
IN_LAB = "not measured: in the virtual lab computing takes no time"
NO_SAMPLE = "not measured: no sample of the processors lies within the test"
NO_IDLE = ("To be told what to do, measure the idle line, too: give this command again with -i, "
           "and with -s or -c.")
# Follows the reason why there is no advice.
AGAIN = "Measure again, or for longer."


@dataclass(frozen=True)
class Latency:
    """Summary of a test's pings.

    Attributes:
        count: number of pings, answered or not.
        lost_pct: share of pings without an answer, 0 if losses are not known.
        min_ms: shortest RTT.
        p10_ms: 10th percentile of RTTs, None with fewer than 10 answers (MIN_PINGS).
        median_ms: median RTT, None with fewer than 10 answers (MIN_PINGS).
        mean_ms: mean RTT.
        p90_ms: 90th percentile of RTTs, None with fewer than 10 answers (MIN_PINGS).
        max_ms: longest RTT.
    """

    count: int
    lost_pct: float
    min_ms: float
    p10_ms: float | None
    median_ms: float | None
    mean_ms: float
    p90_ms: float | None
    max_ms: float


@dataclass(frozen=True)
class Processor:
    """Load of one processor of this machine.

    Attributes:
        name: "cpu0", "cpu1", …
        busy_pct: mean over samples of the share of busy time.
        deviation_pct: standard deviation of that share over samples.
        mhz: mean frequency, None if the kernel reports none.
    """

    name: str
    busy_pct: float
    deviation_pct: float
    mhz: float | None


@dataclass(frozen=True)
class ProcessorLoad:
    """Load of this machine's processors during a test.

    Attributes:
        samples: number of samples.
        processors: load of each processor.
        netperf_pct: share of the time of all processors that netperf used, 0 if it is not recorded.
    """

    samples: int
    processors: Sequence[Processor]
    netperf_pct: float


def latency(samples: Samples) -> Latency:
    """Return the summary of pings. Raises NotAvailable if no ping was answered."""
    answered = samples.answered_ms
    enough = answered.size >= MIN_PINGS
    low, middle, high = (of_answered(answered, percent) for percent in (10, 50, 90))
    return Latency(
        count=int(samples.rtt_ms.size),
        lost_pct=100 * (1 - answered.size / samples.rtt_ms.size),
        min_ms=float(answered.min()), mean_ms=float(answered.mean()),
        max_ms=float(answered.max()),
        p10_ms=float(low) if enough else None, median_ms=float(middle) if enough else None,
        p90_ms=float(high) if enough else None)


def pings(run: Run, direction: str | None) -> Samples:
    """Return the pings that were sent while streams of a direction ran. Of a run without streams,
    return all pings.

    Args:
        run: the run.
        direction: "download" or "upload", None for streams of any direction.

    Raises NotAvailable, with the reason, if the whole run has no answered ping, if it has no
    streams of that direction, or if no ping was sent while they ran.
    """
    probe = next((one for one in run.probes if one.tool is ProbeTool.PING), None)
    if probe is None:
        why = next(iter(run.silent_probes.values()), "the run has no series of them")
        raise NotAvailable(f"none of the pings was answered: {why}")
    return run.loaded(direction, probe) if run.flows else run.idle(probe)


def load(data: DataFile, flows: Sequence[Flow]) -> ProcessorLoad | None:
    """Return the load of the processors from the start of the first of the given streams to the end
    of the last one. Without streams, it is that of the whole run, and netperf's share is 0. None if
    no sample lies within that time, as in the virtual lab, where there are none."""
    window = span(flows)
    inside = [one for one in data.raw_values.get("CPU", []) if _is_inside(one, window)]
    if not inside:
        return None
    names = [name for name in inside[0] if name.startswith("cpu") and name[3:].isdecimal()]
    used_s = sum(_cpu_s(data, flow) for flow in flows)
    there_s = (window.length_s if window else 0.0) * len(names)
    return ProcessorLoad(
        samples=len(inside),
        processors=[_processor(name, inside) for name in sorted(names, key=lambda n: int(n[3:]))],
        netperf_pct=100 * used_s / there_s if there_s else 0.0)


def _is_inside(sample: dict[str, object], window: Window | None) -> bool:
    """Return whether a sample's interval lies within the window. A window of None has no limits.
    False if the sample has no time or length."""
    end_s, length_s = a_number(sample.get("t")), a_number(sample.get("dur"))
    if end_s is None or length_s is None:
        return False
    return window is None or (end_s - length_s >= window.start_s and end_s <= window.end_s)


def _processor(name: str, samples: Sequence[dict[str, object]]) -> Processor:
    """Return a processor's mean load, the load's standard deviation, and its mean frequency.

    Args:
        name: name of the processor, which is the key of its load in percent.
        samples: samples of the series CPU, at least one with that key.
    """
    busy = _values(name, samples)
    mhz = _values(f"{name}_mhz", samples)
    return Processor(name, float(busy.mean()), float(busy.std()),
                     float(mhz.mean()) if mhz.size else None)


def _values(key: str, samples: Sequence[dict[str, object]]) -> Numbers:
    """Return the numbers under a key of all samples that have one. Other values are left out."""
    values = (a_number(one.get(key)) for one in samples)
    return numpy.array([value for value in values if value is not None])


def _cpu_s(data: DataFile, flow: Flow) -> float:
    """Return the processor time that netperf used for a stream, in s. 0 if it is not recorded."""
    about = data.series_meta[flow.name].get("NETPERF")
    return (a_number(about.get("cpu_s")) if isinstance(about, dict) else None) or 0.0


def report(data: DataFile, blocks: Sequence[Sequence[str]], in_lab: bool) -> str:
    """Return the text of the report, with an empty line between its blocks.

    Args:
        data: the data file of the speed test.
        blocks: directions whose streams ran together, in the order of the report. An empty block is
            an idle line.
        in_lab: the test ran in the virtual lab, where processors are never busy.

    Raises BadResult if the file is damaged, and NotAvailable if a block has no answered ping, or if
    the throughput of a direction is not known.
    """
    return "\n".join(_report_block(data, block, in_lab) for block in blocks)


def _report_block(data: DataFile, directions: Sequence[str], in_lab: bool) -> str:
    """Return the report's lines on directions whose streams ran together. Raises BadResult and
    NotAvailable as report() does.

    Args:
        data: the data file.
        directions: "download", "upload", both, or none for an idle line.
        in_lab: the test ran in the virtual lab.
    """
    run = as_run(data)
    # As advice counts it: in the lab at most what the line can carry.
    lines = [f"{direction.capitalize():>9}: {total_mbps(run, direction):6.2f} Mbps"
             for direction in directions]
    only = directions[0] if len(directions) == 1 else None
    lines += _latency_lines(latency(pings(run, only)))
    flows = [flow for flow in run.speed_test if flow.direction in directions]
    cpu_load = load(data, flows)
    lines += (_load_lines(cpu_load) if cpu_load is not None
              else _no_load_lines(IN_LAB if in_lab else NO_SAMPLE))
    return "".join(f"{line}\n" for line in lines)


def _latency_lines(summary: Latency) -> list[str]:
    """Return the report's lines on latency: number of pings and share of lost ones, then a line for
    each statistic, with "-" for one that is None."""
    return [
        f"  Latency: [in msec, {summary.count} pings, {summary.lost_pct:4.2f}% packet loss]",
        *(f"{name:>9}: {'-':>7}" if value is None else f"{name:>9}: {value:7.3f}"
          for name, value in (
              ("Min", summary.min_ms), ("10pct", summary.p10_ms), ("Median", summary.median_ms),
              ("Avg", summary.mean_ms), ("90pct", summary.p90_ms), ("Max", summary.max_ms)))]


def _load_lines(cpu_load: ProcessorLoad) -> list[str]:
    """Return the report's lines on the load of the processors: a heading, a line for each
    processor, with its frequency if that is known, and netperf's share."""
    at = " @ avg frequency" if any(one.mhz is not None for one in cpu_load.processors) else ""
    return [
        f" CPU Load: [in % busy (avg +/- std dev){at}, {cpu_load.samples} samples]",
        *(f"{one.name:>9}: {one.busy_pct:5.1f} +/- {one.deviation_pct:4.1f}"
          + (f"  @ {one.mhz:4.0f} MHz" if one.mhz is not None else "")
          for one in cpu_load.processors),
        " Overhead: [in % used of total CPU available]",
        f"{'netperf':>9}: {cpu_load.netperf_pct:5.1f}"]


def _no_load_lines(why: str) -> list[str]:
    """Return the two lines that stand in the report instead of those of _load_lines() if there are
    no samples of the processors.

    Args:
        why: the reason, which both lines show.
    """
    return [f" CPU Load: [{why}]", f" Overhead: [{why}]"]


def advice(idle: DataFile | None, loaded: DataFile) -> list[str]:
    """Return a list of one text: sentences that advise what to do about the line, or the reason why
    there is no advice, and the request to measure again. Without data of the idle line, the text
    only asks to measure that, too.

    Args:
        idle: data of the same line without load, None if the user did not measure it.
        loaded: data of the line under load.

    Raises BadResult if a file is damaged. Without `idle`, `loaded` is not looked at.
    """
    if idle is None:
        return [NO_IDLE]
    run = as_run(loaded)
    try:
        measured = measured_of_samples(
            pings(as_run(idle), None),
            {busy: pings(run, direction) for busy, direction in loads(run).items()},
            throughput(run))
    except NotAvailable as error:
        measured = Unavailable.of(error)
    line = tried("the line", [({}, measured)])
    return [" ".join([*advise({"": [line]}), *([AGAIN] if line.no_advice else [])])]
